// The parts of copy_transpose that need no data: the problem, the choice, the kernel. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
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

struct TransposeConfig {
  int tile = 32;   // 0: no tiles, the naive kernel
  int rows = 8;    // threads of a block below each other
  int vector = 1;  // elements an access has, where both sides allow it
  friend bool operator==(const TransposeConfig&, const TransposeConfig&) = default;
};
Config to_config(const TransposeConfig& config);
// invalid_argument for a variant there is not, and for a name or value its kernels do not have.
TransposeConfig transpose_config(std::string_view variant, const Config& config, DType dtype);
std::vector<Config> transpose_configs(std::string_view variant, DType dtype);

struct TransposeChoice {
  TransposeConfig config;
  Reason reason;
};
TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant);
// Pure. `tile_size` 0: free.
TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const TuningTable& table);

// One plane as the tiled kernel should see it, and where planes begin. The members of Matrix in
// copy_transpose.cu.
struct DeviceMatrix {
  std::int64_t rows, columns, x_row, x_column, out_row, out_column;
};
struct TransposePlan {
  DeviceMatrix matrix;
  Rows planes;
  bool straight = false;  // both run along the same axis: a copy, no transpose
};
// With rows and columns exchanged where x runs along its columns, unless `as_given`.
TransposePlan plan_transpose(const Shape& x_shape, const Strides& x_strides, const Strides& out_strides,
                             bool as_given);
// The configuration with the widest access, up to its own, that strides and addresses allow.
TransposeConfig fitted(const TransposePlan& plan, device::Address x, device::Address out, DType dtype,
                       TransposeConfig config);

jit::KernelId transpose_kernel_id(DType dtype, const TransposeConfig& config);
// What a launch takes.
std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, DType dtype,
                                                    const TransposeConfig& config);

void copy_transpose_cpu(const Array& out, const Array& x, device::Stream& stream);

}  // namespace gpuforge::ops
