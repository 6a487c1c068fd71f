// Green contexts: the driver's way to split multiprocessors. They share the primary context's memory, modules
// and events, so that only where kernels of their streams run is different.
#include <utility>

#include "gpuforge/device/compute_split.h"
#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {
namespace {

using cuda::DeviceResource;

class CudaComputePart final : public ComputePart, public std::enable_shared_from_this<CudaComputePart> {
 public:
  CudaComputePart(std::shared_ptr<CudaDevice> device, cuda::GreenContextHandle context, int multiprocessors)
      : owner_{std::move(device), std::move(context)}, multiprocessors_(multiprocessors) {}
  ~CudaComputePart() override { retire(std::move(owner_)); }

  int multiprocessors() const override { return multiprocessors_; }
  std::shared_ptr<Stream> make_stream(int priority) override {
    return owner_.device->make_stream_in(owner_.context.get(), priority, shared_from_this());
  }

 private:
  struct Owner {
    std::shared_ptr<CudaDevice> device;
    cuda::GreenContextHandle context;
  };
  Owner owner_;
  const int multiprocessors_;
};

}  // namespace

// All groups come from one split, as the driver wants of those that are put together again.
std::vector<std::shared_ptr<ComputePart>> CudaDevice::split_compute(std::span<const double> shares) {
  const CurrentContext scope = current();
  std::vector<std::shared_ptr<ComputePart>> parts;
  try {
    cuda::RawDevice raw_device = 0;
    driver_->device_get(name(), &raw_device, facts_.ordinal);
    DeviceResource whole;
    driver_->device_get_dev_resource(name(), raw_device, &whole, cuda::DeviceResourceType::multiprocessors);
    // Drivers before 13.0 do not say; NVIDIA's documentation does.
    const unsigned documented = facts_.compute_major >= 9 ? 8 : 4;
    const unsigned step = whole.multiprocessors.least > 0 ? whole.multiprocessors.least : documented;
    unsigned count = 0;
    driver_->dev_sm_resource_split_by_count(name(), nullptr, &count, &whole, nullptr, 0, step);
    const std::vector<int> given = apportion(shares, static_cast<int>(count));
    std::vector<DeviceResource> groups(count);
    driver_->dev_sm_resource_split_by_count(name(), groups.data(), &count, &whole, nullptr, 0, step);
    std::size_t first = 0;
    for (const int number : given) {
      const std::span mine(groups.data() + first, static_cast<std::size_t>(number));
      int multiprocessors = 0;
      for (const DeviceResource& group : mine)
        multiprocessors += static_cast<int>(group.multiprocessors.count);
      cuda::RawResourceDescription description = nullptr;
      driver_->dev_resource_generate_desc(name(), &description, mine.data(), static_cast<unsigned>(number));
      cuda::RawGreenContext raw = nullptr;
      driver_->green_ctx_create(name(), &raw, description, raw_device, cuda::kGreenContextDefaultStream);
      parts.push_back(
          std::make_shared<CudaComputePart>(self(), own<cuda::GreenContextHandle>(raw), multiprocessors));
      first += static_cast<std::size_t>(number);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unsupported) throw;
    throw Error(ErrorCode::unsupported,
                format_text("{}: the driver (CUDA {}) does not split multiprocessors: {}", name(),
                            cuda::version_text(driver_->version()), error.message()));
  }
  return parts;
}

}  // namespace gpuforge::device
