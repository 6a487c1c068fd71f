#include "gpuforge/cuda/nvml.h"

#include <array>

#include "gpuforge/base/error.h"

namespace gpuforge::cuda {
namespace {

constexpr const char* kFile = "libnvidia-ml.so.1";

using Handle = void*;
struct Memory {  // nvmlMemory_t
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct Utilization {  // nvmlUtilization_t
  unsigned gpu = 0;
  unsigned memory = 0;
};

template <typename Function>
Function* find(const SharedLibrary& library, const char* name, std::string& missing) {
  void* const found = library.symbol(name);
  if (found == nullptr) missing = name;
  return reinterpret_cast<Function*>(found);
}

// The folders that were named, then the loader's.
std::optional<SharedLibrary> open(const SearchOptions& options, std::string* why) {
  std::string list = options.explicit_path.value_or("");
  bool system = options.system;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    const std::filesystem::path entry = list.substr(0, end);
    list.erase(0, end + 1);
    if (entry == "none") system = false;
    if (!entry.is_absolute()) continue;
    if (auto library = SharedLibrary::open(entry / kFile)) return library;
  }
  if (!system) {
    *why = format_text("there is no {} in the folders that were named", kFile);
    return std::nullopt;
  }
  std::string reason;
  auto library = SharedLibrary::open(kFile, &reason);
  if (!library) *why = reason;
  return library;
}

}  // namespace

struct Nvml::Calls {
  explicit Calls(SharedLibrary opened) : library(std::move(opened)) {}

  SharedLibrary library;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;

  void check(int result, const char* call) const {
    if (result == 0) return;
    throw Error(ErrorCode::cuda, format_text("NVML: {} failed: {} ({})", call, error_string(result), result));
  }
};

Nvml::Nvml(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}

Nvml::~Nvml() {
  calls_->shutdown();
}

std::unique_ptr<Nvml> Nvml::try_load(const SearchOptions& options, std::string* why) {
  auto library = open(options, why);
  if (!library) return nullptr;
  auto calls = std::make_unique<Calls>(std::move(*library));
  std::string missing;
  const SharedLibrary& from = calls->library;
  calls->init = find<int()>(from, "nvmlInit_v2", missing);
  calls->shutdown = find<int()>(from, "nvmlShutdown", missing);
  calls->error_string = find<const char*(int)>(from, "nvmlErrorString", missing);
  calls->count = find<int(unsigned*)>(from, "nvmlDeviceGetCount_v2", missing);
  calls->handle = find<int(unsigned, Handle*)>(from, "nvmlDeviceGetHandleByIndex_v2", missing);
  calls->name = find<int(Handle, char*, unsigned)>(from, "nvmlDeviceGetName", missing);
  calls->memory = find<int(Handle, Memory*)>(from, "nvmlDeviceGetMemoryInfo", missing);
  calls->utilization = find<int(Handle, Utilization*)>(from, "nvmlDeviceGetUtilizationRates", missing);
  calls->power = find<int(Handle, unsigned*)>(from, "nvmlDeviceGetPowerUsage", missing);
  calls->temperature = find<int(Handle, unsigned, unsigned*)>(from, "nvmlDeviceGetTemperature", missing);
  if (!missing.empty()) {
    *why = format_text("{} has no {}", from.path().string(), missing);
    return nullptr;
  }
  if (const int result = calls->init(); result != 0) {
    *why = format_text("nvmlInit failed: {} ({})", calls->error_string(result), result);
    return nullptr;
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(calls)));
}

std::vector<GpuUse> Nvml::read() const {
  unsigned count = 0;
  calls_->check(calls_->count(&count), "nvmlDeviceGetCount");
  std::vector<GpuUse> all;
  for (unsigned i = 0; i < count; ++i) {
    Handle handle = nullptr;
    if (calls_->handle(i, &handle) != 0) continue;  // one that this user may not see
    GpuUse use{.index = i};
    std::array<char, 96> name{};
    if (calls_->name(handle, name.data(), name.size() - 1) == 0) use.product = name.data();
    Memory memory;
    calls_->check(calls_->memory(handle, &memory), "nvmlDeviceGetMemoryInfo");
    use.memory_used_bytes = memory.used;
    use.memory_total_bytes = memory.total;
    Utilization busy;
    if (calls_->utilization(handle, &busy) == 0) {
      use.busy_percent = busy.gpu;
      use.memory_busy_percent = busy.memory;
    }
    unsigned value = 0;
    if (calls_->power(handle, &value) == 0) use.power_watts = value / 1000.0;
    if (calls_->temperature(handle, 0, &value) == 0) use.temperature_celsius = value;
    all.push_back(std::move(use));
  }
  return all;
}

}  // namespace gpuforge::cuda
