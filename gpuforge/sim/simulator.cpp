#include "gpuforge/sim/simulator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/address.h"
#include "gpuforge/sim/block_queue.h"
#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/cluster.h"
#include "gpuforge/sim/order_check.h"
#include "gpuforge/sim/parallel_blocks.h"
#include "gpuforge/sim/program.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::sim {
namespace {

std::uint64_t count(const Index3& index) {
  return std::uint64_t{index.x} * index.y * index.z;
}

std::vector<std::byte> pack(const Program& program, std::string_view entry,
                            std::span<const void* const> arguments) {
  const std::vector<EntryFacts::Parameter> parameters = entry_facts(program, entry).parameters;
  if (parameters.size() != arguments.size())
    throw Error(ErrorCode::invalid_argument, format_text("kernel {} takes {} arguments, found {}", entry,
                                                         parameters.size(), arguments.size()));
  std::vector<std::byte> packed(parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(packed.data() + parameters[i].offset, arguments[i], parameters[i].bytes);
  return packed;
}

// A line of the PTX itself, where there is no other, is one of `ptx_name`.
bool suppressed(const Finding& finding, const std::vector<Suppression>& suppressions,
                std::string_view ptx_name) {
  const auto fits = [&](const Place& place, const Suppression& one) {
    const auto is_at = [&](std::string_view file, std::uint32_t line) {
      return line != 0 && line == one.line && is_file(file, one.file);
    };
    if (place.file.empty()) return is_at(ptx_name, place.ptx_line);
    return is_at(place.file, place.line) ||
           std::any_of(place.inlined.begin(), place.inlined.end(),
                       [&](const Place::Inlined& call) { return is_at(call.file, call.line); });
  };
  return std::any_of(suppressions.begin(), suppressions.end(), [&](const Suppression& one) {
    return fits(finding.place, one) || fits(finding.other, one);
  });
}

// What had to be moved at least: per site, so that those of a source line add up to that line's, and in all.
void fill_least(const Launch& launch, LaunchReport& report) {
  const SectorMaps* const maps = launch.sectors.maps();
  if (maps == nullptr) return;
  using Line = std::tuple<std::string_view, std::uint32_t, bool>;
  std::map<Line, std::vector<std::uint32_t>> lines;  // and whether it writes
  std::vector<std::uint32_t> reading, writing;
  for (std::uint32_t i = 0; i < report.sites.size(); ++i) {
    const SiteReport& site = report.sites[i];
    if (site.counters.sectors == 0) continue;
    const bool writes = site.op_class != OpClass::load;
    const std::uint32_t number = site.place.file.empty() ? site.place.ptx_line : site.place.line;
    lines[{site.place.file, number, writes}].push_back(i);
    (writes ? writing : reading).push_back(i);
  }
  for (const auto& [line, sites] : lines)
    report.sites[sites.front()].counters.least_sectors = maps->count(sites);
  report.least_read_sectors = maps->count(reading);
  report.least_sectors = report.least_read_sectors + maps->count(writing);
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

namespace {

// A launch's state, ready to run.
Launch make_launch(const Program& program, const Image& image, std::string_view entry,
                   const Geometry& geometry, std::span<const void* const> arguments, const Options& options) {
  Launch state;
  state.program = &program;
  state.image = &image;
  state.grid = geometry.grid;
  state.block = geometry.block;
  state.cluster = geometry.cluster;
  state.multiprocessors = geometry.multiprocessors;
  state.threads_per_block = static_cast<std::uint32_t>(count(geometry.block));
  const std::size_t shared = geometry.dynamic_shared_bytes == 0
                                 ? image.static_shared_bytes
                                 : image.dynamic_shared_offset + geometry.dynamic_shared_bytes;
  state.shared_bytes = static_cast<std::uint32_t>(shared);
  state.dynamic_shared_bytes = static_cast<std::uint32_t>(geometry.dynamic_shared_bytes);
  state.params = pack(program, entry, arguments);
  state.checks = {options.races, options.initialized, options.counters};
  state.memory = program.memory.get();
  state.allocations = program.memory->snapshot();
  state.counters.resize(image.sites.size());
  if (options.counters) state.sectors = SectorNotes(image.sites.size());
  state.block_counts.resize(image.block_count);
  state.steps_left = options.step_limit;
  state.cancel = options.cancel;
  return state;
}

void run(Launch& state, const Options& options) {
  const std::uint64_t blocks = count(state.grid);
  unsigned threads =
      options.host_threads != 0 ? options.host_threads : std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, blocks));
  std::unique_ptr<RaceDetector> races;
  if (options.races) races = std::make_unique<RaceDetector>(state);
  state.races = races.get();
  state.schedule_seed = options.schedule_seed;
  std::uint64_t done = 0;
  if (blocks_of(state.cluster) > 1) {
    run_clusters(state, options.schedule_seed);
  } else {
    if (threads > 1 && options.schedule_seed == 0 && may_run_in_parallel(state))
      done = run_blocks_in_parallel(state, blocks, threads);
    run_blocks(state, done, blocks, options.schedule_seed);
  }
  state.races = nullptr;
}

// What the driver gives a cooperative launch: zeroed words of which cooperative groups use one as barrier.
class GridWorkspace {
 public:
  explicit GridWorkspace(Memory& memory) : memory_(memory) {
    memory_.add(address(), sizeof(words_), "the grid's barrier", true);
  }
  ~GridWorkspace() { memory_.remove(address()); }
  GridWorkspace(const GridWorkspace&) = delete;
  GridWorkspace& operator=(const GridWorkspace&) = delete;
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(words_.data()); }

 private:
  Memory& memory_;
  alignas(16) std::array<std::uint32_t, 4> words_{};
};

// Runs `state` again from `before` in other orders and compares with what memory holds now, which is left as
// it is.
void try_other_orders(Launch& state, const MemoryCopy& before, const Options& options) {
  const MemoryCopy result(state.allocations);
  for (unsigned i = 1; i <= options.schedules && !state.failed; ++i) {
    before.put_back();
    Launch again = state;
    again.findings = {};
    again.print = nullptr;
    again.steps_left = options.step_limit;
    again.checks = {false, false, false};
    Options other = options;
    other.races = false;
    other.host_threads = 1;
    other.schedule_seed = mix(options.schedule_seed + i) | 1;
    run(again, other);
    const std::optional<MemoryCopy::Difference> difference = result.difference();
    result.put_back();
    state.cancelled = state.cancelled || again.cancelled;
    if (!difference || again.cancelled) continue;
    Finding* const finding = state.findings.add(FindingKind::order_dependence, kNoSite);
    if (finding == nullptr) continue;
    finding->kernel = state.image->codes.front().name;
    finding->space = "global";
    finding->address = difference->address;
    finding->message = format_text(
        "another order of blocks, warps and lanes (schedule {}) leaves another value at byte {} of {}",
        other.schedule_seed, difference->address - difference->allocation->begin,
        difference->allocation->label);
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
  const Index3 &grid = geometry.grid, &cluster = geometry.cluster;
  if (count(cluster) == 0 || count(cluster) > kMostClusterBlocks || grid.x % cluster.x != 0 ||
      grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    throw Error(ErrorCode::invalid_argument,
                format_text("kernel {}: a grid of whole clusters of 1 to {} blocks is expected", entry,
                            kMostClusterBlocks));
  const std::size_t shared = image->dynamic_shared_offset + geometry.dynamic_shared_bytes;
  if (geometry.dynamic_shared_bytes > (std::size_t{1} << 20) || shared > (std::size_t{1} << 20))
    throw Error(ErrorCode::invalid_argument,
                format_text("kernel {}: {} bytes of shared memory for a block", entry, shared));

  LaunchReport report;
  std::optional<GridWorkspace> workspace;
  if (geometry.cooperative) workspace.emplace(*program.memory);
  Launch state = make_launch(program, *image, entry, geometry, arguments, options);
  if (workspace) state.grid_workspace = workspace->address();
  state.print = [&](std::string_view text) {
    report.printed += text;
    if (options.print) options.print(text);
  };
  std::optional<MemoryCopy> before;
  if (options.schedules != 0) before.emplace(state.allocations);
  const auto begin = std::chrono::steady_clock::now();
  run(state, options);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (before) try_other_orders(state, *before, options);
  if (state.cancelled) throw Error(ErrorCode::unavailable, format_text("kernel {} was cancelled", entry));
  report.kernel = entry;
  report.grid = geometry.grid;
  report.cluster = geometry.cluster;
  report.block = geometry.block;
  report.shared_bytes = state.shared_bytes;
  report.host_threads = state.host_threads;
  report.findings = state.findings.take();
  for (Finding& finding : report.findings)
    finding.suppressed = suppressed(finding, options.suppressions, program.name);
  fill_sites(state, report);
  fill_least(state, report);
  return report;
}

}  // namespace gpuforge::sim
