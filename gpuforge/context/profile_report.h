// What a Profiler saw, as a value: spans on the host's clock, totals by name, memory, decisions; printed, as
// JSON or as events of a trace. Times are microseconds of host_clock_us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/json.h"
#include "gpuforge/base/trace.h"

namespace gpuforge {

struct ProfileSpan {
  std::string name;
  std::string category;  // "range", "kernel", "copy"
  std::string track;     // "stream 1", "copies to the device"
  double start_us = 0;
  double duration_us = 0;
  double flops = 0;  // 0: not told
  double bytes = 0;  // 0: not told
};

struct ProfileDecision {
  std::string name;
  std::string track;
  double at_us = 0;
  Json arguments = Json::object();
};

struct MemorySnapshot {
  std::string name;
  double at_us = 0;
  std::size_t used_bytes = 0;  // of the device, by anyone
  std::size_t total_bytes = 0;
  std::map<std::string, std::size_t> bytes_by_tag;  // what the program's allocator says of itself
};

// What changed from one snapshot to another. Tags that stayed as they were are left out.
struct MemoryDifference {
  std::string from, to;
  double seconds = 0;
  std::int64_t used_bytes = 0;
  std::map<std::string, std::int64_t> bytes_by_tag;
};
MemoryDifference difference(const MemorySnapshot& from, const MemorySnapshot& to);
std::string to_text(const MemoryDifference& difference);

// Of all spans of one name and category.
struct ProfileTotal {
  std::string name;
  std::string category;
  std::uint64_t count = 0;
  double total_us = 0, least_us = 0, most_us = 0;
  double flops = 0, bytes = 0;
  double tflops() const { return total_us > 0 ? flops / total_us / 1e6 : 0; }
  double gbps() const { return total_us > 0 ? bytes / total_us / 1e3 : 0; }
};

struct ProfileReport {
  std::string device;
  // How far the device's times may be off the host's, all alike; between two of the device they are exact.
  double clock_error_us = 0;
  std::vector<ProfileSpan> spans;  // in the order of their start
  std::vector<ProfileDecision> decisions;
  std::vector<MemorySnapshot> snapshots;
  std::uint64_t dropped = 0;  // ranges without a time: inside a capture, or lost with the device, or too many
  std::string dropped_why;    // of the first

  std::vector<ProfileTotal> totals() const;  // the longest first
};
std::string to_text(const ProfileReport& report);  // a table of totals, then memory
Json to_json(const ProfileReport& report);
// Copies that overlap get lines of their own, since a viewer can show only nested boxes on one.
std::vector<TraceEvent> trace_events(const ProfileReport& report);

}  // namespace gpuforge
