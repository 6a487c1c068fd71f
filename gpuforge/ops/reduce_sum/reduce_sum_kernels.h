// The parts of reduce_sum that need no data: the choice and the kernels. Not installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ops/reduce/reduce_kernels.h"
#include "gpuforge/ops/reduce_sum/reduce_sum.h"

namespace gpuforge::ops {

struct ReduceSumChoice {
  Config config;  // best: a ReduceConfig's; improved, shuffle: block; naive: none
  Reason reason;
};
// invalid_argument for a configuration the variant does not have.
void check_reduce_sum_config(std::string_view variant, const Config& config);
// Pure.
ReduceSumChoice choose_reduce_sum(const ReduceProblem& problem, std::string_view variant,
                                  const device::DeviceFacts& facts, const TuningTable& table);
std::vector<Config> reduce_sum_configs(const ReduceProblem& problem, std::string_view variant,
                                       const device::DeviceFacts& facts);
// Of the variants that are reduce_sum's own.
jit::KernelId reduce_sum_kernel_id(std::string_view variant, DType dtype, const Config& config);
std::vector<std::shared_ptr<const jit::Kernel>> reduce_sum_kernels(Context& context, const Rows& rows,
                                                                   device::Address x, DType dtype,
                                                                   std::string_view variant,
                                                                   const Config& config);

void reduce_sum_cpu(const Array& out, const Array& x, const Rows& rows, device::Stream& stream);

}  // namespace gpuforge::ops
