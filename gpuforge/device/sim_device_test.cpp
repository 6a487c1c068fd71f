// What the sim device does beyond the contract (device_contract_test.cpp). What kernels compute is the
// simulator's own tests' matter.
#include "gpuforge/device/sim_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/sim_memory.h"
#include "gpuforge/sim/chip.h"

namespace gpuforge::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// add_one: p[thread] += 1. fixed: for blocks of 64 alone. spin: never ends. wide: static shared
// memory. huge: more of it than there can be.
constexpr std::string_view kPtx = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry add_one(.param .u64 p, .param .u32 amount)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  .loc 1 3 5
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [amount];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  .loc 1 4 5
  ld.global.u32 %r3, [%rd4];
  add.s32 %r4, %r3, %r1;
  .loc 1 5 5
  st.global.u32 [%rd4], %r4;
  ret;
}
.visible .entry empty()
{
  ret;
}
.visible .entry fixed() .reqntid 64, 1, 1
{
  ret;
}
.visible .entry bounded() .maxntid 128, 1, 1
{
  ret;
}
.visible .entry spin()
{
LOOP:
  bra LOOP;
}
.visible .entry wide()
{
  .reg .b32 %r<2>;
  .shared .align 16 .b8 tile[16384];
  mov.u32 %r1, tile;
  st.shared.u32 [%r1], %r1;
  ret;
}
.visible .entry huge()
{
  .reg .b32 %r<2>;
  .shared .align 16 .b8 tile[65536];
  mov.u32 %r1, tile;
  st.shared.u32 [%r1], %r1;
  ret;
}
.file 1 "/src/add.cu"
)";

class SimDeviceTest : public testing::Test {
 protected:
  void make(std::string_view arch = kDefaultSimArch, SimOptions options = {}) {
    device_ = make_sim_device(arch, std::move(options));
    stream_ = device_->make_stream();
    module_ = device_->load_module(std::as_bytes(std::span(kPtx)), "add.ptx");
  }

  Address integers(const std::vector<std::uint32_t>& values) {
    const Address there = device_->allocate(values.size() * 4, *stream_);
    stream_->copy_to_device(there, values.data(), values.size() * 4);
    stream_->synchronize();
    return there;
  }

  std::vector<std::uint32_t> read(Address from, std::size_t count) {
    std::vector<std::uint32_t> out(count);
    stream_->copy_to_host(out.data(), from, count * 4);
    stream_->synchronize();
    return out;
  }

  void add_one(Address data, std::uint32_t threads, std::uint32_t amount = 1) {
    void* const parameters[] = {&data, &amount};
    stream_->launch(*module_->function("add_one"), {.grid = {}, .block = {threads, 1, 1}, .cluster = {}},
                    parameters);
  }

  std::shared_ptr<SimDevice> device_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Module> module_;
};

TEST_F(SimDeviceTest, FactsAreThoseOfTheChip) {
  make("sm_86");
  const DeviceFacts& facts = device_->facts();
  EXPECT_EQ(facts.name, "sim:sm_86");
  EXPECT_EQ(facts.kind, DeviceKind::sim);
  EXPECT_EQ(facts.compute_major, 8);
  EXPECT_EQ(facts.compute_minor, 6);
  EXPECT_EQ(facts.pretended_arch, "sm_86");
  EXPECT_THAT(facts.product, HasSubstr("sm_86"));
  EXPECT_EQ(facts.launch.max_shared_per_block, 99u * 1024);
  EXPECT_EQ(facts.multiprocessors, 82);
  EXPECT_TRUE(facts.launch.cooperative);
}

TEST_F(SimDeviceTest, RunsAKernelInOrderWithCopies) {
  make();
  const Address data = integers({10, 20, 30});
  add_one(data, 3);
  add_one(data, 2, 100);
  EXPECT_THAT(read(data, 3), testing::ElementsAre(111, 121, 31));
  const std::vector<sim::LaunchReport> reports = device_->take_reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].kernel, "add_one");
  EXPECT_TRUE(reports[0].clean()) << reports[0].text();
  EXPECT_EQ(reports[1].block, (sim::Index3{2, 1, 1}));
  EXPECT_THAT(device_->take_reports(), IsEmpty());
}

TEST_F(SimDeviceTest, ArgumentsAreCopiedAtTheLaunch) {
  make();
  const Address data = integers({1});
  Gate gate;
  stream_->enqueue(gate.work());
  {
    Address passed = data;
    std::uint32_t amount = 5;
    void* const parameters[] = {&passed, &amount};
    stream_->launch(*module_->function("add_one"), {}, parameters);
    passed = 0;
    amount = 99;
  }
  module_.reset();
  gate.open();
  EXPECT_THAT(read(data, 1), testing::ElementsAre(6));
}

TEST_F(SimDeviceTest, AFindingFailsTheStreamOnce) {
  make();
  const Address data = integers({1, 2, 3});
  add_one(data, 5);  // two threads too many
  try {
    stream_->synchronize();
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), StartsWith("sim: kernel add_one: out of bounds at add.cu:"));
    EXPECT_THAT(error.message(), Not(HasSubstr("enqueued work")));
    EXPECT_THAT(error.detail(), HasSubstr("kernel add_one"));
  }
  stream_->synchronize();
  const auto reports = device_->take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].clean());
}

TEST_F(SimDeviceTest, SuppressedFindingsAreNoFailure) {
  SimOptions options;
  for (const std::uint32_t line : {3u, 4u, 5u}) options.suppressions.push_back({"add.cu", line});
  make("sm_80", options);
  add_one(integers({1}), 2);
  stream_->synchronize();
  const auto reports = device_->take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].findings.empty());
  EXPECT_TRUE(reports[0].clean());
}

TEST_F(SimDeviceTest, MemoryNeverWrittenIsFound) {
  make();
  const Address data = device_->allocate(4, *stream_);
  add_one(data, 1);
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->synchronize(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("uninitialized"));
  SimOptions options = device_->options();
  options.initialized = false;
  device_->set_options(options);
  const Address other = device_->allocate(4, *stream_);
  add_one(other, 1);
  stream_->synchronize();
  EXPECT_THAT(read(other, 1), testing::ElementsAre(0)) << "fresh memory is all ones";
}

TEST_F(SimDeviceTest, FillsAndCopiesCountAsWriting) {
  make();
  const Address filled = device_->allocate(4, *stream_);
  stream_->fill(filled, 7, 4, 1);
  add_one(filled, 1);
  const Address copied = device_->allocate(4, *stream_);
  stream_->copy(copied, filled, 4);
  add_one(copied, 1);
  EXPECT_THAT(read(copied, 1), testing::ElementsAre(9));
}

TEST_F(SimDeviceTest, MappedMemoryIsChecked) {
  make();
  const auto finding = [this](Address data) {
    std::string message;
    add_one(data, 4);
    code_of([&] { stream_->synchronize(); }, &message);
    return message;
  };
  VirtualMemory& memory = *device_->virtual_memory();
  const std::size_t unit = memory.granularity();
  const auto range = memory.reserve(2 * unit);
  const std::shared_ptr<PhysicalBlock> block = memory.make_block(unit);
  range->map(0, {&block, 1});
  EXPECT_THAT(finding(range->address()), HasSubstr("uninitialized"));
  stream_->fill(range->address(), 1, 4, unit / 4);
  EXPECT_THAT(finding(range->address() + unit - 8), HasSubstr("out of bounds"));
  range->unmap(0, unit);
  EXPECT_THAT(finding(range->address()), HasSubstr("use after free"));
  range->map(unit, {&block, 1});
  add_one(range->address() + unit, 1);
  EXPECT_EQ(read(range->address() + unit, 1)[0], 2u);  // what a block that moves held counts as written
}

TEST_F(SimDeviceTest, UseAfterFreeIsFound) {
  make();
  const Address data = integers({1, 2});
  device_->free(data, *stream_);
  add_one(data, 1);
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->synchronize(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("use after free"));
}

TEST_F(SimDeviceTest, ReportsGoToTheSink) {
  make();
  std::vector<std::string> seen;
  device_->set_report_sink([&](const sim::LaunchReport& report) { seen.push_back(report.kernel); });
  add_one(integers({1}), 1);
  stream_->synchronize();
  EXPECT_THAT(seen, testing::ElementsAre("add_one"));
  EXPECT_THAT(device_->take_reports(), IsEmpty());
  device_->set_report_sink(nullptr);
  add_one(integers({1}), 1);
  stream_->synchronize();
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(device_->take_reports().size(), 1u);
}

TEST_F(SimDeviceTest, OnlyTheNewestReportsAreKept) {
  make();
  const Address data = integers({0});
  for (std::size_t i = 0; i < kKeptReports + 10; ++i) add_one(data, 1);
  stream_->synchronize();
  EXPECT_EQ(device_->take_reports().size(), kKeptReports);
}

TEST_F(SimDeviceTest, GraphsReplayKernels) {
  make();
  const Address data = integers({0, 0});
  stream_->begin_capture();
  add_one(data, 2);
  add_one(data, 1, 10);
  const auto graph = stream_->end_capture();
  EXPECT_EQ(graph->node_count(), 2u);
  EXPECT_THAT(device_->take_reports(), IsEmpty()) << "recorded, not run";
  graph->launch(*stream_);
  graph->launch(*stream_);
  EXPECT_THAT(read(data, 2), testing::ElementsAre(22, 2));
  EXPECT_EQ(device_->take_reports().size(), 4u);
}

TEST_F(SimDeviceTest, AGraphsFindingsFailTheStreamItIsLaunchedOn) {
  make();
  const Address data = integers({0});
  stream_->begin_capture();
  add_one(data, 2);
  const auto graph = stream_->end_capture();
  const auto other = device_->make_stream();
  graph->launch(*other);
  EXPECT_EQ(code_of([&] { other->synchronize(); }), ErrorCode::invalid_argument);
  stream_->synchronize();
}

TEST_F(SimDeviceTest, FunctionsHaveFacts) {
  make();
  const auto function = module_->function("add_one");
  const FunctionFacts& facts = function->facts();
  EXPECT_EQ(facts.name, "add_one");
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  ASSERT_EQ(facts.parameters.size(), 2u);
  EXPECT_TRUE(facts.parameters_known);
  EXPECT_EQ(facts.parameters[1].offset, 8u);
  EXPECT_EQ(facts.parameters[1].bytes, 4u);
  EXPECT_EQ(module_->function("bounded")->facts().max_threads_per_block, 128);
  EXPECT_EQ(module_->function("wide")->facts().static_shared_bytes, 16384u);
  EXPECT_EQ(function->max_active_blocks(1024, 0), 2);
  EXPECT_EQ(module_->function("wide")->max_active_blocks(32, 0), 13);
  EXPECT_EQ(function->max_active_blocks(32, std::size_t{1} << 40), 0);
  expect_refused([&] { function->max_active_blocks(0, 0); }, "sim");
  std::string message;
  EXPECT_EQ(code_of([&] { module_->function("add_two"); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, AllOf(StartsWith("sim: module add.ptx has no kernel add_two"),
                             HasSubstr("add_one, empty, fixed")));
}

TEST_F(SimDeviceTest, LaunchesBeyondTheLimitsAreRefused) {
  make("sm_86");
  const auto launch = [&](std::string_view entry, const LaunchConfig& config) {
    stream_->launch(*module_->function(entry), config, {});
  };
  const auto refused = [&](std::string_view entry, const LaunchConfig& config, const std::string& part) {
    std::string message;
    EXPECT_EQ(code_of([&] { launch(entry, config); }, &message), ErrorCode::invalid_argument) << part;
    EXPECT_THAT(message, AllOf(StartsWith("sim:sm_86: kernel"), HasSubstr(part)));
  };
  refused("wide", {.grid = {0, 1, 1}, .block = {}, .cluster = {}}, "zero dimension");
  refused("wide", {.grid = {1, 65536, 1}, .block = {}, .cluster = {}}, "larger than the most");
  refused("wide", {.grid = {}, .block = {1025, 1, 1}, .cluster = {}}, "larger than the most");
  refused("wide", {.grid = {}, .block = {512, 4, 1}, .cluster = {}}, "2048 threads");
  refused("bounded", {.grid = {}, .block = {129, 1, 1}, .cluster = {}}, "at most 128");
  refused("fixed", {.grid = {}, .block = {32, 1, 1}, .cluster = {}}, "compiled for (64, 1, 1) alone");
  refused("wide", {.grid = {}, .block = {}, .dynamic_shared_bytes = 99 * 1024 - 16383, .cluster = {}},
          "bytes a block can have");
  refused("huge", {}, "static shared memory");
  refused("wide", {.grid = {1 << 20, 1, 1}, .block = {1024, 1, 1}, .cluster = {}, .cooperative = true},
          "82 fit at once");
  refused("add_one", {}, "2 parameters, 0 arguments");
  launch("fixed", {.grid = {}, .block = {64, 1, 1}, .cluster = {}});
  launch("wide", {.grid = {}, .block = {}, .dynamic_shared_bytes = 99 * 1024 - 16384, .cluster = {}});
  launch("wide", {.grid = {82, 1, 1}, .block = {1024, 1, 1}, .cluster = {}, .cooperative = true});
  stream_->synchronize();
  refused("wide", {.grid = {2, 1, 1}, .block = {}, .cluster = {2, 1, 1}}, "no clusters");
}

TEST_F(SimDeviceTest, EveryChipHasItsLimits) {
  for (const sim::Chip& chip : sim::chips()) {
    SCOPED_TRACE(chip.number());
    make(format_text("sm_{}", chip.number()));
    const auto launch = [&](std::string_view entry, const LaunchConfig& config) {
      return code_of([&] { stream_->launch(*module_->function(entry), config, {}); });
    };
    const auto refused = ErrorCode::invalid_argument;
    const Dim3 one{1, 1, 1};
    EXPECT_EQ(launch("empty", {.grid = {2147483648u, 1, 1}, .block = one, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = {1, 65536, 1}, .block = one, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = {1, 1, 65536}, .block = one, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = one, .block = {1025, 1, 1}, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = one, .block = {1, 1025, 1}, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = one, .block = {1, 1, 65}, .cluster = {}}), refused);
    EXPECT_EQ(launch("empty", {.grid = one, .block = {32, 33, 1}, .cluster = {}}), refused);
    const std::size_t most = chip.max_shared_per_block;
    EXPECT_EQ(launch("empty", {.dynamic_shared_bytes = most + 1, .cluster = {}}), refused);
    EXPECT_EQ(launch("wide", {.dynamic_shared_bytes = most - 16383, .cluster = {}}), refused);
    const auto resident = static_cast<std::uint32_t>(chip.multiprocessors * (chip.max_threads / 1024));
    const Dim3 full{1024, 1, 1};
    EXPECT_EQ(
        launch("empty", {.grid = {resident + 1, 1, 1}, .block = full, .cluster = {}, .cooperative = true}),
        refused);
    const auto runs = [&](std::string_view entry, const LaunchConfig& config) {
      stream_->launch(*module_->function(entry), config, {});
    };
    runs("empty", {.grid = {resident, 1, 1}, .block = full, .cluster = {}, .cooperative = true});
    runs("empty", {.grid = {1, 65535, 1}, .block = one, .cluster = {}});
    runs("empty", {.grid = one, .block = {4, 4, 64}, .dynamic_shared_bytes = most, .cluster = {}});
    runs("wide", {.dynamic_shared_bytes = most - 16384, .cluster = {}});
    stream_->synchronize();
  }
}

TEST_F(SimDeviceTest, MultiprocessorsAreThoseOfTheChip) {
  constexpr std::string_view kCount =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p)\n{\n"
      ".reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [p]; mov.u32 %r1, %nsmid; st.u32 [%d1], %r1; "
      "ret;\n}\n";
  make("sm_86");
  Address data = integers({0});
  void* const parameters[] = {&data};
  const auto module = device_->load_module(std::as_bytes(std::span(kCount)), "count.ptx");
  stream_->launch(*module->function("f"), {}, parameters);
  EXPECT_THAT(read(data, 1), testing::ElementsAre(82));
}

TEST_F(SimDeviceTest, PtxForAnotherChipIsRefused) {
  const auto text = [](std::string_view target) {
    return format_text(".version 8.8\n.target {}\n.address_size 64\n.visible .entry f() {{ ret; }}\n",
                       target);
  };
  std::string message;
  const auto load = [&](std::string_view target) {
    const std::string ptx = text(target);
    return code_of([&] { device_->load_module(std::as_bytes(std::span(ptx)), "f.ptx"); }, &message);
  };
  make("sm_86");
  EXPECT_EQ(load("sm_90a"), ErrorCode::unsupported);
  EXPECT_EQ(
      message,
      "sim:sm_86: module f.ptx: its .target is sm_90a, which this chip, sm_86, does not run; use the device "
      "sim:sm_90a");
  EXPECT_EQ(load("sm_89"), ErrorCode::unsupported);
  make("sm_100");
  EXPECT_EQ(load("sm_90a"), ErrorCode::unsupported) << "'a' is for one chip alone";
  make();
  EXPECT_EQ(load("sm_130"), ErrorCode::unsupported);
  EXPECT_THAT(message, Not(HasSubstr("use the device")));
  for (const char* const target : {"sm_30", "sm_90", "sm_90a", "sm_80, debug"}) {
    const std::string ptx = text(target);
    device_->load_module(std::as_bytes(std::span(ptx)), "f.ptx");
  }
}

TEST_F(SimDeviceTest, KernelsOfAnotherDeviceAreRefused) {
  make();
  const auto other = make_sim_device();
  const auto foreign = other->load_module(std::as_bytes(std::span(kPtx)), "add.ptx")->function("bounded");
  expect_refused([&] { stream_->launch(*foreign, {}, {}); }, "sim");
}

TEST_F(SimDeviceTest, BadImagesAreErrors) {
  make();
  const auto load = [&](std::string_view image) {
    return [this, image] { device_->load_module(std::as_bytes(std::span(image)), "bad.ptx"); };
  };
  std::string message;
  EXPECT_EQ(code_of(load(""), &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, StartsWith("sim: "));
  std::string elf(64, '\0');
  elf.replace(0, 4,
              "\x7f"
              "ELF");
  EXPECT_EQ(code_of(load(elf), &message), ErrorCode::unsupported);
  EXPECT_THAT(message, AllOf(StartsWith("sim: module bad.ptx"), HasSubstr("runs PTX")));
  EXPECT_EQ(code_of(load(".version 8.0\n.target sm_80\n.visible .entry f( {"), &message), ErrorCode::parse);
  EXPECT_THAT(message, StartsWith("sim: "));
}

TEST_F(SimDeviceTest, UnknownInstructionsAreErrorsBeforeTheLaunch) {
  make();
  constexpr std::string_view kUnknown =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n  .reg .b32 %r<2>;\n"
      "  frobnicate.b32 %r1, %r1;\n  ret;\n}\n.visible .entry g()\n{\n  ret;\n}\n";
  std::string message;
  const ErrorCode code = code_of(
      [&] { device_->load_module(std::as_bytes(std::span(kUnknown)), "f.ptx")->function("f"); }, &message);
  EXPECT_EQ(code, ErrorCode::unsupported);
  EXPECT_THAT(message, AllOf(StartsWith("sim: "), HasSubstr("frobnicate"), HasSubstr("7")));
}

TEST_F(SimDeviceTest, AnEndlessLoopMeetsTheStepLimit) {
  SimOptions options;
  options.step_limit = 10'000;
  make(kDefaultSimArch, options);
  stream_->launch(*module_->function("spin"), {}, {});
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->synchronize(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("step limit"));
}

TEST_F(SimDeviceTest, ALaunchCanBeCancelled) {
  std::atomic<bool> cancel = false;
  SimOptions options;
  options.cancel = &cancel;
  make(kDefaultSimArch, options);
  stream_->launch(*module_->function("spin"), {}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(stream_->done());
  cancel = true;
  std::string message;
  static_cast<void>(code_of([&] { stream_->synchronize(); }, &message));
  EXPECT_THAT(message, StartsWith("sim: kernel spin: "));
}

TEST_F(SimDeviceTest, OneKernelRunsAtATimeAndStreamsDoNotStopEachOther) {
  make();
  const auto other = device_->make_stream();
  const Address data = integers({0});
  Gate gate;
  stream_->enqueue(gate.work());
  add_one(data, 1);
  other->launch(*module_->function("bounded"), {}, {});
  other->synchronize();
  EXPECT_EQ(device_->take_reports().size(), 1u);
  gate.open();
  EXPECT_THAT(read(data, 1), testing::ElementsAre(1));
}

TEST_F(SimDeviceTest, LaunchesOutliveTheDevice) {
  make();
  std::atomic<int> seen = 0;
  device_->set_report_sink([&](const sim::LaunchReport&) { ++seen; });
  Gate gate;
  stream_->enqueue(gate.work());
  stream_->launch(*module_->function("bounded"), {}, {});
  module_.reset();
  stream_.reset();
  device_.reset();
  gate.open();
  EXPECT_TRUE(eventually([&] { return seen == 1; }));
}

TEST(SimMemory, BlocksHaveRedZonesAndLabels) {
  SimMemory memory("sim");
  const Address block = memory.allocate_on_device(100);
  EXPECT_EQ(block % kHostAlignment, 0u);
  const auto snapshot = memory.space()->snapshot();
  ASSERT_EQ(snapshot->size(), 1u);
  EXPECT_EQ(snapshot->front()->begin, block);
  EXPECT_EQ(snapshot->front()->bytes, 100u);
  EXPECT_EQ(snapshot->front()->label, "100 bytes allocated on sim");
  EXPECT_TRUE(memory.owns(reinterpret_cast<const void*>(block - kRedZoneBytes)));
  std::vector<Address> blocks = {block};
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(memory.allocate_on_device(4));
    for (std::size_t j = 0; j + 1 < blocks.size(); ++j) {
      const Address low = std::min(blocks[j], blocks.back());
      const Address high = std::max(blocks[j], blocks.back());
      ASSERT_GE(high - low, 256u + 4) << "nobody's bytes lie between two blocks";
    }
  }
}

TEST(SimMemory, FreedBlocksAreNotHandedOutAtOnce) {
  SimMemory memory("sim");
  const Address block = memory.allocate_on_device(4096);
  memory.free_on_device(block);
  EXPECT_TRUE(memory.space()->snapshot()->empty());
  ASSERT_EQ(memory.space()->freed().size(), 1u);
  for (int i = 0; i < 50; ++i) EXPECT_NE(memory.allocate_on_device(4096), block);
  memory.free_on_device(block);  // twice: left alone
  memory.free_on_device(12345);
}

TEST(SimMemory, OldBlocksAreGivenBackButNotUnderALaunch) {
  SimMemory memory("sim");
  constexpr std::size_t kBytes = std::size_t{40} << 20;
  const Address first = memory.allocate_on_device(kBytes);
  const Address second = memory.allocate_on_device(kBytes);
  const auto held = [&](Address address) {
    return memory.owns(reinterpret_cast<const void*>(address - kRedZoneBytes));
  };
  {
    const SimMemory::Launch running(memory);
    memory.free_on_device(first);
    memory.free_on_device(second);
    EXPECT_TRUE(held(first) && held(second));
  }
  EXPECT_FALSE(held(first));
  EXPECT_TRUE(held(second));
}

}  // namespace
}  // namespace gpuforge::device
