#include "gpuforge/sim/block_queue.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"

namespace gpuforge::sim {
namespace {

// Blocks that wait for each other are kept side by side, up to this much memory.
constexpr std::size_t kResidentBytes = std::size_t{2} << 30;
constexpr std::size_t kResidentBlocks = 8192;

}  // namespace

// Blocks that wait for others are set aside and come back in turns.
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

bool may_run_in_parallel(const Launch& launch) {
  const Image& image = *launch.image;
  const bool prints = std::any_of(image.codes.begin(), image.codes.end(), [](const Code& code) {
    return std::any_of(code.calls.begin(), code.calls.end(),
                       [](const Call& call) { return call.builtin == Builtin::vprintf; });
  });
  return !launch.checks.races && !launch.checks.initialized && !image.order_matters && !prints;
}

namespace {

void add(SiteCounters& to, const SiteCounters& from) {
  to.warp_instructions += from.warp_instructions;
  to.thread_instructions += from.thread_instructions;
  to.requests += from.requests;
  to.sectors += from.sectors;
  to.wavefronts += from.wavefronts;
  to.ideal_wavefronts += from.ideal_wavefronts;
  to.useful_bytes += from.useful_bytes;
  to.requested_bytes += from.requested_bytes;
  to.atomic_conflicts += from.atomic_conflicts;
  to.divergent += from.divergent;
}

void add(Launch& to, const Launch& from) {
  for (std::size_t i = 0; i < to.counters.size(); ++i) add(to.counters[i], from.counters[i]);
  for (std::size_t i = 0; i < to.block_counts.size(); ++i) {
    to.block_counts[i].warps += from.block_counts[i].warps;
    to.block_counts[i].threads += from.block_counts[i].threads;
  }
  to.failed = to.failed || from.failed;
  to.cancelled = to.cancelled || from.cancelled;
}

}  // namespace

void run_blocks_in_parallel(Launch& launch, std::uint64_t blocks, unsigned threads) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  struct Found {
    std::uint64_t block;
    bool failed;
    std::vector<Finding> findings;
  };
  std::vector<Found> found;
  std::vector<Launch> states(threads, launch);
  const auto work = [&](Launch& state) {
    try {
      BlockState block(state);
      while (!state.failed) {
        const std::uint64_t index = next.fetch_add(1);
        if (index >= blocks) break;
        block.start(index, 0);
        run_block(block.block(), false);
        if (state.findings.empty()) continue;
        const std::lock_guard lock(mutex);
        found.push_back({index, state.failed, state.findings.take()});
        if (state.failed) next = blocks;  // those before it have started already
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
      next = blocks;
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < threads; ++i) workers.emplace_back([&, i] { work(states[i]); });
    work(states[0]);
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
  for (const Launch& state : states) add(launch, state);
  // As if the blocks had run in order: up to the first that ended the launch.
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.block < b.block; });
  for (Found& one : found) {
    for (Finding& finding : one.findings) launch.findings.merge(std::move(finding));
    if (one.failed) break;
  }
}

}  // namespace gpuforge::sim
