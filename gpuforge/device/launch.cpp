#include "gpuforge/device/launch.h"

#include "gpuforge/base/error.h"

namespace gpuforge::device {
namespace {

bool has_zero(const Dim3& dim) {
  return dim.x == 0 || dim.y == 0 || dim.z == 0;
}

bool fits(const Dim3& dim, const Dim3& most) {
  return dim.x <= most.x && dim.y <= most.y && dim.z <= most.z;
}

void check_cluster(const LaunchConfig& config, const FunctionFacts& function, const LaunchLimits& limits,
                   std::string_view device_name) {
  const Dim3& cluster = config.cluster;
  GPUFORGE_CHECK(!has_zero(cluster), "{}: kernel {}: cluster {} has a zero dimension; use (1, 1, 1) for none",
                 device_name, function.name, to_string(cluster));
  GPUFORGE_CHECK(
      limits.max_cluster_blocks > 0,
      "{}: kernel {}: cluster {} was asked for, but this device has no clusters (SM 90 or newer has)",
      device_name, function.name, to_string(cluster));
  const std::uint32_t most = limits.max_cluster_blocks;
  // The dimensions first: their product may not fit in 64 bits.
  GPUFORGE_CHECK(fits(cluster, {most, most, most}) && cluster.count() <= most,
                 "{}: kernel {}: cluster {} has more than the {} blocks a cluster can have", device_name,
                 function.name, to_string(cluster), most);
  GPUFORGE_CHECK(
      config.grid.x % cluster.x == 0 && config.grid.y % cluster.y == 0 && config.grid.z % cluster.z == 0,
      "{}: kernel {}: grid {} is not a multiple of cluster {} in every dimension", device_name, function.name,
      to_string(config.grid), to_string(cluster));
}

}  // namespace

std::string to_string(const Dim3& dim) {
  return format_text("({}, {}, {})", dim.x, dim.y, dim.z);
}

// On the path of every launch: comparisons only, text is built when one of them fails.
void check_launch(const LaunchConfig& config, const FunctionFacts& function, const LaunchLimits& limits,
                  std::string_view device_name) {
  GPUFORGE_CHECK(!has_zero(config.grid),
                 "{}: kernel {}: grid {} has a zero dimension; every dimension must be at least 1",
                 device_name, function.name, to_string(config.grid));
  GPUFORGE_CHECK(!has_zero(config.block),
                 "{}: kernel {}: block {} has a zero dimension; every dimension must be at least 1",
                 device_name, function.name, to_string(config.block));
  GPUFORGE_CHECK(fits(config.grid, limits.max_grid), "{}: kernel {}: grid {} is larger than the most, {}",
                 device_name, function.name, to_string(config.grid), to_string(limits.max_grid));
  GPUFORGE_CHECK(fits(config.block, limits.max_block), "{}: kernel {}: block {} is larger than the most, {}",
                 device_name, function.name, to_string(config.block), to_string(limits.max_block));

  const std::uint64_t threads = config.block.count();
  GPUFORGE_CHECK(threads <= limits.max_threads_per_block,
                 "{}: kernel {}: block {} has {} threads, but a block can have at most {}", device_name,
                 function.name, to_string(config.block), threads, limits.max_threads_per_block);
  GPUFORGE_CHECK(
      function.max_threads_per_block <= 0 ||
          threads <= static_cast<std::uint64_t>(function.max_threads_per_block),
      "{}: kernel {}: block {} has {} threads, but this kernel, with {}its launch bounds, can have at most "
      "{}",
      device_name, function.name, to_string(config.block), threads,
      function.registers > 0 ? format_text("{} registers per thread and ", function.registers) : "",
      function.max_threads_per_block);

  // Compared without adding: a hostile size would wrap around.
  GPUFORGE_CHECK(
      function.static_shared_bytes <= limits.max_shared_per_block &&
          config.dynamic_shared_bytes <= limits.max_shared_per_block - function.static_shared_bytes,
      "{}: kernel {}: {} bytes of static and {} bytes of dynamic shared memory are more than the {} "
      "bytes a block can have",
      device_name, function.name, function.static_shared_bytes, config.dynamic_shared_bytes,
      limits.max_shared_per_block);

  if (config.cluster != Dim3{}) check_cluster(config, function, limits, device_name);
  GPUFORGE_CHECK(!config.cooperative || limits.cooperative,
                 "{}: kernel {}: a cooperative launch was asked for, but this device has none", device_name,
                 function.name);
}

}  // namespace gpuforge::device
