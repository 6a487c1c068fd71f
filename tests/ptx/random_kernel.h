// A small kernel made from a seed: instructions of every family, branches, loops, calls, exchanges between
// threads. It is a right program: it ends, its accesses are in bounds and ordered, and every value it stores
// is fixed by the manual, so that a GPU and the simulator must agree to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/ptx/kernel_run.h"

namespace gpuforge::ptx_files {

// A statement with those it encloses. Leaving one out that is not fixed leaves a right program.
struct Piece {
  std::string begin;          // whole lines
  std::vector<Piece> inside;  // between begin and end
  std::string end;
  bool fixed = false;  // a label or jump of what encloses it: stays while that does
};

struct RandomKernel {
  std::uint64_t seed = 0;
  std::vector<Piece> pieces;
};

RandomKernel make_kernel(std::uint64_t seed);
std::string entry_of(const RandomKernel& kernel);
// A whole module with these kernels.
std::string module_of(std::span<const RandomKernel> kernels);

// How every random kernel is launched, and on what: what it reads, what it works in, what it leaves.
inline constexpr Shape kRandomShape{2, 64};
std::vector<Bytes> buffers_of(const RandomKernel& kernel);

}  // namespace gpuforge::ptx_files
