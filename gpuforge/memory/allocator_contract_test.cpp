// Every Allocator of this room against the contract.
#include "gpuforge/memory/allocator_contract.h"

#include "gpuforge/device/device_testing.h"
#include "gpuforge/memory/adaptor.h"
#include "gpuforge/memory/pool.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::memory {
namespace {

std::shared_ptr<Allocator> plain_pool(std::shared_ptr<device::Device> device) {
  return make_pool(std::move(device));
}
std::shared_ptr<Allocator> small_pages(std::shared_ptr<device::Device> device) {
  PoolOptions options;
  options.quota_bytes = 64 << 20;
  options.page_bytes = device->virtual_memory()->granularity();
  return make_pool(std::move(device), options);
}
std::shared_ptr<Allocator> tagged_view(std::shared_ptr<device::Device> device) {
  return make_pool(std::move(device))->tagged("weights");
}
std::shared_ptr<Allocator> evictable_view(std::shared_ptr<device::Device> device) {
  return make_pool(std::move(device))->tagged("weights", Use::evictable);
}
std::shared_ptr<Allocator> hard_reservation(std::shared_ptr<device::Device> device) {
  return make_pool(std::move(device))->reserve(64 << 20, ReservationKind::hard, "part");
}
std::shared_ptr<Allocator> without_virtual_memory(std::shared_ptr<device::Device> device) {
  PoolOptions options;
  options.virtual_memory = false;
  return make_pool(std::move(device), options);
}

std::shared_ptr<Allocator> limited(std::shared_ptr<device::Device> device) {
  return make_limit_allocator(make_pool(std::move(device)), 64 << 20);
}
std::shared_ptr<Allocator> counted(std::shared_ptr<device::Device> device) {
  return make_statistics_allocator(make_device_allocator(std::move(device)));
}
std::shared_ptr<Allocator> logged(std::shared_ptr<device::Device> device) {
  return make_log_allocator(make_pool(std::move(device)));
}
std::shared_ptr<Allocator> failing_never(std::shared_ptr<device::Device> device) {
  return make_failing_allocator(make_device_allocator(std::move(device)), {});
}

AllocatorCase fake_case(decltype(AllocatorCase::make) make) {
  AllocatorCase result{"fake", std::move(make), nullptr, nullptr};
  result.open = [] { return device::open_device("cuda:0", fake_driver::FakeDriver::search()); };
  result.finish = [] {
    const auto library = cuda::SharedLibrary::open(GPUFORGE_FAKE_DRIVER_DIR "/libcuda.so.1");
    const auto count = reinterpret_cast<void (*)(FakeCudaCounters*)>(library->symbol("fake_cuda_counters"));
    EXPECT_TRUE(device::eventually([&] {
      FakeCudaCounters counters{};
      count(&counters);
      return counters.contexts == 0 && counters.streams == 0 && counters.physical_blocks == 0 &&
             counters.address_ranges == 0;
    })) << "everything is given back";
    fake_driver::FakeDriver();
  };
  return result;
}

auto cases(std::shared_ptr<Allocator> (*make)(std::shared_ptr<device::Device>)) {
  return testing::Values(AllocatorCase{"cpu", make, nullptr, nullptr},
                         AllocatorCase{"sim", make, nullptr, nullptr}, fake_case(make));
}
INSTANTIATE_TEST_SUITE_P(DeviceAllocator, AllocatorContract, cases(make_device_allocator),
                         allocator_case_name);
INSTANTIATE_TEST_SUITE_P(DeviceAllocatorGpu, AllocatorContract,
                         testing::Values(AllocatorCase{"cuda:0", make_device_allocator, nullptr, nullptr}),
                         allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Pool, AllocatorContract, cases(plain_pool), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(SmallPages, AllocatorContract, cases(small_pages), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Tagged, AllocatorContract, cases(tagged_view), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Evictable, AllocatorContract, cases(evictable_view), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Reserved, AllocatorContract, cases(hard_reservation), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(WithoutVirtualMemory, AllocatorContract, cases(without_virtual_memory),
                         allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Limit, AllocatorContract, cases(limited), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Statistics, AllocatorContract, cases(counted), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Log, AllocatorContract, cases(logged), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(Failing, AllocatorContract, cases(failing_never), allocator_case_name);
INSTANTIATE_TEST_SUITE_P(PoolGpu, AllocatorContract,
                         testing::Values(AllocatorCase{"cuda:0", plain_pool, nullptr, nullptr}),
                         allocator_case_name);
INSTANTIATE_TEST_SUITE_P(EvictableGpu, AllocatorContract,
                         testing::Values(AllocatorCase{"cuda:0", evictable_view, nullptr, nullptr}),
                         allocator_case_name);

}  // namespace
}  // namespace gpuforge::memory
