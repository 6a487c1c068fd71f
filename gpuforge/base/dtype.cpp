#include "gpuforge/base/dtype.h"

#include <string>

namespace gpuforge {
namespace {

struct Alias {
  std::string_view text;
  DType dtype;
};

// NumPy's codes with byte counts ("f8", "i8") are left out: they would contradict our names with bit counts.
constexpr Alias kAliases[] = {
    {"float64", DType::f64},
    {"double", DType::f64},
    {"fp64", DType::f64},
    {"float32", DType::f32},
    {"float", DType::f32},
    {"single", DType::f32},
    {"fp32", DType::f32},
    {"float16", DType::f16},
    {"half", DType::f16},
    {"fp16", DType::f16},
    {"__half", DType::f16},
    {"bfloat16", DType::bf16},
    {"__nv_bfloat16", DType::bf16},
    {"float8_e4m3fn", DType::f8e4m3},
    {"float8_e4m3", DType::f8e4m3},
    {"fp8_e4m3", DType::f8e4m3},
    {"fp8e4m3", DType::f8e4m3},
    {"e4m3fn", DType::f8e4m3},
    {"e4m3", DType::f8e4m3},
    {"f8_e4m3", DType::f8e4m3},
    {"__nv_fp8_e4m3", DType::f8e4m3},
    {"float8_e5m2", DType::f8e5m2},
    {"fp8_e5m2", DType::f8e5m2},
    {"fp8e5m2", DType::f8e5m2},
    {"e5m2", DType::f8e5m2},
    {"f8_e5m2", DType::f8e5m2},
    {"__nv_fp8_e5m2", DType::f8e5m2},
    {"int64", DType::i64},
    {"int64_t", DType::i64},
    {"long", DType::i64},
    {"long long", DType::i64},
    {"s64", DType::i64},
    {"int32", DType::i32},
    {"int32_t", DType::i32},
    {"int", DType::i32},
    {"s32", DType::i32},
    {"int16", DType::i16},
    {"int16_t", DType::i16},
    {"short", DType::i16},
    {"s16", DType::i16},
    {"int8", DType::i8},
    {"int8_t", DType::i8},
    {"char", DType::i8},
    {"signed char", DType::i8},
    {"s8", DType::i8},
    {"uint8", DType::u8},
    {"uint8_t", DType::u8},
    {"byte", DType::u8},
    {"unsigned char", DType::u8},
    {"boolean", DType::boolean},
    {"bool_", DType::boolean},
};

}  // namespace

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f8e4m3:
      return "f8e4m3";
    case DType::f8e5m2:
      return "f8e5m2";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "i32";
    case DType::i16:
      return "i16";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (DType dtype : kAllDTypes) {
    if (lower == name(dtype)) return dtype;
  }
  for (const Alias& alias : kAliases) {
    if (lower == alias.text) return alias.dtype;
  }
  return std::nullopt;
}

std::size_t element_bytes(DType dtype) {
  return visit_dtype(dtype, [](auto type) { return sizeof(typename decltype(type)::type); });
}

bool is_floating(DType dtype) {
  return dtype <= DType::f8e5m2;
}

bool is_integer(DType dtype) {
  return dtype >= DType::i64 && dtype <= DType::u8;
}

}  // namespace gpuforge
