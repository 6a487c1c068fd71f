// Modules and functions of the cuda device. Not installed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {

class CudaModule final : public Module, public std::enable_shared_from_this<CudaModule> {
 public:
  CudaModule(std::shared_ptr<CudaDevice> device, std::span<const std::byte> image, std::string_view name);
  ~CudaModule() override;

  std::shared_ptr<Function> function(std::string_view entry,
                                     std::optional<std::size_t> parameter_count) override;
  CudaDevice& device() const { return *owner_.device; }

 private:
  std::string entries() const;

  struct Owner {
    std::shared_ptr<CudaDevice> device;
    cuda::ModuleHandle module;
  };
  Owner owner_;
  const std::string name_;
};

class CudaFunction final : public Function {
 public:
  CudaFunction(std::shared_ptr<CudaModule> module, cuda::RawFunction raw, std::string_view entry,
               std::optional<std::size_t> parameter_count);

  const FunctionFacts& facts() const override { return facts_; }
  int max_active_blocks(int threads_per_block, std::size_t dynamic_shared_bytes) const override;
  int max_active_clusters(const LaunchConfig& config) const override;

  CudaDevice& device() const { return module_->device(); }
  cuda::RawFunction raw() const { return raw_; }
  // The driver wants to be told before a launch uses more than the default; once for each larger size.
  void allow_dynamic_shared(std::size_t bytes) const {
    if (bytes > allowed_dynamic_shared_.load(std::memory_order_acquire)) raise_dynamic_shared(bytes);
  }
  // Nor does it take more blocks a cluster than every device has, unasked.
  void allow_cluster(const Dim3& cluster) const {
    if (cluster.count() > kPortableClusterBlocks && !allowed_wide_clusters_.load(std::memory_order_acquire))
      allow_wide_clusters();
  }

 private:
  void raise_dynamic_shared(std::size_t bytes) const;
  void allow_wide_clusters() const;

  const std::shared_ptr<CudaModule> module_;
  const cuda::RawFunction raw_;
  FunctionFacts facts_;
  mutable std::mutex mutex_;
  mutable std::atomic<std::size_t> allowed_dynamic_shared_ = 0;
  mutable std::atomic<bool> allowed_wide_clusters_ = false;
};

// An Error unless `image` is PTX text, or a cubin or fatbin that is all there: the driver is given no size
// and would read past the end of a truncated one. `name` and `device_name` start the message.
enum class ImageKind { text, binary };
ImageKind check_module_image(std::span<const std::byte> image, std::string_view name,
                             std::string_view device_name);

}  // namespace gpuforge::device
