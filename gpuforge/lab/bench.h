// One case of `bench`: verified, then measured on its device, beside the ceiling that moves as many bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuforge/lab/ceilings.h"
#include "gpuforge/lab/count.h"
#include "gpuforge/lab/measure.h"

namespace gpuforge::lab {

struct BenchCase {
  std::string op;
  Problem problem;  // complete
  std::string variant;
  std::string backend = "kernel";  // or "ref": the op's reference, a plain loop on the host
  friend bool operator==(const BenchCase&, const BenchCase&) = default;
};
// "reduce_sum best f16 4096x1024 dim=-1": the same for the same case, in every run.
std::string to_string(const BenchCase& which);

struct KernelFacts {
  std::string expression;
  std::string key;  // of the compile cache: source, headers, options, arch and compiler
  std::string arch;
  std::string compiler;
  int registers = 0;
  std::size_t spill_bytes = 0;
};

struct BenchResult {
  BenchCase which;
  std::string failure;  // empty: verified and measured
  Cost cost;
  Config config;              // what the op chose
  std::string config_reason;  // and why; empty: there was nothing to choose
  std::vector<KernelFacts> kernels;
  std::optional<Measurement> measurement;  // where there is a time
  std::optional<Counts> counts;            // in the simulator
  std::optional<Ceiling> ceiling;          // on a GPU

  bool good() const { return failure.empty(); }
  // By the median; 0 without a time.
  double gb_per_s() const;
  double tflop_per_s() const;
  // Of the ceiling's bandwidth; 0 without one.
  double share_of_ceiling() const;
};

// What goes wrong with the case itself, in verifying or measuring, is its failure and not an Error.
// `ceilings` may be nullptr. `last` keeps what variants of one problem share.
BenchResult bench(const Op& op, const BenchCase& which, const std::shared_ptr<Context>& context,
                  const MeasureOptions& options, Ceilings* ceilings, LastWorked& last);

}  // namespace gpuforge::lab
