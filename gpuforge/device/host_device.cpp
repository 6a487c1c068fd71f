#include "gpuforge/device/host_device.h"

#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_machine.h"
#include "gpuforge/device/host_virtual_memory.h"

namespace gpuforge::device {
namespace {

HostStream& own_stream(Stream& stream, const HostDevice& device, std::string_view call) {
  auto* const own = dynamic_cast<HostStream*>(&stream);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "{}: {} got a stream of another device ({}); use one that this device made", device.name(),
                 call, stream.device().facts().name);
  return *own;
}

}  // namespace

MemoryInfo HostDevice::memory_info() const {
  return read_host_memory();
}

Address HostDevice::allocate(std::size_t bytes, Stream& stream) {
  const HostStream& own = own_stream(stream, *this, "allocate");
  GPUFORGE_CHECK(!own.capturing(),
                 "{}: allocate is not allowed on a stream that is capturing: allocate before begin_capture",
                 name());
  return memory_->allocate_on_device(bytes);
}

void HostDevice::free(Address address, Stream& stream) noexcept {
  if (address == 0) return;
  try {
    HostQueue& queue = own_stream(stream, *this, "free").queue();
    if (queue.idle()) {
      memory_->free_on_device(address);
    } else {
      queue.push([memory = memory_, address] { memory->free_on_device(address); });
    }
  } catch (...) {  // a block that cannot be freed in order is not freed early: it goes with the device
  }
}

void* HostDevice::allocate_pinned(std::size_t bytes) {
  return memory_->allocate(bytes, "a pinned allocation");
}

void HostDevice::free_pinned(void* address) noexcept {
  memory_->free(address);
}

VirtualMemory* HostDevice::virtual_memory() {
  std::call_once(virtual_memory_once_, [this] { virtual_memory_ = make_host_virtual_memory(memory_); });
  return virtual_memory_.get();
}

// Threads have no urgency of their own here: every priority is the normal one.
std::shared_ptr<Stream> HostDevice::make_stream(int) {
  auto self = std::dynamic_pointer_cast<HostDevice>(shared_from_this());
  auto queue = std::make_shared<HostQueue>(std::make_shared<WorkErrors>(facts_.name), memory_);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [](const std::weak_ptr<HostQueue>& other) { return other.expired(); });
    queues_.push_back(queue);
  }
  return std::make_shared<HostStream>(std::move(self), std::move(queue));
}

std::unique_ptr<Event> HostDevice::make_event(bool timing) {
  return std::make_unique<HostEvent>(std::dynamic_pointer_cast<HostDevice>(shared_from_this()), timing);
}

void HostDevice::synchronize() {
  GPUFORGE_CHECK(open_captures_ == 0,
                 "{}: the device cannot be synchronized while one of its streams is capturing", name());
  std::vector<std::shared_ptr<HostQueue>> queues;
  {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<HostQueue>& weak : queues_) {
      if (std::shared_ptr<HostQueue> queue = weak.lock()) queues.push_back(std::move(queue));
    }
  }
  for (const auto& queue : queues) queue->wait();
  for (const auto& queue : queues) queue->errors().throw_kept();
}

}  // namespace gpuforge::device
