#include "gpuforge/cuda/driver.h"

#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::cuda {
namespace {

std::string_view init_advice(Result result) {
  switch (result) {
    case Result::invalid_device:
      return "check that CUDA_VISIBLE_DEVICES names GPUs that are there";
    case Result::system_not_ready:
      return "the machine's GPUs are not set up yet: on machines with NVSwitch, start nvidia-fabricmanager";
    case Result::system_driver_mismatch:
      return "the driver library and the kernel module are of different versions: restart the machine, or in "
             "a "
             "container use the library of the host's driver";
    case Result::compat_not_supported_on_device:
      return "this GPU does not work with the CUDA compatibility library: update NVIDIA's driver package "
             "instead";
    case Result::operating_system:
    case Result::device_unavailable:
    case Result::unknown:
      return "the kernel module may not be loaded, or was updated without a restart, or /dev/nvidia* is "
             "missing "
             "in this container: run nvidia-smi, then load nvidia_uvm or restart";
    default:
      return "nvidia-smi may say more about the state of the driver";
  }
}

// Users know cuMemAlloc; the "_v2" of the symbol is the library's affair.
std::string_view public_name(std::string_view symbol) {
  const std::size_t suffix = symbol.rfind("_v");
  if (suffix == std::string_view::npos) return symbol;
  const bool digits = symbol.find_first_not_of("0123456789", suffix + 2) == std::string_view::npos;
  return digits ? symbol.substr(0, suffix) : symbol;
}

bool is_driver(const SharedLibrary& library, std::string* why) {
  for (const char* symbol : {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"}) {
    if (library.symbol(symbol) == nullptr) {
      *why = format_text("has no {}, so it is not a CUDA driver", symbol);
      return false;
    }
  }
  // The toolkit has a libcuda to link against, which some images put on the loader's path before the
  // driver's.
  const auto initialize = reinterpret_cast<Result (*)(unsigned)>(library.symbol("cuInit"));
  if (initialize(0) != Result::stub_library) return true;
  *why = "is the CUDA toolkit's stub, not a driver";
  return false;
}

}  // namespace

std::string version_text(int cuda_version) {
  return format_text("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

Driver::Driver(SharedLibrary library) : library_(std::move(library)) {
  bind_calls([this](const char* symbol) { return library_.symbol(symbol); });
}

std::shared_ptr<const Driver> Driver::load(const SearchOptions& options) {
  std::string tried;
  std::optional<SharedLibrary> library =
      SharedLibrary::open_first(LibraryKind::driver, options, &tried, is_driver);
  if (!library) {
    throw Error(
        ErrorCode::unavailable,
        "CUDA driver not detected: no usable libcuda.so.1 on this machine; install NVIDIA's driver package "
        "(Debian: nvidia-driver, Ubuntu: nvidia-driver-*; in a container, start it with the GPUs passed in)",
        std::move(tried));
  }
  const std::shared_ptr<Driver> driver(new Driver(std::move(*library)));
  driver->start();
  return driver;
}

std::shared_ptr<const Driver> Driver::try_load(const SearchOptions& options, std::string* why) {
  try {
    return load(options);
  } catch (const Error& error) {
    if (why != nullptr) *why = error.message();
    return nullptr;
  }
}

void Driver::start() {
  // The version can be asked before anything works, and belongs in the report of what does not.
  if (driver_get_version.raw(&version_) != Result::success) version_ = 0;
  const std::string which = format_text("{} (CUDA {})", path().string(), version_text(version_));
  const Result result = init.raw(0);
  Result counted = Result::success;
  if (result == Result::success) counted = device_get_count.raw(&device_count_);
  if (result == Result::no_device || counted == Result::no_device ||
      (result == Result::success && counted == Result::success && device_count_ == 0)) {
    throw Error(
        ErrorCode::unavailable,
        "No GPU devices found (cudaGetDeviceCount == 0): the CUDA driver is here but sees no GPU; check "
        "nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, that GPUs are passed in",
        "driver: " + which);
  }
  const Result failed = result != Result::success ? result : counted;
  if (failed != Result::success) {
    throw Error(
        ErrorCode::unavailable,
        format_text("{}: {}, code {} [{}]; {}", result != Result::success ? "cuInit" : "cuDeviceGetCount",
                    describe(failed), static_cast<int>(failed), which, init_advice(failed)),
        "driver: " + which);
  }
  if (version_ < kOldestDriverVersion) {
    throw Error(
        ErrorCode::unavailable,
        format_text("CUDA driver too old: it supports CUDA {}, and {} or newer is needed; update NVIDIA's "
                    "driver package (470 or later)",
                    version_text(version_), version_text(kOldestDriverVersion)),
        "driver: " + which);
  }
}

std::string Driver::describe(Result result) const {
  const char* code_name = nullptr;
  const char* text = nullptr;
  if (get_error_name.available()) static_cast<void>(get_error_name.raw(result, &code_name));
  if (get_error_string.available()) static_cast<void>(get_error_string.raw(result, &text));
  if (code_name == nullptr) return format_text("CUDA error {}", static_cast<int>(result));
  return format_text("{} ({})", code_name, text == nullptr ? "no text" : text);
}

void Driver::fail(const CallBase& call, int code, std::string object) const {
  const Result result = static_cast<Result>(code);
  std::string message = format_text("{}: {}", public_name(call.symbol()), describe(result));
  if (!object.empty()) message += " [" + object + "]";
  if (is_sticky(result)) {
    message += "; the CUDA context is lost with everything in it: the process must be restarted";
  } else if (result == Result::deinitialized || result == Result::context_is_destroyed) {
    message += "; the driver is shutting down or the device's context was destroyed";
  }
  throw Error(result == Result::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::cuda,
              std::move(message));
}

void Driver::fail_missing(const CallBase& call) const {
  throw Error(
      ErrorCode::unavailable,
      format_text("driver too old: the installed CUDA {} driver has no {}; update NVIDIA's driver package",
                  version_text(version_), public_name(call.symbol())),
      "driver: " + path().string());
}

}  // namespace gpuforge::cuda
