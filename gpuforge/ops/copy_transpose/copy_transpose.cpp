#include "gpuforge/ops/copy_transpose/copy_transpose.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gpuforge/ops/arguments.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kName = "copy_transpose";
constexpr jit::FixedText kFile = "gpuforge/ops/copy_transpose/copy_transpose.cu";
constexpr int kNaiveThreads = 256;  // the naive kernel's launch bound
constexpr int kMostThreads = 1024;

void check_arguments(const Array& out, const Array& x, const CopyTransposeOptions& options) {
  const Shape expected = transposed_shape(x.shape());
  check_floating(kName, "x", x);
  check_device(kName, "out", out, x);
  check_dtype(kName, "out", out, x.dtype());
  check_shape(kName, "out", out, expected);
  check_output(kName, "out", out, x);
  GPUFORGE_CHECK(options.tile_size == 0 || options.tile_size == 16 || options.tile_size == 32,
                 "{}: tile_size is 16, 32 or 0 (its own choice); found {}", kName, options.tile_size);
}

void check_variant(std::string_view variant) {
  GPUFORGE_CHECK(variant == "tiled" || variant == "best" || variant == "naive",
                 "{}: there is no variant '{}'; it has best, tiled, naive", kName, variant);
}

bool one_of(std::int64_t value, std::initializer_list<std::int64_t> known) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

int threads(const TransposeConfig& config) {
  return config.tile / config.vector * config.rows;
}

// Rows of the tile go over all 32 banks of 4 bytes where accesses are vectors.
bool tile_fits(const TransposeConfig& config, DType dtype) {
  return config.vector == 1 || static_cast<std::size_t>(config.tile) * element_bytes(dtype) % 128 == 0;
}

// Whether neighbours along the first axis are nearer to each other than along the second. An axis of one
// element has no neighbours.
bool runs_along_first(std::int64_t extent, std::int64_t stride, std::int64_t other_extent,
                      std::int64_t other_stride) {
  if (extent <= 1 || other_extent <= 1) return extent > 1;
  return std::abs(stride) < std::abs(other_stride);
}

device::LaunchConfig launch_config(const TransposePlan& plan, const TransposeConfig& config,
                                   const device::DeviceFacts& facts) {
  const DeviceMatrix& m = plan.matrix;
  device::LaunchConfig launch;
  if (config.tile == 0) {
    const std::int64_t elements = plan.planes.count * m.rows * m.columns;
    const std::int64_t most = std::int64_t{std::max(facts.multiprocessors, 1)} * 32;
    launch.grid.x =
        static_cast<std::uint32_t>(std::min((elements + kNaiveThreads - 1) / kNaiveThreads, most));
    launch.block.x = kNaiveThreads;
    return launch;
  }
  const auto tiles = [&](std::int64_t extent) { return (extent + config.tile - 1) / config.tile; };
  const std::int64_t blocks = tiles(m.rows) * tiles(m.columns) * plan.planes.count;
  GPUFORGE_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(),
                 "{}: {} tiles of {} are more than a grid has; take the naive variant", kName, blocks,
                 config.tile);
  launch.grid.x = static_cast<std::uint32_t>(blocks);
  launch.block.x = static_cast<std::uint32_t>(threads(config));
  return launch;
}

Array transposed_view(const Array& x) {
  Dims permutation;
  for (std::size_t d = 0; d < x.rank(); ++d) permutation.push_back(static_cast<std::int64_t>(d));
  std::swap(permutation[x.rank() - 1], permutation[x.rank() - 2]);
  return x.transpose(permutation);
}

}  // namespace

Shape transposed_shape(const Shape& x_shape) {
  GPUFORGE_CHECK(x_shape.size() >= 2, "{}: x must have two axes or more; found shape {}", kName,
                 to_string(x_shape));
  Shape shape = x_shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

TransposeProblem transpose_problem(const Shape& x_shape, DType dtype) {
  const Shape out = transposed_shape(x_shape);
  TransposeProblem problem{1, out.back(), x_shape.back(), dtype};
  for (std::size_t d = 0; d + 2 < x_shape.size(); ++d) problem.planes *= x_shape[d];
  return problem;
}

Config to_config(const TransposeConfig& config) {
  if (config.tile == 0) return {};
  return {{"tile", config.tile}, {"rows", config.rows}, {"vector", config.vector}};
}

TransposeConfig transpose_config(std::string_view variant, const Config& config, DType dtype) {
  check_variant(variant);
  TransposeConfig result{.tile = variant == "naive" ? 0 : 32};
  GPUFORGE_CHECK(config.empty() == (result.tile == 0), "{}: a configuration of {}{} was expected; found {}",
                 kName, variant, result.tile == 0 ? ", which has none," : "", to_string(config));
  for (const auto& [key, value] : config) {
    if (key == "tile" && one_of(value, {16, 32, 64})) {
      result.tile = static_cast<int>(value);
    } else if (key == "rows" && one_of(value, {1, 2, 4, 8, 16, 32})) {
      result.rows = static_cast<int>(value);
    } else if (key == "vector" && one_of(value, {1, 2, 4, 8}) &&
               value * static_cast<std::int64_t>(element_bytes(dtype)) <= 16) {
      result.vector = static_cast<int>(value);
    } else {
      throw Error(ErrorCode::invalid_argument,
                  format_text("{}: there is no configuration {}={} for {} (tile: 16, 32, 64; rows: 1, 2, 4, "
                              "8, 16, 32; vector: 1, 2, 4, 8 elements of 16 bytes at most)",
                              kName, key, value, name(dtype)));
    }
  }
  if (result.tile == 0) return result;
  GPUFORGE_CHECK(result.rows <= result.tile && threads(result) <= kMostThreads,
                 "{}: tile={} with rows={} and vector={} has more rows than the tile or more threads than a "
                 "block",
                 kName, result.tile, result.rows, result.vector);
  GPUFORGE_CHECK(
      result.vector == 1 || (tile_fits(result, dtype) && threads(result) >= 32),
      "{}: vector={} takes a tile whose rows are multiples of 128 bytes, and 32 threads or more; found "
      "tile={} of {} with {} threads",
      kName, result.vector, result.tile, name(dtype), threads(result));
  return result;
}

std::vector<Config> transpose_configs(std::string_view variant, DType dtype) {
  std::vector<Config> list;
  if (variant == "naive") return list;
  for (const int tile : {16, 32, 64}) {
    for (const int rows : {2, 4, 8, 16, 32}) {
      for (const int vector : {1, 2, 4, 8}) {
        const TransposeConfig config{tile, rows, vector};
        if (variant == "tiled" && vector > 1) continue;
        if (rows > tile || threads(config) < 32 || threads(config) > kMostThreads) continue;
        if (static_cast<std::size_t>(vector) * element_bytes(dtype) > 16 || !tile_fits(config, dtype))
          continue;
        list.push_back(to_config(config));
      }
    }
  }
  return list;
}

TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant) {
  std::string shapes = shape_class({problem.rows, problem.columns});
  if (problem.planes > 1) shapes = shape_class({problem.planes}) + " of " + shapes;
  return {std::string(kName), std::string(variant), problem.dtype, shapes};
}

TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const TuningTable& table) {
  check_variant(variant);
  if (variant == "naive") return {{.tile = 0}, "the naive variant has no choices"};
  if (tile_size != 0) return {{.tile = tile_size}, Reason("tile_size {} was asked for", tile_size)};
  if (const Config* const tuned = table.find_by([&] { return transpose_tuning_key(problem, variant); })) {
    return {transpose_config(variant, *tuned, problem.dtype), "tuned on this device"};
  }
  if (problem.rows <= 1 || problem.columns <= 1)
    return {{}, "one row or column: copied straight, without tiles"};
  if (variant != "best") return {{}, "tiles of 32: rows of 64 bytes or more on both sides"};
  const int bytes = static_cast<int>(element_bytes(problem.dtype));
  int vector = 16 / bytes;
  while (problem.rows % vector != 0 || problem.columns % vector != 0) vector /= 2;
  // 64 bytes a thread on their way to shared memory: 128 KB an SM where 2048 threads fit.
  if (vector > 1)
    return {{.tile = 64, .rows = bytes * vector, .vector = vector},
            Reason("tiles of 64, whose rows are accesses of {} elements", vector)};
  if (bytes == 2) return {{.tile = 64, .rows = 4}, "tiles of 64: rows of 128 bytes on both sides"};
  return {{}, "tiles of 32: rows of 128 bytes on both sides"};
}

TransposePlan plan_transpose(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                             bool as_given) {
  const std::size_t last = x_shape.size() - 1;
  TransposePlan plan;
  DeviceMatrix& m = plan.matrix;
  m = {x_shape[last - 1], x_shape[last],         x_strides[last - 1],
       x_strides[last],   out_strides[last - 1], out_strides[last]};
  Shape outer;
  Strides x_outer, out_outer;
  for (std::size_t d = 0; d + 1 < last; ++d) {
    outer.push_back(x_shape[d]);
    x_outer.push_back(x_strides[d]);
    out_outer.push_back(out_strides[d]);
  }
  outer.push_back(1);  // the axis of a Rows whose rows are the planes
  x_outer.push_back(0);
  out_outer.push_back(0);
  plan.planes = make_rows(outer, {x_outer, out_outer}, outer.size() - 1);
  if (as_given) return plan;
  const bool x_down = runs_along_first(m.rows, m.x_row, m.columns, m.x_column);
  const bool out_down = runs_along_first(m.rows, m.out_column, m.columns, m.out_row);
  plan.straight = x_down == out_down;
  if (x_down) m = {m.columns, m.rows, m.x_column, m.x_row, m.out_column, m.out_row};
  return plan;
}

TransposeConfig fitted(const TransposePlan& plan, device::Address x, device::Address out, DType dtype,
                       TransposeConfig config) {
  if (config.tile == 0) return config;
  const DeviceMatrix& m = plan.matrix;
  const auto possible = [&](std::int64_t vector) {
    const auto bytes = static_cast<device::Address>(vector) * element_bytes(dtype);
    bool good = m.x_column == 1 && m.out_column == 1 && x % bytes == 0 && out % bytes == 0;
    for (const std::int64_t number : {m.rows, m.columns, m.x_row, m.out_row})
      good = good && number % vector == 0;
    for (std::size_t d = 0; d < plan.planes.extents.size(); ++d) {
      for (const std::size_t array : {0u, 1u})
        good = good && plan.planes.arrays[array].strides[d] % vector == 0;
    }
    return good;
  };
  while (config.vector > 1 && !possible(config.vector)) config.vector /= 2;
  while (threads(config) > kMostThreads) config.rows /= 2;
  return config;
}

jit::KernelId transpose_kernel_id(DType dtype, const TransposeConfig& config) {
  const jit::BitsType type{element_bytes(dtype)};
  if (config.tile == 0) return {kFile, "gpuforge::transpose_naive", type};
  if (config.vector == 1) return {kFile, "gpuforge::transpose_tiled", type, config.tile, config.rows};
  return {kFile, "gpuforge::transpose_vectors", type, config.tile, config.rows, config.vector};
}

std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, DType dtype,
                                                    const TransposeConfig& config) {
  return context.jit().embedded_kernel(transpose_kernel_id(dtype, config), context.device());
}

void copy_transpose(Array& out, const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  check_arguments(out, x, options);
  const TransposeProblem problem = transpose_problem(x.shape(), x.dtype());
  Context& context = x.context();
  const TransposeConfig config =
      options.config != nullptr
          ? transpose_config(options.variant, *options.config, problem.dtype)
          : choose_transpose(problem, options.variant, options.tile_size, context.tuning()).config;
  if (x.size() == 0) return;
  if (context.device().facts().kind == device::DeviceKind::cpu) return copy_transpose_cpu(out, x, stream);

  const TransposePlan plan = plan_transpose(x.shape(), x.strides(), out.strides(), config.tile == 0);
  if (plan.straight) return out.assign(transposed_view(x), stream);
  const TransposeConfig used = fitted(plan, x.address(), out.address(), problem.dtype, config);
  const auto kernel = transpose_kernel(context, problem.dtype, used);
  const memory::Hold uses[] = {out.record_use(stream), x.record_use(stream)};
  (*kernel)(launch_config(plan, used, context.device().facts()), stream, out, x, plan.matrix,
            device_rows<2>(plan.planes));
}

Array copy_transpose(const Array& x, const CopyTransposeOptions& options, device::Stream& stream) {
  Array out = empty(x.context().shared_from_this(), transposed_shape(x.shape()), x.dtype(), stream);
  copy_transpose(out, x, options, stream);
  return out;
}

}  // namespace gpuforge::ops
