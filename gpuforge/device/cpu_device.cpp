#include "gpuforge/device/cpu_device.h"

#include <optional>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_objects.h"
#include "gpuforge/device/host_machine.h"

namespace gpuforge::device {
namespace {

DeviceFacts read_facts() {
  const HostProcessor processor = read_host_processor();
  DeviceFacts facts;
  facts.name = "cpu";
  facts.product = processor.product;
  facts.kind = DeviceKind::cpu;
  facts.memory_bytes = read_host_memory().total_bytes;
  facts.multiprocessors = processor.threads;
  facts.clock_khz = processor.clock_khz;
  facts.l2_bytes = processor.l2_bytes;
  return facts;
}

CpuStream& own_stream(Stream& stream, const CpuDevice& device, std::string_view call) {
  auto* const own = dynamic_cast<CpuStream*>(&stream);
  GPUFORGE_CHECK(own != nullptr && &own->device() == &device,
                 "cpu: {} got a stream of another device ({}); use one that this device made", call,
                 stream.device().facts().name);
  return *own;
}

}  // namespace

CpuDevice::CpuDevice() : facts_(read_facts()), memory_(std::make_shared<CpuMemory>()) {}

MemoryInfo CpuDevice::memory_info() const {
  return read_host_memory();
}

Address CpuDevice::allocate(std::size_t bytes, Stream& stream) {
  const CpuStream& own = own_stream(stream, *this, "allocate");
  GPUFORGE_CHECK(!own.capturing(),
                 "cpu: allocate is not allowed on a stream that is capturing: allocate before begin_capture");
  return reinterpret_cast<Address>(memory_->allocate(bytes, "an allocation"));
}

void CpuDevice::free(Address address, Stream& stream) noexcept {
  if (address == 0) return;
  try {
    CpuQueue& queue = own_stream(stream, *this, "free").queue();
    void* const block = reinterpret_cast<void*>(address);
    if (queue.idle()) {
      memory_->free(block);
    } else {
      queue.push([memory = memory_, block] { memory->free(block); });
    }
  } catch (...) {  // a block that cannot be freed in order is not freed early: it goes with the device
  }
}

void* CpuDevice::allocate_pinned(std::size_t bytes) {
  return memory_->allocate(bytes, "a pinned allocation");
}

void CpuDevice::free_pinned(void* address) noexcept {
  memory_->free(address);
}

// Threads have no urgency of their own here: every priority is the normal one.
std::shared_ptr<Stream> CpuDevice::make_stream(int) {
  auto self = std::static_pointer_cast<CpuDevice>(shared_from_this());
  auto queue = std::make_shared<CpuQueue>(std::make_shared<WorkErrors>(facts_.name), memory_);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [](const std::weak_ptr<CpuQueue>& other) { return other.expired(); });
    queues_.push_back(queue);
  }
  return std::make_shared<CpuStream>(std::move(self), std::move(queue));
}

std::unique_ptr<Event> CpuDevice::make_event(bool timing) {
  return std::make_unique<CpuEvent>(std::static_pointer_cast<CpuDevice>(shared_from_this()), timing);
}

std::shared_ptr<Module> CpuDevice::load_module(std::span<const std::byte>, std::string_view module_name) {
  throw Error(ErrorCode::unsupported,
              format_text("cpu: module {} cannot be loaded: this device runs no kernels; use a cuda device",
                          module_name));
}

void CpuDevice::synchronize() {
  GPUFORGE_CHECK(open_captures_ == 0,
                 "cpu: the device cannot be synchronized while one of its streams is capturing");
  std::vector<std::shared_ptr<CpuQueue>> queues;
  {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<CpuQueue>& weak : queues_) {
      if (std::shared_ptr<CpuQueue> queue = weak.lock()) queues.push_back(std::move(queue));
    }
  }
  for (const auto& queue : queues) queue->wait();
  for (const auto& queue : queues) queue->errors().throw_kept();
}

std::shared_ptr<Device> make_cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace gpuforge::device
