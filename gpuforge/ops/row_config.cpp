#include "gpuforge/ops/row_config.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

namespace gpuforge::ops {
namespace {

constexpr int kMaxThreads = 1024;  // of a block
constexpr int kMaxVectorBytes = 16;
constexpr int kThreadsBeside = 512;  // of a block that is not alone on its multiprocessor
constexpr int kNaiveThreads = 128;   // launch bound of the naive kernels
constexpr int kLeastThreads = 8;     // of a row whose elements are neighbours
constexpr int kBytesAThread = 32;    // of a row, where nothing speaks against it: see choose_rows

bool is_power_of_two(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most && (value & (value - 1)) == 0;
}

int bytes_of(DType dtype) {
  return static_cast<int>(element_bytes(dtype));
}

// The most elements a thread may hold: single ones take a register each, whatever their size, and another for
// where they are.
int most_items(const RowProblem& problem, int vector, int cluster = 1) {
  const int each = vector == 1 ? 8 : bytes_of(problem.dtype);
  return (cluster > 1 ? problem.cluster_held_bytes : problem.held_bytes) / each;
}

// What a block is launched with.
std::size_t shared_bytes(const RowConfig& config, const RowProblem& problem) {
  if (config.cluster == 1) return 0;
  return static_cast<std::size_t>(config.threads) * static_cast<std::size_t>(config.items) *
         element_bytes(problem.dtype) * static_cast<std::size_t>(problem.cluster_shared_arrays);
}

// Of 16 bytes: what a cluster reads with.
bool whole_loads(int vector, const RowProblem& problem) {
  return vector * bytes_of(problem.dtype) == kMaxVectorBytes;
}

// Elements of a row that are held.
std::int64_t held_elements(const RowConfig& config) {
  return std::int64_t{config.cluster} * config.threads * config.items;
}

// Of a row of an odd length, what is in whole vectors, wherever it begins: the others are single elements at
// its ends, one for a thread, beside the items.
std::int64_t elements_to_hold(const RowProblem& problem, int vector) {
  return problem.length / vector * vector;
}

bool holds_row(const RowConfig& config, const RowProblem& problem) {
  return config.items > 0 && elements_to_hold(problem, config.vector) <= held_elements(config);
}

bool fits(const RowConfig& config, const RowProblem& problem) {
  const int block = config.threads * config.rows;
  if (block < 32 || block > kMaxThreads) return false;
  if (config.vector > 1 && 2 * config.vector > config.threads) return false;
  if (config.cluster > 1 && (config.items == 0 || !whole_loads(config.vector, problem))) return false;
  if (config.items == 0) return true;
  return config.items >= config.vector &&
         config.items <= most_items(problem, config.vector, config.cluster) && holds_row(config, problem);
}

// A cluster's rows are long: it does not matter how soon a thread has found its own. Of the kernels with as
// many threads and registers as there are, those for whole rows spill (SM 86).
RowForm form_of(const RowConfig& config, const RowProblem& problem) {
  if (config.cluster > 1 && problem.form == RowForm::unit) return RowForm::any;
  const bool full = config.threads > kThreadsBeside && config.items * bytes_of(problem.dtype) > 64;
  if (config.cluster == 1 && problem.form == RowForm::whole && full) return RowForm::unit;
  return problem.form;
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

// Few steps: what is between them is a matter of items, and a program compiles fewer kernels.
int threads_from(std::initializer_list<int> steps, std::int64_t wanted) {
  for (const int threads : steps) {
    if (wanted <= threads) return threads;
  }
  return *(steps.end() - 1);
}

RowChoice choose_columns(const RowProblem& problem) {
  RowConfig config{.threads = 1, .rows = 32, .vector = 1, .items = 0, .columns = true};
  config.threads = threads_from({1, 8, 32}, (problem.length + 15) / 16);
  for (int items = 4; items <= most_items(problem, 1) && config.items == 0; items *= 2) {
    if (problem.length <= std::int64_t{config.threads} * items) config.items = items;
  }
  if (config.items > 0)
    return {config, "columns in memory: neighbouring threads take neighbouring rows, held in registers"};
  return {config, "columns in memory: neighbouring threads take neighbouring rows"};
}

// A row kernel is fast when three things hold on every multiprocessor (SM):
// - Enough bytes are on their way. 4.8 TB/s with some 700 ns of latency are 25 KB for each of 132 SMs, all
//   the time; a thread asks for memory only at its beginning, so two or three times that should be resident.
//   With 32 bytes of a row a thread, as loads of 16, our kernels need up to 40 registers: 48 warps fit, 48
//   KB of every array. More of it makes no more speed, but an end when the last blocks are on their way
//   alone: rows of 2 to 16 KB take 1 to 4 % longer with 64 bytes.
// - Few instructions an element. An SM has 4 a cycle and memory brings some 18 bytes: f16 in and out leaves
//   29 for each element. Finding the row and the reductions are some 100 a thread whatever it holds: 6 an
//   element of 16, 12 of 8.
// - Not everything waits at once. Rows of a warp or less need no barrier; a block of more than 512 threads
//   is alone on its SM, which has nothing to do while that block waits, so longer rows rather have more
//   bytes a thread where the kernel can hold them.
//
// Rows that are too long for 512 threads are held by a cluster of blocks, so that still several blocks fit on
// an SM: one of them waits for the rest of its row while the other one's is on the way. Small ones, with few
// registers, are best.
struct ClusterSize {
  int threads;  // of a block
  int bytes;    // of a row, a thread
  int blocks;
};
constexpr ClusterSize kClusterSizes[] = {
    {256, 64, kMostCluster}, {512, 128, 8}, {512, 128, kMostCluster}, {1024, 128, kMostCluster}};

int most_cluster(const RowProblem& problem, const device::DeviceFacts& facts) {
  if (!facts.cluster_launch || !whole_loads(problem.vector, problem)) return 1;
  return std::min(problem.most_cluster, static_cast<int>(facts.launch.max_cluster_blocks));
}

// Beside it a block has slots for reductions, and the system 1 KB.
bool has_shared_memory(const RowConfig& config, const RowProblem& problem, const device::DeviceFacts& facts) {
  return shared_bytes(config, problem) + 4096 <= facts.launch.max_shared_per_block;
}

std::optional<RowChoice> choose_cluster(const RowProblem& problem, const device::DeviceFacts& facts) {
  const int most_blocks = most_cluster(problem, facts);
  RowConfig config{.threads = kThreadsBeside, .rows = 1, .vector = problem.vector, .items = 0};
  config.items = most_items(problem, problem.vector);
  if (most_blocks == 1 || config.items == 0 || holds_row(config, problem)) return {};
  for (const ClusterSize& size : kClusterSizes) {
    config.cluster = 2;
    config.threads = size.threads;
    config.items = std::min(most_items(problem, problem.vector, 2), size.bytes / bytes_of(problem.dtype));
    while (config.cluster < std::min(most_blocks, size.blocks) && !holds_row(config, problem))
      config.cluster *= 2;
    if (holds_row(config, problem)) break;
  }
  if (!holds_row(config, problem) || !has_shared_memory(config, problem, facts)) return {};
  // Few rows: more multiprocessors for each.
  while (2 * config.cluster <= most_blocks && config.items > config.vector &&
         problem.count * config.cluster * 2 <= facts.multiprocessors) {
    config.cluster *= 2;
    config.items /= 2;
  }
  const std::int64_t length = elements_to_hold(problem, config.vector);
  while (config.items > config.vector && length <= held_elements(config) / 2) config.items /= 2;
  return RowChoice{config, Reason("rows of {} are held by clusters of {} blocks, {} elements a thread",
                                  problem.length, config.cluster, config.items)};
}

RowChoice choose_rows(const RowProblem& problem, const device::DeviceFacts& facts) {
  if (std::optional<RowChoice> choice = choose_cluster(problem, facts)) return *std::move(choice);
  const int multiprocessors = facts.multiprocessors;
  RowConfig config{.threads = 32, .rows = 1, .vector = problem.vector, .items = 0, .columns = false};
  const int most = most_items(problem, config.vector);
  const std::int64_t length = elements_to_hold(problem, config.vector);
  const auto threads_with = [&](int items) {
    const auto groups = static_cast<std::uint64_t>((length + items - 1) / items);
    const auto least = static_cast<std::uint64_t>(std::max(kLeastThreads, 2 * config.vector));
    return static_cast<int>(
        std::clamp(std::bit_ceil(groups), least, static_cast<std::uint64_t>(kMaxThreads)));
  };
  int wanted = kBytesAThread / bytes_of(problem.dtype);
  if (problem.held_bytes > 0) wanted = std::min(wanted, most);
  // Few rows: more threads for each, as long as an SM's four schedulers have not four warps each. A warp
  // alone has an instruction every 8 cycles.
  const std::int64_t enough = std::int64_t{multiprocessors} * 4 * 4 * 32;
  while (wanted > config.vector && problem.count * threads_with(wanted) < enough) wanted /= 2;
  config.threads = threads_with(wanted);
  if (config.threads > kThreadsBeside && problem.count > multiprocessors &&
      length <= std::int64_t{kThreadsBeside} * most)
    config.threads = kThreadsBeside;
  config.rows = std::max(1, 128 / config.threads);
  // Few rows: rather on many multiprocessors than in blocks of several warps.
  while (config.rows > 1 && config.threads * config.rows > 32 &&
         problem.count < multiprocessors * config.rows)
    config.rows /= 2;
  for (int items = config.vector; items <= most && config.items == 0; items *= 2) {
    if (length <= std::int64_t{config.threads} * items) config.items = items;
  }
  if (config.items > 0)
    return {config, Reason("rows of {} are held by {} threads, {} elements each", problem.length,
                           config.threads, config.items)};
  if (problem.held_bytes == 0)
    return {config, Reason("{} threads for rows of {}", config.threads, problem.length)};
  return {config, Reason("rows of {} are more than the registers of a block hold", problem.length)};
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
                       int held_bytes) {
  RowProblem problem{
      .op = op, .count = rows.count, .length = rows.length, .dtype = dtype, .held_bytes = held_bytes};
  problem.columns = !rows.unit_rows(0) && rows.unit_columns(0);
  problem.vector = row_vector(rows, starts, kMaxVectorBytes / bytes_of(dtype));
  problem.form = row_form(rows, starts, problem.vector);
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

TuningKey row_tuning_key(const RowProblem& problem, std::string_view variant) {
  return {std::string(problem.op), std::string(variant), problem.dtype,
          shape_class({problem.count, problem.length}) + (problem.columns ? " columns" : "")};
}

RowChoice choose_row_config(const RowProblem& problem, std::string_view variant, const Config* config,
                            const device::DeviceFacts& facts, const TuningTable& table) {
  if (variant == "naive") {
    GPUFORGE_CHECK(config == nullptr || config->empty(), "{}: the naive variant has no choices; found {}",
                   problem.op, to_string(*config));
    return {{.threads = 1, .rows = kNaiveThreads}, "the naive variant has no choices"};
  }
  if (config != nullptr) {
    const RowConfig asked = row_config(*config, problem);
    const auto cluster = config->find("cluster");
    const std::int64_t blocks = cluster == config->end() ? 1 : cluster->second;
    if (facts.cluster_launch && blocks > facts.launch.max_cluster_blocks)
      throw Error(ErrorCode::unavailable,
                  format_text("{}: cluster={} needs a GPU that has clusters of {} blocks; {} has {}",
                              problem.op, blocks, blocks, facts.name, facts.launch.max_cluster_blocks));
    if (blocks > 1 && !facts.cluster_launch)
      throw Error(
          ErrorCode::unavailable,
          format_text("{}: cluster={} needs a GPU that has clusters of blocks (SM 90 or newer); {} has "
                      "none",
                      problem.op, blocks, facts.name));
    return {asked, "was asked for"};
  }
  if (const Config* const tuned = table.find_by([&] { return row_tuning_key(problem, variant); })) {
    return {row_config(*tuned, problem), "tuned on this device"};
  }
  RowChoice choice = problem.columns ? choose_columns(problem) : choose_rows(problem, facts);
  choice.config.form = form_of(choice.config, problem);
  return choice;
}

jit::KernelId row_kernel_id(jit::FixedText file, jit::FixedText kernel, DType dtype,
                            const RowConfig& config) {
  jit::KernelId id{file,         kernel,         dtype,       config.vector,
                   config.items, config.threads, config.rows, config.columns};
  if (config.form != RowForm::any || config.cluster > 1) id.add(static_cast<int>(config.form));
  if (config.cluster > 1) id.add(config.cluster);
  return id;
}

device::LaunchConfig row_launch(const RowProblem& problem, const RowConfig& config) {
  const std::int64_t blocks = (problem.count + config.rows - 1) / config.rows * config.cluster;
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(),
                 "{}: {} rows, {} a block, are more than a grid has", problem.op, problem.count, config.rows);
  device::LaunchConfig launch;
  launch.grid.x = static_cast<std::uint32_t>(blocks);
  launch.block.x = static_cast<std::uint32_t>(config.threads * config.rows);
  launch.dynamic_shared_bytes = shared_bytes(config, problem);
  launch.cluster.x = static_cast<std::uint32_t>(config.cluster);
  return launch;
}

}  // namespace gpuforge::ops
