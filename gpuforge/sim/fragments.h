// Lanes of a warp that went different ways: who runs, who waits, who meets again.
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// Makes `lanes` in `frame` the running ones and sets the mode that follows.
void make_active(Warp& warp, Mask lanes, Frame* frame);
// The mode for the present lanes; call after live, active or tracking changed.
void update_mode(Warp& warp);
// Sets the running lanes aside.
void set_aside(Warp& warp, const Op* next, Wait wait, Mask sync_mask = 0, std::uint8_t barrier = 0);
// Takes up the fragment that should run next and gives its op; nullptr when none is ready.
const Op* take_next(Warp& warp);
// At the start of a basic block, with other fragments about: meets those that stand here, and lets one that
// stands before this place go first. Gives the op to run; `op` itself when the current lanes go on.
const Op* meet(Warp& warp, const Op* op);
// Before an access by which threads talk to each other: other orders than the first let some of the lanes go
// ahead of the rest, as a GPU may from Volta on.
Handlers part_handlers();
// Whether `a` stands before `b` in the order fragments run.
bool stands_before(const Frame* frame_a, const Op* a, const Frame* frame_b, const Op* b);

}  // namespace gpuforge::sim
