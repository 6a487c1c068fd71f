// A launch's counts added up by source line and by class: what both forms of the report show. Not installed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/report.h"

namespace gpuforge::sim {

inline constexpr std::uint64_t kSectorBytes = 32;

void add_to(SiteCounters& sum, const SiteCounters& counters);

// Memory counters of one space alone, so that a line that uses two shows each.
struct LineReport {
  std::string file;  // the whole path; empty: code without .loc, where `line` is of the PTX
  std::uint32_t line = 0;
  SiteCounters all;
  SiteCounters global;
  SiteCounters shared;
};
// Lines with at least one instruction that ran, by file in the order of the PTX, then by line.
std::vector<LineReport> by_line(const LaunchReport& report);

struct ClassReport {
  OpClass op_class = OpClass::other;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
};
std::vector<ClassReport> by_class(const LaunchReport& report);  // those that ran, in OpClass's order

// Whether this site's memory counters belong to `space`. A generic access belongs to the space it went to;
// one that went to both counts in both.
bool is_in(const SiteReport& site, std::string_view space);

double ratio(std::uint64_t amount, std::uint64_t of);  // 0 for of == 0
// Whether `path` is `wanted` or ends in it: "/src/tile.cu" is "tile.cu", and not "ile.cu".
bool is_file(std::string_view path, std::string_view wanted);
std::string_view last_component(std::string_view path);
std::string text(const Index3& index);  // "(4, 1, 1)"
// "tile.cu:12", "tile.cu:12 in load, inlined at tile.cu:40", "line 40 of the PTX", "" when nothing is known.
std::string source_text(const Place& place);

}  // namespace gpuforge::sim
