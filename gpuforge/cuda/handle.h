// Move-only owners of driver objects. Destroying never throws and ignores what the driver answers: it may
// have shut down already, or be lost to a sticky error.
#pragma once

#include <memory>
#include <utility>

#include "gpuforge/cuda/driver.h"

namespace gpuforge::cuda {

// Owns a T until destruction; T{} (nullptr) means empty. `Destroy` is called with the T and may throw.
template <typename T, typename Destroy>
class Handle {
 public:
  Handle() = default;
  Handle(T value, Destroy destroy) : value_(value), destroy_(std::move(destroy)) {}
  Handle(Handle&& other) noexcept
      : value_(std::exchange(other.value_, T{})), destroy_(std::move(other.destroy_)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, T{});
      destroy_ = std::move(other.destroy_);
    }
    return *this;
  }
  ~Handle() { reset(); }

  T get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ != T{}; }
  // Gives the object up without destroying it.
  T release() noexcept { return std::exchange(value_, T{}); }
  void reset() noexcept {
    if (value_ == T{}) return;
    try {
      destroy_(std::exchange(value_, T{}));
    } catch (...) {  // nothing can be done about it here
    }
  }

 private:
  T value_{};
  Destroy destroy_{};
};

// Destroys through one call of the driver table, which it keeps alive. With a context, the call is made with
// that context current, whichever thread runs the destructor.
template <auto kCall>
struct DestroyBy {
  std::shared_ptr<const Driver> driver;
  RawContext context = nullptr;

  template <typename T>
  void operator()(T value) const {
    const bool pushed = context != nullptr && driver->ctx_push_current.raw(context) == Result::success;
    static_cast<void>(((*driver).*kCall).raw(value));
    RawContext previous = nullptr;
    if (pushed) static_cast<void>(driver->ctx_pop_current.raw(&previous));
  }
};

// The primary context is released by its device's number.
struct ReleasePrimaryContext {
  std::shared_ptr<const Driver> driver;
  RawDevice device = 0;
  void operator()(RawContext) const { static_cast<void>(driver->device_primary_ctx_release.raw(device)); }
};

using PrimaryContextHandle = Handle<RawContext, ReleasePrimaryContext>;
using StreamHandle = Handle<RawStream, DestroyBy<&Driver::stream_destroy>>;
using EventHandle = Handle<RawEvent, DestroyBy<&Driver::event_destroy>>;
using GreenContextHandle = Handle<RawGreenContext, DestroyBy<&Driver::green_ctx_destroy>>;
using ModuleHandle = Handle<RawModule, DestroyBy<&Driver::module_unload>>;
using GraphHandle = Handle<RawGraph, DestroyBy<&Driver::graph_destroy>>;
using PhysicalMemoryHandle = Handle<RawPhysicalMemory, DestroyBy<&Driver::mem_release>>;
using GraphExecHandle = Handle<RawGraphExec, DestroyBy<&Driver::graph_exec_destroy>>;

}  // namespace gpuforge::cuda
