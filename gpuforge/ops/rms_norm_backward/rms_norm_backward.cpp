#include "gpuforge/ops/rms_norm_backward/rms_norm_backward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/rms_norm_backward/rms_norm_backward_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "rms_norm_backward";
constexpr jit::FixedText kFile = "gpuforge/ops/rms_norm_backward/rms_norm_backward.cu";
constexpr int kHeldBytes = 64;  // of a row of x and one of dy, a thread: 32 registers
constexpr int kAcross = 32, kAlong = 8, kFinishThreads = 128;

Strides along_last_axis(const Shape& shape, std::int64_t stride) {
  Strides strides = Strides::filled(shape.size(), 0);
  strides[shape.size() - 1] = stride;
  return strides;
}

void check_like(std::string_view argument, const Array& array, const Array& x, const Shape& shape) {
  check_device(kName, argument, array, x);
  check_dtype(kName, argument, array, x.dtype());
  check_shape(kName, argument, array, shape);
}

void check_arguments(const RmsBackwardArrays& arrays, float eps) {
  const Array& x = arrays.x;
  GPUFORGE_CHECK(x.rank() >= 1, "{}: x must have an axis; found a scalar", kName);
  check_floating(kName, "x", x);
  const Shape last{x.shape().back()};
  check_like("dy", arrays.dy, x, x.shape());
  check_like("dx", arrays.dx, x, x.shape());
  check_output(kName, "dx", arrays.dx, x);
  check_output(kName, "dx", arrays.dx, arrays.dy);
  GPUFORGE_CHECK((arrays.weight == nullptr) == (arrays.dweight == nullptr),
                 "{}: weight and dweight come together; found {} alone", kName,
                 arrays.weight == nullptr ? "dweight" : "weight");
  if (arrays.weight != nullptr) {
    check_like("weight", *arrays.weight, x, last);
    check_like("dweight", *arrays.dweight, x, last);
    check_output(kName, "dx", arrays.dx, *arrays.weight);
    for (const Array* const input : {&x, &arrays.dy, arrays.weight, &arrays.dx})
      check_output(kName, "dweight", *arrays.dweight, *input);
  }
  GPUFORGE_CHECK(std::isfinite(eps) && eps >= 0, "{}: eps must be a number of 0 or more; found {}", kName,
                 eps);
}

device::LaunchConfig partials_launch(const Rows& rows, const RowPieces& pieces) {
  const std::int64_t blocks = (rows.length + kAcross - 1) / kAcross;
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(), "{}: rows of {} are too long", kName,
                 rows.length);
  device::LaunchConfig launch;
  launch.grid = {static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(pieces.count), 1};
  launch.block = {kAcross, kAlong, 1};
  return launch;
}

device::LaunchConfig finish_launch(const Rows& rows) {
  device::LaunchConfig launch;
  launch.grid.x = static_cast<std::uint32_t>((rows.length + kFinishThreads - 1) / kFinishThreads);
  launch.block.x = kFinishThreads;
  return launch;
}

}  // namespace

Rows rms_backward_rows(const Shape& shape) {
  GPUFORGE_CHECK(!shape.empty(), "{}: x must have an axis; found a scalar", kName);
  const Strides strides = row_major_strides(shape);
  return make_rows(shape, {strides, strides, strides, along_last_axis(shape, 1)}, shape.size() - 1);
}

RowProblem rms_backward_problem(const Rows& rows, DType dtype, std::string_view variant, bool weight,
                                std::span<const device::Address, kRmsArrays> addresses) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive", "{}: there is no variant '{}'; it has best, naive",
                 kName, variant);
  RowStart starts[kRmsArrays];
  for (std::size_t i = 0; i < kRmsArrays; ++i) starts[i] = {i, addresses[i], element_bytes(dtype)};
  const std::span<const RowStart> all(starts, weight ? kRmsArrays : kRmsWeight);
  return row_problem(kName, rows, all.first(kRmsWeight), dtype, kHeldBytes, all.subspan(kRmsWeight));
}

RowPieces rms_backward_pieces(std::int64_t rows, std::string_view variant) {
  // 64 pieces fill a chip even when there are few columns, and are little to add up.
  const std::int64_t wanted = variant == "naive" ? 1 : std::clamp<std::int64_t>(rows / 16, 1, 64);
  const std::int64_t each = std::max<std::int64_t>(1, (rows + wanted - 1) / wanted);
  return {.count = std::max<std::int64_t>(1, (rows + each - 1) / each), .rows = each};
}

RmsBackwardIds rms_backward_kernel_ids(std::string_view variant, DType dtype, const RowConfig& config,
                                       bool weight) {
  return {variant == "naive" ? jit::KernelId(kFile, "gpuforge::rms_backward_naive", dtype)
                             : jit::KernelId(kFile, "gpuforge::rms_backward", dtype, config.vector,
                                             config.items, config.threads, config.rows, config.columns,
                                             static_cast<int>(config.form), weight),
          {kFile, "gpuforge::rms_backward_partials", dtype, kAcross, kAlong},
          {kFile, "gpuforge::rms_backward_weight", dtype}};
}

std::vector<std::shared_ptr<const jit::Kernel>> rms_backward_kernels(Context& context,
                                                                     std::string_view variant, DType dtype,
                                                                     const RowConfig& config, bool weight) {
  const RmsBackwardIds ids = rms_backward_kernel_ids(variant, dtype, config, weight);
  std::vector list{context.jit().embedded_kernel(ids.rows, context.device())};
  if (weight) {
    list.push_back(context.jit().embedded_kernel(ids.partials, context.device()));
    list.push_back(context.jit().embedded_kernel(ids.weight, context.device()));
  }
  return list;
}

void rms_norm_backward(Array& dx, Array* dweight, const Array& dy, const Array& x, const Array* weight,
                       const RmsNormBackwardOptions& options, device::Stream& stream) {
  const RmsBackwardArrays arrays{.dx = dx, .dweight = dweight, .dy = dy, .x = x, .weight = weight};
  check_arguments(arrays, options.eps);
  const Rows rows = make_rows(x.shape(),
                              {x.strides(), dy.strides(), dx.strides(),
                               along_last_axis(x.shape(), weight == nullptr ? 1 : weight->strides()[0])},
                              x.rank() - 1);
  const device::Address weight_address = weight == nullptr ? 0 : weight->address();
  const device::Address addresses[] = {x.address(), dy.address(), dx.address(), weight_address};
  const RowProblem problem =
      rms_backward_problem(rows, x.dtype(), options.variant, weight != nullptr, addresses);
  Context& context = x.context();
  const device::DeviceFacts& facts = context.device().facts();
  const RowConfig config =
      choose_row_config(problem, options.variant, options.config, facts, context.tuning()).config;
  if (x.size() == 0) {
    if (dweight != nullptr) dweight->fill(0, stream);
    return;
  }
  std::vector<memory::Hold> uses;
  uses.reserve(5);
  for (const Array* const array :
       {static_cast<const Array*>(&dx), &dy, &x, weight, static_cast<const Array*>(dweight)}) {
    if (array != nullptr) uses.push_back(array->record_use(stream));
  }
  if (facts.kind == device::DeviceKind::cpu) return rms_norm_backward_cpu(arrays, rows, options.eps, stream);

  const auto kernels = rms_backward_kernels(context, options.variant, x.dtype(), config, weight != nullptr);
  if (weight == nullptr) {
    const device::Address none = 0;
    launch_rows<kRmsArrays>(*kernels[0], row_launch(problem, config, facts), stream, rows, dx, none, dy, x,
                            none, options.eps);
    return;
  }
  const std::shared_ptr<Context> owner = context.shared_from_this();
  const RowPieces pieces = rms_backward_pieces(rows.count, options.variant);
  const Array scales = empty(owner, {rows.count}, DType::f32, stream, options.scratch);
  const Array partials = empty(owner, {pieces.count, rows.length}, DType::f32, stream, options.scratch);
  launch_rows<kRmsArrays>(*kernels[0], row_launch(problem, config, facts), stream, rows, dx, scales, dy, x,
                          *weight, options.eps);
  (*kernels[1])(partials_launch(rows, pieces), stream, partials, scales, dy, x, pieces.rows,
                device_rows<kRmsArrays>(rows));
  (*kernels[2])(finish_launch(rows), stream, *dweight, dweight->strides()[0], partials, pieces.count,
                rows.length);
}

}  // namespace gpuforge::ops
