// The parts of copy_transpose that need no data: the problem, the choice, the kernel. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/ops/reason.h"
#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {

struct TransposeProblem {
  std::int64_t planes = 1;
  std::int64_t rows = 0;  // of x
  std::int64_t columns = 0;
  DType dtype = DType::f32;
};
TransposeProblem transpose_problem(const Shape& x_shape, DType dtype);  // rank 2 or more
// x's shape with the last two extents exchanged; invalid_argument below rank 2.
Shape transposed_shape(const Shape& x_shape);

// What a block moves, and how. copy_transpose.cu has three kernels with tiles: element by element, in vectors
// of both sides, and `shifted`, whose accesses are vectors wherever rows begin.
struct TransposeConfig {
  int tile = 32;   // columns of a tile. 0: no tiles, the naive kernel. Shifted: its own
  int tall = 0;    // rows of a tile. 0: as many as columns
  int rows = 8;    // threads of a block below each other; shifted: warps
  int vector = 1;  // elements an access has, where both sides allow it
  int group = 1;   // rows of tiles that are walked together, down before across. 0: all of them
  bool shifted = false;
  friend bool operator==(const TransposeConfig&, const TransposeConfig&) = default;
};
Config to_config(const TransposeConfig& config);
// invalid_argument for a variant there is not, and for a name or value its kernels do not have.
TransposeConfig transpose_config(std::string_view variant, const Config& config, DType dtype);
std::vector<Config> transpose_configs(const TransposeProblem& problem, std::string_view variant);
// Of rows that begin anywhere.
TransposeConfig shifted_config(DType dtype);
// Whether half of its lanes, and all rows of a tile, have something to do.
bool worth_shifting(std::int64_t rows, std::int64_t columns, DType dtype);
int block_threads(const TransposeConfig& config);
inline constexpr int kMostTransposeThreads = 1024;
inline constexpr int kNarrowAccessBytes = 8;  // of less, shifted accesses of 16 are better

struct TileShape {
  std::int64_t rows, columns;
  std::int64_t rows_before;  // rows of x before the first tile, which it could have as well
};
// Not of the naive kernel. The tiles of shifted accesses are as wide as they can be, but all alike.
TileShape tile_shape(const TransposeConfig& config, DType dtype, std::int64_t columns);

struct TransposeChoice {
  TransposeConfig config;
  Reason reason;
};
TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant);
// Pure: of the problem, the number of multiprocessors, and the table. `tile_size` 0: free.
TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const device::DeviceFacts& facts, const TuningTable& table);

// One plane as the kernels should see it. The members of Matrix in copy_transpose_tiles.cuh.
template <typename Index>
struct DeviceMatrix {
  Index rows, columns, x_row, x_column, out_row, out_column;
  std::int32_t shifted_width = 0;
};
using WideMatrix = DeviceMatrix<std::int64_t>;
using NarrowMatrix = DeviceMatrix<std::int32_t>;
struct TransposePlan {
  WideMatrix matrix;
  Rows planes;
  bool straight = false;  // both run along the same axis: a copy, no transpose

  bool one_step() const { return planes.extents.size() <= 1; }  // from every plane to the next
};
// With rows and columns exchanged where x runs along its columns, unless `as_given`.
TransposePlan plan_transpose(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                             bool as_given);
// The configuration with the widest access, up to its own, that strides and addresses allow; the shifted one
// where that would be less than 8 bytes, rows are of neighbours, and it is worth it.
TransposeConfig fitted(const TransposePlan& plan, device::Address x, device::Address out, DType dtype,
                       TransposeConfig config);

// The members of PlaneSteps, Divisor, GridOrder and GroupOrder in copy_transpose_tiles.cuh.
struct DevicePlaneSteps {
  std::int64_t x, out;
};
DevicePlaneSteps plane_steps(const TransposePlan& plan);  // of planes with one step
struct DeviceDivisor {
  std::uint32_t value, magic, shift;
};
DeviceDivisor divisor(std::int64_t value);  // 1 to 2^31 - 1
struct DeviceGridOrder {
  std::uint32_t down_first;
};
struct DeviceGroupOrder {
  DeviceDivisor plane_tiles, group_tiles, group_rows;
};
// How a launch goes over the tiles: by the grid's own axes where there is one group, or one for each row of
// tiles, and the grid has room for it.
struct TransposeTiles {
  device::Dim3 grid;
  TileShape shape;
  std::variant<NarrowMatrix, WideMatrix> matrix;  // narrow where it may be
  std::variant<DeviceGridOrder, DeviceGroupOrder> order;
};
// invalid_argument for more tiles than a grid has.
TransposeTiles transpose_tiles(const TransposePlan& plan, const TransposeConfig& config, DType dtype);

jit::KernelId transpose_kernel_id(const TransposePlan& plan, DType dtype, const TransposeConfig& config);
// What a launch takes.
std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, const TransposePlan& plan, DType dtype,
                                                    const TransposeConfig& config);

void copy_transpose_cpu(const Array& out, const Array& x, device::Stream& stream);

}  // namespace gpuforge::ops
