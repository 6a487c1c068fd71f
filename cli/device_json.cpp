#include "cli/device_json.h"

#include "gpuforge/base/format.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::cli {

Json device_json(const device::DeviceFacts& facts) {
  Json json = Json::object();
  json.set("name", facts.name);
  json.set("product", facts.product);
  json.set("kind", device::name(facts.kind));
  const bool has_compute = facts.compute_major > 0;
  json.set("compute_capability",
           has_compute ? Json(format_text("{}.{}", facts.compute_major, facts.compute_minor)) : Json());
  json.set("arch", facts.compute_major >= 8 ? Json(jit::native_arch(facts).name()) : Json());
  json.set("memory_bytes", std::uint64_t{facts.memory_bytes});
  json.set("multiprocessors", facts.multiprocessors);
  json.set("l2_bytes", std::uint64_t{facts.l2_bytes});
  json.set("clock_khz", facts.clock_khz);
  json.set("memory_clock_khz", facts.memory_clock_khz);
  json.set("memory_bus_bits", facts.memory_bus_bits);
  json.set("max_threads_per_block", facts.launch.max_threads_per_block);
  json.set("max_shared_per_block_bytes", std::uint64_t{facts.launch.max_shared_per_block});
  json.set("max_cluster_blocks", facts.launch.max_cluster_blocks);
  json.set("cooperative_launch", facts.cooperative_launch);
  json.set("driver_version", facts.driver_version);
  return json;
}

Json device_json(const device::DeviceListing& listing) {
  Json json = device_json(listing.facts);
  json.set("usable", listing.usable);
  json.set("reason", listing.reason);
  return json;
}

}  // namespace gpuforge::cli
