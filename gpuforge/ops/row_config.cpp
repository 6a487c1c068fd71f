#include "gpuforge/ops/row_config.h"

#include <algorithm>
#include <limits>

#include "gpuforge/ops/row_fit.h"

namespace gpuforge::ops {
namespace {

bool is_power_of_two(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most && (value & (value - 1)) == 0;
}

[[noreturn]] void refuse(const RowProblem& problem, std::string_view key, std::int64_t value) {
  throw Error(
      ErrorCode::invalid_argument,
      format_text(
          "{}: there is no configuration {}={} (threads, rows: powers of two with 32 to 1024 "
          "threads a block; vector: 1, 2, 4, 8 up to 16 bytes and half the threads; items: 0 or "
          "a power of two of vector or more; columns: 0, 1; cluster: {})",
          problem.op, key, value,
          problem.most_cluster > 1
              ? format_text("powers of two up to {} with rows=1, columns=0, items", problem.most_cluster)
              : "1"));
}

}  // namespace

Config to_config(const RowConfig& config) {
  Config result{{"threads", config.threads},
                {"rows", config.rows},
                {"vector", config.vector},
                {"items", config.items},
                {"columns", config.columns ? 1 : 0}};
  if (config.cluster > 1) result["cluster"] = config.cluster;
  return result;
}

RowProblem row_problem(std::string_view op, const Rows& rows, std::span<const RowStart> starts, DType dtype,
                       int held_bytes, std::span<const RowStart> beside) {
  RowProblem problem{
      .op = op, .count = rows.count, .length = rows.length, .dtype = dtype, .held_bytes = held_bytes};
  problem.columns = !rows.unit_rows(0) && rows.unit_columns(0);
  problem.vector = row_vector(rows, starts, kMaxVectorBytes / bytes_of(dtype));
  problem.form = row_form(rows, starts, problem.vector);
  const auto aligned = [&](const RowStart& start) { return is_aligned(rows, start, problem.vector); };
  if (problem.form == RowForm::whole && !std::all_of(beside.begin(), beside.end(), aligned))
    problem.form = RowForm::unit;
  return problem;
}

RowConfig row_config(const Config& config, const RowProblem& problem) {
  RowConfig result;
  for (const auto& [key, value] : config) {
    if (key == "threads" && is_power_of_two(value, 1, kMaxThreads)) {
      result.threads = static_cast<int>(value);
    } else if (key == "rows" && is_power_of_two(value, 1, kMaxThreads)) {
      result.rows = static_cast<int>(value);
    } else if (key == "vector" && is_power_of_two(value, 1, kMaxVectorBytes / bytes_of(problem.dtype))) {
      result.vector = static_cast<int>(value);
    } else if (key == "items" && (value == 0 || is_power_of_two(value, 1, 64))) {
      result.items = static_cast<int>(value);
    } else if (key == "columns" && (value == 0 || value == 1)) {
      result.columns = value == 1;
    } else if (key == "cluster" && is_power_of_two(value, 1, problem.most_cluster)) {
      result.cluster = static_cast<int>(value);
    } else {
      refuse(problem, key, value);
    }
  }
  const int block = result.threads * result.rows;
  if (block < 32 || block > kMaxThreads) refuse(problem, "threads*rows", block);
  if (result.vector > 1 && 2 * result.vector > result.threads) refuse(problem, "vector", result.vector);
  if (result.items > 0 && result.items < result.vector) refuse(problem, "items", result.items);
  if (result.cluster > 1 && (result.rows > 1 || result.columns || result.items == 0))
    refuse(problem, "cluster", result.cluster);
  result.vector = std::min(result.vector, problem.vector);
  if (!fits(result, problem)) result.items = 0;
  if (result.items == 0) result.cluster = 1;
  result.form = form_of(result, problem);
  return result;
}

std::vector<RowConfig> row_configs(const RowProblem& problem, const device::DeviceFacts& facts) {
  std::vector<RowConfig> list;
  const auto add = [&](RowConfig config) {
    config.form = form_of(config, problem);
    if (fits(config, problem)) list.push_back(config);
  };
  const int most = std::max(most_items(problem, problem.vector), most_items(problem, problem.vector, 2));
  for (int items = 0; items <= most; items = items == 0 ? 1 : 2 * items) {
    if (problem.columns) {
      for (const int rows : {8, 16, 32, 64, 128}) {
        for (int threads = 1; threads <= 32; threads *= 2) add({threads, rows, 1, items, true});
      }
      continue;
    }
    for (int vector = problem.vector; vector >= std::max(1, problem.vector / 2); vector /= 2) {
      for (int threads = 8; threads <= kMaxThreads; threads *= 2) {
        for (const int block : {32, 64, 128, 256, 512}) {
          if (block >= threads && block <= 64 * threads)
            add({threads, block / threads, vector, items, false});
        }
        if (threads > 512) add({threads, 1, vector, items, false});
      }
    }
    // Of clusters those that a row fills at least half.
    for (int cluster = 2; cluster <= most_cluster(problem, facts); cluster *= 2) {
      for (const int threads : {128, 256, 512, 1024}) {
        const RowConfig config{threads, 1, problem.vector, items, false, cluster};
        if (2 * elements_to_hold(problem, config.vector) > held_elements(config) &&
            has_shared_memory(config, problem, facts))
          add(config);
      }
    }
  }
  return list;
}

jit::KernelId row_kernel_id(jit::FixedText file, jit::FixedText kernel, DType dtype,
                            const RowConfig& config) {
  jit::KernelId id{file,         kernel,         dtype,       config.vector,
                   config.items, config.threads, config.rows, config.columns};
  if (config.form != RowForm::any || config.cluster > 1) id.add(static_cast<int>(config.form));
  if (config.cluster > 1) id.add(config.cluster);
  return id;
}

RowLaunch row_launch(const RowProblem& problem, const RowConfig& config, const device::DeviceFacts& facts) {
  const std::int64_t blocks = (problem.count + config.rows - 1) / config.rows * config.cluster;
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(),
                 "{}: {} rows, {} a block, are more than a grid has", problem.op, problem.count, config.rows);
  RowLaunch how{.launch = {}, .form = config.form, .ahead = rows_ahead(problem, config, facts)};
  device::LaunchConfig& launch = how.launch;
  launch.grid.x = static_cast<std::uint32_t>(blocks);
  launch.block.x = static_cast<std::uint32_t>(config.threads * config.rows);
  launch.dynamic_shared_bytes = shared_bytes(config, problem);
  launch.cluster.x = static_cast<std::uint32_t>(config.cluster);
  return how;
}

}  // namespace gpuforge::ops
