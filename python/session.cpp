#include "python/session.h"

#include "gpuforge/device/open_device.h"
#include "gpuforge/lab/tuning_cache.h"
#include "gpuforge/ops/tuned_choices.h"

namespace gpuforge::python {
namespace {

Session* the_session = nullptr;  // never destroyed: arrays may outlive the interpreter's end

struct ThreadDefaults {
  std::vector<std::shared_ptr<device::Stream>> streams;
  std::vector<std::string> devices;
};
ThreadDefaults& of_this_thread() {
  static thread_local ThreadDefaults defaults;
  return defaults;
}

}  // namespace

Session& session() {
  return *the_session;
}

void start_session(const std::filesystem::path& module, const std::filesystem::path& python) {
  if (the_session == nullptr) the_session = new Session(module, python);
}

void push_stream(device::Stream& stream) {
  of_this_thread().streams.push_back(stream.shared_from_this());
}
void pop_stream() {
  of_this_thread().streams.pop_back();
}
void push_device(std::string device_name) {
  of_this_thread().devices.push_back(std::move(device_name));
}
void pop_device() {
  of_this_thread().devices.pop_back();
}

Session::Session(const std::filesystem::path& module, const std::filesystem::path& python)
    : environment_(read_environment()) {
  // Packages of the interpreter that runs come before those of the python3 that PATH finds.
  if (!python.empty()) environment_.path = python.string() + ":" + environment_.path.value_or("");
  jit_ = jit_options(environment_);
  jit_.search.executable = module;
  const LogLevel wanted = parse_log_level(environment_.log.value_or("warning")).value_or(LogLevel::warning);
  log_ = std::make_shared<Log>(wanted, [this](LogLevel level, std::string_view text) {
    // Kept, not shown: whoever writes may hold locks that a thread with the interpreter's lock waits for.
    const std::lock_guard lock(messages_mutex_);
    messages_.emplace_back(level, text);
    ++waiting_messages_;
  });
}

std::vector<std::pair<LogLevel, std::string>> Session::take_messages() {
  const std::lock_guard lock(messages_mutex_);
  waiting_messages_ = 0;
  return std::exchange(messages_, {});
}

Machine* Session::find(std::string_view device_name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, machine] : names_) {
    if (name == device_name) return machine;
  }
  return nullptr;
}

Machine& Session::add(std::shared_ptr<device::Device> device, std::string_view asked_for) {
  const std::string own_name = device->facts().name;
  Machine* known = find(own_name);
  if (known == nullptr) {
    ContextOptions options;
    options.jit = jit_;
    options.log = log_;
    options.allocator = allocator_for(environment_, device);
    if (const auto folder = lab::tuning_folder(jit_.cache_dir))
      options.tuning = ops::tuned_choices(*folder, device->facts(), *log_);
    auto context = Context::make(std::move(device), std::move(options));
    auto stream = context->make_stream();
    const std::lock_guard lock(mutex_);
    known = &machines_.emplace_back(Machine{std::move(context), std::move(stream)});
    names_.emplace_back(own_name, known);
  }
  if (asked_for != own_name) {
    const std::lock_guard lock(mutex_);
    names_.emplace_back(asked_for, known);
  }
  return *known;
}

Machine& Session::open(std::string_view device_name) {
  if (Machine* const known = find(device_name)) return *known;
  const std::lock_guard lock(opening_);
  if (Machine* const known = find(device_name)) return *known;
  return add(device::open_device(device_name, search()), device_name);
}

Machine& Session::open_default() {
  if (!of_this_thread().devices.empty()) return open(of_this_thread().devices.back());
  if (const auto chosen = default_device()) return open(*chosen);
  if (environment_.device) return open(*environment_.device);
  constexpr std::string_view kDefault = "";  // no device is called so
  if (Machine* const known = find(kDefault)) return *known;
  const std::lock_guard lock(opening_);
  if (Machine* const known = find(kDefault)) return *known;
  std::string fallback;
  Machine& machine = add(device::open_default_device(search(), &fallback), kDefault);
  if (!fallback.empty()) log_->warning("{}", fallback);
  return machine;
}

Machine& Session::open_default_for_kernels() {
  if (!of_this_thread().devices.empty()) return open(of_this_thread().devices.back());
  if (const auto chosen = default_device()) return open(*chosen);
  if (environment_.device) return open(*environment_.device);
  constexpr std::string_view kDefault = "a device for kernels";
  if (Machine* const known = find(kDefault)) return *known;
  const std::lock_guard lock(opening_);
  std::string fallback;
  Machine& machine = add(device::open_default_kernel_device(search(), &fallback), kDefault);
  if (!fallback.empty()) log_->warning("{}", fallback);
  return machine;
}

Machine& Session::machine_of(const Context& context) {
  const std::lock_guard lock(mutex_);
  for (Machine& machine : machines_) {
    if (machine.context.get() == &context) return machine;
  }
  throw Error(ErrorCode::internal, "python: an array of a context that the package did not make");
}

const std::shared_ptr<device::Stream>& Session::stream_of(const Context& context) {
  const auto& streams = of_this_thread().streams;
  for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream) {
    if (&(*stream)->device() == &context.device()) return *stream;
  }
  return machine_of(context).stream;
}

void Session::set_default_device(std::optional<std::string> device_name) {
  if (device_name) open(*device_name);  // a name that is wrong is said now
  const std::lock_guard lock(mutex_);
  default_device_ = std::move(device_name);
}

std::optional<std::string> Session::default_device() const {
  const std::lock_guard lock(mutex_);
  return default_device_;
}

std::shared_ptr<device::Stream> Session::adopt_stream(device::Device& device, std::uintptr_t native_handle) {
  constexpr std::size_t kKept = 8;
  const std::lock_guard lock(mutex_);
  for (const Adopted& one : adopted_)
    if (one.device == &device && one.handle == native_handle) return one.stream;
  adopted_.push_front({&device, native_handle, device.adopt_stream(native_handle)});
  if (adopted_.size() > kKept) adopted_.pop_back();
  return adopted_.front().stream;
}

void Session::close() {
  const std::lock_guard lock(mutex_);
  for (const Machine& machine : machines_) {
    try {
      machine.stream->synchronize();
    } catch (const std::exception&) {  // nobody is left to tell
    }
  }
}

}  // namespace gpuforge::python
