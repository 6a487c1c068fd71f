// Every Device of this room against the contract.
#include "gpuforge/device/device_contract.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/cuda/library.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/device_contract_events.h"
#include "gpuforge/device/device_contract_graphs.h"
#include "gpuforge/device/device_contract_virtual_memory.h"
#include "gpuforge/device/sim_device.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::device {
namespace {

std::shared_ptr<Device> first_gpu(const cuda::SearchOptions& search, std::string* why) {
  const auto driver = cuda::Driver::try_load(search, why);
  return driver == nullptr ? nullptr : make_cuda_device(driver, 0);
}

ContractCase cpu_case() {
  return {"cpu", [](std::string*) { return make_cpu_device(); }, nullptr};
}

ContractCase sim_case() {
  return {"sim", [](std::string*) { return make_sim_device(); }, nullptr};
}

// A test may make several devices, so the fake is put in order after it and not around each. Work that held
// the last reference gives the context back on a thread of its own, and that must not meet the next test.
void finish_with_fake() {
  const auto library = cuda::SharedLibrary::open(GPUFORGE_FAKE_DRIVER_DIR "/libcuda.so.1");
  ASSERT_TRUE(library.has_value());
  const auto count = reinterpret_cast<void (*)(FakeCudaCounters*)>(library->symbol("fake_cuda_counters"));
  EXPECT_TRUE(eventually([&] {
    FakeCudaCounters counters{};
    count(&counters);
    return counters.contexts == 0 && counters.streams == 0 && counters.physical_blocks == 0 &&
           counters.address_ranges == 0;
  })) << "every context, stream and block is given back";
  fake_driver::FakeDriver();
}

ContractCase fake_driver_case() {
  const auto make = [](std::string* why) { return first_gpu(fake_driver::FakeDriver::search(), why); };
  return {"fake_driver", make, finish_with_fake};
}

ContractCase gpu_case() {
  const auto make = [](std::string* why) { return first_gpu(cuda::search_options(read_environment()), why); };
  return {"gpu", make, nullptr};
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract,
                         testing::Values(cpu_case(), sim_case(), fake_driver_case(), gpu_case()),
                         [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(Devices, VirtualMemoryContract,
                         testing::Values(cpu_case(), sim_case(), fake_driver_case(), gpu_case()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace gpuforge::device
