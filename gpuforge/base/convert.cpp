#include "gpuforge/base/convert.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

#include "gpuforge/base/narrow_float.h"

namespace gpuforge {
namespace {

// Reads one element, aligned or not. A bool is any byte: reading 2 as a C++ bool would be undefined.
template <typename T>
T load(const std::byte* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Rounds to 53 bits "to odd": towards zero, with the last bit set when anything was dropped. A second
// rounding, to half as many bits or fewer, then gives what a single rounding would have given.
double to_double_for_narrowing(std::int64_t value) {
  const bool negative = value < 0;
  std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int excess = 11 - std::countl_zero(magnitude | 1);
  if (excess > 0) {
    const std::uint64_t dropped = magnitude & ((std::uint64_t{1} << excess) - 1);
    magnitude -= dropped;
    if (dropped != 0) magnitude |= std::uint64_t{1} << excess;
  }
  const auto absolute = static_cast<double>(magnitude);
  return negative ? -absolute : absolute;
}

template <std::integral To, std::floating_point From>
To truncate_saturating(From value) {
  // Powers of two: exact in every floating type, unlike the integer's largest value itself.
  constexpr From kLimit = static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<To>::max();
  if (value <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <std::integral To, std::integral From>
To clamp_to(From value) {
  if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <typename To, typename From>
To convert(From value) {
  if constexpr (kIsNarrowFloat<From>) {
    return convert<To>(internal::widen_to_float(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<From, bool>) {
    return convert<To>(static_cast<std::int8_t>(value));
  } else if constexpr (kIsNarrowFloat<To>) {
    if constexpr (std::is_same_v<From, std::int64_t>) {
      return internal::narrow<To>(to_double_for_narrowing(value));
    } else if constexpr (sizeof(From) <= 2 || std::is_same_v<From, float>) {
      return internal::narrow<To>(static_cast<float>(value));
    } else {
      return internal::narrow<To>(static_cast<double>(value));
    }
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return truncate_saturating<To>(value);
  } else {
    return clamp_to<To>(value);
  }
}

template <typename To, typename From>
void convert_loop(std::byte* to, const std::byte* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    store<To>(to + i * sizeof(To), convert<To>(load<From>(from + i * sizeof(From))));
  }
}

}  // namespace

void convert_elements(void* to, DType to_dtype, const void* from, DType from_dtype, std::size_t count) {
  if (count == 0) return;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  // bool goes through the loop below, which makes every non-zero byte a 1.
  if (to_dtype == from_dtype && to_dtype != DType::boolean) {
    if (to != from) std::memcpy(out, in, count * element_bytes(to_dtype));
    return;
  }
  visit_dtype(to_dtype, [&](auto to_type) {
    visit_dtype(from_dtype, [&](auto from_type) {
      convert_loop<typename decltype(to_type)::type, typename decltype(from_type)::type>(out, in, count);
    });
  });
}

double load_double(const void* element, DType dtype) {
  return visit_dtype(dtype, [&](auto type) {
    return convert<double>(load<typename decltype(type)::type>(static_cast<const std::byte*>(element)));
  });
}

std::int64_t load_int64(const void* element, DType dtype) {
  return visit_dtype(dtype, [&](auto type) {
    return convert<std::int64_t>(load<typename decltype(type)::type>(static_cast<const std::byte*>(element)));
  });
}

void store_double(void* element, DType dtype, double value) {
  visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    store<T>(static_cast<std::byte*>(element), convert<T>(value));
  });
}

void store_int64(void* element, DType dtype, std::int64_t value) {
  visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    store<T>(static_cast<std::byte*>(element), convert<T>(value));
  });
}

}  // namespace gpuforge
