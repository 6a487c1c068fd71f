#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/reductions/reductions_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::int64_t kPart = std::int64_t{1} << 15;  // elements a thread takes at once
constexpr std::int64_t kBlock = 512;                   // of them that are converted at once

template <typename A>
struct Found {
  A value = 0;
  std::int64_t index = -1;
};

template <typename A, typename F>
A wrapping(A a, A b, F f) {
  if constexpr (std::is_integral_v<A>) {
    using Bits = std::make_unsigned_t<A>;
    return static_cast<A>(f(static_cast<Bits>(a), static_cast<Bits>(b)));
  } else {
    return f(a, b);
  }
}

template <typename A>
Found<A> both(Reduction reduction, const Found<A>& a, const Found<A>& b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean:
      return {wrapping(a.value, b.value, [](auto x, auto y) { return x + y; }), a.index};
    case Reduction::prod:
      return {wrapping(a.value, b.value, [](auto x, auto y) { return x * y; }), a.index};
    default: {
      const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
      if (a_nan != b_nan) return a_nan ? a : b;
      if (!a_nan && a.value != b.value)
        return (takes_largest(reduction) ? a.value > b.value : a.value < b.value) ? a : b;
      return a.index < b.index ? a : b;
    }
  }
}

template <typename A>
Found<A> reduced_part(Reduction reduction, const std::byte* row, std::int64_t stride, DType dtype,
                      std::int64_t begin, std::int64_t end) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  std::array<std::byte, kBlock * 8> gathered;
  std::array<A, kBlock> values;
  Found<A> total;
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t count = std::min(kBlock, end - at);
    const std::byte* from = row + at * stride * bytes;
    if (stride != 1) {
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(from + i * stride * bytes, bytes, gathered.data() + i * bytes);
      from = gathered.data();
    }
    convert_elements(values.data(), dtype_of<A>(), from, dtype, static_cast<std::size_t>(count));
    Found<A> block;
    for (std::int64_t i = 0; i < count; ++i) {
      A value = values[static_cast<std::size_t>(i)];
      if (takes_truths(reduction)) value = value != 0 ? 1 : 0;
      block = both(reduction, block, Found<A>{value, at + i});
    }
    total = both(reduction, total, block);
  }
  return total;
}

template <typename A>
void run(Reduction reduction, const Array& out, const Array& x, const Rows& rows) {
  const auto* const from = reinterpret_cast<const std::byte*>(x.address());
  auto* const to = reinterpret_cast<std::byte*>(out.address());
  const auto x_bytes = static_cast<std::int64_t>(element_bytes(x.dtype()));
  const auto out_bytes = static_cast<std::int64_t>(element_bytes(out.dtype()));
  const std::int64_t parts = (rows.length + kPart - 1) / kPart;
  const std::int64_t grain = std::max<std::int64_t>(1, kPart / rows.length);
  std::vector<Found<A>> found(static_cast<std::size_t>(rows.count * parts));
  parallel_ranges(rows.count * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::byte* const row = from + row_offset(rows, 0, i / parts) * x_bytes;
      const std::int64_t first = i % parts * kPart;
      found[static_cast<std::size_t>(i)] = reduced_part<A>(
          reduction, row, rows.arrays[0].axis_stride, x.dtype(), first, std::min(first + kPart, rows.length));
    }
  });
  for (std::int64_t row = 0; row < rows.count; ++row) {
    Found<A> total;
    for (std::int64_t part = 0; part < parts; ++part)
      total = both(reduction, total, found[static_cast<std::size_t>(row * parts + part)]);
    std::byte* const element = to + row_offset(rows, 1, row) * out_bytes;
    if (gives_place(reduction)) {
      store_int64(element, out.dtype(), total.index);
    } else if (reduction == Reduction::mean) {
      store_double(element, out.dtype(), static_cast<double>(total.value) / static_cast<double>(rows.length));
    } else {
      convert_elements(element, out.dtype(), &total.value, dtype_of<A>(), 1);
    }
  }
}

}  // namespace

void reduce_elements_on_host(Reduction reduction, const Array& out, const Array& x, const Rows& rows) {
  switch (accumulator_dtype(x.dtype())) {
    case DType::f64:
      return run<double>(reduction, out, x, rows);
    case DType::f32:
      return run<float>(reduction, out, x, rows);
    default:
      return run<std::int64_t>(reduction, out, x, rows);
  }
}

}  // namespace gpuforge::ops
