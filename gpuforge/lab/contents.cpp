#include "gpuforge/lab/contents.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/dtype_limits.h"
#include "gpuforge/base/hash.h"
#include "gpuforge/lab/host_bytes.h"

namespace gpuforge::lab {
namespace {

// SplitMix64: every element from its own number, so that the order of generation does not matter.
std::uint64_t mixed(std::uint64_t state) {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

double uniform(std::uint64_t bits) {  // in (0, 1]
  return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

double normal(std::uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(uniform(mixed(key))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mixed(key ^ 0xd1b54a32d192ed03u)));
}

// Doubles are made of the size of floats: references compute in double.
double largest(DType dtype) {
  return limits_of(dtype == DType::f64 ? DType::f32 : dtype).largest;
}

double smallest_normal(DType dtype) {
  if (!is_floating(dtype)) return 0;
  return limits_of(dtype == DType::f64 ? DType::f32 : dtype).smallest_normal;
}

// Of integers: wide enough that they are not nearly all zero.
double spread_of(DType dtype) {
  return is_integer(dtype) ? 20 : 1;
}

bool is_chosen(std::uint64_t key) {
  return mixed(key ^ 0x8cb92ba72f3d8dd7u) % 61 == 0;
}

double element(const Operand& operand, Contents contents, std::uint64_t key, double constant) {
  const double random = operand.centre + spread_of(operand.dtype) * normal(key);
  switch (contents) {
    case Contents::normal:
      return random;
    case Contents::zeros:
      return 0;
    case Contents::constant:
      return constant;
    case Contents::huge:
      return std::copysign(largest(operand.dtype) * (0.25 + uniform(mixed(key)) / 2), normal(key));
    case Contents::tiny:  // about half of them subnormal
      return smallest_normal(operand.dtype) * random;
    case Contents::infinities:
      return is_chosen(key) ? std::copysign(std::numeric_limits<double>::infinity(), normal(key + 1))
                            : random;
    case Contents::nans:
      return is_chosen(key) ? std::numeric_limits<double>::quiet_NaN() : random;
  }
  throw Error(ErrorCode::internal, "lab: not a value of the contents enumeration");
}

}  // namespace

HostTensor make_input(const Operand& operand, Contents contents, std::uint64_t seed) {
  HostTensor tensor{operand.shape, {}};
  const std::size_t count = static_cast<std::size_t>(element_count(operand.shape));
  tensor.values.resize(count);
  const std::uint64_t start = mixed(seed) ^ hash_text(operand.name).low;
  const double constant = operand.centre + spread_of(operand.dtype) * normal(start);
  for_blocks(count, [&](std::size_t, std::size_t begin, std::size_t end) {
    double* const values = tensor.values.data() + begin;
    for (std::size_t i = begin; i < end; ++i)
      values[i - begin] = element(operand, contents, mixed(start + i), constant);
    std::vector<std::byte> stored((end - begin) * element_bytes(operand.dtype));
    convert_elements(stored.data(), operand.dtype, values, DType::f64, end - begin);
    convert_elements(values, DType::f64, stored.data(), operand.dtype, end - begin);
  });
  return tensor;
}

}  // namespace gpuforge::lab
