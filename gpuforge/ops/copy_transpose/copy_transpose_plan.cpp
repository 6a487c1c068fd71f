#include <algorithm>
#include <bit>
#include <limits>

#include "gpuforge/base/divide.h"
#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

constexpr jit::FixedText kFile = "gpuforge/ops/copy_transpose/copy_transpose.cu";
constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostOfAxis = 65535;  // blocks of a grid along y, and along z

// Whether neighbours along the first axis are nearer to each other than along the second. An axis of one
// element has no neighbours.
bool runs_along_first(std::int64_t extent, std::int64_t stride, std::int64_t other_extent,
                      std::int64_t other_stride) {
  if (extent <= 1 || other_extent <= 1) return extent > 1;
  return std::abs(stride) < std::abs(other_stride);
}

// Whether offsets within a plane are 32-bit integers, up to `rows` and `columns`.
bool is_narrow(const WideMatrix& m, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;  // two of them are added
  return std::max(std::abs(m.x_row), std::abs(m.out_column)) <= most / rows &&
         std::max(std::abs(m.x_column), std::abs(m.out_row)) <= most / columns;
}

template <typename Index>
DeviceMatrix<Index> device_matrix(const WideMatrix& m, std::int64_t shifted_width) {
  const auto as_index = [](std::int64_t number) { return static_cast<Index>(number); };
  return {as_index(m.rows),
          as_index(m.columns),
          as_index(m.x_row),
          as_index(m.x_column),
          as_index(m.out_row),
          as_index(m.out_column),
          static_cast<std::int32_t>(shifted_width)};
}

}  // namespace

TransposePlan plan_transpose(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                             bool as_given) {
  const std::size_t last = x_shape.size() - 1;
  TransposePlan plan;
  WideMatrix& m = plan.matrix;
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
  const WideMatrix& m = plan.matrix;
  const bool of_neighbours = m.x_column == 1 && m.out_column == 1;
  const auto possible = [&](std::int64_t vector) {
    const auto bytes = static_cast<device::Address>(vector) * element_bytes(dtype);
    bool good = of_neighbours && x % bytes == 0 && out % bytes == 0;
    for (const std::int64_t number : {m.rows, m.columns, m.x_row, m.out_row})
      good = good && number % vector == 0;
    for (std::size_t d = 0; d < plan.planes.extents.size(); ++d) {
      for (const std::size_t array : {0u, 1u})
        good = good && plan.planes.arrays[array].strides[d] % vector == 0;
    }
    return good;
  };
  const auto is_wide = [&] {
    return static_cast<std::size_t>(config.vector) * element_bytes(dtype) >= kNarrowAccessBytes;
  };
  if (config.shifted && !of_neighbours) return {.group = config.group};
  const bool was_wide = is_wide();
  while (config.vector > 1 && !possible(config.vector)) config.vector /= 2;
  if (was_wide && !is_wide() && of_neighbours && worth_shifting(m.rows, m.columns, dtype))
    return shifted_config(dtype);
  if (config.vector == 1 && !config.shifted) {  // transpose_tiled, whose tiles are square
    config.tile = std::min(config.tile, 64);
    config.tall = 0;
    config.rows = std::min(config.rows, config.tile);
  }
  while (block_threads(config) > kMostTransposeThreads) config.rows /= 2;
  return config;
}

DevicePlaneSteps plane_steps(const TransposePlan& plan) {
  GPUFORGE_ASSERT(plan.one_step(), "planes of {} steps", plan.planes.extents.size());
  if (plan.planes.extents.empty()) return {0, 0};
  return {plan.planes.arrays[0].strides[0], plan.planes.arrays[1].strides[0]};
}

// number / value = (number * 2^32 (2^shift - value) / value / 2^32 + number) / 2^shift, which is exact for
// numbers below 2^31 when the product is rounded up (Granlund and Montgomery, 1994).
DeviceDivisor divisor(std::int64_t value) {
  GPUFORGE_ASSERT(value >= 1 && value <= kMostBlocks, "a divisor {}", value);
  const auto by = static_cast<std::uint64_t>(value);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(by - 1));
  const std::uint64_t magic = (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by) / by + 1;
  return {static_cast<std::uint32_t>(by), static_cast<std::uint32_t>(magic), shift};
}

TransposeTiles transpose_tiles(const TransposePlan& plan, const TransposeConfig& config, DType dtype) {
  const TileShape shape = tile_shape(config, dtype, plan.matrix.columns);
  const std::int64_t down = divided_up(plan.matrix.rows + shape.rows_before, shape.rows);
  const std::int64_t across = divided_up(plan.matrix.columns, shape.columns);
  const std::int64_t group = config.group == 0 ? down : std::min<std::int64_t>(config.group, down);
  const std::int64_t plane = divided_up(down, group) * group * across;
  GPUFORGE_CHECK(plane <= kMostBlocks && plan.planes.count <= kMostBlocks / plane,
                 "copy_transpose: {} planes of {} tiles are more than a grid has; take the naive variant",
                 plan.planes.count, plane);
  TransposeTiles tiles{.shape = shape};
  const std::int64_t shifted_width = config.shifted ? shape.columns : 0;
  constexpr std::int64_t further = 512;  // than the last tile no thread looks
  if (is_narrow(plan.matrix, divided_up(down, group) * group * shape.rows + further,
                across * shape.columns + further)) {
    tiles.matrix = device_matrix<std::int32_t>(plan.matrix, shifted_width);
  } else {
    tiles.matrix = device_matrix<std::int64_t>(plan.matrix, shifted_width);
  }
  const auto blocks = [](std::int64_t count) { return static_cast<std::uint32_t>(count); };
  const bool down_first = group == down;
  const std::int64_t slow = down_first ? across : down;
  if ((down_first || group == 1) && slow <= kMostOfAxis && plan.planes.count <= kMostOfAxis) {
    tiles.grid = {blocks(down_first ? down : across), blocks(slow), blocks(plan.planes.count)};
    tiles.order = DeviceGridOrder{down_first};
  } else {
    tiles.grid = {blocks(plane * plan.planes.count)};
    tiles.order = DeviceGroupOrder{divisor(plane), divisor(group * across), divisor(group)};
  }
  return tiles;
}

jit::KernelId transpose_kernel_id(const TransposePlan& plan, DType dtype, const TransposeConfig& config) {
  const jit::BitsType type{element_bytes(dtype)};
  if (config.tile == 0) return {kFile, "gpuforge::transpose_naive", type};
  const TransposeTiles tiles = transpose_tiles(plan, config, dtype);
  jit::KernelId id = [&]() -> jit::KernelId {
    if (config.shifted) return {kFile, "gpuforge::transpose_shifted", type, config.tall, config.rows};
    if (config.vector == 1) return {kFile, "gpuforge::transpose_tiled", type, config.tile, config.rows};
    return {kFile,        "gpuforge::transpose_vectors", type, config.tile, tiles.shape.rows, config.rows,
            config.vector};
  }();
  using jit::FixedText;
  id.add(std::holds_alternative<NarrowMatrix>(tiles.matrix) ? FixedText("int") : FixedText("long long"));
  id.add(std::holds_alternative<DeviceGridOrder>(tiles.order) ? FixedText("gpuforge::GridOrder")
                                                              : FixedText("gpuforge::GroupOrder"));
  id.add(plan.one_step() ? FixedText("gpuforge::PlaneSteps") : FixedText("gpuforge::Rows<2>"));
  return id;
}

}  // namespace gpuforge::ops
