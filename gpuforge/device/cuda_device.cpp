#include "gpuforge/device/cuda_device.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>

#include "gpuforge/device/cuda_module.h"
#include "gpuforge/device/cuda_objects.h"
#include "gpuforge/device/cuda_virtual_memory.h"
#include "gpuforge/device/host_machine.h"

namespace gpuforge::device {

using cuda::Result;

CurrentContext::CurrentContext(const cuda::Driver& driver, cuda::RawContext context) {
  cuda::RawContext current = nullptr;
  const Result result = driver.ctx_get_current.raw(&current);
  if (result == Result::success && current == context) return;
  if (result == Result::success && current == nullptr) {
    static_cast<void>(driver.ctx_set_current.raw(context));
  } else if (driver.ctx_push_current.raw(context) == Result::success) {
    pushed_on_ = &driver;
  }
  // A failure here is reported by the call that follows.
}

CurrentContext::~CurrentContext() {
  if (pushed_on_ == nullptr) return;
  cuda::RawContext ours = nullptr;
  static_cast<void>(pushed_on_->ctx_pop_current.raw(&ours));
}

CudaContextOwner::CudaContextOwner(std::shared_ptr<const cuda::Driver> kept_driver, cuda::RawDevice device,
                                   const std::string& device_name)
    : driver(std::move(kept_driver)) {
  cuda::RawContext raw = nullptr;
  driver->device_primary_ctx_retain(device_name, &raw, device);
  context = cuda::PrimaryContextHandle(raw, {driver, device});
}

CudaContextOwner::~CudaContextOwner() {
  try {
    const CurrentContext scope(*driver, context.get());
    if (pool != nullptr) static_cast<void>(driver->mem_pool_trim_to.raw(pool, 0));
    // A thread must not be left with a context that may be gone.
    cuda::RawContext current = nullptr;
    if (driver->ctx_get_current.raw(&current) == Result::success && current == context.get()) {
      static_cast<void>(driver->ctx_set_current.raw(nullptr));
    }
  } catch (...) {  // an old driver without one of them
  }
}

CudaDevice::CudaDevice(std::shared_ptr<const cuda::Driver> driver, DeviceFacts facts)
    : driver_(std::move(driver)), facts_(std::move(facts)), memory_text_("memory of " + facts_.name) {
  cuda::RawDevice device = 0;
  driver_->device_get(facts_.name, &device, facts_.ordinal);
  owner_ = std::make_unique<CudaContextOwner>(driver_, device, facts_.name);
  context_ = owner_->context.get();

  const CurrentContext scope = current();
  driver_->ctx_get_stream_priority_range(facts_.name, &least_priority_, &greatest_priority_);
  virtual_memory_ = make_cuda_virtual_memory(*this);
  if (!facts_.stream_ordered_memory) return;
  driver_->device_get_default_mem_pool(memory_text_, &pool_, device);
  // Otherwise the pool gives its memory back at every synchronize and has to map it again.
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  driver_->mem_pool_set_attribute(memory_text_, pool_, cuda::MemoryPoolAttribute::release_threshold,
                                  &keep_all);
  // Nor does it make one stream wait for another to reuse what that one frees: streams are not ordered
  // unasked.
  int no = 0;
  driver_->mem_pool_set_attribute(memory_text_, pool_,
                                  cuda::MemoryPoolAttribute::reuse_allow_internal_dependencies, &no);
  owner_->pool = pool_;
}

CudaDevice::~CudaDevice() {
  retire(std::move(owner_));
}

MemoryInfo CudaDevice::memory_info() const {
  const CurrentContext scope = current();
  MemoryInfo info;
  driver_->mem_get_info(memory_text_, &info.free_bytes, &info.total_bytes);
  if (pool_ != nullptr) {
    // What the pool keeps without using it is free for us.
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    driver_->mem_pool_get_attribute(memory_text_, pool_, cuda::MemoryPoolAttribute::reserved_bytes,
                                    &reserved);
    driver_->mem_pool_get_attribute(memory_text_, pool_, cuda::MemoryPoolAttribute::used_bytes, &used);
    info.free_bytes = std::min(info.total_bytes, info.free_bytes + (reserved - std::min(reserved, used)));
  }
  return info;
}

Address CudaDevice::allocate(std::size_t bytes, Stream& stream) {
  const CudaStream& own = own_stream(stream, *this, "allocate");
  GPUFORGE_CHECK(own.capture() == nullptr,
                 "{}: allocate is not allowed on a stream that is capturing: allocate before begin_capture",
                 name());
  if (bytes == 0) return 0;
  const CurrentContext scope = current();
  cuda::DevicePointer address = 0;
  Result result = Result::out_of_memory;
  if (bytes <= facts_.memory_bytes) {
    result = pool_ != nullptr ? driver_->mem_alloc_async.raw(&address, bytes, own.raw())
                              : driver_->mem_alloc.raw(&address, bytes);
  }
  if (result == Result::success) return address;
  if (result == Result::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                format_text("{}: an allocation of {} bytes wanted, {} bytes are free", name(), bytes,
                            memory_info().free_bytes));
  }
  throw Error(ErrorCode::cuda, format_text("{}: an allocation of {} bytes failed: {}", name(), bytes,
                                           driver_->describe(result)));
}

void CudaDevice::free(Address address, Stream& stream) noexcept {
  if (address == 0) return;
  try {
    CudaStream& own = own_stream(stream, *this, "free");
    // In a capture the driver would record it, and refuse memory that the capture did not allocate.
    if (const auto capture = own.capture(); capture && capture->free_later(address, own.owner())) return;
    if (HostFunctionScope::active()) {
      // Enqueued work held the last reference to this memory.
      std::thread([address, owner = own.owner()] {
        owner->device->free_now(address, owner->stream.get());
      }).detach();
      return;
    }
    free_now(address, own.raw());
  } catch (...) {  // a block that cannot be freed in order is not freed early: it goes with the context
  }
}

void CudaDevice::free_now(Address address, cuda::RawStream stream) const noexcept {
  if (address == 0) return;
  try {
    const CurrentContext scope = current();
    static_cast<void>(pool_ != nullptr ? driver_->mem_free_async.raw(address, stream)
                                       : driver_->mem_free.raw(address));
  } catch (...) {
  }
}

void* CudaDevice::allocate_pinned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const CurrentContext scope = current();
  // Pinning more than there is brings the machine down before the driver says no.
  const MemoryInfo host = read_host_memory();
  void* address = nullptr;
  Result result = Result::out_of_memory;
  if (bytes <= host.free_bytes || host.total_bytes == 0) {
    result = driver_->mem_host_alloc.raw(&address, bytes, cuda::HostMemoryFlags::portable);
  }
  if (result == Result::success) return address;
  if (result == Result::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                format_text("{}: a pinned allocation of {} bytes wanted, {} bytes of the host are free",
                            name(), bytes, host.free_bytes));
  }
  throw Error(ErrorCode::cuda, format_text("{}: a pinned allocation of {} bytes failed: {}", name(), bytes,
                                           driver_->describe(result)));
}

void CudaDevice::free_pinned(void* address) noexcept {
  if (address == nullptr) return;
  const auto free_block = [address](const CudaDevice& device) {
    const CurrentContext scope = device.current();
    static_cast<void>(device.driver().mem_free_host.raw(address));
  };
  try {
    if (!HostFunctionScope::active()) return free_block(*this);
    std::thread([free_block, device = self()] { free_block(*device); }).detach();
  } catch (...) {
  }
}

VirtualMemory* CudaDevice::virtual_memory() {
  return virtual_memory_.get();
}

bool CudaDevice::trim_pool() const {
  return pool_ != nullptr && driver_->mem_pool_trim_to.raw(pool_, 0) == Result::success;
}

std::shared_ptr<Stream> CudaDevice::make_stream(int priority) {
  return make_stream_in(nullptr, priority, nullptr);
}

std::shared_ptr<Stream> CudaDevice::make_stream_in(cuda::RawGreenContext green, int priority,
                                                   std::shared_ptr<const void> kept) {
  const CurrentContext scope = current();
  const int clamped = std::clamp(-std::clamp(priority, -1000, 1000), greatest_priority_, least_priority_);
  cuda::RawStream raw = nullptr;
  if (green != nullptr) {
    driver_->green_ctx_stream_create(facts_.name, &raw, green, cuda::StreamFlags::non_blocking, clamped);
  } else {
    driver_->stream_create_with_priority(facts_.name, &raw, cuda::StreamFlags::non_blocking, clamped);
  }
  return make_stream_of(std::make_shared<CudaStreamOwner>(self(), raw, std::move(kept)));
}

std::shared_ptr<Stream> CudaDevice::adopt_stream(std::uintptr_t native_handle) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(adopted_streams_, [](const auto& known) { return known.second.expired(); });
    const auto known = adopted_streams_.find(native_handle);
    if (known != adopted_streams_.end()) {
      if (auto stream = known->second.lock()) return stream;
    }
  }
  const auto raw = std::bit_cast<cuda::RawStream>(native_handle);
  auto stream = make_stream_of(std::make_shared<CudaStreamOwner>(self(), raw, nullptr, true));
  const std::lock_guard lock(mutex_);
  adopted_streams_[native_handle] = stream;
  return stream;
}

std::shared_ptr<Stream> CudaDevice::make_stream_of(std::shared_ptr<CudaStreamOwner> owner) {
  auto errors = std::make_shared<WorkErrors>(name());
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(stream_errors_, [](const std::weak_ptr<WorkErrors>& other) { return other.expired(); });
    stream_errors_.push_back(errors);
  }
  return std::make_shared<CudaStream>(std::move(owner), std::move(errors));
}

std::unique_ptr<Event> CudaDevice::make_event(bool timing) {
  return std::make_unique<CudaEvent>(self(), timing);
}

std::shared_ptr<Module> CudaDevice::load_module(std::span<const std::byte> image,
                                                std::string_view module_name) {
  return std::make_shared<CudaModule>(self(), image, module_name);
}

void CudaDevice::synchronize() {
  GPUFORGE_CHECK(open_captures_ == 0,
                 "{}: the device cannot be synchronized while one of its streams is capturing", name());
  {
    const CurrentContext scope = current();
    driver_->ctx_synchronize(facts_.name);
  }
  std::vector<std::shared_ptr<WorkErrors>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<WorkErrors>& weak : stream_errors_) {
      if (std::shared_ptr<WorkErrors> errors = weak.lock()) all.push_back(std::move(errors));
    }
  }
  for (const auto& errors : all) errors->throw_kept();
}

std::shared_ptr<Device> make_cuda_device(std::shared_ptr<const cuda::Driver> driver, int ordinal) {
  DeviceFacts facts = cuda_device_facts(*driver, ordinal);
  const int sm = facts.compute_major * 10 + facts.compute_minor;
  if (sm < kOldestSm) throw Error(ErrorCode::unavailable, sm_too_old(facts));
  return std::make_shared<CudaDevice>(std::move(driver), std::move(facts));
}

}  // namespace gpuforge::device
