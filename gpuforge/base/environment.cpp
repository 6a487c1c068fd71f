#include "gpuforge/base/environment.h"

#include <array>
#include <cstdlib>
#include <string>

namespace gpuforge {
namespace {

constexpr std::array kTable = {
    EnvironmentEntry{"GPUFORGE_DEVICE", "device to use when no flag names one: cuda:N, sim or cpu",
                     &Environment::device},
    EnvironmentEntry{"GPUFORGE_CACHE_DIR", "folder of compiled kernels and tuning results",
                     &Environment::cache_dir},
    EnvironmentEntry{
        "GPUFORGE_LIBRARY_PATH",
        "folders searched first for libcuda, NVRTC and cuBLASLt, separated by ':'; none: search nowhere",
        &Environment::library_path},
    EnvironmentEntry{"GPUFORGE_LOG", "least level of messages on stderr: debug, info, warning, error or off",
                     &Environment::log},
    EnvironmentEntry{"GPUFORGE_STRICT",
                     "turns every degradation (such as a fallback to the CPU) into an error",
                     &Environment::strict},
    EnvironmentEntry{"GPUFORGE_POOL",
                     "off: every array has device memory of its own, as compute-sanitizer needs it",
                     &Environment::pool},
    EnvironmentEntry{"NO_COLOR", "any value switches colours off", &Environment::no_color},
    EnvironmentEntry{"CUDA_HOME", "CUDA toolkit whose headers and libraries are used when found there",
                     &Environment::cuda_home},
    EnvironmentEntry{"HOME", "the user's folder; the cache is below it unless another place is given",
                     &Environment::home},
    EnvironmentEntry{"XDG_CACHE_HOME", "folder of all caches of the user, instead of ~/.cache",
                     &Environment::xdg_cache},
    EnvironmentEntry{"PATH", "where profilers and Python installations are looked for", &Environment::path},
};

}  // namespace

std::span<const EnvironmentEntry> environment_table() {
  return kTable;
}

Environment read_environment() {
  Environment environment;
  for (const EnvironmentEntry& entry : kTable) {
    // The names are literals, so data() ends in NUL.
    const char* value = std::getenv(entry.name.data());
    if (value != nullptr && *value != '\0') environment.*entry.value = value;
  }
  return environment;
}

}  // namespace gpuforge
