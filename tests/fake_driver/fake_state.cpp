#include "tests/fake_driver/fake_state.h"

#include <string_view>

namespace gpuforge::fake_driver {
namespace {

thread_local bool in_host_function = false;

bool breaks_capture(const Capture& capture, During during) {
  if (during == During::ends_every_capture) return true;
  if (capture.mode == cuda::CaptureMode::global) return true;
  return capture.mode == cuda::CaptureMode::per_thread && capture.thread == std::this_thread::get_id();
}

}  // namespace

void Completion::finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

bool Completion::is_done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

std::chrono::steady_clock::time_point Completion::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

void Queue::push(Work work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (!started_) {
    started_ = true;
    state().workers.emplace_back([self = shared_from_this()] { self->run(); });
  }
  changed_.notify_all();
}

void Queue::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty() && !busy_; });
}

bool Queue::is_idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty() && !busy_;
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Queue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !work_.empty(); });
    if (work_.empty()) return;
    Work work = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before anyone is told that it is done
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

State& state() {
  static State* const only = new State;
  return *only;
}

std::vector<cuda::RawContext>& context_stack() {
  thread_local std::vector<cuda::RawContext> stack;
  return stack;
}

Entered enter(const char* function, Needs needs, During capture) {
  State& s = state();
  Entered entered{std::unique_lock(s.mutex), Result::success};
  if (needs == Needs::nothing) return entered;
  if (in_host_function) {
    entered.result = Result::not_permitted;
  } else if (s.shut_down) {
    entered.result = Result::deinitialized;
  } else if (!s.initialized) {
    entered.result = Result::not_initialized;
  } else if (s.sticky != Result::success && needs >= Needs::object) {
    entered.result = s.sticky;
  } else if (const auto failure = s.failures.find(function); failure != s.failures.end()) {
    entered.result = failure->second;
    if (is_sticky(failure->second)) {
      const std::lock_guard stop(s.moving);
      s.sticky = failure->second;
    }
  } else if (needs == Needs::context && (context_stack().empty() || context_stack().back() == nullptr)) {
    entered.result = Result::invalid_context;
  } else if (needs == Needs::context && context_stack().back()->retained == 0) {
    entered.result = Result::context_is_destroyed;
  } else {
    entered.result = end_captures(capture);
  }
  return entered;
}

Result end_captures(During during) {
  Result result = Result::success;
  if (during == During::allowed) return result;
  for (const std::shared_ptr<Capture>& active : state().captures) {
    if (!breaks_capture(*active, during)) continue;
    active->invalid = true;
    result = Result::stream_capture_unsupported;
  }
  return result;
}

CUstream_st* find_stream(cuda::RawStream stream) {
  State& s = state();
  if (stream == nullptr) return &s.default_stream;
  const auto found = s.streams.find(stream);
  return found == s.streams.end() ? nullptr : found->second.get();
}

Result submit(cuda::RawStream handle, NodeKind kind, Work work) {
  if (kind == NodeKind::copy || kind == NodeKind::fill) {
    work = [move = std::move(work)] {
      const std::shared_lock running(state().moving);
      if (state().sticky == Result::success) move();
    };
  }
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return Result::invalid_handle;
  if (handle == nullptr) {
    if (context_stack().empty()) return Result::invalid_context;
    // The default stream orders itself after every blocking stream, which a capture cannot express.
    for (const std::shared_ptr<Capture>& capture : state().captures) {
      for (const cuda::RawStream captured : capture->streams) {
        if (!captured->blocking) continue;
        capture->invalid = true;
        return Result::stream_capture_implicit;
      }
    }
  }
  if (stream->capture == nullptr) {
    stream->queue->push(std::move(work));
    return Result::success;
  }
  if (stream->capture->invalid) return Result::stream_capture_invalidated;
  stream->capture->nodes.push_back({kind, std::move(work), stream->tail});
  stream->tail = {stream->capture->nodes.size() - 1};
  return Result::success;
}

void run_host_function(const Work& work) {
  in_host_function = true;
  work();
  in_host_function = false;
}

}  // namespace gpuforge::fake_driver

using gpuforge::fake_driver::State;
using gpuforge::fake_driver::state;

extern "C" {

void fake_cuda_reset() {
  State& s = state();
  std::vector<std::thread> workers;
  {
    const std::lock_guard lock(s.mutex);
    for (const auto& [handle, stream] : s.streams) stream->queue->close();
    s.default_stream.queue->close();
    s.default_stream.queue = std::make_shared<gpuforge::fake_driver::Queue>();
    workers.swap(s.workers);
  }
  for (std::thread& worker : workers) worker.join();  // each does its remaining work first
  const std::lock_guard lock(s.mutex);
  s.failures.clear();
  s.sticky = gpuforge::cuda::Result::success;
  s.shut_down = false;
  s.initialized = false;
  s.synchronizes = 0;
  s.parameters_past_the_last = 0;
  s.kernel = nullptr;
  for (const auto& [address, allocation] : s.allocations) std::free(reinterpret_cast<void*>(address));
  for (const auto& [address, bytes] : s.pinned) std::free(address);
  s.allocations.clear();
  gpuforge::fake_driver::reset_virtual_memory();
  s.allocated_bytes = 0;
  s.pinned.clear();
  s.registered.clear();
  s.captures.clear();
  s.graph_execs.clear();
  s.graphs.clear();
  s.events.clear();
  s.streams.clear();
  s.green_contexts.clear();
  s.descriptions.clear();
  s.modules.clear();
  for (const auto& pool : s.pools) *pool = {};
  for (const auto& context : s.contexts) context->retained = 0;
  gpuforge::fake_driver::context_stack().clear();
}

void fake_cuda_fail(const char* function, int code) {
  const std::lock_guard lock(state().mutex);
  if (code == 0) {
    state().failures.erase(function);
  } else {
    state().failures[function] = static_cast<gpuforge::cuda::Result>(code);
  }
}

void fake_cuda_shut_down() {
  const std::lock_guard lock(state().mutex);
  state().shut_down = true;
}

void fake_cuda_counters(FakeCudaCounters* counters) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  std::size_t retained = 0;
  for (const auto& context : s.contexts) retained += context->retained;
  std::size_t allocations = 0;
  for (const auto& [address, allocation] : s.allocations) allocations += allocation.captured ? 0 : 1;
  *counters = {allocations,
               s.allocated_bytes,
               s.pinned.size(),
               s.streams.size(),
               s.events.size(),
               s.modules.size(),
               s.graphs.size(),
               s.graph_execs.size(),
               retained,
               s.synchronizes,
               s.parameters_past_the_last,
               s.physical.size(),
               s.address_ranges.size(),
               s.green_contexts.size()};
}

void fake_cuda_on_launch(FakeCudaKernel kernel, void* user_data) {
  const std::lock_guard lock(state().mutex);
  state().kernel = kernel;
  state().kernel_user_data = user_data;
}
}
