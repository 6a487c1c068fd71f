// What an integer dtype makes of a result that is known modulo 2^64; for the references alone.
#pragma once

#include <cstdint>

#include "gpuforge/base/dtype.h"

namespace gpuforge::ops {

// The value as two's complement keeps it; of bool, whether it is not 0.
inline double wrapped(std::uint64_t value, DType dtype) {
  switch (dtype) {
    case DType::i64:
      return static_cast<double>(static_cast<std::int64_t>(value));
    case DType::i32:
      return static_cast<std::int32_t>(value);
    case DType::i16:
      return static_cast<std::int16_t>(value);
    case DType::i8:
      return static_cast<std::int8_t>(value);
    case DType::u8:
      return static_cast<std::uint8_t>(value);
    default:
      return value != 0 ? 1 : 0;
  }
}

}  // namespace gpuforge::ops
