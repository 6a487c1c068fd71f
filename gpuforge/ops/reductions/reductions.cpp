#include "gpuforge/ops/reductions/reductions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/reduce/reduce.h"
#include "gpuforge/ops/reductions/reductions_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr jit::FixedText kFile = "gpuforge/ops/reductions/reductions.cu";
constexpr int kThreads = 128;
constexpr std::array<std::string_view, 9> kNames = {"sum", "mean", "prod",   "max",   "min",
                                                    "any", "all",  "argmax", "argmin"};

// Where the axes are, as flags over those of x.
std::array<bool, kMaxRank> marked_axes(Reduction reduction, const Array& x,
                                       std::optional<std::span<const std::int64_t>> axes) {
  std::array<bool, kMaxRank> marked{};
  if (!axes) {
    std::fill_n(marked.begin(), x.rank(), true);
    return marked;
  }
  for (const std::int64_t axis : *axes) {
    const std::size_t at = normalize_axis(axis, x.rank(), std::string(name(reduction)).c_str());
    GPUFORGE_CHECK(!marked[at], "{}: axis {} is named twice", name(reduction), axis);
    marked[at] = true;
  }
  GPUFORGE_CHECK(!gives_place(reduction) || axes->size() == 1,
                 "{}: one axis, or none for all, was expected; found {}", name(reduction), axes->size());
  return marked;
}

// x with the axes that go away last and as one; a copy where no view can be that.
Array gathered(const Array& x, const std::array<bool, kMaxRank>& marked, device::Stream& stream) {
  Dims order;
  Shape shape;
  std::int64_t length = 1;
  for (const bool last : {false, true}) {
    for (std::size_t d = 0; d < x.rank(); ++d) {
      if (marked[d] != last) continue;
      order.push_back(static_cast<std::int64_t>(d));
      if (last) {
        length *= x.shape()[d];
      } else {
        shape.push_back(x.shape()[d]);
      }
    }
  }
  // Sixteen axes that stay leave no room for the one of length one.
  GPUFORGE_CHECK(shape.size() < kMaxRank, "reductions: an array of {} axes and none that goes away",
                 x.rank());
  shape.push_back(length);
  const Array moved = x.transpose(order);
  if (reshape_strides(moved.shape(), moved.strides(), shape)) return moved.reshape(shape);
  return moved.to_contiguous(stream).reshape(shape);
}

bool is_of_reduce(Reduction reduction, DType dtype) {
  return (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32) && !gives_place(reduction) &&
         !takes_truths(reduction);
}

ReduceOp as_reduce_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ReduceOp::sum;
    case Reduction::mean:
      return ReduceOp::mean;
    case Reduction::prod:
      return ReduceOp::prod;
    case Reduction::max:
      return ReduceOp::amax;
    default:
      return ReduceOp::amin;
  }
}

jit::FixedText device_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean:
      return "gpuforge::AddUp";
    case Reduction::prod:
      return "gpuforge::Multiply";
    default:
      return takes_largest(reduction) ? jit::FixedText("gpuforge::Best<true>")
                                      : jit::FixedText("gpuforge::Best<false>");
  }
}

template <typename A>
void launch(Reduction reduction, const Array& out, const Array& x, const Rows& rows, device::Stream& stream) {
  Context& context = x.context();
  const DType accumulator = dtype_of<A>();
  const std::int64_t parts = reduction_parts(rows, context.device().facts());
  const auto divisor = reduction == Reduction::mean ? static_cast<A>(rows.length) : A(1);
  const auto first = context.jit().embedded_kernel(
      reduction_kernel_id(reduction, x.dtype(), out.dtype(), accumulator), context.device());
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  const DeviceRows<2> device = device_rows<2>(rows);
  const std::int64_t per_part = (rows.length + parts - 1) / parts;
  device::LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(
      std::min<std::int64_t>(rows.count, std::numeric_limits<std::int32_t>::max()));
  config.grid.y = static_cast<std::uint32_t>(parts);
  config.block.x = kThreads;
  if (parts == 1) {
    (*first)(config, stream, out, device::Address{0}, x, device, per_part, divisor);
    return;
  }
  // Sixteen bytes for each: a value and an index.
  const Array found = empty(context.shared_from_this(), {rows.count, parts, 2}, DType::i64, stream);
  (*first)(config, stream, out, found, x, device, per_part, divisor);
  const auto second =
      context.jit().embedded_kernel(found_kernel_id(reduction, out.dtype(), accumulator), context.device());
  config.grid.y = 1;
  (*second)(config, stream, out, found, static_cast<std::int32_t>(parts), device, divisor);
}

// `last`: x with the axis that goes away last; out without it.
void reduce_last(Reduction reduction, Array& out, const Array& last, device::Stream& stream) {
  if (out.size() == 0) return;
  const std::int64_t length = last.shape().back();
  if (length == 0) {
    const bool one = reduction == Reduction::prod || reduction == Reduction::all;
    out.fill(reduction == Reduction::mean ? std::numeric_limits<double>::quiet_NaN() : one ? 1 : 0, stream);
    return;
  }
  if (is_of_reduce(reduction, last.dtype())) {
    return ops::reduce(out, last, -1, as_reduce_op(reduction), {}, stream);
  }
  Strides out_strides = out.strides();
  out_strides.push_back(0);
  const Rows rows = make_rows(last.shape(), {last.strides(), out_strides}, last.rank() - 1);
  if (last.device().facts().kind == device::DeviceKind::cpu) {
    const memory::Hold uses[] = {out.record_use(stream), last.record_use(stream)};
    stream.enqueue([reduction, out, last, rows] { reduce_elements_on_host(reduction, out, last, rows); });
    return;
  }
  switch (accumulator_dtype(last.dtype())) {
    case DType::f64:
      return launch<double>(reduction, out, last, rows, stream);
    case DType::f32:
      return launch<float>(reduction, out, last, rows, stream);
    default:
      return launch<std::int64_t>(reduction, out, last, rows, stream);
  }
}

}  // namespace

std::string_view name(Reduction reduction) {
  return kNames[static_cast<std::size_t>(reduction)];
}

Reduction parse_reduction(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Reduction>(i);
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("reductions: sum, mean, prod, max, min, any, all, argmax or argmin was expected; "
                          "found '{}'",
                          text));
}

bool gives_place(Reduction reduction) {
  return reduction == Reduction::argmax || reduction == Reduction::argmin;
}
bool takes_truths(Reduction reduction) {
  return reduction == Reduction::any || reduction == Reduction::all;
}
bool takes_largest(Reduction reduction) {
  return reduction == Reduction::max || reduction == Reduction::argmax || reduction == Reduction::any;
}

DType accumulator_dtype(DType x) {
  if (!is_floating(x)) return DType::i64;
  return x == DType::f64 ? DType::f64 : DType::f32;
}

jit::KernelId reduction_kernel_id(Reduction reduction, DType x, DType out, DType accumulator) {
  const jit::FixedText as =
      takes_truths(reduction) ? jit::FixedText("gpuforge::AsTruth") : jit::FixedText("gpuforge::AsNumber");
  return {kFile, "gpuforge::reduce_elements", x,       out, accumulator, device_op(reduction),
          as,    gives_place(reduction),      kThreads};
}

jit::KernelId found_kernel_id(Reduction reduction, DType out, DType accumulator) {
  return {kFile,   "gpuforge::reduce_found", out, accumulator, device_op(reduction), gives_place(reduction),
          kThreads};
}

std::int64_t reduction_parts(const Rows& rows, const device::DeviceFacts& facts) {
  const std::int64_t wanted = std::int64_t{std::max(facts.multiprocessors, 1)} * 8;  // blocks
  const std::int64_t most = rows.length / (kThreads * 8);  // a thread has eight elements at least
  return std::clamp<std::int64_t>(std::min(wanted / rows.count, most), 1, 1024);
}

DType reduction_dtype(Reduction reduction, DType x) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::prod:
      return is_floating(x) ? x : DType::i64;
    case Reduction::mean:
      return is_floating(x) ? x : DType::f64;
    case Reduction::max:
    case Reduction::min:
      return x;
    case Reduction::any:
    case Reduction::all:
      return DType::boolean;
    case Reduction::argmax:
    case Reduction::argmin:
      return DType::i64;
  }
  throw Error(ErrorCode::internal, "reductions: not a value of the enumeration");
}

Array reduce_axes(Reduction reduction, const Array& x, std::optional<std::span<const std::int64_t>> axes,
                  const ReductionOptions& options, device::Stream& stream) {
  GPUFORGE_CHECK(&x.device() == &stream.device(), "{}: x is on {}, the stream is of {}", name(reduction),
                 x.device().facts().name, stream.device().facts().name);
  const std::array<bool, kMaxRank> marked = marked_axes(reduction, x, axes);
  const DType dtype = reduction_dtype(reduction, x.dtype());
  Shape kept, shown;
  bool some = false, no_elements = false;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    some = some || marked[d];
    no_elements = no_elements || (marked[d] && x.shape()[d] == 0);
    if (!marked[d]) kept.push_back(x.shape()[d]);
    if (!marked[d] || options.keepdims) shown.push_back(marked[d] ? 1 : x.shape()[d]);
  }
  const bool needs_one =
      !takes_truths(reduction) &&
      (takes_largest(reduction) || reduction == Reduction::min || reduction == Reduction::argmin);
  GPUFORGE_CHECK(!needs_one || !no_elements, "{}: of no elements it is not defined; x has shape {}",
                 name(reduction), to_string(x.shape()));
  if (options.out != nullptr) {
    check_device(name(reduction), "out", *options.out, x);
    check_dtype(name(reduction), "out", *options.out, dtype);
    check_shape(name(reduction), "out", *options.out, shown);
    check_output(name(reduction), "out", *options.out, x);
  }
  Array result =
      options.out != nullptr ? *options.out : empty(x.context().shared_from_this(), shown, dtype, stream);
  // Without the axes of one element that keepdims leaves.
  Array out = result;
  if (options.keepdims) {
    for (std::size_t d = x.rank(); d-- > 0;) {
      if (marked[d]) out = out.index(static_cast<std::int64_t>(d), 0);
    }
  }
  // A mean of integers is one of doubles; narrower ones would wrap.
  const bool as_doubles = reduction == Reduction::mean && !is_floating(x.dtype());
  const Array from = as_doubles ? x.astype(DType::f64, stream) : x;
  if (!some && x.rank() > 0 && !takes_truths(reduction)) {
    result.assign(from, stream);
    return result;
  }
  reduce_last(reduction, out, gathered(from, marked, stream), stream);
  return result;
}

}  // namespace gpuforge::ops
