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
// gave up its turn so that other blocks can go on: one of a cluster also when it waits for those.
bool run_block(Block& block, bool may_yield);
// Some thread is not waiting any more, or waits for what is on its way.
bool can_go_on(const Block& block);
// When all of its threads wait, and so do those of its cluster: one of them goes on all the same, because a
// GPU ends a wait for an mbarrier after some time, or after a finding that others of its warp will not come.
bool end_a_wait(Block& block);
// The finding that ends the launch when there was none such. False: no thread of this block waits.
bool report_deadlock(Block& block);

}  // namespace gpuforge::sim
