// Programs loaded on a sim device, their kernels, and one launch. Not installed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/device/sim_memory.h"
#include "gpuforge/sim/chip.h"

namespace gpuforge::device {

// What launches need of their device; they may run when it is gone.
class SimState {
 public:
  SimState(std::shared_ptr<SimMemory> memory, SimOptions options)
      : memory_(std::move(memory)), options_(std::move(options)) {}

  SimMemory& memory() const { return *memory_; }
  void set_sink(SimDevice::ReportSink sink);
  std::vector<sim::LaunchReport> take_reports();
  void deliver(const sim::LaunchReport& report);
  void set_options(SimOptions options);
  SimOptions options() const;

 private:
  const std::shared_ptr<SimMemory> memory_;
  mutable std::mutex mutex_;
  SimOptions options_;
  SimDevice::ReportSink sink_;
  std::deque<sim::LaunchReport> reports_;
};

class SimModule final : public Module, public std::enable_shared_from_this<SimModule> {
 public:
  SimModule(std::shared_ptr<Device> device, const sim::Chip& chip, std::shared_ptr<SimMemory> memory,
            std::span<const std::byte> image, std::string_view name,
            std::span<const KernelRegisters> registers);

  std::shared_ptr<Function> function(std::string_view entry,
                                     std::optional<std::size_t> parameter_count) override;
  Device& device() const { return *device_; }
  const sim::Chip& chip() const { return chip_; }
  const std::shared_ptr<const sim::Program>& program() const { return program_; }
  int registers_of(std::string_view entry) const;  // per thread; 0: not known

 private:
  const std::shared_ptr<Device> device_;
  const sim::Chip& chip_;
  const std::string name_;
  std::shared_ptr<const sim::Program> program_;
  std::map<std::string, int, std::less<>> registers_;
};

class SimFunction final : public Function {
 public:
  SimFunction(std::shared_ptr<SimModule> module, const sim::EntryFacts& entry);

  const FunctionFacts& facts() const override { return facts_; }
  int max_active_blocks(int threads_per_block, std::size_t dynamic_shared_bytes) const override;
  int max_active_clusters(const LaunchConfig& config) const override;

  const SimModule& module() const { return *module_; }
  // What the kernel was compiled for, where the launch does not say.
  Dim3 cluster_of(const LaunchConfig& config) const;
  // invalid_argument or unsupported when it cannot be launched like this.
  void check(const LaunchConfig& config, std::span<void* const> parameters) const;

 private:
  const std::shared_ptr<SimModule> module_;
  FunctionFacts facts_;
  Dim3 required_block_{0, 0, 0};
  Dim3 required_cluster_{0, 0, 0};
};

// A launch with copies of its arguments. Runs any number of times.
class SimLaunch {
 public:
  SimLaunch(std::shared_ptr<SimState> state, const SimFunction& function, const LaunchConfig& config,
            std::span<void* const> parameters);
  void operator()() const;  // an OwnFailure when the report has findings

 private:
  std::shared_ptr<SimState> state_;
  std::shared_ptr<const sim::Program> program_;
  std::string device_name_;
  std::string entry_;
  sim::Geometry geometry_;
  std::vector<std::vector<std::byte>> arguments_;
};

}  // namespace gpuforge::device
