#include <algorithm>
#include <bit>

#include "gpuforge/base/divide.h"
#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr int kMostThreads = 512;
constexpr int kMostSplits = 1024;
constexpr int kMostFlight = 8;
constexpr int kMostRows = 8;
constexpr std::int64_t kWarp = 32;

std::int64_t ceil_power(std::int64_t value) {
  return value <= 1 ? 1 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

bool is_power_within(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most && std::has_single_bit(static_cast<std::uint64_t>(value));
}

void check_variant(std::string_view who, std::string_view variant) {
  GPUFORGE_CHECK(variant == "best" || variant == "naive", "{}: there is no variant '{}'; it has best, naive",
                 who, variant);
}

// Elements of a load, when memory begins where allocations do.
std::int64_t vector_of(const ReduceProblem& problem) {
  if (problem.kind == RowsKind::strided) return 1;
  std::int64_t vector = 16 / static_cast<std::int64_t>(element_bytes(problem.dtype));
  // One run of columns is read in vectors however its rows begin.
  const bool any = problem.kind == RowsKind::columns && problem.columns == problem.count;
  while (vector > 1 && !any &&
         (problem.kind == RowsKind::columns ? problem.columns % vector != 0 : problem.length < 2 * vector)) {
    vector /= 2;
  }
  return vector;
}

// As many as keep every multiprocessor busy, while each still has `least` loads a thread: the parts cost a
// second launch, so seven blocks for eight multiprocessors will do.
int splits(std::int64_t blocks, std::int64_t loads_per_thread, std::int64_t least, int multiprocessors) {
  const std::int64_t all = std::max(multiprocessors, 1);
  if (8 * blocks >= 7 * all) return 1;
  const std::int64_t split = std::min(2 * all / std::max<std::int64_t>(blocks, 1),  //
                                      loads_per_thread / least);
  return static_cast<int>(std::clamp<std::int64_t>(split, 1, kMostSplits));
}

// Threads that have memory busy with one load each; with fewer, a row takes more of them and each loads less.
std::int64_t enough_threads(int multiprocessors) {
  return std::int64_t{std::max(multiprocessors, 1)} * 512;
}

// Rows that a warp or less has in one go: 64 bytes a thread, all of them under way at once, of several rows
// where one has not so many. 8 threads side by side read a line of the cache.
ReduceConfig for_short_rows(const ReduceProblem& problem, std::int64_t loads, std::int64_t enough) {
  const std::int64_t most = std::min(ceil_power(loads), kWarp);
  std::int64_t group = std::clamp<std::int64_t>(ceil_power(loads) / 4, std::min<std::int64_t>(most, 8), most);
  while (group < most && problem.count * group < enough) group *= 2;
  const std::int64_t flight = ceil_power(divided_up(loads, group));
  std::int64_t rows = std::max<std::int64_t>(1, 4 / flight);
  while (rows > 1 && problem.count * group < enough * rows) rows /= 2;
  return {.block = problem.count * group < enough ? 128 : 256,
          .group = static_cast<int>(group),
          .flight = static_cast<int>(flight),
          .rows = static_cast<int>(rows)};
}

ReduceChoice for_rows(const ReduceProblem& problem, int multiprocessors) {
  const std::int64_t loads = divided_up(problem.length, vector_of(problem));
  const std::int64_t enough = enough_threads(multiprocessors);
  if (loads <= kWarp * kMostFlight) {
    const ReduceConfig config = for_short_rows(problem, loads, enough);
    return {config, Reason("{} threads for the {} loads of a row, {} rows at once", config.group, loads,
                           config.rows)};
  }
  // In one go if 128 threads can, so that blocks are soon over and the last ones end together: more threads
  // are for rows of more than four goes. Of many long rows, half of the loads at once are enough bytes, and
  // fewer registers; shorter ones would be over before their blocks are replaced.
  std::int64_t group = std::clamp<std::int64_t>(ceil_power(loads) / kMostFlight, kWarp, 128);
  if (loads > 4 * 128 * kMostFlight) group = 256;
  while (group < 256 && 2 * group <= loads && problem.count * group < enough) group *= 2;
  const bool many_long = loads >= 4 * 256 * kMostFlight && problem.count * group >= 3 * enough;
  const int at_once = many_long ? kMostFlight / 2 : kMostFlight;
  ReduceConfig config{.block = static_cast<int>(std::max<std::int64_t>(group, 128)),
                      .group = static_cast<int>(group)};
  config.flight = static_cast<int>(std::clamp<std::int64_t>(ceil_power(loads / group), 1, at_once));
  const std::int64_t blocks = divided_up(problem.count, config.block / group);
  config.split = splits(blocks, loads / group, 4, multiprocessors);
  if (config.split == 1) return {config, Reason("{} threads for the {} loads of a row", group, loads)};
  return {config,
          Reason("{} threads for the {} loads of a row; {} blocks would leave the device idle, so each "
                 "row is split over {}",
                 group, loads, blocks, config.split)};
}

// Few threads across, so that there are blocks for every multiprocessor before the axis has to be split: 8
// loads side by side are a line of the cache.
ReduceChoice for_columns(const ReduceProblem& problem, int multiprocessors) {
  ReduceConfig config{.block = 256, .flight = kMostFlight};
  const std::int64_t vectors = divided_up(problem.count, vector_of(problem));
  std::int64_t across = kWarp;
  while (across > 8 && vectors < across * 4 * multiprocessors) across /= 2;
  // Rows that begin anywhere take registers for one block of 512 on a multiprocessor, and a few more blocks.
  const bool ragged = problem.columns % vector_of(problem) != 0;
  if (vectors < across * 2 * multiprocessors && !ragged) config.block = 512;
  across = std::min(across, ceil_power(vectors));
  const std::int64_t useful = ceil_power(problem.length);  // a thread without an element does nothing
  config.group = static_cast<int>(std::min(config.block / across, useful));
  const std::int64_t blocks = divided_up(vectors, config.block / config.group);
  config.split = splits(blocks, problem.length / config.group, 4, multiprocessors);
  const int threads = config.block / config.group;
  if (config.split == 1) return {config, Reason("rows lie side by side: {} threads across them", threads)};
  return {config,
          Reason("rows lie side by side: {} threads across them; {} blocks would leave the device idle, "
                 "so the axis is split over {}",
                 threads, blocks, config.split)};
}

}  // namespace

RowsKind kind_of(const Rows& rows) {
  // Rows of one element are a copy, of neighbours where rows are.
  if (rows.unit_columns(0) && (rows.length <= 1 || !rows.unit_rows(0))) return RowsKind::columns;
  return rows.unit_rows(0) ? RowsKind::unit : RowsKind::strided;
}

ReduceProblem reduce_problem(const Rows& rows, DType dtype) {
  return {rows.count, rows.length, rows.columns(), kind_of(rows), dtype};
}

Config to_config(const ReduceConfig& config) {
  if (config.naive) return {};
  return {{"block", config.block},   {"group", config.group}, {"vector", config.vector},
          {"flight", config.flight}, {"rows", config.rows},   {"split", config.split}};
}

ReduceConfig reduce_config(std::string_view who, std::string_view variant, const Config& config) {
  check_variant(who, variant);
  ReduceConfig result{.naive = variant == "naive"};
  GPUFORGE_CHECK(config.empty() == result.naive, "{}: a configuration of {} was expected; found {}", who,
                 result.naive ? "naive, which has none," : "best", to_string(config));
  if (result.naive) return result;
  for (const auto& [key, value] : config) {
    const int number = static_cast<int>(std::clamp<std::int64_t>(value, -1, 1 << 30));
    if (key == "block" && is_power_within(value, kWarp, kMostThreads)) {
      result.block = number;
    } else if (key == "group" && is_power_within(value, 1, kMostThreads)) {
      result.group = number;
    } else if (key == "vector" && is_power_within(value, 4, 16)) {
      result.vector = number;
    } else if (key == "flight" && is_power_within(value, 1, kMostFlight)) {
      result.flight = number;
    } else if (key == "rows" && is_power_within(value, 1, kMostRows)) {
      result.rows = number;
    } else if (key == "split" && value >= 1 && value <= kMostSplits) {
      result.split = number;
    } else {
      throw Error(
          ErrorCode::invalid_argument,
          format_text("{}: there is no configuration {}={} (powers of two: block 32 to {}, group 1 to "
                      "block, vector 4 to 16 bytes, flight and rows 1 to 8; split 1 to {})",
                      who, key, value, kMostThreads, kMostSplits));
    }
  }
  GPUFORGE_CHECK(result.group <= result.block, "{}: group={} is more than block={}", who, result.group,
                 result.block);
  return result;
}

std::vector<Config> reduce_configs(const ReduceProblem& problem, const device::DeviceFacts& facts) {
  const ReduceConfig chosen = choose_reduce("reduce", problem, "best", facts, TuningTable{}).config;
  std::vector<int> split_values{1};
  for (const int split : {chosen.split, 2 * chosen.split, chosen.split / 2}) {
    if (split > 1 && split <= kMostSplits) split_values.push_back(split);
  }
  std::vector<Config> list;
  for (const int split : split_values) {
    for (const int block : {128, 256, 512}) {
      for (int group = std::max(1, chosen.group / 4); group <= std::min(block, chosen.group * 4);
           group *= 2) {
        for (const int flight : {1, 2, 4, 8}) {
          for (int rows = 1; rows * flight <= kMostRows; rows *= 2) {
            const ReduceConfig config{
                .block = block, .group = group, .flight = flight, .rows = rows, .split = split};
            // Several rows at once are for those that a warp has in one go.
            const bool in_one_go = problem.kind == RowsKind::unit && split == 1 && group <= kWarp &&
                                   problem.length <= group * flight * vector_of(problem);
            if (rows == 1 || in_one_go) list.push_back(to_config(config));
          }
        }
      }
    }
  }
  return list;
}

TuningKey reduce_tuning_key(std::string_view op, const ReduceProblem& problem, std::string_view variant) {
  std::string shapes = shape_class({problem.count, problem.length});
  if (problem.kind == RowsKind::columns) shapes += " columns";
  if (problem.kind == RowsKind::strided) shapes += " strided";
  return {std::string(op), std::string(variant), problem.dtype, shapes};
}

ReduceChoice choose_reduce(std::string_view who, const ReduceProblem& problem, std::string_view variant,
                           const device::DeviceFacts& facts, const TuningTable& table) {
  check_variant(who, variant);
  if (variant == "naive") return {{.naive = true}, "the naive variant has no choices"};
  if (const Config* const tuned = table.find_by([&] { return reduce_tuning_key(who, problem, variant); })) {
    return {reduce_config(who, variant, *tuned), "tuned on this device"};
  }
  return problem.kind == RowsKind::columns ? for_columns(problem, facts.multiprocessors)
                                           : for_rows(problem, facts.multiprocessors);
}

}  // namespace gpuforge::ops
