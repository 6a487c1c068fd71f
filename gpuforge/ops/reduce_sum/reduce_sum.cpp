#include "gpuforge/ops/reduce_sum/reduce_sum.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/reduce_sum/reduce_sum_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "reduce_sum";
constexpr jit::FixedText kFile = "gpuforge/ops/reduce_sum/reduce_sum.cu";
constexpr int kNaiveThreads = 256;  // the launch bound of sum_naive
constexpr int kBlocks[] = {32, 64, 128, 256, 512, 1024};

void check_arguments(const Array& out, const Array& x, std::int64_t dim, bool keepdim) {
  check_floating(kName, "x", x);
  const Shape expected = reduced_shape(kName, x.shape(), dim, ReduceOp::sum, keepdim);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, expected);
  check_output(kName, "out", out, x);
}

bool has_block(std::string_view variant) {
  return variant == "improved" || variant == "shuffle";
}

void check_variant(std::string_view variant) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive" || has_block(variant),
                 "{}: there is no variant '{}'; it has best, shuffle, improved, naive", kName, variant);
}

std::int64_t block_of(const Config& config) {
  const auto found = config.find("block");
  return found == config.end() ? 256 : found->second;
}

// About four elements a thread, as far as a block of 256 has threads.
std::int64_t block_for(std::int64_t length) {
  const auto wanted = static_cast<std::uint64_t>(std::clamp<std::int64_t>(length / 4, 32, 256));
  return static_cast<std::int64_t>(std::bit_ceil(wanted));
}

// Nothing to write, sums of nothing, and the cpu.
bool summed_without_kernel(Array& out, const Array& x, const Rows& rows, device::Stream& stream) {
  if (out.size() == 0) return true;
  if (rows.length == 0) {
    out.fill(0, stream);
    return true;
  }
  if (x.device().facts().kind != device::DeviceKind::cpu) return false;
  reduce_sum_cpu(out, x, rows, stream);
  return true;
}

}  // namespace

void check_reduce_sum_config(std::string_view variant, const Config& config) {
  check_variant(variant);
  if (variant == "best") {
    reduce_config(kName, "best", config);
    return;
  }
  for (const auto& [key, value] : config) {
    const bool known = has_block(variant) && key == "block" && is_one_of(kBlocks, value);
    GPUFORGE_CHECK(known, "{}: {} has no configuration {}={} ({})", kName, variant, key, value,
                   has_block(variant) ? "block: 32, 64, 128, 256, 512, 1024" : "it has none");
  }
}

ReduceSumChoice choose_reduce_sum(const ReduceProblem& problem, std::string_view variant,
                                  const device::DeviceFacts& facts, const TuningTable& table) {
  check_variant(variant);
  if (variant == "naive") return {{}, "the naive variant has no choices"};
  if (variant == "best") {
    const ReduceChoice choice = choose_reduce(kName, problem, variant, facts, table);
    return {to_config(choice.config), choice.reason};
  }
  if (const Config* const tuned = table.find_by([&] { return reduce_tuning_key(kName, problem, variant); })) {
    check_reduce_sum_config(variant, *tuned);
    return {*tuned, "tuned on this device"};
  }
  const std::int64_t block = block_for(problem.length);
  return {{{"block", block}}, Reason("a block of {} for rows of {}", block, problem.length)};
}

std::vector<Config> reduce_sum_configs(const ReduceProblem& problem, std::string_view variant,
                                       const device::DeviceFacts& facts) {
  check_variant(variant);
  if (variant == "best") return reduce_configs(problem, facts);
  std::vector<Config> list;
  if (has_block(variant)) {
    for (const int block : kBlocks) list.push_back({{"block", block}});
  }
  return list;
}

jit::KernelId reduce_sum_kernel_id(std::string_view variant, DType dtype, const Config& config) {
  if (variant == "naive") return {kFile, "gpuforge::sum_naive", dtype};
  if (variant == "shuffle") return {kFile, "gpuforge::sum_shuffle", dtype, block_of(config)};
  return {kFile, "gpuforge::sum_improved", dtype, block_of(config)};
}

std::vector<std::shared_ptr<const jit::Kernel>> reduce_sum_kernels(Context& context, const Rows& rows,
                                                                   device::Address x, DType dtype,
                                                                   std::string_view variant,
                                                                   const Config& config) {
  if (variant == "best") {
    const ReduceConfig best = reduce_config(kName, "best", config);
    return reduce_kernels(context, plan_reduce(rows, x, dtype, best), dtype, ReduceOp::sum, best);
  }
  return {context.jit().embedded_kernel(reduce_sum_kernel_id(variant, dtype, config), context.device())};
}

void reduce_sum(Array& out, const Array& x, std::int64_t dim, const ReduceSumOptions& options,
                device::Stream& stream) {
  check_arguments(out, x, dim, options.keepdim);
  const Rows rows =
      reduce_rows(x.shape(), x.strides(), out.strides(), normalize_axis(dim, x.rank(), "reduce_sum"));
  const ReduceProblem problem = reduce_problem(rows, x.dtype());
  const device::DeviceFacts& facts = x.device().facts();
  const TuningTable& table = x.context().tuning();
  if (options.variant == "best") {
    const ReduceConfig config = options.config != nullptr
                                    ? reduce_config(kName, "best", *options.config)
                                    : choose_reduce(kName, problem, "best", facts, table).config;
    if (!summed_without_kernel(out, x, rows, stream))
      launch_reduce(out, x, rows, ReduceOp::sum, config, options.scratch, stream);
    return;
  }
  if (options.config != nullptr) check_reduce_sum_config(options.variant, *options.config);
  const Config config = options.config != nullptr
                            ? *options.config
                            : choose_reduce_sum(problem, options.variant, facts, table).config;
  if (summed_without_kernel(out, x, rows, stream)) return;

  const bool naive = options.variant == "naive";
  const auto kernels = reduce_sum_kernels(x.context(), rows, x.address(), x.dtype(), options.variant, config);
  const std::int64_t threads = naive ? kNaiveThreads : block_of(config);
  const std::int64_t blocks = naive ? (rows.count + threads - 1) / threads : rows.count;
  device::LaunchConfig launch;
  launch.grid.x =
      static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, std::numeric_limits<std::int32_t>::max()));
  launch.block.x = static_cast<std::uint32_t>(threads);
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  (*kernels[0])(launch, stream, out, x, device_rows<2>(rows));
}

Array reduce_sum(const Array& x, std::int64_t dim, const ReduceSumOptions& options, device::Stream& stream) {
  const Shape shape = reduced_shape(kName, x.shape(), dim, ReduceOp::sum, options.keepdim);
  Array out = empty(x.context().shared_from_this(), shape, x.dtype(), stream);
  reduce_sum(out, x, dim, options, stream);
  return out;
}

}  // namespace gpuforge::ops
