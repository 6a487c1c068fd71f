// A problem worked out on the host: what its kernels are given, and what they should make of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

struct Worked {
  std::vector<Operand> operands;
  std::vector<std::vector<std::byte>> inputs;  // of each operand as it is stored, row-major; none of outputs
  std::vector<Expected> expected;              // of outputs and inouts, in order
};
// Inputs from the seed, outputs by the reference, on all host threads; the same on every machine.
// out_of_memory, before anything is taken, when the host cannot hold it.
Worked work_out(const Op& op, const Problem& problem, Contents contents, std::uint64_t seed);

// Keeps the last one, which is the same for every variant, configuration and placement of a problem.
class LastWorked {
 public:
  std::shared_ptr<const Worked> find(const Op& op, const Problem& problem, Contents contents,
                                     std::uint64_t seed);

 private:
  std::string key_;
  std::shared_ptr<const Worked> worked_;
};

}  // namespace gpuforge::lab
