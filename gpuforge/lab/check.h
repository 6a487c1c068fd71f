// One case of `check`: an op's variant on one problem with one kind of contents, against the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/lab/compare.h"
#include "gpuforge/lab/error_map.h"
#include "gpuforge/lab/worked.h"

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
// "naive f16 33x31 tile_size=auto, nans, spread": what is as usual is not said.
std::string to_string(const CheckCase& which);

struct OutputReport {
  std::string name;
  Shape shape;
  Comparison comparison;
  ErrorMap map;  // empty when the output is good
};

struct CheckReport {
  std::vector<OutputReport> outputs;  // empty when it could not be run
  std::vector<std::string> faults;    // what else was wrong, a sentence each
  bool device_lost = false;           // a fault of the kind after which the context runs nothing more
  bool good() const;
};
// All that is wrong, a sentence each: the faults, then the outputs. Empty when good.
std::vector<std::string> complaints(const CheckReport& report);

std::string number_text(double value);  // nine digits, "nan" for every NaN

// The kernel is run twice on the same inputs, in fresh memory each time. Before it, outputs and all bytes
// around and between the operands hold a pattern, another one each time; to the simulator they were never
// written, and its second run goes through blocks and warps in another order. Afterwards: are the outputs
// what the reference says, is every element written, are inputs and the bytes around unchanged, are both
// results the same bits? What the kernel does wrong is in the report, with what the simulator found, a
// refusal to run the problem and a kernel that does not compile; Errors are for what is not its fault (no
// memory, no compiler). While it runs, reports of a simulator go nowhere else.
CheckReport check(const Op& op, const CheckCase& which, const std::shared_ptr<Context>& context);
// The same with the problem worked out before, for `which.contents` and `which.seed`.
CheckReport check(const Op& op, const CheckCase& which, const Worked& worked,
                  const std::shared_ptr<Context>& context);

}  // namespace gpuforge::lab
