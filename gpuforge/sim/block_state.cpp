#include "gpuforge/sim/block_state.h"

#include <algorithm>
#include <numeric>

#include "gpuforge/sim/address.h"
#include "gpuforge/sim/fragments.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kUnknownLocalBytes =
    16 * 1024;  // per thread, when no depth of calls or alloca is known

std::uint32_t local_stride(const Launch& launch) {
  const Image& image = *launch.image;
  const std::uint32_t bytes =
      image.max_local_bytes + (image.recursive || image.uses_stack ? kUnknownLocalBytes : 0);
  return (bytes + 63) / 64 * 64;
}

std::uint32_t warps_of(const Launch& launch) {
  return (launch.threads_per_block + kLanes - 1) / kLanes;
}

}  // namespace

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

std::size_t block_state_bytes(const Launch& launch) {
  return launch.shared_bytes + std::size_t{local_stride(launch)} * launch.threads_per_block +
         std::size_t{launch.image->codes.front().frame_bytes} * warps_of(launch);
}

BlockState::BlockState(Launch& launch)
    : shared_(launch.shared_bytes + 64),
      local_(std::size_t{local_stride(launch)} * launch.threads_per_block + 64),
      shared_bits_(launch.shared_bytes / 64 + 2),
      local_bits_(std::size_t{local_stride(launch)} / 64 * launch.threads_per_block + 2) {
  block_.launch = &launch;
  block_.shared = shared_.data();
  block_.shared_initialized = shared_bits_.data();
  block_.local = local_.data();
  block_.local_initialized = local_bits_.data();
  block_.local_stride = local_stride(launch);
  block_.uses_stack = launch.image->uses_stack;
  block_.warps.resize(warps_of(launch));
  for (std::uint32_t i = 0; i < block_.warps.size(); ++i) {
    Warp& warp = block_.warps[i];
    warp.index = i;
    warp.block = &block_;
    warp.counts = launch.block_counts.data();
    warp.sites = launch.counters.data();
    const std::uint32_t left = launch.threads_per_block - i * kLanes;
    warp.existing = left >= kLanes ? kAllLanes : (Mask{1} << left) - 1;
    block_.kernel_frames.push_back(std::make_unique<Frame>(launch.image->codes.front(), 0));
  }
}

void BlockState::start(std::uint64_t linear_index, std::uint64_t seed) {
  const Launch& launch = *block_.launch;
  block_.linear_index = linear_index;
  block_.index = {static_cast<std::uint32_t>(linear_index % launch.grid.x),
                  static_cast<std::uint32_t>(linear_index / launch.grid.x % launch.grid.y),
                  static_cast<std::uint32_t>(linear_index / launch.grid.x / launch.grid.y)};
  std::memset(block_.shared, 0, launch.shared_bytes);
  std::fill(shared_bits_.begin(), shared_bits_.end(), 0);
  std::memset(block_.local, 0, std::size_t{block_.local_stride} * launch.threads_per_block);
  std::fill(local_bits_.begin(), local_bits_.end(), 0);
  block_.partly_written.clear();
  block_.barriers = {};
  block_.arrivals = {};
  block_.alone = nullptr;
  block_.frames.clear();
  block_.exited_threads = 0;
  block_.order.resize(block_.warps.size());
  std::iota(block_.order.begin(), block_.order.end(), 0u);
  if (seed != 0)
    std::sort(block_.order.begin(), block_.order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return mix(seed ^ mix(linear_index * 64 + a)) < mix(seed ^ mix(linear_index * 64 + b));
    });
  for (Warp& warp : block_.warps) {
    Frame& frame = *block_.kernel_frames[warp.index];
    frame.lanes = warp.existing;
    warp.live = warp.existing;
    warp.tracking = false;
    warp.forced = false;
    warp.beside = 0;
    warp.sticky = false;
    warp.timed_out = false;
    warp.turn = 0;
    warp.clock = 0;
    warp.fuel = 0;
    warp.given = 0;
    warp.starting = true;
    warp.frame_serial = 0;
    warp.parted = 0;
    warp.fragments.clear();
    warp.others = 0;
    start_frame(warp, frame);
    make_active(warp, warp.existing, &frame);
    warp.next = frame.code->ops.data();
  }
}

std::byte* function_param(Warp& warp, const Op*, std::uint32_t* lane_stride) {
  *lane_stride = warp.frame->code->param_bytes;
  return warp.frame->params.data();
}

}  // namespace gpuforge::sim
