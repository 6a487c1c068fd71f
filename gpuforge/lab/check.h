// One case of `check`: an op's variant on one problem with one kind of contents, against the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/lab/compare.h"
#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

// How operands lie in memory. Anything but contiguous needs an op that accepts strides.
enum class Placement { contiguous, transposed, spread, shifted };
std::string_view name(Placement placement);

struct CheckCase {
  Problem problem;  // complete
  std::string variant;
  Contents contents = Contents::normal;
  Placement placement = Placement::contiguous;
  std::uint64_t seed = 1;
  std::optional<Config> config;
};

struct OutputReport {
  std::string name;
  Shape shape;
  Comparison comparison;
};

struct CheckReport {
  std::vector<OutputReport> outputs;
  std::vector<std::string> faults;  // what else was wrong, a sentence each
  bool good() const;
};

// Outputs are poisoned before the launch, inputs compared after it, and it is run twice. What the kernel does
// wrong is in the report; Errors are for what kept it from being run at all.
CheckReport check(const Op& op, const CheckCase& which, const std::shared_ptr<Context>& context);

}  // namespace gpuforge::lab
