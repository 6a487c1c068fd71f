#include "gpuforge/sim/lanes/memory_machine_for_tests.h"

#include <cstring>

#include "gpuforge/sim/lanes/pattern.h"
#include "gpuforge/sim/syntax.h"
#include "gpuforge/sim/table.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

RecordedLaunch& recorded(const Warp& warp) {
  return static_cast<RecordedLaunch&>(*warp.block->launch);
}

SeenAccess seen(const Access& access) {
  SeenAccess one;
  one.access = access;
  one.address.assign(access.address, access.address + kLanes);
  if (access.values != nullptr) one.values.assign(access.values, access.values + kLanes * access.bytes);
  return one;
}

}  // namespace

Finding* report(Warp& warp, const Op* op, FindingKind kind, int lane, bool fatal, std::uint32_t other_site) {
  RecordedLaunch& launch = recorded(warp);
  launch.last_lane_reported = lane;
  if (fatal) launch.failed = true;
  return launch.findings.add(kind, op->site, other_site);
}
void mark_uninitialized(Warp& warp, const Op*, Mask lanes) {
  recorded(warp).marked |= lanes;
}
void mark_unwritten(Warp& warp, const Op*, int lane, std::span<const std::uint8_t> unwritten, bool beside) {
  RecordedLaunch& launch = recorded(warp);
  launch.marked |= Mask{1} << lane;
  launch.marked_bytes[lane].assign(unwritten.begin(), unwritten.end());
  if (beside) launch.marked_beside |= Mask{1} << lane;
}
UnwrittenValue unwritten_value(const Warp& warp, const Op*, int slot, int, std::uint32_t bytes) {
  const RecordedLaunch& launch = recorded(warp);
  return {launch.unwritten_bits[slot] & low_bits(bytes * 8), launch.computed, launch.beside};
}
void store_param_marks(Warp&, const Op*, std::uint32_t, std::uint32_t) {}
void load_param_marks(Warp&, const Op*, std::uint32_t, std::uint32_t) {}
Mask uninitialized_lanes(const Warp& warp, const Op*, int slot) {
  return recorded(warp).marked_data[slot];
}
Mask uninitialized_address(const Warp& warp, const Op*) {
  return recorded(warp).marked_address;
}
std::byte* function_param(Warp& warp, const Op*, std::uint32_t* lane_stride) {
  *lane_stride = static_cast<std::uint32_t>(recorded(warp).function_params.size()) / kLanes;
  return recorded(warp).function_params.data();
}

struct RaceDetector::State {};
bool met_on_its_way(Warp&, const Op*, int, std::uint64_t, std::uint32_t) {
  return false;
}
RaceDetector::RaceDetector(Launch&) {}
RaceDetector::~RaceDetector() = default;
void RaceDetector::shared(Warp& warp, const Access& access) {
  SeenAccess one = seen(access);
  one.shared = true;
  recorded(warp).accesses.push_back(std::move(one));
}
void RaceDetector::global(Warp& warp, const Access& access, Allocation& allocation) {
  SeenAccess one = seen(access);
  one.allocation = allocation.label;
  recorded(warp).accesses.push_back(std::move(one));
}

MemoryMachine::MemoryMachine()
    : rows_(256),
      shared_(kSharedBytes / 64),
      local_(kThreads * kLocalStride / 64),
      shared_bits_(written_words(kSharedBytes)),
      local_bits_(written_words(kThreads * kLocalStride)) {
  launch.counters.resize(1);
  launch.sectors = SectorNotes(1);
  launch.shared_bytes = kSharedBytes;
  launch.threads_per_block = kThreads;
  launch.params.resize(64);
  launch.memory = &memory;
  block.launch = &launch;
  block.shared = shared_[0].byte;
  block.shared_initialized = shared_bits_.data();
  block.local = local_[0].byte;
  block.local_initialized = local_bits_.data();
  block.local_stride = kLocalStride;
  warp.block = &block;
  warp.rows = rows_[0].byte;
  warp.live = kAllLanes;
  refresh();
}

std::shared_ptr<Allocation> MemoryMachine::allocate(std::size_t bytes, std::string label, bool initialized,
                                                    std::size_t skew) {
  owned_.push_back(std::make_unique<std::byte[]>(bytes + skew + 512));
  const auto raw = reinterpret_cast<std::uint64_t>(owned_.back().get());
  auto made = memory.add((raw + 255) / 256 * 256 + skew, bytes, std::move(label), initialized);
  refresh();
  return made;
}
void MemoryMachine::refresh() {
  launch.allocations = memory.snapshot();
  launch.last_allocation = nullptr;
}
void MemoryMachine::free(const Allocation& allocation) {
  memory.remove(allocation.begin);
  refresh();
}

Op MemoryMachine::op(std::string_view text, std::uint8_t register_bytes) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    words.push_back(text.substr(at, dot - at));
    at = dot + 1;
  }
  const std::span<const std::string_view> modifiers(words.data() + 1, words.size() - 1);
  Op made;
  for (const auto& rows : {load_store_rows(), atomic_rows()})
    for (const OpcodeRow& one : rows) {
      if (made.run[0] != nullptr || mnemonic(one.syntax) != words[0]) continue;
      if (!modifiers_fit(compile_syntax(one.syntax), modifiers)) continue;
      made.inner = one.bind(make_match(modifiers));
      made.run = {made.inner.full, made.inner.masked, made.inner.masked};
    }
  made.register_bytes = register_bytes;
  made.has_address_row = true;
  made.address = kAddressRow;
  for (unsigned slot = 0; slot < made.operand.size(); ++slot) made.operand[slot] = row_offset(slot);
  const Match match = make_match(modifiers);
  if (match.has("global")) made.space = Space::global;
  if (match.has("shared") || match.has("shared::cta")) made.space = Space::shared;
  if (match.has("local")) made.space = Space::local;
  if (match.has("const")) made.space = Space::constant;
  if (match.has("param")) made.space = Space::param;
  if (match.has("param::func")) made.space = Space::function_param;
  return made;
}

bool MemoryMachine::run(const Op& op, Mask active) {
  warp.active = active;
  set_lane_mask(warp);
  return op.run[static_cast<unsigned>(warp.mode)](warp, &op) == &op + 1;
}

void MemoryMachine::record_races() {
  races_ = std::make_unique<RaceDetector>(launch);
  launch.races = races_.get();
}

}  // namespace gpuforge::sim
