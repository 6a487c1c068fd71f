// Last stage: a kernel loaded on a device, and its checked launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gpuforge/base/dtype.h"
#include "gpuforge/device/device.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

// One kernel argument: its bytes, and what it is, for the message when it does not fit.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::string_view type;  // "f32", "pointer", "struct of 24 bytes"
};

// Makes an Argument of any trivially copyable value; the value must outlive the launch call, not the launch.
template <typename T>
requires std::is_trivially_copyable_v<T> Argument argument(const T& value);
// The bytes of a struct whose type the host does not have, such as a layout's.
template <std::size_t kBytes>
Argument argument(std::span<const std::byte, kBytes> bytes) {
  return {bytes.data(), bytes.size(), "struct"};
}

enum class ArgumentKind : unsigned char { any, integer, floating, pointer };
ArgumentKind kind_of(const Parameter& parameter);

// What the launch path compares.
struct ParameterShape {
  std::size_t bytes = 0;
  ArgumentKind kind = ArgumentKind::any;
};

class Kernel;

// Told of launches, on the threads that launch; a profiler is one. Neither call may throw.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Before what the launch puts on the stream; what it returns comes back after, also when it was refused.
  virtual void* before(const Kernel& kernel, device::Stream& stream) noexcept = 0;
  virtual void after(void* token, device::Stream& stream, bool launched) noexcept = 0;
};
using LaunchObserverSlot = std::atomic<LaunchObserver*>;

class Kernel {
 public:
  // A kernel whose parameters neither PTX nor the driver tells is launched unchecked. Whoever is in the slot
  // is told of launches.
  Kernel(std::shared_ptr<const Compiled> compiled, const Entry& entry,
         std::shared_ptr<device::Function> function, std::shared_ptr<const LaunchObserverSlot> observer = {});

  const Entry& entry() const { return entry_; }
  const device::Function& function() const { return *function_; }
  const Compiled& compiled() const { return *compiled_; }

  // Its code calls begin_after_previous_kernel() (gpuforge/kernels/stream_order.cuh): every launch is
  // programmatic.
  bool begins_early() const { return begins_early_; }

  // Number, byte size and kind of each argument are compared with the compiled kernel: invalid_argument
  // naming the parameter, its declared type, and what was given. Then the configuration is checked, then it
  // is launched. Allocates nothing for up to 64 parameters.
  void launch(const device::LaunchConfig& config, std::span<const Argument> arguments,
              device::Stream& stream) const;

  template <typename... Args>
  void operator()(const device::LaunchConfig& config, device::Stream& stream, const Args&... args) const {
    const Argument list[] = {argument(args)..., Argument{}};
    launch(config, std::span(list, sizeof...(Args)), stream);
  }

 private:
  std::shared_ptr<const Compiled> compiled_;
  Entry entry_;
  std::shared_ptr<device::Function> function_;
  bool parameters_known_ = true;
  bool begins_early_ = false;
  std::vector<ParameterShape> shapes_;
  std::shared_ptr<const LaunchObserverSlot> observer_;
};

// The check alone, for callers that launch later and for tests. Integer, floating point and pointer are told
// apart where the argument and the declared (or PTX) type say so; a u64 passes as a pointer, since addresses
// are that.
void check_arguments(const Entry& entry, std::span<const Argument> arguments);

namespace internal {
template <typename T>
constexpr std::string_view argument_type() {
  if constexpr (std::is_pointer_v<T>)
    return "pointer";
  else if constexpr (std::is_same_v<T, float>)
    return "f32";
  else if constexpr (std::is_same_v<T, double>)
    return "f64";
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? "i64" : "u64";
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? "i32" : "u32";
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return std::is_signed_v<T> ? "i16" : "u16";
  else if constexpr (std::is_integral_v<T>)
    return "8-bit integer";
  else if constexpr (kIsNarrowFloat<T>)
    return sizeof(T) == 2 ? "16-bit float" : "8-bit float";
  else
    return "struct";
}
}  // namespace internal

template <typename T>
requires std::is_trivially_copyable_v<T> Argument argument(const T& value) {
  return {&value, sizeof(T), internal::argument_type<T>()};
}

}  // namespace gpuforge::jit
