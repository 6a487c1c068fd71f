// What enqueued host functions throw: kept until a synchronize can report it. Shared by the devices; not
// installed.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "gpuforge/base/error.h"

namespace gpuforge::device {

// Thrown by work of the device's own, such as a kernel in the simulator: its Error is kept as it is.
struct OwnFailure {
  Error error;
};

// Keeps the first failure of a stream's host functions. Thread-safe.
class WorkErrors {
 public:
  explicit WorkErrors(std::string device_name) : device_name_(std::move(device_name)) {}

  // Runs `work`; what it throws is kept as an Error.
  void run(const std::function<void()>& work) noexcept;
  void keep(Error error) noexcept;
  // The failure kept, which is then forgotten.
  std::optional<Error> take() noexcept;
  void throw_kept();
  const std::string& device_name() const { return device_name_; }

 private:
  std::string device_name_;
  std::mutex mutex_;
  std::optional<Error> first_;
};

}  // namespace gpuforge::device
