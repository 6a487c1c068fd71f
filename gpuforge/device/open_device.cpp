#include "gpuforge/device/open_device.h"

#include <charconv>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::device {
namespace {

// "cuda" and "cuda:N"; nothing when the name is not of that form.
std::optional<int> cuda_ordinal(std::string_view device_name) {
  if (device_name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!device_name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = device_name.substr(kPrefix.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

DeviceListing not_usable(std::string name, DeviceKind kind, std::string reason) {
  DeviceListing listing;
  listing.facts.name = std::move(name);
  listing.facts.kind = kind;
  listing.reason = std::move(reason);
  return listing;
}

DeviceListing list_gpu(const cuda::Driver& driver, int ordinal) {
  try {
    DeviceListing listing;
    listing.facts = cuda_device_facts(driver, ordinal);
    listing.usable = listing.facts.compute_major * 10 + listing.facts.compute_minor >= kOldestSm;
    if (!listing.usable) listing.reason = sm_too_old(listing.facts);
    return listing;
  } catch (const Error& error) {
    return not_usable(format_text("cuda:{}", ordinal), DeviceKind::cuda, error.message());
  }
}

// nullptr when there is none; `fallback` then says that `instead` is taken, and why.
std::shared_ptr<Device> try_first_gpu(const cuda::SearchOptions& search, std::string_view instead,
                                      std::string* fallback) {
  if (fallback != nullptr) fallback->clear();
  try {
    return open_device("cuda:0", search);
  } catch (const Error& error) {
    if (fallback != nullptr) {
      *fallback = format_text("Falling back to CPU simulation backend: {}; or pass --device {} to choose it",
                              error.message(), instead);
    }
    return nullptr;
  }
}

}  // namespace

std::vector<DeviceListing> list_devices(const cuda::SearchOptions& search) {
  std::vector<DeviceListing> listings;
  std::string why;
  if (const std::shared_ptr<const cuda::Driver> driver = cuda::Driver::try_load(search, &why)) {
    for (int i = 0; i < driver->device_count(); ++i) listings.push_back(list_gpu(*driver, i));
  } else {
    listings.push_back(not_usable("cuda", DeviceKind::cuda, std::move(why)));
  }
  listings.push_back({sim_device_facts(), true, {}});
  listings.push_back({make_cpu_device()->facts(), true, {}});
  return listings;
}

std::shared_ptr<Device> open_device(std::string_view device_name, const cuda::SearchOptions& search,
                                    const SimOptions& sim_options) {
  if (device_name == "cpu") return make_cpu_device();
  if (device_name == "sim") return make_sim_device(kDefaultSimArch, sim_options);
  constexpr std::string_view kSimPrefix = "sim:";
  if (device_name.starts_with(kSimPrefix)) {
    return make_sim_device(device_name.substr(kSimPrefix.size()), sim_options);
  }
  const std::optional<int> ordinal = cuda_ordinal(device_name);
  GPUFORGE_CHECK(ordinal.has_value(),
                 "device '{}': there is no such device; known are cuda, cuda:N, sim, sim:ARCH and cpu",
                 device_name);
  return make_cuda_device(cuda::Driver::load(search), *ordinal);
}

std::shared_ptr<Device> open_default_device(const cuda::SearchOptions& search, std::string* fallback) {
  if (std::shared_ptr<Device> gpu = try_first_gpu(search, "cpu", fallback)) return gpu;
  return make_cpu_device();
}

std::shared_ptr<Device> open_default_kernel_device(const cuda::SearchOptions& search, std::string* fallback,
                                                   const SimOptions& sim_options) {
  if (std::shared_ptr<Device> gpu = try_first_gpu(search, "sim", fallback)) return gpu;
  return make_sim_device(kDefaultSimArch, sim_options);
}

}  // namespace gpuforge::device
