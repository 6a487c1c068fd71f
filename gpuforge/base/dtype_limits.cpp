#include "gpuforge/base/dtype_limits.h"

#include <limits>

namespace gpuforge {
namespace {

template <typename T>
constexpr DTypeLimits floating() {
  using Limits = std::numeric_limits<T>;
  return {Limits::max(), Limits::min(), Limits::denorm_min(), static_cast<double>(Limits::epsilon()) / 2};
}
constexpr DTypeLimits integer(double largest) {
  return {largest, 1, 1, 0};
}

}  // namespace

DTypeLimits limits_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return floating<double>();
    case DType::f32:
      return floating<float>();
    case DType::f16:
      return {65504, 0x1p-14, 0x1p-24, 0x1p-11};
    case DType::bf16:
      return {0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-8};
    case DType::f8e4m3:
      return {448, 0x1p-6, 0x1p-9, 0x1p-4};
    case DType::f8e5m2:
      return {57344, 0x1p-14, 0x1p-16, 0x1p-3};
    case DType::i64:
      return integer(0x1p53);
    case DType::i32:
      return integer(std::numeric_limits<std::int32_t>::max());
    case DType::i16:
      return integer(std::numeric_limits<std::int16_t>::max());
    case DType::i8:
      return integer(std::numeric_limits<std::int8_t>::max());
    case DType::u8:
      return integer(std::numeric_limits<std::uint8_t>::max());
    case DType::boolean:
      return integer(1);
  }
  throw Error(ErrorCode::internal, "dtype: not a value of the enumeration");
}

}  // namespace gpuforge
