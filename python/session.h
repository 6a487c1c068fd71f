// What the package holds: a context and a stream per device, opened when first asked for, and what it was
// told about defaults. Plain C++: knows nothing of Python. Thread-safe. Its locks are never held while the
// interpreter's is waited for.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/context/context.h"

namespace gpuforge::python {

struct Machine {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::Stream> stream;  // where work goes that names no stream
};

class Session {
 public:
  // `module` is our own file, which lies in the tree whose .deps/ may have NVRTC; `python` the folder of the
  // interpreter, whose packages may.
  Session(const std::filesystem::path& module, const std::filesystem::path& python);

  Machine& open(std::string_view device_name);
  // The one set for this thread, for all, in GPUFORGE_DEVICE, or the best there is.
  Machine& open_default();
  // The best that runs kernels, for the lab.
  Machine& open_default_for_kernels();
  Machine& machine_of(const Context& context);
  // A stream of another library's. The last few are kept, so that a program that works on one of them again
  // and again does not make it anew each time.
  std::shared_ptr<device::Stream> adopt_stream(device::Device& device, std::uintptr_t native_handle);
  // Where this thread's work on a device goes.
  const std::shared_ptr<device::Stream>& stream_of(const Context& context);
  void set_default_device(std::optional<std::string> device_name);
  std::optional<std::string> default_device() const;

  const Environment& environment() const { return environment_; }
  cuda::SearchOptions search() const { return jit_.search; }
  const jit::JitOptions& jit() const { return jit_; }
  const std::shared_ptr<Log>& log() const { return log_; }

  // What the library said since the last call.
  std::vector<std::pair<LogLevel, std::string>> take_messages();
  bool has_messages() const { return waiting_messages_.load(std::memory_order_relaxed) > 0; }
  // Waits for what is queued on the package's own streams.
  void close();

 private:
  Machine& add(std::shared_ptr<device::Device> device, std::string_view asked_for);
  Machine* find(std::string_view device_name);

  Environment environment_;
  jit::JitOptions jit_;
  std::shared_ptr<Log> log_;
  std::mutex messages_mutex_;
  std::vector<std::pair<LogLevel, std::string>> messages_;
  std::atomic<int> waiting_messages_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::mutex opening_;        // one device at a time; taken before mutex_
  std::deque<Machine> machines_;
  std::vector<std::pair<std::string, Machine*>> names_;  // also those it was asked for by
  std::optional<std::string> default_device_;
  struct Adopted {
    const device::Device* device;
    std::uintptr_t handle;
    std::shared_ptr<device::Stream> stream;
  };
  std::deque<Adopted> adopted_;  // newest first
};

// Made when the module is imported.
Session& session();
void start_session(const std::filesystem::path& module, const std::filesystem::path& python);

// Of this thread; innermost last. Whoever pushes keeps the stream alive until it pops.
void push_stream(device::Stream& stream);
void pop_stream();
void push_device(std::string device_name);
void pop_device();

}  // namespace gpuforge::python
