#include "gpuforge/context/context.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

namespace fs = std::filesystem;

// A relative folder is meant from where the program starts, also after it has moved elsewhere.
fs::path from_start(const std::string& text) {
  std::error_code error;
  fs::path path = fs::absolute(text, error);
  return error ? fs::path(text) : path.lexically_normal();
}

std::optional<fs::path> cache_dir(const Environment& environment) {
  if (environment.cache_dir) return from_start(*environment.cache_dir);
  // The XDG specification has relative values ignored.
  if (environment.xdg_cache && fs::path(*environment.xdg_cache).is_absolute()) {
    return fs::path(*environment.xdg_cache) / "gpuforge";
  }
  if (environment.home && fs::path(*environment.home).is_absolute()) {
    return fs::path(*environment.home) / ".cache" / "gpuforge";
  }
  return std::nullopt;
}

std::shared_ptr<memory::Allocator> default_allocator(const std::shared_ptr<device::Device>& device,
                                                     memory::PoolOptions options) {
  if (device->facts().kind == device::DeviceKind::sim) return memory::make_device_allocator(device);
  return memory::make_pool(device, std::move(options));
}

// What kernels print in the simulator becomes lines of the log, unless the program wants it elsewhere.
void connect_printf(device::Device& device, const std::shared_ptr<Log>& log) {
  auto* const simulator = dynamic_cast<device::SimDevice*>(&device);
  if (simulator == nullptr || !log->enabled(LogLevel::info)) return;
  device::SimOptions options = simulator->options();
  if (options.print != nullptr) return;
  options.print = [log](std::string_view text) {
    log->write(LogLevel::info, text.substr(0, text.find_last_not_of('\n') + 1));
  };
  simulator->set_options(std::move(options));
}

}  // namespace

std::shared_ptr<Context> Context::make(std::shared_ptr<device::Device> device, ContextOptions options) {
  GPUFORGE_CHECK(device != nullptr, "context: a device was expected, and none was given");
  GPUFORGE_CHECK(options.allocator == nullptr || &options.allocator->device() == device.get(),
                 "context: the device is {}, and the allocator given is of {}", device->facts().name,
                 options.allocator->device().facts().name);
  return std::shared_ptr<Context>(new Context(std::move(device), std::move(options)));
}

Context::Context(std::shared_ptr<device::Device> device, ContextOptions options)
    : device_(std::move(device)),
      log_(options.log != nullptr ? std::move(options.log) : std::make_shared<Log>()),
      jit_(std::make_unique<jit::Jit>(std::move(options.jit), log_)),
      allocator_(options.allocator != nullptr ? std::move(options.allocator)
                                              : default_allocator(device_, std::move(options.pool))),
      tuning_(std::move(options.tuning)) {
  pool_ = std::dynamic_pointer_cast<memory::Pool>(allocator_);
  connect_printf(*device_, log_);
}

jit::JitOptions jit_options(const Environment& environment) {
  jit::JitOptions options;
  options.search = cuda::search_options(environment);
  options.cache_dir = cache_dir(environment);
  options.program_path = environment.path;
  return options;
}

std::shared_ptr<memory::Allocator> allocator_for(const Environment& environment,
                                                 const std::shared_ptr<device::Device>& device) {
  const std::string wanted = environment.pool.value_or("on");
  GPUFORGE_CHECK(wanted == "on" || wanted == "off", "GPUFORGE_POOL: it is on or off; found {}", wanted);
  return wanted == "off" ? memory::make_device_allocator(device) : nullptr;
}

}  // namespace gpuforge
