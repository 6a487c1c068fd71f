// Values never written that reach memory instructions, asked for only while a warp is followed
// (Mode::tracked).
#pragma once

#include <cstdint>

#include "gpuforge/sim/address.h"

namespace gpuforge::sim {

// A finding when lanes use an address made from something never written.
void check_address(Warp& warp, const Op* op, std::uint32_t bytes);
// A store of `count` elements in slots `first_slot` and up, whose bytes are marked as written already. Marked
// data is a finding in global and shared memory; in local memory (a spilled register, most likely) the bytes
// become unwritten again.
void check_data(Warp& warp, const Op* op, std::uint32_t count, std::uint32_t element_bytes,
                std::uint32_t first_slot = 0);

}  // namespace gpuforge::sim
