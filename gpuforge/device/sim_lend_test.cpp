// Memory of the host that kernels of the sim device use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::device {
namespace {

// p[thread] += 1
constexpr std::string_view kPtx = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry add_one(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  add.s32 %r3, %r2, 1;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";

TEST(SimLend, LentMemoryIsUsedWhereItIsAndNoLonger) {
  const auto device = make_sim_device();
  const auto stream = device->make_stream();
  const auto function = device->load_module(std::as_bytes(std::span(kPtx)), "add.ptx")->function("add_one");
  std::vector<std::uint32_t> values = {1, 2, 3};
  auto address = reinterpret_cast<Address>(values.data());
  const auto run = [&](std::uint32_t threads) {
    void* const parameters[] = {&address};
    stream->launch(*function, {.grid = {}, .block = {threads, 1, 1}, .cluster = {}}, parameters);
    stream->synchronize();
  };
  {
    const auto lent = device->lend(address, 12, "x");
    run(3);
    EXPECT_THAT(values, testing::ElementsAre(2, 3, 4));
    EXPECT_THROW(run(4), Error) << "past its end";
  }
  EXPECT_THROW(run(3), Error) << "taken back";
}

}  // namespace
}  // namespace gpuforge::device
