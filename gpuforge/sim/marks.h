// What is known of marked registers (frame.h) beyond that they are marked, and of arguments of calls. A mark
// alone says: no bit of this lane's value was written, and it was only copied since. Not installed.
#pragma once

#include <cstdint>
#include <vector>

#include "gpuforge/sim/frame.h"

namespace gpuforge::sim {

// How a value came from what was never written, which decides where storing it is a finding.
struct Origin {
  bool computed = false;  // an instruction made a new value from it
  bool beside = false;    // read together with bytes that were written: padding, most likely
};

struct MarkDetail {
  explicit MarkDetail(const Code& code);
  struct Lanes {
    Mask partial = 0;  // whose written bits are in `written`
    Mask computed = 0;
    Mask beside = 0;
  };
  std::vector<Lanes> rows;  // per 128 bytes of rows, as the marks
  AlignedBytes written;     // a row beside each row
};

void forget_details(Frame& frame);
// The lanes' marks in this row say nothing more than that they are marks.
void forget_details(Frame& frame, std::uint32_t offset, Mask lanes);

// One lane of a row of 32- or 64-bit elements: its low `bits` that were never written.
std::uint64_t unwritten_bits(const Frame& frame, std::uint32_t offset, int lane, bool wide, unsigned bits);
Origin origin_of(const Frame& frame, std::uint32_t offset, int lane);
// What there is to say of a lane that is marked, or will be.
void set_detail(Frame& frame, std::uint32_t offset, int lane, bool wide, std::uint64_t unwritten,
                Origin origin);

// Marks of what a call hands over, for `lanes`.
void hand_over_marks(const Frame& from, const std::vector<Passed>& given, Frame& to,
                     const std::vector<Passed>& taken, Mask lanes);

// Marks of an instruction's results, in spread_marks.cpp.
//
// Lanes with a mark in any source.
Mask marked_sources(const Warp& warp, const Op* op);
// Every destination: `marked` of `lanes` hold a new value made from what was never written.
void set_results(const Warp& warp, const Op* op, Mask lanes, Mask marked);
// Every destination's marks in `lanes`, from the sources' values before the instruction runs.
void spread_marks(const Warp& warp, const Op* op, const SpreadRule& rule, Mask lanes);
// What the lanes of a warp tell each other, for the instruction itself to call: those that took part are
// active then. `votes` and `marks` are the source's before the results were written.
void spread_vote(const Warp& warp, const Op* op, const SpreadRule& rule, Mask votes, Mask marks);

}  // namespace gpuforge::sim
