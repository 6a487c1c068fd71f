// Which configuration a row kernel has where none was asked for: what row_config.h declares as
// choose_row_config, and why.
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <optional>
#include <utility>

#include "gpuforge/ops/row_config.h"
#include "gpuforge/ops/row_fit.h"

namespace gpuforge::ops {
namespace {

constexpr int kNaiveThreads = 128;  // launch bound of the naive kernels
constexpr int kLeastThreads = 8;    // of a row whose elements are neighbours
// Of a row, where nothing speaks against it: see choose_rows.
constexpr int kBytesAThread = 32, kMoreBytesAThread = 64;

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
//   alone: rows of 2 to 16 KB take 1 to 4 % longer with 64 bytes. Where a thread has more to do besides, it
//   is the other way: rows with edges take 8 % longer with 32 bytes, a norm with weight and bias 2 to 5 %.
// - Few instructions an element. An SM has 4 a cycle and memory brings some 18 bytes: f16 in and out leaves
//   29 for each element. Finding the row and the reductions are some 100 a thread whatever it holds: 6 an
//   element of 16, 12 of 8.
// - Not everything waits at once. Rows of a warp or less need no barrier; a block of more than 512 threads
//   is alone on its SM, which has nothing to do while that block waits, so longer rows rather have more
//   bytes a thread where the kernel can hold them. In f32, which computes least, two such blocks with one
//   load of each array a thread are faster all the same.
//
// Rows that are too long for 512 threads (RowProblem::block_bytes each) are held by a cluster of blocks, so
// that still several blocks fit on an SM: one of them waits for the rest of its row while the other one's is
// on the way. Small ones, with few registers, are best.
struct ClusterSize {
  int threads;  // of a block
  int bytes;    // of a row, a thread
  int blocks;
};
constexpr ClusterSize kClusterSizes[] = {{256, 32, kMostCluster},
                                         {256, 64, kMostCluster},
                                         {512, 128, 8},
                                         {512, 128, kMostCluster},
                                         {1024, 128, kMostCluster}};

std::optional<RowChoice> choose_cluster(const RowProblem& problem, const device::DeviceFacts& facts) {
  const int most_blocks = most_cluster(problem, facts);
  RowConfig config{.threads = kThreadsBeside, .rows = 1, .vector = problem.vector, .items = 0};
  // Few rows: what several blocks of an SM do is no matter.
  const int bytes = problem.count > facts.multiprocessors ? problem.block_bytes : kMoreBytesAThread;
  config.items = std::min(most_items(problem, problem.vector), bytes / bytes_of(problem.dtype));
  if (most_blocks == 1 || config.items == 0 || holds_row(config, problem)) return {};
  for (const ClusterSize& size : kClusterSizes) {
    if (size.bytes < problem.cluster_bytes) continue;
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
  const int usual = problem.form == RowForm::whole ? kBytesAThread : kMoreBytesAThread;
  int wanted = (problem.thread_bytes > 0 ? problem.thread_bytes : usual) / bytes_of(problem.dtype);
  if (problem.held_bytes > 0) wanted = std::min(wanted, most);
  // Few rows: more threads for each, as long as an SM's four schedulers have not four warps each. A warp
  // alone has an instruction every 8 cycles.
  const std::int64_t enough = std::int64_t{multiprocessors} * 4 * 4 * 32;
  while (wanted > config.vector && problem.count * threads_with(wanted) < enough) wanted /= 2;
  config.threads = threads_with(wanted);
  const bool one_load = problem.dtype == DType::f32 && problem.thread_bytes == kMaxVectorBytes &&
                        length <= std::int64_t{config.threads} * wanted;
  if (config.threads > kThreadsBeside && !one_load && problem.count > multiprocessors &&
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

}  // namespace gpuforge::ops
