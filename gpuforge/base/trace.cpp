#include "gpuforge/base/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

Json metadata(const char* what, int process, int track, const std::string& name) {
  Json event = Json::object();
  event.set("ph", "M").set("name", what).set("pid", process).set("tid", track);
  event.set("args", Json::object().set("name", name));
  return event;
}

// Numbers for names, in the order they come, with the metadata events that name them.
class Tracks {
 public:
  explicit Tracks(Json& events) : events_(events) {}

  std::pair<int, int> numbers(const TraceEvent& event) {
    const auto [process, new_process] =
        processes_.try_emplace(event.process, static_cast<int>(processes_.size()) + 1);
    if (new_process) events_.push_back(metadata("process_name", process->second, 0, event.process));
    const auto [track, new_track] =
        tracks_.try_emplace({event.process, event.track}, static_cast<int>(tracks_.size()) + 1);
    if (new_track) events_.push_back(metadata("thread_name", process->second, track->second, event.track));
    return {process->second, track->second};
  }

 private:
  Json& events_;
  std::map<std::string, int> processes_;
  std::map<std::pair<std::string, std::string>, int> tracks_;
};

Json written(const TraceEvent& event, std::pair<int, int> numbers) {
  Json json = Json::object();
  switch (event.kind) {
    case TraceEvent::Kind::span:
      json.set("ph", "X");
      break;
    case TraceEvent::Kind::instant:
      json.set("ph", "i");
      break;
    case TraceEvent::Kind::counter:
      json.set("ph", "C");
      break;
  }
  json.set("name", event.name).set("pid", numbers.first).set("tid", numbers.second).set("ts", event.start_us);
  if (!event.category.empty()) json.set("cat", event.category);
  if (event.kind == TraceEvent::Kind::span) json.set("dur", event.duration_us);
  if (event.kind == TraceEvent::Kind::instant) json.set("s", "t");  // as high as its own track
  if (event.kind == TraceEvent::Kind::counter) {
    json.set("args", Json::object().set("value", event.value));
  } else if (!event.arguments.as_object().empty()) {
    json.set("args", event.arguments);
  }
  return json;
}

}  // namespace

Json chrome_trace(const std::vector<TraceEvent>& events) {
  Json list = Json::array();
  Tracks tracks(list);
  std::vector<std::pair<int, int>> numbers;
  numbers.reserve(events.size());
  for (const TraceEvent& event : events) {
    GPUFORGE_CHECK(std::isfinite(event.start_us) && std::isfinite(event.duration_us),
                   "trace: the time of {} was expected to be finite, and is {} us for {} us", event.name,
                   event.start_us, event.duration_us);
    numbers.push_back(tracks.numbers(event));
  }
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return events[i].start_us; });
  for (const std::size_t i : order) list.push_back(written(events[i], numbers[i]));
  return Json::object().set("traceEvents", std::move(list)).set("displayTimeUnit", "ms");
}

}  // namespace gpuforge
