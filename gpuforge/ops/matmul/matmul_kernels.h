// The parts of matmul that need no data. Not installed.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ops/matmul/matmul.h"
#include "gpuforge/ops/reason.h"

namespace gpuforge::ops {

// The same members as MatmulShape in matmul.cu: out is 0, a is 1, b is 2.
struct MatmulProblem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batches = 1;
  std::array<std::int64_t, 3> rows{};
  std::array<std::int64_t, 3> columns{};
  std::array<std::int64_t, kMaxRank - 2> extents{};
  std::array<std::array<std::int64_t, kMaxRank - 2>, 3> strides{};
  std::int32_t rank = 0;
};
// Of matrices and batches of them that fit each other: ranks of two or more.
MatmulProblem matmul_problem(const Array& out, const Array& a, const Array& b);

struct MatmulConfig {
  int rows = 64;  // of the output, that a block has
  int columns = 64;
  int depth = 16;  // products it takes at once
  bool naive = false;
};
Config to_config(const MatmulConfig& config);
MatmulConfig matmul_config(std::string_view variant, DType dtype, const Config& config);
std::vector<Config> matmul_configs(DType dtype);
struct MatmulChoice {
  MatmulConfig config;
  Reason reason;
};
struct MatmulSize {
  std::int64_t m = 0, n = 0, k = 0, batches = 1;
};
TuningKey matmul_tuning_key(const MatmulSize& size, DType dtype, std::string_view variant);
MatmulChoice choose_matmul(const MatmulSize& size, DType dtype, std::string_view variant,
                           const device::DeviceFacts& facts, const TuningTable& table);
jit::KernelId matmul_kernel_id(DType dtype, const MatmulConfig& config);
std::shared_ptr<const jit::Kernel> matmul_kernel(Context& context, DType dtype, const MatmulConfig& config);
void matmul_cpu(const Array& out, const Array& a, const Array& b, const MatmulProblem& problem,
                device::Stream& stream);

}  // namespace gpuforge::ops
