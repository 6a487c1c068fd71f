// Launch configurations and the limits they are checked against, for every device that runs kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::device {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};
std::string to_string(const Dim3& dim);  // "(4, 1, 1)"

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  Dim3 cluster;               // 1,1,1: no cluster
  bool cooperative = false;   // all blocks resident at once, so that they may wait for each other
  bool programmatic = false;  // programmatic dependent launch: may start before the previous kernel ends
};

inline constexpr std::uint32_t kPortableClusterBlocks = 8;  // that every device with clusters has

struct LaunchLimits {
  Dim3 max_grid{2147483647, 65535, 65535};
  Dim3 max_block{1024, 1024, 64};
  std::uint32_t max_threads_per_block = 1024;
  std::size_t max_shared_per_block = 0;  // with the opt-in above 48 KB
  std::size_t max_shared_per_multiprocessor = 0;
  std::uint32_t warp_size = 32;
  std::uint32_t max_cluster_blocks = 0;  // 0: no clusters
  bool cooperative = false;
};

struct ParameterFacts {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct FunctionFacts {
  std::string name;
  int registers = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;
  int max_threads_per_block = 0;
  bool parameters_known = false;  // an old driver cannot tell
  std::vector<ParameterFacts> parameters;
};

// invalid_argument with one sentence when the launch cannot work: a zero or oversized grid or block, too many
// threads for the function's registers, more shared memory than a block can have, a grid that is not a
// multiple of the cluster, a feature the device lacks. `device_name` starts the message.
void check_launch(const LaunchConfig& config, const FunctionFacts& function, const LaunchLimits& limits,
                  std::string_view device_name);

}  // namespace gpuforge::device
