#include "gpuforge/ops/norm_rows.h"

#include <cmath>
#include <utility>
#include <vector>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/host_rows.h"
#include "gpuforge/ops/row_fit.h"

namespace gpuforge::ops {
namespace {

// Of a row, a thread. With a residual, which is held beside it for a while, with rows of any strides, which
// take registers to find, or with more than kThreadsBeside threads, more would spill.
constexpr int kHeldBytes = 64, kMoreHeldBytes = 128;
// What a thread of a block holds of a row before clusters are faster, of which rms_norm's hold no more
// either: they have less to do besides.
constexpr int kBlockBytes = 32;
constexpr std::int64_t kMostBytesWithMore = kThreadsBeside * kMoreHeldBytes;  // of a row

struct NormFile {
  std::string_view op;
  jit::FixedText file, kernel, naive;
};
constexpr NormFile kRmsNorm{"rms_norm", "gpuforge/ops/rms_norm/rms_norm.cu", "gpuforge::rms_norm",
                            "gpuforge::rms_norm_naive"};
constexpr NormFile kLayerNorm{"layer_norm", "gpuforge/ops/layer_norm/layer_norm.cu", "gpuforge::layer_norm",
                              "gpuforge::layer_norm_naive"};

void check_like(std::string_view op, std::string_view argument, const Array& array, const Array& x,
                const Shape& shape) {
  check_device(op, argument, array, x);
  check_dtype(op, argument, array, x.dtype());
  check_shape(op, argument, array, shape);
}

Strides along_last_axis(const Shape& shape, std::int64_t stride) {
  Strides strides = Strides::filled(shape.size(), 0);
  strides[shape.size() - 1] = stride;
  return strides;
}

void check_variant(std::string_view op, std::string_view variant) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive", "{}: there is no variant '{}'; it has best, naive",
                 op, variant);
}

// What the rows alone do not tell.
RowProblem norm_of_rows(RowProblem problem, bool residual) {
  // More elements share what a thread has to do once.
  if (problem.op == kLayerNorm.op && !residual && element_bytes(problem.dtype) == 2)
    problem.thread_bytes = kHeldBytes;
  problem.arrays = residual ? 2 : 1;
  if (!residual && problem.form == RowForm::whole) {
    const bool rms = problem.op == kRmsNorm.op;
    if (rms || problem.dtype == DType::f32) problem.block_bytes = kBlockBytes;
    if (rms) problem.cluster_bytes = kBlockBytes;
  }
  problem.most_cluster = kMostCluster;
  problem.cluster_held_bytes = problem.form == RowForm::any ? kHeldBytes / 2 : kHeldBytes;
  const std::int64_t bytes = problem.length * static_cast<std::int64_t>(element_bytes(problem.dtype));
  if (!residual && problem.form != RowForm::any && bytes <= kMostBytesWithMore)
    problem.held_bytes = kMoreHeldBytes;
  return problem;
}

std::optional<Array> copy_of(const Array* array) {
  return array == nullptr ? std::nullopt : std::optional(*array);
}

}  // namespace

void check_norm(std::string_view op, const NormArrays& arrays, float eps) {
  const Array& x = arrays.x;
  GPUFORGE_CHECK(x.rank() >= 1, "{}: x must have an axis; found a scalar", op);
  check_floating(op, "x", x);
  const Shape last{x.shape().back()};
  check_like(op, "out", arrays.out, x, x.shape());
  check_output(op, "out", arrays.out, x);
  for (const auto& [name, array] : {std::pair{"weight", arrays.weight}, std::pair{"bias", arrays.bias}}) {
    if (array == nullptr) continue;
    check_like(op, name, *array, x, last);
    check_output(op, "out", arrays.out, *array);
    if (arrays.residual_out != nullptr) check_output(op, "residual_out", *arrays.residual_out, *array);
  }
  if (arrays.residual != nullptr) {
    check_like(op, "residual", *arrays.residual, x, x.shape());
    check_like(op, "residual_out", *arrays.residual_out, x, x.shape());
    check_output(op, "out", arrays.out, *arrays.residual);
    check_output(op, "residual_out", *arrays.residual_out, x);
    check_output(op, "residual_out", *arrays.residual_out, *arrays.residual);
    check_output(op, "residual_out", *arrays.residual_out, arrays.out);
  }
  GPUFORGE_CHECK(std::isfinite(eps) && eps >= 0, "{}: eps must be a number of 0 or more; found {}", op, eps);
}

Rows norm_rows(const NormArrays& arrays) {
  const Shape& shape = arrays.x.shape();
  const auto strides_of = [&](const Array* array) {
    return array == nullptr ? arrays.x.strides() : array->strides();
  };
  const auto stride_of = [](const Array* array) { return array == nullptr ? 1 : array->strides()[0]; };
  return make_rows(
      shape,
      {arrays.x.strides(), arrays.out.strides(), strides_of(arrays.residual), strides_of(arrays.residual_out),
       along_last_axis(shape, stride_of(arrays.weight)), along_last_axis(shape, stride_of(arrays.bias))},
      shape.size() - 1);
}

RowProblem norm_problem(std::string_view op, const Rows& rows, const NormArrays& arrays,
                        std::string_view variant) {
  check_variant(op, variant);
  const DType dtype = arrays.x.dtype();
  const Array* const list[] = {&arrays.x,           &arrays.out,   arrays.residual,
                               arrays.residual_out, arrays.weight, arrays.bias};
  std::array<RowStart, kNormArrays> starts;
  std::size_t of_rows = 0, count = 0;
  for (std::size_t i = 0; i < kNormArrays; ++i) {
    if (list[i] != nullptr) starts[count++] = {i, list[i]->address(), element_bytes(dtype)};
    if (i < kNormWeight) of_rows = count;
  }
  const std::span<const RowStart> all = std::span(starts).first(count);
  return norm_of_rows(row_problem(op, rows, all.first(of_rows), dtype, kHeldBytes, all.subspan(of_rows)),
                      arrays.residual != nullptr);
}

RowProblem norm_problem(std::string_view op, const Shape& shape, DType dtype, bool residual,
                        std::string_view variant) {
  check_variant(op, variant);
  GPUFORGE_CHECK(!shape.empty(), "{}: x must have an axis; found a scalar", op);
  const Strides strides = row_major_strides(shape);
  const Rows rows = make_rows(shape, {strides, along_last_axis(shape, 1)}, shape.size() - 1);
  const RowStart x[] = {{0, 0, element_bytes(dtype)}}, weight[] = {{1, 0, element_bytes(dtype)}};
  return norm_of_rows(row_problem(op, rows, x, dtype, kHeldBytes, weight), residual);
}

NormPlan plan_norm(std::string_view op, const NormArrays& arrays, float eps, std::string_view variant,
                   const Config* config) {
  check_norm(op, arrays, eps);
  NormPlan plan{.rows = norm_rows(arrays), .problem = {}, .config = {}};
  plan.problem = norm_problem(op, plan.rows, arrays, variant);
  Context& context = arrays.x.context();
  plan.config =
      choose_row_config(plan.problem, variant, config, context.device().facts(), context.tuning()).config;
  return plan;
}

NormHas norm_has(const NormArrays& arrays) {
  return {.residual = arrays.residual != nullptr,
          .weight = arrays.weight != nullptr,
          .bias = arrays.bias != nullptr};
}

jit::KernelId norm_kernel_id(std::string_view op, std::string_view variant, DType dtype,
                             const RowConfig& config, NormHas has) {
  const NormFile& norm = op == kRmsNorm.op ? kRmsNorm : kLayerNorm;
  GPUFORGE_ASSERT(op == norm.op, "{} is no norm", op);
  if (variant == "naive") return {norm.file, norm.naive, dtype};
  const int bits = (has.residual ? 1 : 0) | (has.weight ? 2 : 0) | (has.bias ? 4 : 0);  // as in norm_rows.cuh
  jit::KernelId id{norm.file,     norm.kernel,    dtype,
                   config.vector, config.items,   config.threads,
                   config.rows,   config.columns, static_cast<int>(config.form),
                   bits};
  if (config.cluster > 1) id.add(config.cluster);
  return id;
}

std::shared_ptr<const jit::Kernel> norm_kernel(Context& context, std::string_view op,
                                               std::string_view variant, DType dtype, const RowConfig& config,
                                               NormHas has) {
  return context.jit().embedded_kernel(norm_kernel_id(op, variant, dtype, config, has), context.device());
}

void norm_cpu(const NormArrays& arrays, const Rows& rows, device::Stream& stream, NormaliseRow normalise) {
  stream.enqueue([x = arrays.x, out = arrays.out, residual = copy_of(arrays.residual),
                  residual_out = copy_of(arrays.residual_out), weight = copy_of(arrays.weight),
                  bias = copy_of(arrays.bias), rows, normalise = std::move(normalise)] {
    const auto length = static_cast<std::size_t>(rows.length);
    std::vector<float> factors(length, 1.0F), shifts(length, 0.0F);
    if (weight) load_row(factors, rows, host_rows(*weight, kNormWeight), 0);
    if (bias) load_row(shifts, rows, host_rows(*bias, kNormBias), 0);
    for_rows(rows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(length), added(residual ? length : 0);
      for (std::int64_t r = begin; r < end; ++r) {
        load_row(row, rows, host_rows(x, kNormX), r);
        if (residual) {
          load_row(added, rows, host_rows(*residual, kNormResidual), r);
          for (std::size_t i = 0; i < length; ++i) row[i] += added[i];
          store_row(rows, host_rows(*residual_out, kNormResidualOut), r, row);
          round_to(row, x.dtype());
        }
        normalise(row);
        for (std::size_t i = 0; i < length; ++i) row[i] *= factors[i];
        if (bias) {
          for (std::size_t i = 0; i < length; ++i) row[i] += shifts[i];
        }
        store_row(rows, host_rows(out, kNormOut), r, row);
      }
    });
  });
}

std::array<memory::Hold, kNormArrays> record_uses(const NormArrays& arrays, device::Stream& stream) {
  std::array<memory::Hold, kNormArrays> uses;
  std::size_t count = 0;
  for (const Array* const array :
       {&arrays.x, &arrays.out, arrays.residual, arrays.residual_out, arrays.weight, arrays.bias}) {
    if (array != nullptr) uses[count++] = array->record_use(stream);
  }
  return uses;
}

}  // namespace gpuforge::ops
