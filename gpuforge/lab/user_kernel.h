// What a kernel file's Op works with: the head, the source, and launching with both. Not installed.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "gpuforge/lab/kernel_file.h"
#include "gpuforge/lab/kernel_head.h"

namespace gpuforge::lab {

// Thread-safe.
class UserKernel {
 public:
  UserKernel(KernelHead head, std::filesystem::path file, std::string text, KernelFileOptions options);

  const KernelHead& head() const { return head_; }
  const std::string& name() const { return name_; }  // "softmax.cu": what messages call it
  const std::filesystem::path& file() const { return file_; }
  const KernelFileOptions& options() const { return options_; }
  bool is_ptx() const { return file_.extension() == ".ptx"; }

  NameValues values(const Problem& problem, const Config* config) const;
  // invalid_argument when the number of extents is wrong or a condition on them alone is violated.
  std::vector<Operand> operands(const Problem& problem) const;

  // Every tunable set; invalid_argument for a name or value the head does not have, or a violated condition.
  Config checked_config(const Problem& problem, const Config& config) const;
  std::vector<Config> configs(const Problem& problem, const device::DeviceFacts& facts) const;
  Choice choose(const Problem& problem, const device::DeviceFacts& facts, const TuningTable& table) const;
  TuningKey tuning_key(const Problem& problem) const;

  // Compiled and loaded.
  std::shared_ptr<const jit::Kernel> kernel(Context& context, const HeadLaunch& launch,
                                            const Problem& problem, const Config& config) const;
  // Operands in the order of operands(), contiguous. Nothing is launched when the grid has no blocks.
  void run(Context& context, const HeadLaunch& launch, const Problem& problem, const Config& config,
           std::span<Array> arrays, device::Stream& stream) const;

 private:
  void check_conditions(const NameValues& values, bool with_tunables) const;
  const Expression* violated(const NameValues& values, bool with_tunables) const;
  device::LaunchConfig launch_config(const HeadLaunch& launch, const NameValues& values) const;
  jit::KernelSource source(const std::string& expression, const Config& config, DType element) const;
  void check_pointee(const HeadLaunch& launch, const Operand& operand, const jit::Parameter& parameter,
                     const Problem& problem, DType given) const;
  bool is_template_argument(const std::string& tunable) const;

  const KernelHead head_;
  const std::filesystem::path file_;
  const std::string name_;
  const std::string text_;
  const KernelFileOptions options_;
  // Device, expression, tunables, T.
  using KernelKey = std::tuple<const device::Device*, std::string, Config, DType>;
  mutable std::mutex mutex_;
  mutable std::map<KernelKey, std::shared_ptr<const jit::Kernel>> kernels_;
};

// The head's reference on inputs and inouts, in order.
std::vector<Expected> reference_of(const UserKernel& kernel, const Problem& problem,
                                   std::span<const HostTensor> inputs, const EachRow& each_row);
// By a function of a Python file, in a child process.
std::vector<Expected> python_reference(const UserKernel& kernel, const Problem& problem,
                                       std::span<const HostTensor> inputs);

}  // namespace gpuforge::lab
