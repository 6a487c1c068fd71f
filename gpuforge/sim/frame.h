// One activation of a function by some lanes of a warp: rows, parameters, where to return.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpuforge/sim/code.h"
#include "gpuforge/sim/launch.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim {

struct AlignedBytes {
  explicit AlignedBytes(std::size_t bytes);
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
};

struct MarkDetail;  // marks.h

struct Frame {
  Frame(const Code& code, std::uint32_t depth);
  ~Frame();

  const Code* code = nullptr;
  Frame* caller = nullptr;
  const Op* return_to = nullptr;
  const Call* call = nullptr;  // what made it, in the caller
  Mask lanes = 0;              // still inside
  std::uint32_t depth = 0;
  std::uint64_t serial = 0;  // frames of a warp are numbered as they are made
  std::uint32_t local_base = 0;
  std::array<std::uint32_t, kLanes> stack{};  // where each lane's local memory ends, when alloca is used
  bool started = false;  // by an earlier block: only what differs between blocks is filled in again
  AlignedBytes rows;
  std::vector<std::byte> params;  // code->param_bytes per lane
  // Made when there is something to say: more about marked rows, and the bits of params never written.
  std::unique_ptr<MarkDetail> mark_detail;
  std::vector<std::uint8_t> params_unwritten;
};

// Where a .sync instruction runs when its lanes come from several places: a frame with room for its operands.
struct MeetingPlace {
  explicit MeetingPlace(Code layout) : code(std::move(layout)), frame(code, 0) {}
  Code code;
  Frame frame;
};

// Marks of a row or predicate: lanes whose value was never written, or not all bits of it.
inline Mask& marks_of(const Frame& frame, std::uint32_t offset) {
  const Code& code = *frame.code;
  const std::uint32_t at = offset < code.masks_begin ? code.row_marks + offset / 128 * 4
                                                     : code.mask_marks + (offset - code.masks_begin);
  return *reinterpret_cast<Mask*>(frame.rows.data() + at);
}
inline Mask& marks_of(const Warp& warp, std::uint32_t offset) {
  return marks_of(*warp.frame, offset);
}

// Special registers and marks as a thread finds them at its start.
void start_frame(Warp& warp, Frame& frame);
// One special register's value in `lane`.
std::uint64_t special_value(const Warp& warp, const Frame& frame, SpecialRegister which, int lane);
void fill_special(const Warp& warp, const Frame& frame, const SpecialRow& special);

}  // namespace gpuforge::sim
