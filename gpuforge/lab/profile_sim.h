// One run of an op for a profiler to look at; the same in the simulator, with what was counted; and what
// compiling its kernels told.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/lab/op.h"
#include "gpuforge/sim/report.h"

namespace gpuforge::lab {

struct OnceRequest {
  Problem problem;  // complete
  std::string variant;
  std::optional<Config> config;
  std::uint64_t seed = 1;
};

// Operands are made, then the op runs once, and has ended.
void run_once(const Op& op, const OnceRequest& request, const std::shared_ptr<Context>& context);

struct SimProfile {
  std::vector<sim::LaunchReport> launches;  // in the order they ended
  Cost cost;                                // what the formula needs
  std::optional<Choice> choice;             // nothing when a configuration was given or the op has none
};
// invalid_argument when the context's device is not the simulator, and when the simulator finds something
// wrong with the kernel.
SimProfile profile_on_sim(const Op& op, const OnceRequest& request, const std::shared_ptr<Context>& context);

// The largest of the problems that `check` goes through, in the op's f32 or first dtype: for who names none.
Problem usual_problem(const Op& op);

// Registers and the like need machine code: kernels of our own files are compiled for `arch`, without a
// device. Those of a user's file, whose text the op keeps, are left out.
struct KernelResources {
  std::string kernel;  // its expression
  jit::Entry entry;
  jit::Arch arch;
};
std::vector<KernelResources> kernel_resources(const Op& op, const OnceRequest& request, Context& context,
                                              const jit::Arch& arch);

}  // namespace gpuforge::lab
