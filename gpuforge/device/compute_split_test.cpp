#include "gpuforge/device/compute_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::device {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> given(std::vector<double> shares, int groups) {
  return apportion(shares, groups);
}

TEST(Apportion, GivesWholeGroupsNearTheShares) {
  EXPECT_THAT(given({0.5, 0.5}, 16), ElementsAre(8, 8));
  EXPECT_THAT(given({0.3, 0.7}, 16), ElementsAre(5, 11));
  EXPECT_THAT(given({0.25}, 16), ElementsAre(4));
  EXPECT_THAT(given({1}, 16), ElementsAre(16));
  EXPECT_THAT(given({0.1, 0.2, 0.7}, 10), ElementsAre(1, 2, 7)) << "though 0.7 * 10 is a little less than 7";
  EXPECT_THAT(given({0.01, 0.99}, 16), ElementsAre(1, 15)) << "everybody has one";
  EXPECT_THAT(given({0.01, 0.01, 0.01, 0.97}, 5), ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(given({1.0 / 3, 1.0 / 3, 1.0 / 3}, 16), ElementsAre(6, 5, 5));
}

TEST(Apportion, NeverGivesMoreThanThereIs) {
  for (int groups = 1; groups <= 20; ++groups) {
    for (int parts = 1; parts <= groups; ++parts) {
      std::vector<double> shares;
      for (int i = 0; i < parts; ++i) shares.push_back(2.0 * (i + 1) / (parts * (parts + 1)));
      const std::vector<int> result = apportion(shares, groups);
      EXPECT_EQ(std::accumulate(result.begin(), result.end(), 0), groups);
      EXPECT_GE(*std::ranges::min_element(result), 1);
    }
  }
}

TEST(Apportion, RefusesWhatIsNoSplit) {
  EXPECT_EQ(code_of([] { given({}, 4); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { given({0.0, 0.5}, 4); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { given({0.6, 0.6}, 4); }), ErrorCode::invalid_argument);
  std::string message;
  EXPECT_EQ(code_of([] { given({0.2, 0.2, 0.2}, 2); }, &message), ErrorCode::unsupported);
  EXPECT_THAT(message, HasSubstr("3 parts were asked for, and the multiprocessors come in 2 groups"));
}

TEST(ComputeSplit, DevicesWithoutMultiprocessorsSaySo) {
  std::string message;
  EXPECT_EQ(code_of(
                [] {
                  make_cpu_device()->split_compute(std::vector<double>{0.5, 0.5});
                },
                &message),
            ErrorCode::unsupported);
  EXPECT_THAT(message, HasSubstr("cpu: has no multiprocessors to split"));
}

class ComputeSplitOnTheFakeDriver : public testing::Test {
 protected:
  void open() { device_ = open_device("cuda:0", fake_driver::FakeDriver::search()); }
  fake_driver::FakeDriver fake_;
  std::shared_ptr<Device> device_;
};

TEST_F(ComputeSplitOnTheFakeDriver, KernelsRunOnTheMultiprocessorsOfTheirPart) {
  open();
  auto parts = device_->split_compute(std::vector<double>{0.3, 0.7});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]->multiprocessors(), 40);
  EXPECT_EQ(parts[1]->multiprocessors(), 88);
  EXPECT_EQ(fake_.counters().green_contexts, 2u);
  std::vector<std::set<int>> seen;
  fake_.on_launch(
      [](const FakeCudaLaunch* launch, void* data) {
        static_cast<std::vector<std::set<int>>*>(data)->emplace_back(
            launch->multiprocessors, launch->multiprocessors + launch->multiprocessor_count);
      },
      &seen);
  constexpr std::string_view kImage =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";
  const auto function = device_->load_module(std::as_bytes(std::span(kImage)), "test")->function("nothing");
  for (const auto& part : parts) {
    const auto stream = part->make_stream();
    EXPECT_EQ(&stream->device(), device_.get());
    stream->launch(*function, {}, {});
    stream->synchronize();
  }
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].size(), 40u);
  EXPECT_EQ(seen[1].size(), 88u);
  for (const int one : seen[0]) EXPECT_FALSE(seen[1].contains(one));
}

TEST_F(ComputeSplitOnTheFakeDriver, APartLivesAsLongAsItsStreamsWork) {
  open();
  auto parts = device_->split_compute(std::vector<double>{0.5});
  auto stream = parts[0]->make_stream();
  Gate gate;
  stream->enqueue(gate.work());
  parts.clear();
  stream.reset();
  device_.reset();
  EXPECT_EQ(fake_.counters().green_contexts, 1u);
  gate.open();
  EXPECT_TRUE(
      eventually([&] { return fake_.counters().green_contexts == 0 && fake_.counters().contexts == 0; }));
}

TEST_F(ComputeSplitOnTheFakeDriver, SaysWhyItCannot) {
  open();
  std::string message;
  fake_.fail("cuDeviceGetDevResource", 801);
  EXPECT_EQ(code_of(
                [&] {
                  device_->split_compute(std::vector<double>{0.5, 0.5});
                },
                &message),
            ErrorCode::unsupported);
  EXPECT_THAT(message, AllOf(HasSubstr("cuda:0: the driver (CUDA 13.0) does not split multiprocessors"),
                             HasSubstr("cuDeviceGetDevResource"), HasSubstr("NOT_SUPPORTED")));
  fake_.fail("cuDeviceGetDevResource", 0);
  // What was made before the failure is given back.
  fake_.fail("cuGreenCtxCreate", 2);
  EXPECT_EQ(code_of([&] { device_->split_compute(std::vector<double>{0.5, 0.5}); }), ErrorCode::unsupported);
  EXPECT_EQ(fake_.counters().green_contexts, 0u);
}

// Each block tells where it runs, and stays a while, so that the next one goes elsewhere.
constexpr std::string_view kWherePtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry where(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %block, %sm;
  .reg .b64 %out, %offset, %start, %now;
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  mul.wide.u32 %offset, %block, 4;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %sm;
  mov.u64 %start, %clock64;
WAIT:
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, 200000;
  @%p bra WAIT;
  ret;
}
)";

TEST(ComputeSplitGpu, PartsTouchTheirOwnMultiprocessorsAlone) {
  std::shared_ptr<Device> device;
  try {
    device = open_device("cuda:0", cuda::search_options(read_environment()));
  } catch (const Error& error) {
    GTEST_SKIP() << "no cuda:0 here: " << error.what();
  }
  std::vector<std::shared_ptr<ComputePart>> parts;
  try {
    parts = device->split_compute(std::vector<double>{0.25, 0.5});
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unsupported);
    GTEST_SKIP() << error.what();
  }
  const auto function =
      device->load_module(std::as_bytes(std::span(kWherePtx)), "where")->function("where", 1);
  constexpr unsigned kBlocks = 2048;
  std::vector<std::set<std::uint32_t>> seen;
  for (const auto& part : parts) {
    const auto stream = part->make_stream();
    Address out = device->allocate(kBlocks * 4, *stream);
    void* const parameters[] = {&out};
    stream->launch(*function, {.grid = {kBlocks}, .block = {256}}, parameters);
    std::vector<std::uint32_t> where(kBlocks);
    stream->copy_to_host(where.data(), out, kBlocks * 4);
    stream->synchronize();
    device->free(out, *stream);
    seen.emplace_back(where.begin(), where.end());
    std::printf("a part of %d multiprocessors: %zu were used\n", part->multiprocessors(), seen.back().size());
    EXPECT_LE(seen.back().size(), static_cast<std::size_t>(part->multiprocessors()));
    EXPECT_GE(2 * seen.back().size(), static_cast<std::size_t>(part->multiprocessors()));
  }
  for (const std::uint32_t one : seen[0]) EXPECT_FALSE(seen[1].contains(one)) << one;
}

}  // namespace
}  // namespace gpuforge::device
