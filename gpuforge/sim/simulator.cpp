#include "gpuforge/sim/simulator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/program.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"

namespace gpuforge::sim {
namespace {

// Blocks that wait for each other are kept side by side, up to this much memory.
constexpr std::size_t kResidentBytes = std::size_t{2} << 30;
constexpr std::size_t kResidentBlocks = 8192;

std::uint64_t count(const Index3& index) {
  return std::uint64_t{index.x} * index.y * index.z;
}

std::vector<std::byte> pack(const Program& program, std::string_view entry,
                            std::span<const void* const> arguments) {
  for (const EntryFacts& facts : entries(program)) {
    if (facts.name != entry) continue;
    if (facts.parameters.size() != arguments.size())
      throw Error(ErrorCode::invalid_argument, format_text("kernel {} takes {} arguments, found {}", entry,
                                                           facts.parameters.size(), arguments.size()));
    std::size_t bytes = 0;
    if (!facts.parameters.empty()) bytes = facts.parameters.back().offset + facts.parameters.back().bytes;
    std::vector<std::byte> packed(bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::memcpy(packed.data() + facts.parameters[i].offset, arguments[i], facts.parameters[i].bytes);
    return packed;
  }
  return {};
}

// Runs the blocks one after the other; those that wait for others are set aside and come back in turns.
void run_blocks(Launch& launch, std::uint64_t blocks, std::uint64_t seed) {
  const std::size_t fit = std::max<std::size_t>(
      1, std::min(kResidentBlocks, kResidentBytes / std::max<std::size_t>(1, block_state_bytes(launch))));
  std::deque<std::unique_ptr<BlockState>> waiting;
  std::vector<std::unique_ptr<BlockState>> spare;
  const bool may_wait = launch.image->talks_across_blocks;
  // An odd multiplier that shares no factor with the count makes a permutation of the blocks.
  std::uint64_t step = 1, offset = 0;
  if (seed != 0 && blocks > 1) {
    step = mix(seed) % blocks | 1;
    while (std::gcd(step, blocks) != 1) ++step;
    offset = mix(seed + 1) % blocks;
  }
  const auto finished = [&](BlockState& state) {
    const bool over = run_block(state.block(), may_wait);
    if (over && launch.races != nullptr) launch.races->end_block(state.block());
    return over;
  };
  std::uint64_t next = 0;
  while ((next < blocks || !waiting.empty()) && !launch.failed) {
    if (next < blocks && waiting.size() < fit) {
      std::unique_ptr<BlockState> state;
      if (spare.empty()) {
        state = std::make_unique<BlockState>(launch);
      } else {
        state = std::move(spare.back());
        spare.pop_back();
      }
      const std::uint64_t index = (next++ % blocks * step + offset) % blocks;
      state->start(index, seed);
      if (launch.races != nullptr) launch.races->begin_block(state->block());
      if (finished(*state))
        spare.push_back(std::move(state));
      else
        waiting.push_back(std::move(state));
      continue;
    }
    std::unique_ptr<BlockState> state = std::move(waiting.front());
    waiting.pop_front();
    if (finished(*state))
      spare.push_back(std::move(state));
    else
      waiting.push_back(std::move(state));
  }
}

bool suppressed(const Finding& finding, const std::vector<Suppression>& suppressions) {
  const auto fits = [](const Place& place, const Suppression& one) {
    if (place.line != one.line || place.line == 0) return false;
    if (place.file == one.file) return true;
    return place.file.size() > one.file.size() && place.file.ends_with(one.file) &&
           place.file[place.file.size() - one.file.size() - 1] == '/';
  };
  return std::any_of(suppressions.begin(), suppressions.end(), [&](const Suppression& one) {
    return fits(finding.place, one) || fits(finding.other, one);
  });
}

std::string_view space_name(Space space) {
  switch (space) {
    case Space::generic:
      return "generic";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::constant:
      return "const";
    case Space::param:
    case Space::function_param:
      return "param";
  }
  return "";
}

void fill_sites(const Launch& launch, LaunchReport& report) {
  const Image& image = *launch.image;
  report.sites.reserve(image.sites.size());
  for (std::uint32_t i = 0; i < image.sites.size(); ++i) {
    const Site& site = image.sites[i];
    SiteReport one;
    one.place = place_of(launch, i);
    one.op_class = site.op_class;
    if (site.touches_memory) one.space = space_name(site.space);
    one.counters = launch.counters[i];
    if (site.counted && !site.guarded) {
      one.counters.warp_instructions = launch.block_counts[site.block].warps;
      one.counters.thread_instructions = launch.block_counts[site.block].threads;
    }
    report.sites.push_back(std::move(one));
  }
}

}  // namespace

LaunchReport launch(const Program& program, std::string_view entry, const Geometry& geometry,
                    std::span<const void* const> arguments, const Options& options) {
  const std::shared_ptr<const Image> image = image_of(program, entry);
  const std::uint64_t threads = count(geometry.block);
  if (threads == 0 || threads > 1024 || count(geometry.grid) == 0)
    throw Error(ErrorCode::invalid_argument,
                format_text("kernel {}: a grid of at least 1 block of 1 to 1024 threads is expected", entry));
  const std::size_t shared = image->dynamic_shared_offset + geometry.dynamic_shared_bytes;
  if (shared > (std::size_t{1} << 20))
    throw Error(ErrorCode::invalid_argument,
                format_text("kernel {}: {} bytes of shared memory for a block", entry, shared));

  LaunchReport report;
  Launch state;
  state.program = &program;
  state.image = image.get();
  state.grid = geometry.grid;
  state.block = geometry.block;
  state.threads_per_block = static_cast<std::uint32_t>(threads);
  state.shared_bytes =
      static_cast<std::uint32_t>(geometry.dynamic_shared_bytes == 0 ? image->static_shared_bytes : shared);
  state.dynamic_shared_bytes = static_cast<std::uint32_t>(geometry.dynamic_shared_bytes);
  state.params = pack(program, entry, arguments);
  state.checks = {options.races, options.initialized, options.counters};
  state.memory = program.memory.get();
  state.allocations = program.memory->snapshot();
  state.counters.resize(image->sites.size());
  state.block_counts.resize(image->block_count);
  state.steps_left = options.step_limit;
  state.cancel = options.cancel;
  state.print = [&](std::string_view text) {
    report.printed += text;
    if (options.print) options.print(text);
  };
  std::unique_ptr<RaceDetector> races;
  if (options.races) races = std::make_unique<RaceDetector>(state);
  state.races = races.get();

  const auto begin = std::chrono::steady_clock::now();
  run_blocks(state, count(geometry.grid), options.schedule_seed);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (state.cancelled) throw Error(ErrorCode::unavailable, format_text("kernel {} was cancelled", entry));
  report.kernel = entry;
  report.grid = geometry.grid;
  report.block = geometry.block;
  report.shared_bytes = state.shared_bytes;
  report.findings = state.findings.take();
  for (Finding& finding : report.findings) finding.suppressed = suppressed(finding, options.suppressions);
  fill_sites(state, report);
  return report;
}

}  // namespace gpuforge::sim
