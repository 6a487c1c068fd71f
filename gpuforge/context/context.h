// Room context: what a program holds per device: the device, its JIT cache, its allocator, its tuning
// table and its log. Made by the program, passed or known by arrays; there is no global one.
#pragma once

#include <memory>
#include <string>

#include "gpuforge/base/log.h"
#include "gpuforge/context/tuning_table.h"
#include "gpuforge/device/device.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/memory/allocator.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge {

struct ContextOptions {
  jit::JitOptions jit;
  // Nothing: a pool (memory/pool.h); on sim straight to the device, whose checks know each allocation by
  // itself, with nobody's bytes around it, and do not reuse at once what was freed.
  std::shared_ptr<memory::Allocator> allocator;
  std::shared_ptr<Log> log;  // nothing: silent. At info: printf of kernels on sim
  TuningTable tuning;        // for this device
  memory::PoolOptions pool;  // for the context's own pool
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  static std::shared_ptr<Context> make(std::shared_ptr<device::Device> device, ContextOptions options = {});

  device::Device& device() const { return *device_; }
  jit::Jit& jit() const { return *jit_; }
  const std::shared_ptr<memory::Allocator>& allocator() const { return allocator_; }
  // The allocator, where that is a pool; else nothing.
  const std::shared_ptr<memory::Pool>& pool() const { return pool_; }
  Log& log() const { return *log_; }
  const TuningTable& tuning() const { return tuning_; }
  std::shared_ptr<device::Stream> make_stream(int priority = 0) const {
    return device_->make_stream(priority);
  }

 private:
  Context(std::shared_ptr<device::Device> device, ContextOptions options);
  std::shared_ptr<device::Device> device_;
  std::shared_ptr<Log> log_;
  std::unique_ptr<jit::Jit> jit_;
  std::shared_ptr<memory::Pool> pool_;
  std::shared_ptr<memory::Allocator> allocator_;
  TuningTable tuning_;
};

// Options as the environment asks for them: library search, cache folder (GPUFORGE_CACHE_DIR, else
// $XDG_CACHE_HOME/gpuforge, else ~/.cache/gpuforge).
jit::JitOptions jit_options(const Environment& environment);
// For ContextOptions: straight to the device where GPUFORGE_POOL is off, so that who watches memory knows
// where each array ends; nothing, which is a pool, else. invalid_argument for other words than on and off.
std::shared_ptr<memory::Allocator> allocator_for(const Environment& environment,
                                                 const std::shared_ptr<device::Device>& device);

}  // namespace gpuforge
