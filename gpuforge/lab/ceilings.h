// What the device could do at best: the time of plain kernels that move as many bytes, in the same proportion
// of reads and writes, measured in the same run by the same harness.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "gpuforge/lab/measure.h"

namespace gpuforge::lab {

// Reads and writes of a unit of the ceiling's kernel: 1:0, 1:1, 2:1, 0:1, and whatever comes nearest.
struct Proportion {
  int reads = 1;
  int writes = 1;
  friend auto operator<=>(const Proportion&, const Proportion&) = default;
};
// The one whose share of reads is nearest to the op's, of those with at most four of each.
Proportion nearest_proportion(double bytes_read, double bytes_written);

struct Ceiling {
  Proportion proportion;
  double bytes = 0;     // moved by it
  double gb_per_s = 0;  // by the median
  std::string kernel;   // the expression of the one that was fastest
};

// Remembers what it measured, by proportion and size (within a quarter of an octave). One per run.
class Ceilings {
 public:
  // Only for devices of kind cuda. Several shapes of the kernel are tried and the fastest stands.
  Ceilings(std::shared_ptr<Context> context, MeasureOptions options);
  // Nothing for a cost of less than 16 KiB, where the launch is all there is to see.
  std::optional<Ceiling> find(const Cost& cost);

 private:
  Ceiling measure_one(const Proportion& proportion, double bytes);
  std::shared_ptr<Context> context_;
  MeasureOptions options_;
  std::map<std::tuple<Proportion, int>, Ceiling> known_;
};

}  // namespace gpuforge::lab
