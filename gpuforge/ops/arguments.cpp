#include "gpuforge/ops/arguments.h"

#include <algorithm>

namespace gpuforge::ops {

void check_floating(std::string_view op, std::string_view argument, const Array& array) {
  const DType dtype = array.dtype();
  GPUFORGE_CHECK(dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32,
                 "{}: {} must be f16, bf16 or f32; found {}", op, argument, name(dtype));
}

void check_dtype(std::string_view op, std::string_view argument, const Array& array, DType expected) {
  GPUFORGE_CHECK(array.dtype() == expected, "{}: {} must be {}; found {}", op, argument, name(expected),
                 name(array.dtype()));
}

void check_shape(std::string_view op, std::string_view argument, const Array& array, const Shape& expected) {
  GPUFORGE_CHECK(array.shape() == expected, "{}: {} must have shape {}; found {}", op, argument,
                 to_string(expected), to_string(array.shape()));
}

void check_device(std::string_view op, std::string_view argument, const Array& array, const Array& like) {
  GPUFORGE_CHECK(&array.device() == &like.device(), "{}: {} is on {}, and the input on {}", op, argument,
                 array.device().facts().name, like.device().facts().name);
}

void check_output(std::string_view op, std::string_view argument, const Array& out, const Array& input) {
  GPUFORGE_CHECK(out.size() == 0 || !out.shares_storage_with(input),
                 "{}: {} shares memory with an input; give it memory of its own", op, argument);
  GPUFORGE_CHECK(!may_overlap_itself(out.shape(), out.strides()),
                 "{}: two elements of {} are one place in memory (strides {})", op, argument,
                 to_string(out.strides()));
}

bool is_one_of(std::span<const int> list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace gpuforge::ops
