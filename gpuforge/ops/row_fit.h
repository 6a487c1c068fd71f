// What a configuration of a row kernel holds, and whether it can. Not installed; for who
// lists, chooses or limits configurations.
#pragma once

#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {

inline constexpr int kMaxThreads = 1024;  // of a block
inline constexpr int kMaxVectorBytes = 16;
inline constexpr int kThreadsBeside = 512;  // of a block that is not alone on its multiprocessor

int bytes_of(DType dtype);
// The most elements a thread may hold: single ones take a register each, whatever their size, and another for
// where they are.
int most_items(const RowProblem& problem, int vector, int cluster = 1);
// What a block is launched with.
std::size_t shared_bytes(const RowConfig& config, const RowProblem& problem);
// Of a kernel that holds an array in shared memory: its clusters have the rows in turn
// (kernels/row_turns.cuh). Of 16 such blocks, two on a multiprocessor, an H200 has room for 14 clusters on
// 112 of its 132; of 8 for 30 on 120, and those are faster with a row each.
bool takes_turns(const RowConfig& config, DType dtype);
// Beside it a block has slots for reductions, and the system 1 KB.
bool has_shared_memory(const RowConfig& config, const RowProblem& problem, const device::DeviceFacts& facts);
// Elements of a row that are held.
std::int64_t held_elements(const RowConfig& config);
// Of a row of an odd length, what is in whole vectors, wherever it begins: the others are single elements at
// its ends, one for a thread, beside the items.
std::int64_t elements_to_hold(const RowProblem& problem, int vector);
bool holds_row(const RowConfig& config, const RowProblem& problem);
// There is such a kernel, and it holds the row if it holds anything.
bool fits(const RowConfig& config, const RowProblem& problem);
// Blocks that a row may have there.
int most_cluster(const RowProblem& problem, const device::DeviceFacts& facts);
// How far from a row it is to the one that is brought to the L2 cache while threads wait for the row's own: a
// third of the rows that the device has at once, a half where threads hold no more than 32 bytes, or what the
// problem says for rows of a block. Those that are brought too early are gone when they are
// wanted. 0, none: where everything is on the device at once, and for rows of less than a warp.
std::int64_t rows_ahead(const RowProblem& problem, const RowConfig& config, const device::DeviceFacts& facts);
// What the kernel is compiled for. Those that hold much in each of as many threads as there are would spill
// for whole rows (SM 86).
RowForm form_of(const RowConfig& config, const RowProblem& problem);

}  // namespace gpuforge::ops
