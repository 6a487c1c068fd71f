// How operands lie in memory while a kernel is checked: in storage of their own with bytes around and between
// them that nobody may touch. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/lab/check.h"

namespace gpuforge::lab {

// `view` is the operand; `storage` all bytes around it, one axis. On cpu and cuda a margin lies before and
// after the elements; on sim there is none, since the simulator sees an access outside of the storage.
struct PlacedOperand {
  Array storage;
  Array view;
};
PlacedOperand place(const std::shared_ptr<Context>& context, const Operand& operand, Placement placement,
                    device::Stream& stream);

// Every byte of the storage becomes `pattern`, and the elements (row-major, as in memory) what is given; of
// an output nothing is. To the simulator what is not given was never written. Waits.
void write_operand(const PlacedOperand& placed, std::uint8_t pattern, std::span<const std::byte> elements,
                   device::Stream& stream);

struct ReadBack {
  std::vector<std::byte> elements;  // row-major
  std::string damage;               // bytes that are no element's and changed: where, in words; empty: none
};
// Waits.
ReadBack read_operand(const PlacedOperand& placed, std::uint8_t pattern, device::Stream& stream);

}  // namespace gpuforge::lab
