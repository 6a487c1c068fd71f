#include <algorithm>

#include "gpuforge/base/divide.h"
#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "copy_transpose";
constexpr int kTiles[] = {16, 32, 64, 128};
constexpr int kHeights[] = {32, 64, 128, 256};
constexpr int kRows[] = {1, 2, 4, 8, 16, 32, 64};
constexpr int kVectors[] = {1, 2, 4, 8};
constexpr int kGroups[] = {0, 1, 2, 4, 8, 16, 32};
constexpr int kWarp = 32;
constexpr int kLineBytes = 128;
constexpr int kMostTileBytes = 48 * 1024;  // of shared memory

constexpr std::int64_t kWide = 2048;  // elements of a side that is not narrow

int bytes_of(DType dtype) {
  return static_cast<int>(element_bytes(dtype));
}

int height(const TransposeConfig& config) {
  return config.tall == 0 ? config.tile : config.tall;
}

void check_variant(std::string_view variant) {
  GPUFORGE_CHECK(variant == "tiled" || variant == "best" || variant == "naive",
                 "{}: there is no variant '{}'; it has best, tiled, naive", kName, variant);
}

// What the kernels ask for in their static_asserts; empty where all is well.
std::string_view why_not(const TransposeConfig& config, DType dtype) {
  const int bytes = bytes_of(dtype);
  if (config.shifted) {
    if (config.vector != 1 || config.tile != TransposeConfig{}.tile)
      return "a shifted tile has the width and the access of its own";
    if (config.tall * bytes % kLineBytes != 0 || config.tall * bytes > 2 * kLineBytes)
      return "the rows of a shifted tile are 128 or 256 bytes tall";
    if (config.rows * bytes % 16 != 0 || config.rows > kWarp)
      return "a shifted tile takes as many warps as 16 bytes have elements, or twice or four times that";
    return bytes == 2 && config.tall > 64 ? "that is more than shared memory holds" : "";
  }
  if (block_threads(config) > kMostTransposeThreads) return "that is more threads than a block has";
  if (config.vector == 1) {
    if (config.tall != 0 || config.tile > 64) return "without vectors, tiles are squares of up to 64";
    return config.rows > config.tile ? "that is more rows than the tile has" : "";
  }
  if (config.tile * bytes % kLineBytes != 0 || height(config) * bytes % kLineBytes != 0)
    return "with vectors, rows and columns of a tile are multiples of 128 bytes";
  if (config.tile * height(config) * bytes > kMostTileBytes) return "that is more than shared memory holds";
  const int pair = 4 / bytes;
  if (config.rows % (config.vector / pair) != 0 || height(config) / pair % config.rows != 0 ||
      block_threads(config) % (height(config) / pair) != 0)
    return "its threads would not have equally many accesses";
  return "";
}

// Elements of an access where arrays have no gaps and begin aligned.
int widest_vector(const TransposeProblem& problem) {
  int vector = 16 / bytes_of(problem.dtype);
  while (problem.rows % vector != 0 || problem.columns % vector != 0) vector /= 2;
  return vector;
}

TransposeChoice best_choice(const TransposeProblem& problem, int multiprocessors) {
  const int bytes = bytes_of(problem.dtype);
  if (problem.planes * divided_up(problem.rows, 64) * divided_up(problem.columns, 64) < multiprocessors)
    return {{}, "tiles of 32: larger ones would leave multiprocessors idle"};
  const int vector = widest_vector(problem);
  if (vector * bytes >= kNarrowAccessBytes) {
    // Pieces of rows of 256 bytes are kinder to memory than of 128, where there are tiles enough.
    if (bytes == 2 && vector == 8 && std::min(problem.rows, problem.columns) >= kWide)
      return {{.tile = 128, .rows = 16, .vector = 8, .group = 0},
              "tiles of 128: rows of 256 bytes on both sides"};
    // 32 bytes a thread, on their way to shared memory: 64 KB an SM where 2048 threads fit. Twice that takes
    // 1 to 3 % longer on an H200. Narrower accesses, which were not timed with less, keep it.
    const int rows = vector * bytes == 16 ? 32 : bytes * vector;
    const TransposeConfig config{.tile = 64, .rows = rows, .vector = vector, .group = 0};
    return {config, Reason("tiles of 64, whose rows are accesses of {} elements", vector)};
  }
  if (worth_shifting(problem.rows, problem.columns, problem.dtype)) {
    return {shifted_config(problem.dtype), "rows begin anywhere: accesses of 16 bytes, shifted row by row"};
  }
  if (bytes == 2) return {{.tile = 64, .rows = 4}, "tiles of 64: rows of 128 bytes on both sides"};
  return {{}, "tiles of 32: rows of 128 bytes on both sides"};
}

}  // namespace

int block_threads(const TransposeConfig& config) {
  return config.shifted ? config.rows * kWarp : config.tile / config.vector * config.rows;
}

TransposeConfig shifted_config(DType) {
  return {.tall = 64, .rows = 16, .group = 0, .shifted = true};
}

bool worth_shifting(std::int64_t rows, std::int64_t columns, DType dtype) {
  return rows >= shifted_config(dtype).tall && columns >= kWarp / 2 * 16 / bytes_of(dtype);
}

TileShape tile_shape(const TransposeConfig& config, DType dtype, std::int64_t columns) {
  if (!config.shifted) return {height(config), config.tile, 0};
  const int vector = 16 / bytes_of(dtype);
  const std::int64_t widest = (kWarp - 1) * vector;
  const std::int64_t across = std::max<std::int64_t>(divided_up(columns, widest), 1);
  return {config.tall, divided_up(columns, across), vector - 1};
}

Config to_config(const TransposeConfig& config) {
  Config result;
  if (config.tile == 0) return result;
  if (config.shifted) {
    result = {{"shifted", 1}, {"tall", config.tall}, {"rows", config.rows}};
  } else {
    result = {{"tile", config.tile}, {"rows", config.rows}, {"vector", config.vector}};
    if (config.tall != 0) result["tall"] = config.tall;
  }
  if (config.group != TransposeConfig{}.group) result["group"] = config.group;
  return result;
}

TransposeConfig transpose_config(std::string_view variant, const Config& config, DType dtype) {
  check_variant(variant);
  TransposeConfig result{.tile = variant == "naive" ? 0 : 32};
  GPUFORGE_CHECK(config.empty() == (result.tile == 0), "{}: a configuration of {}{} was expected; found {}",
                 kName, variant, result.tile == 0 ? ", which has none," : "", to_string(config));
  for (const auto& [key, value] : config) {
    if (key == "tile" && is_one_of(kTiles, value)) {
      result.tile = static_cast<int>(value);
    } else if (key == "tall" && is_one_of(kHeights, value)) {
      result.tall = static_cast<int>(value);
    } else if (key == "rows" && is_one_of(kRows, value)) {
      result.rows = static_cast<int>(value);
    } else if (key == "vector" && is_one_of(kVectors, value) && value * bytes_of(dtype) <= 16) {
      result.vector = static_cast<int>(value);
    } else if (key == "group" && is_one_of(kGroups, value)) {
      result.group = static_cast<int>(value);
    } else if (key == "shifted" && (value == 0 || value == 1)) {
      result.shifted = value == 1;
    } else {
      throw Error(ErrorCode::invalid_argument,
                  format_text("{}: there is no configuration {}={} for {} (tile: 16 to 128; tall: 32 to 256; "
                              "rows: 1 to 64; vector: 1 to 8 elements of 16 bytes at most; group: 0 to 32; "
                              "shifted: 0, 1)",
                              kName, key, value, name(dtype)));
    }
  }
  if (result.tile == 0) return result;
  if (result.shifted && result.tall == 0) result.tall = shifted_config(dtype).tall;
  if (result.tall == result.tile && !result.shifted) result.tall = 0;
  const std::string_view reason = why_not(result, dtype);
  GPUFORGE_CHECK(reason.empty(), "{}: there is no configuration {} for {}: {}", kName, to_string(config),
                 name(dtype), reason);
  return result;
}

// Everything the kernels can, within what may be worth a measurement.
std::vector<Config> transpose_configs(const TransposeProblem& problem, std::string_view variant) {
  std::vector<Config> list;
  if (variant == "naive") return list;
  const auto add = [&](const TransposeConfig& config) {
    if (block_threads(config) >= kWarp && why_not(config, problem.dtype).empty())
      list.push_back(to_config(config));
  };
  for (const int tile : {16, 32, 64}) {
    for (const int rows : {2, 4, 8, 16, 32}) add({.tile = tile, .rows = rows});
  }
  if (variant == "tiled") return list;
  const int bytes = bytes_of(problem.dtype);
  const int vector = widest_vector(problem);
  for (const int tile : {32, 64, 128}) {
    for (const int tall : {32, 64, 128}) {
      for (const int threads : {128, 256, 512}) {
        const int loaded = tile * tall * bytes / threads;  // bytes, by a thread
        if (vector == 1 || loaded < 32 || loaded > 128 || (tile == 32) != (tall == 32)) continue;
        const int square_or_tall = tall == tile ? 0 : tall;
        for (const int group : {0, 1, 8, 32})
          add({tile, square_or_tall, threads * vector / tile, vector, group, false});
      }
    }
  }
  if (vector * bytes == 16) return list;  // nothing to shift
  for (const int tall : {32, 64}) {
    for (const int rows : {4, 8, 16}) {
      for (const int group : {0, 1, 8, 32})
        add({.tall = tall, .rows = rows, .group = group, .shifted = true});
    }
  }
  return list;
}

TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant) {
  std::string shapes = shape_class({problem.rows, problem.columns});
  if (problem.planes > 1) shapes = shape_class({problem.planes}) + " of " + shapes;
  // Their neighbours of the same class have other kernels.
  if (widest_vector(problem) * bytes_of(problem.dtype) < kNarrowAccessBytes) shapes += " unaligned";
  return {std::string(kName), std::string(variant), problem.dtype, shapes};
}

TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const device::DeviceFacts& facts, const TuningTable& table) {
  check_variant(variant);
  if (variant == "naive") return {{.tile = 0}, "the naive variant has no choices"};
  if (tile_size != 0) return {{.tile = tile_size}, Reason("tile_size {} was asked for", tile_size)};
  if (const Config* const tuned = table.find_by([&] { return transpose_tuning_key(problem, variant); })) {
    return {transpose_config(variant, *tuned, problem.dtype), "tuned on this device"};
  }
  if (problem.rows <= 1 || problem.columns <= 1)
    return {{}, "one row or column: copied straight, without tiles"};
  if (variant != "best") return {{}, "tiles of 32: rows of 64 bytes or more on both sides"};
  return best_choice(problem, std::max(facts.multiprocessors, 1));
}

}  // namespace gpuforge::ops
