// What the sim device refuses when it is told the registers of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "gpuforge/base/error.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge::device {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry plain()\n{\nret;\n}\n"
    ".visible .entry bounded()\n.maxntid 128, 1, 1\n{\nret;\n}\n"
    ".visible .entry unknown()\n{\nret;\n}\n";

class SimRegisters : public testing::Test {
 protected:
  std::shared_ptr<Module> load(std::span<const KernelRegisters> registers) {
    return device_->load_module_with(std::as_bytes(std::span(kPtx)), "plain.ptx", registers);
  }
  void launch(const Function& function, std::uint32_t blocks, std::uint32_t threads, bool cooperative) {
    stream_->launch(
        function,
        {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cluster = {}, .cooperative = cooperative}, {});
    stream_->synchronize();
  }

  std::shared_ptr<SimDevice> device_ = make_sim_device("sm_86");
  std::shared_ptr<Stream> stream_ = device_->make_stream();
};

TEST_F(SimRegisters, BoundTheThreadsOfABlock) {
  const KernelRegisters known[] = {{"plain", 80}, {"bounded", 255}, {"another", 7}};
  const auto module = load(known);
  const auto function = module->function("plain");
  EXPECT_EQ(function->facts().registers, 80);
  EXPECT_EQ(function->facts().max_threads_per_block, 768);
  std::string message;
  EXPECT_EQ(code_of([&] { launch(*function, 1, 769, false); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("with 80 registers per thread and its launch bounds, can have at most 768"));
  launch(*function, 1, 768, false);
  EXPECT_EQ(module->function("bounded")->facts().max_threads_per_block, 128) << "what it says itself is less";
  EXPECT_EQ(module->function("unknown")->facts().max_threads_per_block, 1024);
  launch(*module->function("unknown"), 1, 1024, false);
}

TEST_F(SimRegisters, BoundTheBlocksOfACooperativeLaunch) {
  const KernelRegisters known[] = {{"plain", 80}};
  const auto function = load(known)->function("plain");
  EXPECT_EQ(function->max_active_blocks(256, 0), 3);
  EXPECT_EQ(function->max_active_blocks(800, 0), 0);
  std::string message;
  EXPECT_EQ(code_of([&] { launch(*function, 3 * 82 + 1, 256, true); }, &message),
            ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("only 246 fit at once"));
  launch(*function, 3 * 82, 256, true);
}

TEST_F(SimRegisters, ThatNoThreadCanHaveAreRefused) {
  for (const int impossible : {-1, 256, std::numeric_limits<int>::max()}) {
    const KernelRegisters wrong[] = {{"plain", impossible}};
    expect_refused([&] { load(wrong); }, "sim:sm_86: module plain.ptx: kernel plain cannot have");
  }
}

}  // namespace
}  // namespace gpuforge::device
