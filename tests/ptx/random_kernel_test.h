// The tests over random kernels, registered with the seeds of the command line.
#pragma once

#include <cstdint>

namespace gpuforge::ptx_files {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 200;
  std::uint64_t most_failures = 5;
};

void register_random_kernel_tests(const Seeds& seeds);

}  // namespace gpuforge::ptx_files
