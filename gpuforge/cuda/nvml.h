// NVML, NVIDIA's library that tells how busy GPUs are, opened at run time. It comes with the driver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/cuda/library.h"

namespace gpuforge::cuda {

// What a GPU does at the moment, of all programs together; what it does not tell is nothing.
struct GpuUse {
  unsigned index = 0;  // NVML's own: CUDA_VISIBLE_DEVICES does not change it
  std::string product;
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_total_bytes = 0;
  std::optional<unsigned> busy_percent;         // of the last moment, a kernel ran
  std::optional<unsigned> memory_busy_percent;  // of the last moment, memory was read or written
  std::optional<double> power_watts;
  std::optional<unsigned> temperature_celsius;
};

class Nvml {
 public:
  // nullptr where there is none or it does not work; `why` then gets a sentence.
  static std::unique_ptr<Nvml> try_load(const SearchOptions& options, std::string* why);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<GpuUse> read() const;  // Error `cuda` when NVML stops answering

 private:
  struct Calls;
  explicit Nvml(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
};

}  // namespace gpuforge::cuda
