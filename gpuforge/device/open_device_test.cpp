#include "gpuforge/device/open_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/device/device_testing.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::device {
namespace {

using fake_driver::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A machine on which no library is found.
cuda::SearchOptions nothing() {
  cuda::SearchOptions search;
  search.system = false;
  return search;
}

TEST(OpenDevice, KnowsItsNames) {
  FakeDriver fake({{"FAKE_CUDA_DEVICES", "2"}});
  EXPECT_EQ(open_device("cpu", nothing())->facts().name, "cpu");
  EXPECT_EQ(open_device("cuda", FakeDriver::search())->facts().name, "cuda:0");
  EXPECT_EQ(open_device("cuda:0", FakeDriver::search())->facts().name, "cuda:0");
  EXPECT_EQ(open_device("cuda:1", FakeDriver::search())->facts().name, "cuda:1");
  EXPECT_EQ(code_of([] { open_device("cuda:2", FakeDriver::search()); }), ErrorCode::unavailable);
}

TEST(OpenDevice, RefusesOtherNamesWithTheKnownOnes) {
  for (const std::string name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:0x1", "CPU",
                                 "cpu:0", "cuda:99999999999999999999"}) {
    std::string message;
    EXPECT_EQ(code_of([&] { open_device(name, nothing()); }, &message), ErrorCode::invalid_argument) << name;
    EXPECT_THAT(message,
                AllOf(HasSubstr("'" + name + "'"), HasSubstr("cuda, cuda:N, sim, sim:ARCH and cpu")));
  }
}

TEST(OpenDevice, TheSimulatorPretendsToBeAChip) {
  EXPECT_EQ(open_device("sim", nothing())->facts().name, "sim");
  EXPECT_EQ(open_device("sim", nothing())->facts().pretended_arch, "sm_90a");
  EXPECT_EQ(open_device("sim:sm_90a", nothing())->facts().name, "sim");
  const auto device = open_device("sim:sm_86", nothing());
  EXPECT_EQ(device->facts().name, "sim:sm_86");
  EXPECT_EQ(device->facts().launch.max_shared_per_block, 99u * 1024);
  for (const std::string name : {"sim:", "sim:sm_75", "sim:86", "sim:sm_80a", "sim:sm_90a "}) {
    std::string message;
    EXPECT_EQ(code_of([&] { open_device(name, nothing()); }, &message), ErrorCode::invalid_argument) << name;
    EXPECT_THAT(message, AllOf(StartsWith("device " + name), HasSubstr("sm_86"), HasSubstr("sm_120")));
  }
}

TEST(OpenDevice, OptionsReachTheSimulator) {
  SimOptions options;
  options.step_limit = 77;
  const auto device = open_device("sim:sm_80", nothing(), options);
  const auto sim = std::dynamic_pointer_cast<SimDevice>(device);
  ASSERT_NE(sim, nullptr);
  EXPECT_EQ(sim->options().step_limit, 77u);
}

TEST(OpenDevice, WithoutADriverCudaIsUnavailable) {
  std::string message;
  EXPECT_EQ(code_of([] { open_device("cuda", nothing()); }, &message), ErrorCode::unavailable);
  EXPECT_THAT(message, HasSubstr("CUDA driver not detected"));
}

TEST(OpenDefaultDevice, TakesTheFirstOfCuda) {
  FakeDriver fake;
  std::string fallback = "old text";
  EXPECT_EQ(open_default_device(FakeDriver::search(), &fallback)->facts().name, "cuda:0");
  EXPECT_EQ(fallback, "");
  EXPECT_NE(open_default_device(FakeDriver::search(), nullptr), nullptr);
}

TEST(OpenDefaultDevice, FallsBackToTheCpuAndSaysWhyInOneLine) {
  std::string fallback;
  EXPECT_EQ(open_default_device(nothing(), &fallback)->facts().name, "cpu");
  EXPECT_THAT(fallback, StartsWith("Falling back to CPU simulation backend: CUDA driver not detected"));
  EXPECT_THAT(fallback, AllOf(HasSubstr("install NVIDIA's driver"), HasSubstr("--device cpu")));
  EXPECT_EQ(fallback.find('\n'), std::string::npos);
  EXPECT_EQ(open_default_device(nothing(), nullptr)->facts().name, "cpu");

  FakeDriver fake({{"FAKE_CUDA_SM", "70"}});
  EXPECT_EQ(open_default_device(FakeDriver::search(), &fallback)->facts().name, "cpu");
  EXPECT_THAT(fallback, AllOf(StartsWith("Falling back to CPU simulation backend"), HasSubstr("SM 70")));
}

TEST(OpenDefaultKernelDevice, IsCudaOrTheSimulator) {
  std::string fallback;
  EXPECT_EQ(open_default_kernel_device(nothing(), &fallback)->facts().name, "sim");
  EXPECT_THAT(fallback, StartsWith("Falling back to CPU simulation backend: CUDA driver not detected"));
  EXPECT_THAT(fallback, HasSubstr("--device sim"));
  FakeDriver fake;
  EXPECT_EQ(open_default_kernel_device(FakeDriver::search(), &fallback)->facts().name, "cuda:0");
  EXPECT_EQ(fallback, "");
}

TEST(ListDevices, WithoutAGpu) {
  const std::vector<DeviceListing> listings = list_devices(nothing());
  ASSERT_EQ(listings.size(), 3u);
  EXPECT_EQ(listings[0].facts.name, "cuda");
  EXPECT_FALSE(listings[0].usable);
  EXPECT_THAT(listings[0].reason, HasSubstr("CUDA driver not detected"));
  EXPECT_EQ(listings[1].facts.name, "sim");
  EXPECT_TRUE(listings[1].usable);
  EXPECT_EQ(listings[1].facts.pretended_arch, "sm_90a");
  EXPECT_EQ(listings[2].facts.name, "cpu");
  EXPECT_TRUE(listings[2].usable);
  EXPECT_FALSE(listings[2].facts.product.empty());
}

TEST(ListDevices, EveryOneUsableOrWithItsReason) {
  {
    FakeDriver fake({{"FAKE_CUDA_DEVICES", "2"}});
    const auto listings = list_devices(FakeDriver::search());
    ASSERT_EQ(listings.size(), 4u);
    EXPECT_EQ(listings[1].facts.name, "cuda:1");
    EXPECT_TRUE(listings[0].usable && listings[1].usable);
    EXPECT_EQ(fake.counters().contexts, 0u) << "listing makes no context";
  }
  {
    FakeDriver fake({{"FAKE_CUDA_SM", "75"}});
    const auto listings = list_devices(FakeDriver::search());
    ASSERT_EQ(listings.size(), 3u);
    EXPECT_FALSE(listings[0].usable);
    EXPECT_THAT(listings[0].reason, HasSubstr("SM 75"));
  }
  {
    FakeDriver fake({{"FAKE_CUDA_FAIL", "cuDeviceGetName:999"}});
    const auto listings = list_devices(FakeDriver::search());
    ASSERT_EQ(listings.size(), 3u);
    EXPECT_FALSE(listings[0].usable);
    EXPECT_THAT(listings[0].reason, HasSubstr("CUDA_ERROR_UNKNOWN"));
  }
  {
    FakeDriver fake({{"FAKE_CUDA_DEVICES", "0"}});
    EXPECT_THAT(list_devices(FakeDriver::search())[0].reason, HasSubstr("No GPU devices found"));
  }
}

}  // namespace
}  // namespace gpuforge::device
