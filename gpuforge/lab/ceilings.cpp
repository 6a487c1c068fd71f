#include "gpuforge/lab/ceilings.h"

#include <algorithm>
#include <cmath>

namespace gpuforge::lab {
namespace {

constexpr std::int64_t kUnitBytes = 16;
constexpr int kThreads = 256;
constexpr int kMostOfEach = 4;
constexpr double kLeastBytes = 16 * 1024;

// One shape of the kernel: units per thread, and blocks on each multiprocessor (0: one block for each tile).
struct Form {
  int units;
  int blocks_each;
};
constexpr Form kForms[] = {{1, 0}, {4, 0}, {4, 8}, {8, 0}};

std::string expression(const Proportion& proportion, const Form& form) {
  return format_text("gpuforge::move_bytes<{}, {}, {}>", proportion.reads, proportion.writes, form.units);
}

Workload move_workload(const Proportion& proportion, const Form& form, double bytes,
                       const std::shared_ptr<Context>& context) {
  const std::int64_t streams = proportion.reads + proportion.writes;
  const std::int64_t units =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes) / (kUnitBytes * streams));
  const device::DeviceFacts& facts = context->device().facts();
  const auto kernel = context->jit().embedded_kernel("gpuforge/lab/ceilings.cu", expression(proportion, form),
                                                     context->device());
  Workload work;
  work.name = expression(proportion, form);
  work.set_bytes = static_cast<std::size_t>(units * kUnitBytes * streams);
  work.sets = operand_sets(work.set_bytes, facts.l2_bytes, context->device().memory_info().free_bytes);
  const auto stream = context->make_stream();
  auto sets = std::make_shared<std::vector<std::pair<Array, Array>>>();
  for (std::size_t i = 0; i < work.sets; ++i) {
    // Of 1:0 the output is one block wide, for what is never written.
    const std::int64_t out = proportion.writes > 0 ? units * proportion.writes : kThreads;
    const std::int64_t in = std::max<std::int64_t>(units * proportion.reads, 1);
    sets->emplace_back(zeros(context, {out * kUnitBytes}, DType::u8, *stream),
                       full(context, {in * kUnitBytes}, static_cast<double>(i % 251), DType::u8, *stream));
  }
  stream->synchronize();
  const std::int64_t tile = std::int64_t{kThreads} * form.units;
  std::int64_t blocks = (units + tile - 1) / tile;
  if (form.blocks_each > 0) {
    blocks =
        std::min<std::int64_t>(blocks, std::int64_t{form.blocks_each} * std::max(facts.multiprocessors, 1));
  }
  const device::LaunchConfig config{.grid = {static_cast<std::uint32_t>(std::min<std::int64_t>(
                                        blocks, std::numeric_limits<std::int32_t>::max()))},
                                    .block = {kThreads}};
  work.enqueue = [kernel, sets, units, config](std::size_t set, device::Stream& on) {
    const auto& [out, in] = (*sets)[set];
    const memory::Hold uses[] = {out.record_use(on), in.record_use(on)};
    (*kernel)(config, on, out.address(), in.address(), static_cast<long long>(units));
  };
  return work;
}

int size_class(double bytes) {
  return static_cast<int>(std::lround(4 * std::log2(bytes)));
}

}  // namespace

Proportion nearest_proportion(double bytes_read, double bytes_written) {
  const double all = bytes_read + bytes_written;
  const double share = all > 0 ? bytes_read / all : 0.5;
  Proportion best{1, 1};
  double least = 2;
  for (int reads = 0; reads <= kMostOfEach; ++reads) {
    for (int writes = 0; writes <= kMostOfEach; ++writes) {
      if (reads + writes == 0) continue;
      const double distance = std::abs(static_cast<double>(reads) / (reads + writes) - share);
      if (distance >= least - 1e-9) continue;  // the smaller numbers come first
      least = distance;
      best = {reads, writes};
    }
  }
  return best;
}

Ceilings::Ceilings(std::shared_ptr<Context> context, MeasureOptions options)
    : context_(std::move(context)), options_(std::move(options)) {
  options_.repetitions = 2;
  options_.seconds = std::min(options_.seconds, 0.1);
  options_.warmup_seconds = std::min(options_.warmup_seconds, 0.02);
  options_.warmup.reset();
  options_.iterations.reset();
}

std::optional<Ceiling> Ceilings::find(const Cost& cost) {
  const double bytes = cost.bytes_read + cost.bytes_written;
  if (bytes < kLeastBytes) return std::nullopt;
  const Proportion proportion = nearest_proportion(cost.bytes_read, cost.bytes_written);
  const std::tuple key(proportion, size_class(bytes));
  auto found = known_.find(key);
  if (found == known_.end()) found = known_.emplace(key, measure_one(proportion, bytes)).first;
  return found->second;
}

Ceiling Ceilings::measure_one(const Proportion& proportion, double bytes) {
  Ceiling best{.proportion = proportion};
  for (const Form& form : kForms) {
    const Workload work = move_workload(proportion, form, bytes, context_);
    const Measurement measurement = measure(work, context_, options_);
    const double moved = static_cast<double>(work.set_bytes);
    const double gb_per_s = moved / measurement.summary.p50 / 1e6;
    if (gb_per_s <= best.gb_per_s) continue;
    best.bytes = moved;
    best.gb_per_s = gb_per_s;
    best.kernel = work.name;
  }
  return best;
}

}  // namespace gpuforge::lab
