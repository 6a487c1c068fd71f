// Between handlers and the scheduler of a block (block_run.cpp).
#pragma once

#include "gpuforge/sim/block.h"

namespace gpuforge::sim {

// The warp has used up its instructions: counts them, and gives more. False when it should stop here (its
// turn is over, the launch is cancelled or too long); it then goes on at `op`.
bool refuel(Warp& warp, const Op* op);
// `lanes` of the warp are gone: what waited for them may go on.
void lanes_exited(Warp& warp, Mask lanes);

// Runs a warp until it can run no more.
void run_warp(Warp& warp);
// Runs the block's warps in turns. True when all threads have ended, or the launch has failed; false when it
// gave up its turn so that other blocks can go on.
bool run_block(Block& block, bool may_yield);

}  // namespace gpuforge::sim
