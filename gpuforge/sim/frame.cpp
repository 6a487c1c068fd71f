#include "gpuforge/sim/frame.h"

#include <cstdlib>
#include <new>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/marks.h"

namespace gpuforge::sim {
namespace {

template <class T>
void broadcast(std::byte* at, T value) {
  for (int lane = 0; lane < kLanes; ++lane)
    std::memcpy(at + static_cast<std::size_t>(lane) * sizeof(T), &value, sizeof(T));
}

bool differs_by_lane(SpecialRegister which) {
  switch (which) {
    case SpecialRegister::tid_x:
    case SpecialRegister::tid_y:
    case SpecialRegister::tid_z:
    case SpecialRegister::laneid:
    case SpecialRegister::lanemask_eq:
    case SpecialRegister::lanemask_le:
    case SpecialRegister::lanemask_lt:
    case SpecialRegister::lanemask_ge:
    case SpecialRegister::lanemask_gt:
      return true;
    default:
      return false;
  }
}

bool differs_by_block(SpecialRegister which) {
  switch (which) {
    case SpecialRegister::ctaid_x:
    case SpecialRegister::ctaid_y:
    case SpecialRegister::ctaid_z:
    case SpecialRegister::smid:
    case SpecialRegister::clusterid_x:
    case SpecialRegister::clusterid_y:
    case SpecialRegister::clusterid_z:
    case SpecialRegister::cluster_ctaid_x:
    case SpecialRegister::cluster_ctaid_y:
    case SpecialRegister::cluster_ctaid_z:
    case SpecialRegister::cluster_ctarank:
      return true;
    default:
      return false;
  }
}

}  // namespace

AlignedBytes::AlignedBytes(std::size_t bytes) {
  const std::size_t rounded = (bytes + 63) / 64 * 64 + 64;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  data_.reset(memory);
}

void AlignedBytes::Free::operator()(std::byte* bytes) const noexcept {
  std::free(bytes);
}

Frame::Frame(const Code& its_code, std::uint32_t its_depth)
    : code(&its_code),
      depth(its_depth),
      rows(its_code.frame_bytes),
      params(std::size_t{its_code.param_bytes} * kLanes) {
  for (const ConstantRow& constant : code->constants) {
    std::byte* const at = rows.data() + constant.offset;
    if (constant.bytes == 4) {
      broadcast(at, static_cast<std::uint32_t>(constant.low));
    } else {
      broadcast(at, constant.low);
      if (constant.bytes == 16) broadcast(at + 8 * kLanes, constant.high);
    }
  }
  for (const ConstantMask& mask : code->constant_masks)
    std::memcpy(rows.data() + mask.offset, &mask.value, 4);
}

Frame::~Frame() = default;

std::uint64_t special_value(const Warp& warp, const Frame& frame, SpecialRegister which, int lane) {
  const Block& block = *warp.block;
  const Launch& launch = *block.launch;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  const auto bit = std::uint32_t{1} << lane;
  switch (which) {
    case SpecialRegister::tid_x:
      return thread % launch.block.x;
    case SpecialRegister::tid_y:
      return thread / launch.block.x % launch.block.y;
    case SpecialRegister::tid_z:
      return thread / launch.block.x / launch.block.y;
    case SpecialRegister::ntid_x:
      return launch.block.x;
    case SpecialRegister::ntid_y:
      return launch.block.y;
    case SpecialRegister::ntid_z:
      return launch.block.z;
    case SpecialRegister::ctaid_x:
      return block.index.x;
    case SpecialRegister::ctaid_y:
      return block.index.y;
    case SpecialRegister::ctaid_z:
      return block.index.z;
    case SpecialRegister::nctaid_x:
      return launch.grid.x;
    case SpecialRegister::nctaid_y:
      return launch.grid.y;
    case SpecialRegister::nctaid_z:
      return launch.grid.z;
    case SpecialRegister::laneid:
      return static_cast<std::uint64_t>(lane);
    case SpecialRegister::warpid:
      return warp.index;
    case SpecialRegister::nwarpid:
      return 64;
    case SpecialRegister::smid:
      return block.linear_index % launch.multiprocessors;
    case SpecialRegister::nsmid:
      return launch.multiprocessors;
    case SpecialRegister::gridid:
      return 1;
    case SpecialRegister::lanemask_eq:
      return bit;
    case SpecialRegister::lanemask_le:
      return bit | (bit - 1);
    case SpecialRegister::lanemask_lt:
      return bit - 1;
    case SpecialRegister::lanemask_ge:
      return ~(bit - 1);
    case SpecialRegister::lanemask_gt:
      return ~(bit | (bit - 1));
    case SpecialRegister::clock:
      return warp.clock & 0xffffffffu;
    case SpecialRegister::clock_hi:
    case SpecialRegister::globaltimer_hi:
      return warp.clock >> 32;
    case SpecialRegister::clock64:
    case SpecialRegister::globaltimer:
      return warp.clock;
    case SpecialRegister::globaltimer_lo:
      return warp.clock & 0xffffffffu;
    case SpecialRegister::total_smem_size:
      return launch.shared_bytes;
    case SpecialRegister::dynamic_smem_size:
      return launch.dynamic_shared_bytes;
    case SpecialRegister::grid_workspace_low:
      return launch.grid_workspace & 0xffffffffu;
    case SpecialRegister::grid_workspace_high:
      return launch.grid_workspace >> 32;
    case SpecialRegister::clusterid_x:
      return block.index.x / launch.cluster.x;
    case SpecialRegister::clusterid_y:
      return block.index.y / launch.cluster.y;
    case SpecialRegister::clusterid_z:
      return block.index.z / launch.cluster.z;
    case SpecialRegister::nclusterid_x:
      return launch.grid.x / launch.cluster.x;
    case SpecialRegister::nclusterid_y:
      return launch.grid.y / launch.cluster.y;
    case SpecialRegister::nclusterid_z:
      return launch.grid.z / launch.cluster.z;
    case SpecialRegister::cluster_ctaid_x:
      return block.index.x % launch.cluster.x;
    case SpecialRegister::cluster_ctaid_y:
      return block.index.y % launch.cluster.y;
    case SpecialRegister::cluster_ctaid_z:
      return block.index.z % launch.cluster.z;
    case SpecialRegister::cluster_nctaid_x:
      return launch.cluster.x;
    case SpecialRegister::cluster_nctaid_y:
      return launch.cluster.y;
    case SpecialRegister::cluster_nctaid_z:
      return launch.cluster.z;
    case SpecialRegister::cluster_ctarank:
      return block.rank;
    case SpecialRegister::cluster_nctarank:
      return blocks_of(launch.cluster);
    case SpecialRegister::zero:
      return 0;
    case SpecialRegister::local_address:
      return frame.local_base;
  }
  return 0;
}

void fill_special(const Warp& warp, const Frame& frame, const SpecialRow& special) {
  std::byte* const at = frame.rows.data() + special.offset;
  if (!differs_by_lane(special.which)) {
    const std::uint64_t value = special_value(warp, frame, special.which, 0) + special.addend;
    if (special.bytes == 4)
      broadcast(at, static_cast<std::uint32_t>(value));
    else
      broadcast(at, value);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = special_value(warp, frame, special.which, lane) + special.addend;
    const std::size_t bytes = special.bytes == 4 ? 4 : 8;
    std::memcpy(at + static_cast<std::size_t>(lane) * bytes, &value, bytes);
  }
}

void start_frame(Warp& warp, Frame& frame) {
  for (const SpecialRow& special : frame.code->specials)
    if (!frame.started || differs_by_block(special.which)) fill_special(warp, frame, special);
  if (!frame.started) {
    const Mask in_clusters = blocks_of(warp.block->launch->cluster) > 1 ? kAllLanes : 0;
    for (const ConstantMask& mask : frame.code->constant_masks)
      if (mask.of_cluster) std::memcpy(frame.rows.data() + mask.offset, &in_clusters, 4);
  }
  frame.started = true;
  if (warp.block->uses_stack) frame.stack.fill(frame.local_base + frame.code->local_bytes);
  std::byte* const marks = frame.rows.data() + frame.code->row_marks;
  std::memset(marks, 0, frame.code->frame_bytes - frame.code->row_marks);
  if (frame.mark_detail != nullptr) forget_details(frame);
  frame.params_unwritten.clear();
  for (const Unwritten& one : frame.code->unwritten)
    std::memset(frame.rows.data() + one.offset, 0, one.bytes);
  if (!warp.block->launch->checks.initialized || frame.code->unwritten.empty()) return;
  for (const Unwritten& one : frame.code->unwritten) std::memcpy(frame.rows.data() + one.mark, &kAllLanes, 4);
  warp.tracking = true;
}

}  // namespace gpuforge::sim
