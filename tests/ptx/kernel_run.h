// Kernels of one PTX text, whose parameters are addresses of buffers, run on the simulator or on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge::ptx_files {

using Bytes = std::vector<std::byte>;

struct Shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint32_t cluster = 1;  // blocks of one
};

class SimModule {
 public:
  // Errors as sim::load_program and sim::launch have them.
  SimModule(std::string text, std::string name);
  // The buffers go in and come out; every byte counts as written before.
  sim::LaunchReport run(std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers,
                        const sim::Options& options = {}) const;

 private:
  std::shared_ptr<sim::Memory> memory_ = std::make_shared<sim::Memory>();
  std::shared_ptr<const sim::Program> program_;
};

// The first GPU; nullptr, and why, where there is none.
std::shared_ptr<device::Device> open_gpu(std::string* why);

class GpuModule {
 public:
  // A cuda Error with the assembler's words when the driver refuses the text.
  GpuModule(std::shared_ptr<device::Device> device, std::string_view text, std::string_view name);
  void run(std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers) const;

 private:
  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::Module> module_;
  std::shared_ptr<device::Stream> stream_;
};

}  // namespace gpuforge::ptx_files
