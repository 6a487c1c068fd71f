#include "gpuforge/jit/pointee.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuforge::jit {
namespace {

struct Pointee {
  std::string_view type;
  DType dtype;
};
constexpr std::array kPointees = {
    Pointee{"float", DType::f32},
    Pointee{"double", DType::f64},
    Pointee{"half", DType::f16},
    Pointee{"__half", DType::f16},
    Pointee{"half_t", DType::f16},
    Pointee{"__nv_bfloat16", DType::bf16},
    Pointee{"nv_bfloat16", DType::bf16},
    Pointee{"bfloat16_t", DType::bf16},
    Pointee{"__nv_fp8_e4m3", DType::f8e4m3},
    Pointee{"__nv_fp8_e5m2", DType::f8e5m2},
    Pointee{"float8_e4m3_t", DType::f8e4m3},
    Pointee{"float8_e5m2_t", DType::f8e5m2},
    Pointee{"bool", DType::boolean},
    Pointee{"signed char", DType::i8},
    Pointee{"int8_t", DType::i8},
    Pointee{"short", DType::i16},
    Pointee{"unsigned short", DType::i16},
    Pointee{"int16_t", DType::i16},
    Pointee{"uint16_t", DType::i16},
    Pointee{"int", DType::i32},
    Pointee{"unsigned", DType::i32},
    Pointee{"unsigned int", DType::i32},
    Pointee{"int32_t", DType::i32},
    Pointee{"uint32_t", DType::i32},
    Pointee{"long long", DType::i64},
    Pointee{"unsigned long long", DType::i64},
    Pointee{"long", DType::i64},
    Pointee{"unsigned long", DType::i64},
    Pointee{"int64_t", DType::i64},
    Pointee{"uint64_t", DType::i64},
    Pointee{"size_t", DType::i64},
};  // bytes (char, uint8_t, void) may hold anything

}  // namespace

std::optional<DType> pointee_dtype(const Parameter& parameter) {
  std::string_view type = parameter.declared_type;
  if (!type.ends_with('*')) return std::nullopt;
  type.remove_suffix(1);
  for (std::string_view part : {std::string_view("const "), std::string_view("volatile ")}) {
    if (type.starts_with(part)) type.remove_prefix(part.size());
  }
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.ends_with(" const")) type.remove_suffix(6);
  for (std::string_view space :
       {std::string_view("std::"), std::string_view("cuda::std::"), std::string_view("gpuforge::")}) {
    if (type.starts_with(space)) type.remove_prefix(space.size());
  }
  const auto known =
      std::find_if(kPointees.begin(), kPointees.end(), [&](const Pointee& p) { return p.type == type; });
  if (known == kPointees.end()) return std::nullopt;
  return known->dtype;
}

}  // namespace gpuforge::jit
