// Texts with random changes, run in the simulator to see that it survives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/kernel_run.h"
#include "tests/ptx/random.h"

namespace gpuforge::ptx_files {

// The text with one to four changes: letters replaced, taken out or put in, lines moved, doubled or dropped,
// numbers made extreme.
std::string mutant_of(std::string_view text, Random& random);

struct MutantCounts {
  int total = 0;
  int ran = 0;      // to a report
  int refused = 0;  // with an Error
};

// Runs so many mutants of a kernel with few steps. A failure of the test for one that ends in another way
// than with a report or an Error, or with an Error of ours; it shows the text.
void run_mutants(std::string_view name, std::string_view text, std::string_view entry, const Shape& shape,
                 const std::vector<Bytes>& buffers, int mutants, MutantCounts* counts);

}  // namespace gpuforge::ptx_files
