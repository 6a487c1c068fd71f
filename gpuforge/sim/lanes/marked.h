// Values never written that reach memory instructions, asked for only while a warp is followed
// (Mode::tracked).
#pragma once

#include <cstdint>

#include "gpuforge/sim/address.h"

namespace gpuforge::sim {

// A finding when lanes use an address made from something never written.
void check_address(Warp& warp, const Op* op, std::uint32_t bytes);
// A store of `count` elements, whose bytes are marked as written already. Bytes never written that were only
// copied are copied on: what they are stored to becomes unwritten. It is a finding when an instruction made
// the value (except in local memory: a spilled register, most likely), or when it goes to global memory with
// nothing written beside it, here or where it came from.
void check_data(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes);
// Operands of an atomic in slots `first_slot` and up: a mark is a finding.
void check_operands(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t bytes,
                    std::uint32_t first_slot);

}  // namespace gpuforge::sim
