#include "gpuforge/kernels/device_type.h"

namespace gpuforge {

std::string_view device_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "gpuforge::half_t";
    case DType::bf16:
      return "gpuforge::bfloat16_t";
    case DType::f8e4m3:
      return "gpuforge::float8_e4m3_t";
    case DType::f8e5m2:
      return "gpuforge::float8_e5m2_t";
    case DType::i64:
      return "long long";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "signed char";
    case DType::u8:
      return "unsigned char";
    case DType::boolean:
      return "gpuforge::bool_t";
  }
  throw Error(ErrorCode::internal, "kernels: not a value of the dtype enumeration");
}

std::string_view bits_type(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned int";
    default:
      return "unsigned long long";
  }
}

}  // namespace gpuforge
