// The parts of copy_transpose that need no data: the problem, the choice, the kernel. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/array/array.h"

namespace gpuforge::ops {

struct TransposeProblem {
  std::int64_t rows = 0;  // of x
  std::int64_t columns = 0;
  DType dtype = DType::f32;
};

struct TransposeConfig {
  int tile = 32;  // 0: no tiles, the naive kernel
  int rows = 8;   // threads of a block below each other
};
Config to_config(const TransposeConfig& config);
// invalid_argument for a name or value the kernels do not have.
TransposeConfig transpose_config(const Config& config);

struct TransposeChoice {
  TransposeConfig config;
  std::string reason;
};
TuningKey transpose_tuning_key(const TransposeProblem& problem, std::string_view variant);
// Pure. `tile_size` 0: free.
TransposeChoice choose_transpose(const TransposeProblem& problem, std::string_view variant, int tile_size,
                                 const TuningTable& table);
std::string transpose_expression(DType dtype, const TransposeConfig& config);
std::shared_ptr<const jit::Kernel> transpose_kernel(Context& context, DType dtype,
                                                    const TransposeConfig& config);

void copy_transpose_cpu(const Array& out, const Array& x, device::Stream& stream);

}  // namespace gpuforge::ops
