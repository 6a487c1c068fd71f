// What a launch in the simulator gives back: findings and counts, for tests to assert on and people to read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/counters.h"
#include "gpuforge/sim/finding.h"
#include "gpuforge/sim/opcode_class.h"

namespace gpuforge::sim {

// One instruction of the PTX that ran or could have run.
struct SiteReport {
  Place place;
  OpClass op_class = OpClass::other;
  std::string space;  // memory instructions: "global", "shared", "local", "generic"; empty else
  SiteCounters counters;
};

struct LaunchReport {
  std::string kernel;
  Index3 grid{1, 1, 1};
  Index3 cluster{1, 1, 1};
  Index3 block{1, 1, 1};
  std::uint64_t shared_bytes = 0;
  double seconds = 0;
  unsigned host_threads = 1;  // that ran blocks at the same time; says nothing about the results
  // Different sectors of global memory that were read, and those that were written: what must be moved.
  std::uint64_t least_sectors = 0;
  std::uint64_t least_read_sectors = 0;  // of these, the ones that were read
  std::vector<Finding> findings;         // in the order found
  std::vector<SiteReport> sites;         // in the order of the PTX
  std::string printed;                   // by printf, also handed to the sink as it happened

  bool clean() const;  // no finding that is not suppressed
  std::uint64_t count(FindingKind kind) const;
  std::uint64_t races() const { return count(FindingKind::race); }

  // Sums over the sites at "tile.cu:12" (the file's last component is enough), or over the launch for "".
  SiteCounters at(std::string_view source_line) const;
  // The same for one space's memory instructions: "global", "shared".
  SiteCounters in(std::string_view space, std::string_view source_line = "") const;
  std::uint64_t thread_instructions(OpClass op_class) const;
  std::uint64_t warp_instructions() const;
  std::uint64_t thread_instructions() const;
  double active_lanes() const;  // mean over warp instructions
  // 0 when there was no request.
  double sectors_per_request(std::string_view source_line = "") const;
  // Global bytes moved, as a multiple of the least that reads each sector once and writes each once; over the
  // launch, or for one line alone.
  double moved_over_least(std::string_view source_line = "") const;
  double wavefronts_per_request(std::string_view source_line = "") const;
  bool bank_conflicts(std::string_view source_line = "") const;  // more wavefronts than the ideal

  std::string text(int width = 80) const;           // findings, then the counts by source line
  std::string findings_text(int width = 80) const;  // empty when there are none, not even suppressed ones
  std::string json() const;
};

}  // namespace gpuforge::sim
