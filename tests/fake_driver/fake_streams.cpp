// Streams, events and host functions.
#include <algorithm>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

// Waiting for captured work, or asking after it, makes no sense and ends the capture.
Result refuse_captured(CUstream_st& stream) {
  if (stream.capture == nullptr) return Result::success;
  stream.capture->invalid = true;
  return Result::stream_capture_unsupported;
}

// An event last recorded in a capture has nothing to wait for.
Result refuse_captured(const CUevent_st& event) {
  if (event.capture == nullptr) return end_captures(During::ends_capture);
  if (!state().captures.contains(event.capture)) return Result::invalid_value;
  event.capture->invalid = true;
  return Result::captured_event;
}

CUevent_st* find_event(RawEvent event) {
  const auto found = state().events.find(event);
  return found == state().events.end() ? nullptr : found->second.get();
}

void join(CUstream_st& stream, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) {
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
      stream.tail.push_back(node);
  }
}

}  // namespace

extern "C" {

Result cuStreamCreateWithPriority(RawStream* stream, StreamFlags flags, int) {
  const Entered entered = enter("cuStreamCreateWithPriority");
  if (entered.result != Result::success) return entered.result;
  auto made = std::make_unique<CUstream_st>();
  made->blocking = flags == StreamFlags::none;
  made->device = context_stack().back()->device;
  *stream = made.get();
  state().streams.emplace(*stream, std::move(made));
  return Result::success;
}

Result cuStreamDestroy_v2(RawStream stream) {
  const Entered entered = enter("cuStreamDestroy", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) return Result::invalid_handle;
  if (const std::shared_ptr<Capture> capture = stream->capture) {
    capture->invalid = true;
    capture->streams.erase(stream);
    if (capture->origin == stream) {
      for (const RawStream other : capture->streams) other->capture = nullptr;
      state().captures.erase(capture);
    }
  }
  found->second->queue->close();
  state().streams.erase(found);
  return Result::success;
}

Result cuStreamQuery(RawStream handle) {
  const Entered entered = enter("cuStreamQuery", Needs::object, During::ends_capture);
  if (entered.result != Result::success) return entered.result;
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return Result::invalid_handle;
  const Result captured = refuse_captured(*stream);
  if (captured != Result::success) return captured;
  return stream->queue->is_idle() ? Result::success : Result::not_ready;
}

Result cuStreamSynchronize(RawStream handle) {
  Entered entered = enter("cuStreamSynchronize", Needs::object, During::ends_capture);
  if (entered.result != Result::success) return entered.result;
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return Result::invalid_handle;
  const Result captured = refuse_captured(*stream);
  if (captured != Result::success) return captured;
  ++state().synchronizes;
  const std::shared_ptr<Queue> queue = stream->queue;
  entered.lock.unlock();
  queue->wait_idle();
  return Result::success;
}

Result cuStreamWaitEvent(RawStream handle, RawEvent event_handle, EventWaitFlags) {
  const Entered entered = enter("cuStreamWaitEvent", Needs::object);
  if (entered.result != Result::success) return entered.result;
  CUstream_st* const stream = find_stream(handle);
  const CUevent_st* const event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return Result::invalid_handle;
  if (event->capture != nullptr) {
    if (!state().captures.contains(event->capture)) return Result::invalid_value;
    if (stream->capture == nullptr) {
      if (handle == nullptr) return Result::stream_capture_implicit;
      stream->capture = event->capture;  // a fork: the stream joins the capture
      stream->capture->streams.insert(handle);
      stream->tail = event->nodes;
    } else if (stream->capture == event->capture) {
      join(*stream, event->nodes);
    } else {
      stream->capture->invalid = event->capture->invalid = true;
      return Result::stream_capture_merge;
    }
    return Result::success;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalid = true;
    return Result::stream_capture_isolation;
  }
  if (event->recorded != nullptr) {
    stream->queue->push([recorded = event->recorded] { recorded->wait(); });
  }
  return Result::success;
}

Result cuLaunchHostFunc(RawStream stream, HostFunction function, void* user_data) {
  const Entered entered = enter("cuLaunchHostFunc", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (function == nullptr) return Result::invalid_value;
  return submit(stream, NodeKind::host, [=] { run_host_function([=] { function(user_data); }); });
}

Result cuEventCreate(RawEvent* event, EventFlags flags) {
  const Entered entered = enter("cuEventCreate");
  if (entered.result != Result::success) return entered.result;
  auto made = std::make_unique<CUevent_st>();
  made->timing = (static_cast<unsigned>(flags) & static_cast<unsigned>(EventFlags::disable_timing)) == 0;
  *event = made.get();
  state().events.emplace(*event, std::move(made));
  return Result::success;
}

Result cuEventDestroy_v2(RawEvent event) {
  const Entered entered = enter("cuEventDestroy", Needs::object);
  if (entered.result != Result::success) return entered.result;
  return state().events.erase(event) == 1 ? Result::success : Result::invalid_handle;
}

Result cuEventRecord(RawEvent event_handle, RawStream handle) {
  const Entered entered = enter("cuEventRecord", Needs::object);
  if (entered.result != Result::success) return entered.result;
  CUstream_st* const stream = find_stream(handle);
  CUevent_st* const event = find_event(event_handle);
  if (stream == nullptr || event == nullptr) return Result::invalid_handle;
  event->recorded = nullptr;
  event->capture = stream->capture;
  if (stream->capture != nullptr) {
    event->nodes = stream->tail;
    return Result::success;
  }
  event->recorded = std::make_shared<Completion>();
  stream->queue->push([recorded = event->recorded] { recorded->finish(); });
  return Result::success;
}

Result cuEventQuery(RawEvent handle) {
  const Entered entered = enter("cuEventQuery", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUevent_st* const event = find_event(handle);
  if (event == nullptr) return Result::invalid_handle;
  const Result captured = refuse_captured(*event);
  if (captured != Result::success) return captured;
  return event->recorded == nullptr || event->recorded->is_done() ? Result::success : Result::not_ready;
}

Result cuEventSynchronize(RawEvent handle) {
  Entered entered = enter("cuEventSynchronize", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUevent_st* const event = find_event(handle);
  if (event == nullptr) return Result::invalid_handle;
  const Result captured = refuse_captured(*event);
  if (captured != Result::success) return captured;
  ++state().synchronizes;
  const std::shared_ptr<Completion> recorded = event->recorded;
  entered.lock.unlock();
  if (recorded != nullptr) recorded->wait();
  return Result::success;
}

Result cuEventElapsedTime(float* milliseconds, RawEvent start_handle, RawEvent end_handle) {
  const Entered entered = enter("cuEventElapsedTime", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUevent_st* const start = find_event(start_handle);
  const CUevent_st* const end = find_event(end_handle);
  if (start == nullptr || end == nullptr || !start->timing || !end->timing) return Result::invalid_handle;
  if (start->capture != nullptr || end->capture != nullptr) return Result::invalid_value;
  if (start->recorded == nullptr || end->recorded == nullptr) return Result::invalid_handle;
  if (!start->recorded->is_done() || !end->recorded->is_done()) return Result::not_ready;
  const std::chrono::duration<float, std::milli> elapsed = end->recorded->time() - start->recorded->time();
  *milliseconds = elapsed.count();
  return Result::success;
}
}
