#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::int64_t kLanes = 16;   // running values side by side, which the compiler puts into registers
constexpr std::int64_t kPiece = 128;  // values one of them takes before it is folded into the total
constexpr std::int64_t kGrain = 1 << 15;  // elements worth a thread
constexpr std::int64_t kColumns = 512;    // rows side by side that a thread takes at once

struct SumOf {
  using Value = float;
  static Value identity() { return 0; }
  static Value combine(Value a, Value b) { return a + b; }
};
struct MaxOf {
  using Value = float;
  static Value identity() { return -std::numeric_limits<float>::infinity(); }
  static Value combine(Value a, Value b) { return a > b || a != a ? a : b; }
};
struct MinOf {
  using Value = float;
  static Value identity() { return std::numeric_limits<float>::infinity(); }
  static Value combine(Value a, Value b) { return a < b || a != a ? a : b; }
};

// mantissa * 2^exponent, brought into range after every product: it overflows only where the result does.
struct Scaled {
  double mantissa;
  std::int64_t exponent;
};
struct ProductOf {
  using Value = Scaled;
  static Value identity() { return {1, 0}; }
  static Value combine(Value a, double b) {
    int exponent = 0;
    const double mantissa = std::frexp(a.mantissa * b, &exponent);
    return {mantissa, std::isfinite(mantissa) ? a.exponent + exponent : 0};
  }
  static Value combine(Value a, Value b) {
    Value result = combine(a, b.mantissa);
    result.exponent += b.exponent;
    return result;
  }
};

double number(float value) {
  return value;
}
double number(Scaled value) {
  return std::ldexp(value.mantissa, static_cast<int>(std::clamp<std::int64_t>(value.exponent, -4096, 4096)));
}

struct Work {
  const std::byte* x;
  std::byte* out;
  DType dtype;
  std::int64_t bytes;  // of an element
  Rows rows;
  double divisor;

  template <typename Value>
  void write(std::int64_t row, Value value) const {
    store_double(out + row_offset(rows, 1, row) * bytes, dtype, number(value) / divisor);
  }
};

void load(float* to, const Work& work, const std::byte* from, std::int64_t stride, std::int64_t count) {
  if (stride == 1) {
    convert_elements(to, DType::f32, from, work.dtype, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(load_double(from + i * stride * work.bytes, work.dtype));
}

template <typename Op>
typename Op::Value reduced(const float* values, std::int64_t count) {
  typename Op::Value lanes[kLanes];
  std::fill(std::begin(lanes), std::end(lanes), Op::identity());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = Op::combine(lanes[lane], values[i + lane]);
  }
  for (std::int64_t lane = 0; i + lane < count; ++lane)
    lanes[lane] = Op::combine(lanes[lane], values[i + lane]);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = Op::combine(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

template <typename Op>
void reduce_along(const Work& work) {
  const std::int64_t length = work.rows.length, stride = work.rows.arrays[0].axis_stride;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(length, 1));
  parallel_ranges(work.rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, kLanes * kPiece> values;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::byte* const from = work.x + row_offset(work.rows, 0, row) * work.bytes;
      typename Op::Value total = Op::identity();
      for (std::int64_t at = 0; at < length; at += kLanes * kPiece) {
        const std::int64_t count = std::min(kLanes * kPiece, length - at);
        load(values.data(), work, from + at * stride * work.bytes, stride, count);
        total = Op::combine(total, reduced<Op>(values.data(), count));
      }
      work.write(row, total);
    }
  });
}

// Rows that lie side by side, a run of them at once.
template <typename Op>
void reduce_across(const Work& work) {
  using Value = typename Op::Value;
  const std::int64_t length = work.rows.length, stride = work.rows.arrays[0].axis_stride;
  const std::int64_t columns = work.rows.columns();
  const std::int64_t runs = (columns + kColumns - 1) / kColumns;
  const std::int64_t width = std::min(columns, kColumns);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(length * width, 1));
  parallel_ranges(work.rows.count / columns * runs, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, kColumns> values;
    std::array<Value, kColumns> totals, piece;
    for (std::int64_t run = begin; run < end; ++run) {
      const std::int64_t row = run / runs * columns + run % runs * kColumns;
      const std::int64_t count = std::min(kColumns, columns - run % runs * kColumns);
      const std::byte* const from = work.x + row_offset(work.rows, 0, row) * work.bytes;
      totals.fill(Op::identity());
      for (std::int64_t first = 0; first < length; first += kPiece) {
        piece.fill(Op::identity());
        for (std::int64_t at = first; at < std::min(first + kPiece, length); ++at) {
          load(values.data(), work, from + at * stride * work.bytes, 1, count);
          for (std::int64_t i = 0; i < count; ++i) {
            const auto k = static_cast<std::size_t>(i);
            piece[k] = Op::combine(piece[k], values[k]);
          }
        }
        for (std::int64_t i = 0; i < count; ++i) {
          const auto k = static_cast<std::size_t>(i);
          totals[k] = Op::combine(totals[k], piece[k]);
        }
      }
      for (std::int64_t i = 0; i < count; ++i) work.write(row + i, totals[static_cast<std::size_t>(i)]);
    }
  });
}

template <typename Op>
void run(const Work& work) {
  if (kind_of(work.rows) == RowsKind::columns) {
    reduce_across<Op>(work);
  } else {
    reduce_along<Op>(work);
  }
}

}  // namespace

void reduce_cpu(const Array& out, const Array& x, const Rows& rows, ReduceOp op, device::Stream& stream) {
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  stream.enqueue([out, x, rows, op] {
    const Work work{reinterpret_cast<const std::byte*>(x.address()),
                    reinterpret_cast<std::byte*>(out.address()),
                    x.dtype(),
                    static_cast<std::int64_t>(element_bytes(x.dtype())),
                    rows,
                    op == ReduceOp::mean ? static_cast<double>(rows.length) : 1.0};
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::mean:
        return run<SumOf>(work);
      case ReduceOp::amax:
        return run<MaxOf>(work);
      case ReduceOp::amin:
        return run<MinOf>(work);
      case ReduceOp::prod:
        return run<ProductOf>(work);
    }
  });
}

}  // namespace gpuforge::ops
