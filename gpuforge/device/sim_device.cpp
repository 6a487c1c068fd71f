#include "gpuforge/device/sim_device.h"

#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/device/host_device.h"
#include "gpuforge/device/host_machine.h"
#include "gpuforge/device/sim_module.h"

namespace gpuforge::device {
namespace {

sim::ChipName checked_chip(std::string_view arch) {
  const std::optional<sim::ChipName> found = sim::find_chip(arch);
  GPUFORGE_CHECK(found.has_value(), "device sim:{}: there is no such chip to pretend; known are {}",
                 arch.substr(0, 40), sim::known_chips());
  return *found;
}

// Implements both sides: Device through HostDevice, and what SimDevice adds.
class SimDeviceImpl final : public HostDevice, public SimDevice {
 public:
  SimDeviceImpl(std::string_view arch, const std::shared_ptr<SimMemory>& memory, SimOptions options)
      : HostDevice(sim_device_facts(arch), memory),
        chip_(*checked_chip(arch).chip),
        memory_(memory),
        state_(std::make_shared<SimState>(memory, std::move(options))) {}

  std::shared_ptr<Module> load_module(std::span<const std::byte> image,
                                      std::string_view module_name) override {
    return load_module_with(image, module_name, {});
  }

  std::shared_ptr<Module> load_module_with(std::span<const std::byte> image, std::string_view module_name,
                                           std::span<const KernelRegisters> registers) override {
    return std::make_shared<SimModule>(shared_from_this(), chip_, memory_, image, module_name, registers);
  }

  std::function<void()> prepare_launch(const Function& function, const LaunchConfig& config,
                                       std::span<void* const> parameters) override {
    const auto* const own = dynamic_cast<const SimFunction*>(&function);
    GPUFORGE_CHECK(own != nullptr && &own->module().device() == static_cast<const Device*>(this),
                   "{}: launch got kernel {} of another device", name(), function.facts().name);
    own->check(config, parameters);
    return SimLaunch(state_, *own, config, parameters);
  }

  std::shared_ptr<const void> lend(Address address, std::size_t bytes, std::string label) override {
    memory_->lend(address, bytes, std::move(label));
    return {memory_.get(), [memory = memory_, address](const void*) { memory->take_back(address); }};
  }

  void set_report_sink(ReportSink sink) override { state_->set_sink(std::move(sink)); }
  std::vector<sim::LaunchReport> take_reports() override { return state_->take_reports(); }
  void set_options(SimOptions options) override { state_->set_options(std::move(options)); }
  SimOptions options() const override { return state_->options(); }

 private:
  const sim::Chip& chip_;
  const std::shared_ptr<SimMemory> memory_;
  const std::shared_ptr<SimState> state_;
};

}  // namespace

DeviceFacts sim_device_facts(std::string_view arch) {
  const sim::Chip& chip = *checked_chip(arch).chip;
  DeviceFacts facts;
  facts.name = arch == kDefaultSimArch ? std::string("sim") : format_text("sim:{}", arch);
  facts.product = format_text("simulated {}, {}", chip.product, arch);
  facts.kind = DeviceKind::sim;
  facts.compute_major = chip.major;
  facts.compute_minor = chip.minor;
  facts.pretended_arch = arch;
  facts.memory_bytes = read_host_memory().total_bytes;  // the chip's own would be a promise nobody keeps
  facts.multiprocessors = chip.multiprocessors;
  facts.l2_bytes = chip.l2_bytes;
  facts.cooperative_launch = true;
  facts.cluster_launch = chip.max_cluster_blocks > 0;
  facts.launch.max_threads_per_block = static_cast<std::uint32_t>(chip.max_threads_per_block);
  facts.launch.max_shared_per_block = chip.max_shared_per_block;
  facts.launch.max_shared_per_multiprocessor = chip.shared_bytes;
  facts.launch.max_cluster_blocks = static_cast<std::uint32_t>(chip.max_cluster_blocks);
  facts.launch.cooperative = true;
  return facts;
}

std::shared_ptr<SimDevice> make_sim_device(std::string_view arch, SimOptions options) {
  const DeviceFacts facts = sim_device_facts(arch);  // which checks the name
  return std::make_shared<SimDeviceImpl>(arch, std::make_shared<SimMemory>(facts.name), std::move(options));
}

}  // namespace gpuforge::device
