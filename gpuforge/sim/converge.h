// Instructions that wait for lanes of their own warp: .aligned barriers for all of them, .sync instructions
// for those of a mask, wherever they stand. Not installed.
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// True: run the instruction now for warp.active. False: it ran already, or its lanes were set aside; the
// handler returns take_next(warp).
bool converge_aligned(Warp& warp, const Op* op);
bool converge_sync(Warp& warp, const Op* op, std::uint32_t mask_operand);

// Joins fragments that wait for the whole warp at one place. True when they are all there and may run.
bool join_converging(Warp& warp);
// The lanes that wait at a .sync instruction of the same kind and mask as `fragment`, itself included.
Mask gathered(const Warp& warp, const Fragment& fragment);
// `lanes` have exited: .sync instructions that waited for nobody else may run.
void stop_waiting_for(Warp& warp, Mask lanes);

}  // namespace gpuforge::sim
