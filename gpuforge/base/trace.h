// What happened when, in the format that Perfetto and chrome://tracing open. A value: whoever measures adds
// events, in any order; whoever was asked for a file writes them.
#pragma once

#include <string>
#include <vector>

#include "gpuforge/base/json.h"

namespace gpuforge {

struct TraceEvent {
  enum class Kind { span, instant, counter };

  Kind kind = Kind::span;
  std::string process;  // a heading in the viewer: "cuda:0", "scheduler"
  std::string track;    // a line under it: "stream 3", "copies to the device", a task
  std::string name;     // what the box says; counters: of the curve
  std::string category;
  double start_us = 0;
  double duration_us = 0;  // spans alone
  double value = 0;        // counters alone
  Json arguments = Json::object();
};

// {"traceEvents": [..]}: events in order of time, processes and tracks numbered in the order they first
// appear in `events` and named by metadata events. A time that is not finite is an invalid_argument.
Json chrome_trace(const std::vector<TraceEvent>& events);

}  // namespace gpuforge
