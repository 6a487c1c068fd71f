// The parts of elementwise that need no data: the configuration and the kernel's expression; and the launch.
// fuse has its own body for the same kernels. Not installed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/ops/elementwise/element_walk.h"
#include "gpuforge/ops/elementwise/program.h"
#include "gpuforge/ops/reason.h"

namespace gpuforge::ops {

struct ElementwiseConfig {
  int block = 256;  // threads
  int vector = 16;  // bytes the widest operand has in one access, where the views allow it
  int flight = 4;   // vectors under way in a thread
  friend bool operator==(const ElementwiseConfig&, const ElementwiseConfig&) = default;
};
Config to_config(const ElementwiseConfig& config);
// invalid_argument for a variant there is not, and for a name or value its kernels do not have.
ElementwiseConfig elementwise_config(std::string_view variant, const Config& config);
std::vector<Config> elementwise_configs();

struct ElementwiseChoice {
  ElementwiseConfig config;
  Reason reason;
};
TuningKey elementwise_tuning_key(std::int64_t count, DType result, std::string_view variant);
// Pure: of the number of elements, their dtype, the number of multiprocessors and the table.
ElementwiseChoice choose_elementwise(std::int64_t count, DType result, std::string_view variant,
                                     const device::DeviceFacts& facts, const TuningTable& table);

// How a kernel goes over a walk.
struct ElementwisePlan {
  ElementwiseConfig config;
  bool run = true;    // elementwise_run; else elementwise_walk
  bool wide = false;  // indices of 64 bits
  int vector = 1;     // elements
  std::int64_t vectors = 0;
};
ElementwisePlan plan_elementwise(const ElementWalk& walk, const ElementwiseConfig& config);

// Inputs of a kernel: array i + 1 of the walk, or a constant.
struct KernelInput {
  bool constant = false;
  std::size_t array = 0;
  ConstantBits bits;
};
// `how` says what is called; nullptr: the body that fuse writes.
jit::KernelId elementwise_kernel_id(const Resolution* how, const ElementWalk& walk,
                                    std::span<const KernelInput> inputs, const ElementwisePlan& plan);
void launch_elementwise(const jit::Kernel& kernel, const ElementWalk& walk,
                        std::span<const KernelInput> inputs, const ElementwisePlan& plan,
                        device::Stream& stream);

// The shape operands have together, and `out` checked against shape and dtype: invalid_argument.
Shape broadcast_operands(std::string_view who, std::span<const Operand> operands, const Array* out);
void check_out(std::string_view who, const Array& out, const Shape& shape, DType result);
// Whether writing `out` element by element would change what is still to be read of `input`, which has out's
// shape.
bool overlaps_otherwise(const Array& out, const Array& input);

// What `apply` would launch.
std::shared_ptr<const jit::Kernel> elementwise_kernel(Context& context, const Resolution& how,
                                                      const ElementWalk& walk,
                                                      std::span<const KernelInput> inputs,
                                                      const ElementwisePlan& plan);

}  // namespace gpuforge::ops
