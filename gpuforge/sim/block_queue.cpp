#include "gpuforge/sim/block_queue.h"

#include <algorithm>
#include <deque>
#include <numeric>

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
void run_blocks(Launch& launch, std::uint64_t first, std::uint64_t blocks, std::uint64_t seed) {
  const std::size_t fit = std::max<std::size_t>(
      1, std::min(kResidentBlocks, kResidentBytes / std::max<std::size_t>(1, block_state_bytes(launch))));
  std::deque<std::unique_ptr<BlockState>> waiting;
  std::vector<std::unique_ptr<BlockState>> spare;
  const bool may_wait = launch.image->polls;
  // An odd multiplier that shares no factor with the count makes a permutation of the blocks.
  std::uint64_t step = 1, offset = 0;
  if (seed != 0 && blocks > 1) {
    step = mix(seed) % blocks | 1;
    while (std::gcd(step, blocks) != 1) ++step;
    offset = mix(seed + 1) % blocks;
  }
  const auto finished = [&](BlockState& state) {
    const bool over = run_block(state.block(), may_wait);
    if (over) arrivals_over(state.block());
    if (over && launch.races != nullptr) launch.races->end_block(state.block());
    return over;
  };
  std::uint64_t next = first;
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

}  // namespace gpuforge::sim
