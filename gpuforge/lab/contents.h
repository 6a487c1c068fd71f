// What inputs hold: seeded random values, and the contents that have broken kernels before.
#pragma once

#include <cstdint>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

// The elements of an input, rounded to its dtype: what is returned is exactly what the kernel will read. The
// same seed, operand and contents give the same values on every machine.
HostTensor make_input(const Operand& operand, Contents contents, std::uint64_t seed);

}  // namespace gpuforge::lab
