#include "gpuforge/base/error.h"
#include "gpuforge/device/cuda_device.h"

namespace gpuforge::device {
namespace {

// The largest cluster of Hopper and of the Blackwells for data centres, where the driver is asked for it.
constexpr std::uint32_t kWideClusterBlocks = 16;

}  // namespace

std::string sm_too_old(const DeviceFacts& facts) {
  return format_text("{}: {} has SM {}, and SM {} or newer (Ampere, 2020) is needed", facts.name,
                     facts.product, facts.compute_major * 10 + facts.compute_minor, kOldestSm);
}

DeviceFacts cuda_device_facts(const cuda::Driver& driver, int ordinal) {
  using cuda::DeviceAttribute;
  if (ordinal < 0 || ordinal >= driver.device_count()) {
    const int count = driver.device_count();
    throw Error(ErrorCode::unavailable,
                format_text("cuda:{}: there is no such GPU; this machine has {}, cuda:0{}", ordinal, count,
                            count > 1 ? format_text(" to cuda:{}", count - 1) : ""));
  }
  DeviceFacts facts;
  facts.name = format_text("cuda:{}", ordinal);
  facts.kind = DeviceKind::cuda;
  facts.ordinal = ordinal;
  facts.driver_version = driver.version();

  cuda::RawDevice device = 0;
  driver.device_get(facts.name, &device, ordinal);
  char product[256] = {};
  driver.device_get_name(facts.name, product, static_cast<int>(sizeof(product) - 1), device);
  facts.product = product;
  driver.device_total_mem(facts.name, &facts.memory_bytes, device);

  const auto value = [&](DeviceAttribute attribute) {
    int answer = 0;
    driver.device_get_attribute(facts.name, &answer, attribute, device);
    return answer;
  };
  const auto count = [&](DeviceAttribute attribute) { return static_cast<std::uint32_t>(value(attribute)); };
  const auto bytes = [&](DeviceAttribute attribute) { return static_cast<std::size_t>(value(attribute)); };
  // Attributes newer than the driver are a "no", not a failure.
  const auto has = [&](DeviceAttribute attribute) {
    int answer = 0;
    return driver.device_get_attribute.raw(&answer, attribute, device) == cuda::Result::success &&
           answer != 0;
  };

  facts.compute_major = value(DeviceAttribute::compute_capability_major);
  facts.compute_minor = value(DeviceAttribute::compute_capability_minor);
  facts.multiprocessors = value(DeviceAttribute::multiprocessor_count);
  facts.l2_bytes = bytes(DeviceAttribute::l2_cache_size);
  facts.memory_clock_khz = value(DeviceAttribute::memory_clock_rate);
  facts.memory_bus_bits = value(DeviceAttribute::global_memory_bus_width);
  facts.clock_khz = value(DeviceAttribute::clock_rate);
  facts.cluster_launch = driver.launch_kernel_ex.available() && has(DeviceAttribute::cluster_launch);
  facts.cooperative_launch = driver.launch_kernel_ex.available() && has(DeviceAttribute::cooperative_launch);
  facts.stream_ordered_memory = has(DeviceAttribute::memory_pools_supported);

  LaunchLimits& launch = facts.launch;
  launch.max_grid = {count(DeviceAttribute::max_grid_dim_x), count(DeviceAttribute::max_grid_dim_y),
                     count(DeviceAttribute::max_grid_dim_z)};
  launch.max_block = {count(DeviceAttribute::max_block_dim_x), count(DeviceAttribute::max_block_dim_y),
                      count(DeviceAttribute::max_block_dim_z)};
  launch.max_threads_per_block = count(DeviceAttribute::max_threads_per_block);
  launch.max_shared_per_block = bytes(DeviceAttribute::max_shared_memory_per_block_optin);
  launch.max_shared_per_multiprocessor = bytes(DeviceAttribute::max_shared_memory_per_multiprocessor);
  launch.warp_size = count(DeviceAttribute::warp_size);
  const bool wide = facts.compute_major == 9 || facts.compute_major == 10;
  launch.max_cluster_blocks = !facts.cluster_launch ? 0 : wide ? kWideClusterBlocks : kPortableClusterBlocks;
  launch.cooperative = facts.cooperative_launch;
  return facts;
}

}  // namespace gpuforge::device
