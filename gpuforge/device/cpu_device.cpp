#include "gpuforge/device/cpu_device.h"

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_device.h"
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

class CpuDevice final : public HostDevice {
 public:
  CpuDevice() : HostDevice(read_facts(), std::make_shared<HostMemory>("cpu")) {}

  std::shared_ptr<Module> load_module(std::span<const std::byte>, std::string_view module_name) override {
    throw Error(
        ErrorCode::unsupported,
        format_text("cpu: module {} cannot be loaded: this device runs no kernels; use a cuda device or sim",
                    module_name));
  }

  std::function<void()> prepare_launch(const Function& function, const LaunchConfig&,
                                       std::span<void* const>) override {
    throw Error(
        ErrorCode::unsupported,
        format_text(
            "cpu: kernel {} cannot be launched: this device runs no kernels; use a cuda device or sim",
            function.facts().name));
  }
};

}  // namespace

std::shared_ptr<Device> make_cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace gpuforge::device
