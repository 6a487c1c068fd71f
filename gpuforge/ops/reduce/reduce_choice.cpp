#include <algorithm>
#include <bit>

#include "gpuforge/ops/reduce/reduce_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr int kMostThreads = 512;
constexpr int kMostSplits = 1024;
constexpr std::int64_t kWarp = 32;

std::int64_t ceil_power(std::int64_t value) {
  return value <= 1 ? 1 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
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
  while (vector > 1 &&
         (problem.kind == RowsKind::columns ? problem.columns % vector != 0 : problem.length < 2 * vector)) {
    vector /= 2;
  }
  return vector;
}

// As many as keep every multiprocessor busy, while each still has `least` loads a thread.
int splits(std::int64_t blocks, std::int64_t loads_per_thread, std::int64_t least, int multiprocessors) {
  const std::int64_t wanted = 2 * std::int64_t{std::max(multiprocessors, 1)};
  if (blocks >= wanted / 2) return 1;
  const std::int64_t split = std::min(divided_up(wanted, std::max<std::int64_t>(blocks, 1)),  //
                                      loads_per_thread / least);
  return static_cast<int>(std::clamp<std::int64_t>(split, 1, kMostSplits));
}

ReduceChoice for_rows(const ReduceProblem& problem, int multiprocessors) {
  const std::int64_t loads = divided_up(problem.length, vector_of(problem));
  const std::int64_t group =
      loads <= kWarp ? ceil_power(loads) : std::clamp<std::int64_t>(ceil_power(loads / 4), kWarp, 256);
  ReduceConfig config{.block = 256, .group = static_cast<int>(group)};
  const std::int64_t blocks = divided_up(problem.count, config.block / group);
  config.split = splits(blocks, loads / group, config.flight, multiprocessors);
  const std::string threads = format_text("{} threads for the {} loads of a row", group, loads);
  if (config.split == 1) return {config, threads};
  return {config, format_text("{}; {} blocks would leave the device idle, so each row is split over {}",
                              threads, blocks, config.split)};
}

ReduceChoice for_columns(const ReduceProblem& problem, int multiprocessors) {
  ReduceConfig config{.block = 256};
  const std::int64_t vectors = divided_up(problem.count, vector_of(problem));
  const std::int64_t across = std::min<std::int64_t>(kWarp, ceil_power(vectors));
  const std::int64_t useful = ceil_power(problem.length);  // a thread without an element does nothing
  config.group = static_cast<int>(std::min<std::int64_t>(config.block / across, useful));
  const std::int64_t blocks = divided_up(vectors, config.block / config.group);
  config.split = splits(blocks, problem.length / config.group, config.flight, multiprocessors);
  const std::string threads =
      format_text("rows lie side by side: {} threads across them", config.block / config.group);
  if (config.split == 1) return {config, threads};
  return {config, format_text("{}; {} blocks would leave the device idle, so the axis is split over {}",
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
  return {{"block", config.block},
          {"group", config.group},
          {"vector", config.vector},
          {"flight", config.flight},
          {"split", config.split}};
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
    } else if (key == "flight" && is_power_within(value, 1, 8)) {
      result.flight = number;
    } else if (key == "split" && value >= 1 && value <= kMostSplits) {
      result.split = number;
    } else {
      throw Error(
          ErrorCode::invalid_argument,
          format_text("{}: there is no configuration {}={} (powers of two: block 32 to {}, group 1 to "
                      "block, vector 4 to 16 bytes, flight 1 to 8; split 1 to {})",
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
      for (int group = std::max(1, chosen.group / 2); group <= std::min(block, chosen.group * 4);
           group *= 2) {
        for (const int flight : {2, 4, 8}) {
          for (const int vector : {8, 16}) {
            list.push_back(to_config(
                {.block = block, .group = group, .vector = vector, .flight = flight, .split = split}));
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
