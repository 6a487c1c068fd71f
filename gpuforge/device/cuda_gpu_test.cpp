// Kernels on a real GPU, from PTX text: what a fake driver cannot show. Skipped, with the reason, where there
// is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/device_testing.h"

namespace gpuforge::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// saxpy: y[i] = a * x[i] + y[i]. reverse: through dynamic shared memory, at its very end. all_blocks: every
// block adds one and waits until all have. wrong: writes where nothing is.
constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 buffer[];

.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %i, %block, %size, %n;
  .reg .b64 %y, %x, %offset;
  .reg .f32 %a, %vx, %vy;
  ld.param.u64 %y, [y];
  ld.param.u64 %x, [x];
  ld.param.f32 %a, [a];
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.u32 %i, %block, %size, %i;
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
  cvta.to.global.u64 %y, %y;
  cvta.to.global.u64 %x, %x;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %y, %y, %offset;
  add.u64 %x, %x, %offset;
  ld.global.f32 %vx, [%x];
  ld.global.f32 %vy, [%y];
  fma.rn.f32 %vy, %a, %vx, %vy;
  st.global.f32 [%y], %vy;
DONE:
  ret;
}

.visible .entry reverse(.param .u64 out, .param .u32 at)
{
  .reg .b32 %i, %last, %at, %place, %value;
  .reg .b64 %out, %offset;
  ld.param.u64 %out, [out];
  ld.param.u32 %at, [at];
  cvta.to.global.u64 %out, %out;
  mov.u32 %place, buffer;
  add.u32 %at, %at, %place;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %place, %i, 4, %at;
  st.shared.u32 [%place], %i;
  bar.sync 0;
  mov.u32 %last, %ntid.x;
  sub.u32 %last, %last, 1;
  sub.u32 %last, %last, %i;
  mad.lo.u32 %place, %last, 4, %at;
  ld.shared.u32 %value, [%place];
  mul.wide.u32 %offset, %i, 4;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %value;
  ret;
}

.visible .entry all_blocks(.param .u64 counter)
{
  .reg .pred %p;
  .reg .b32 %seen, %all;
  .reg .b64 %counter;
  ld.param.u64 %counter, [counter];
  cvta.to.global.u64 %counter, %counter;
  mov.u32 %all, %nctaid.x;
  atom.global.add.u32 %seen, [%counter], 1;
WAIT:
  ld.volatile.global.u32 %seen, [%counter];
  setp.lt.u32 %p, %seen, %all;
  @%p bra WAIT;
  ret;
}

.visible .entry wrong()
{
  .reg .b64 %address;
  mov.u64 %address, 64;
  st.global.u32 [%address], 1;
  ret;
}
)";

// cluster_facts: out[block] = 100 * blocks in the cluster + rank in it. add_late: adds 1 to the first word
// after a while, letting the next kernel start early. double_after: waits for the kernel before, then doubles
// the word.
constexpr std::string_view kHopperPtx = R"(
.version 7.8
.target sm_90
.address_size 64

.visible .entry cluster_facts(.param .u64 out)
{
  .reg .b32 %block, %count, %rank;
  .reg .b64 %out, %offset;
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  mov.u32 %block, %ctaid.x;
  mov.u32 %count, %cluster_nctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  mad.lo.u32 %rank, %count, 100, %rank;
  mul.wide.u32 %offset, %block, 4;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %rank;
  ret;
}

.visible .entry add_late(.param .u64 word)
{
  .reg .pred %p;
  .reg .b32 %value;
  .reg .b64 %word, %start, %now;
  griddepcontrol.launch_dependents;
  ld.param.u64 %word, [word];
  cvta.to.global.u64 %word, %word;
  mov.u64 %start, %globaltimer;
WAIT:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, 200000;
  @%p bra WAIT;
  ld.global.u32 %value, [%word];
  add.u32 %value, %value, 1;
  st.global.u32 [%word], %value;
  ret;
}

.visible .entry double_after(.param .u64 word)
{
  .reg .b32 %value;
  .reg .b64 %word;
  griddepcontrol.wait;
  ld.param.u64 %word, [word];
  cvta.to.global.u64 %word, %word;
  ld.volatile.global.u32 %value, [%word];
  add.u32 %value, %value, %value;
  st.global.u32 [%word], %value;
  ret;
}
)";

std::span<const std::byte> as_image(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    const auto driver = cuda::Driver::try_load(cuda::search_options(read_environment()), &why);
    if (driver == nullptr) GTEST_SKIP() << why;
    device_ = make_cuda_device(driver, 0);
    stream_ = device_->make_stream();
    module_ = device_->load_module(as_image(kPtx), "gpu_test.ptx");
  }
  bool hopper() const { return device_->facts().compute_major >= 9; }

  // A buffer of the values, freed with the test.
  template <typename T>
  Address upload(const std::vector<T>& values) {
    const Address address = device_->allocate(values.size() * sizeof(T), *stream_);
    stream_->copy_to_device(address, values.data(), values.size() * sizeof(T));
    stream_->synchronize();
    buffers_.push_back(address);
    return address;
  }
  template <typename T>
  std::vector<T> download(Address address, std::size_t count) {
    std::vector<T> values(count);
    stream_->copy_to_host(values.data(), address, count * sizeof(T));
    stream_->synchronize();
    return values;
  }
  void TearDown() override {
    for (const Address address : buffers_) device_->free(address, *stream_);
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Module> module_;
  std::vector<Address> buffers_;
};

TEST_F(GpuTest, SaxpyComputes) {
  const auto saxpy = module_->function("saxpy");
  for (const std::uint32_t n : {1u, 255u, 256u, 257u, 1'000'003u}) {
    std::vector<float> x(n), y(n, 1.0f);
    std::iota(x.begin(), x.end(), 0.0f);
    Address there_x = upload(x);
    Address there_y = upload(y);
    float a = 2.0f;
    std::uint32_t count = n;
    const std::array<void*, 4> arguments = {&there_y, &there_x, &a, &count};
    stream_->launch(*saxpy, {.grid = {(n + 255) / 256}, .block = {256}}, arguments);
    const std::vector<float> result = download<float>(there_y, n);
    for (std::uint32_t i = 0; i < n; ++i) {
      ASSERT_EQ(result[i], 2.0f * static_cast<float>(i) + 1.0f) << i << " of " << n;
    }
  }
}

TEST_F(GpuTest, FactsOfAFunction) {
  const auto saxpy = module_->function("saxpy");
  const FunctionFacts& facts = saxpy->facts();
  EXPECT_GT(facts.registers, 0);
  EXPECT_EQ(facts.static_shared_bytes, 0u);
  EXPECT_EQ(facts.max_threads_per_block, 1024);
  if (!facts.parameters_known) GTEST_SKIP() << "this driver is older than CUDA 12.4 and tells no parameters";
  ASSERT_EQ(facts.parameters.size(), 4u);
  const std::size_t bytes[] = {8, 8, 4, 4};
  const std::size_t offsets[] = {0, 8, 16, 20};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(facts.parameters[i].bytes, bytes[i]);
    EXPECT_EQ(facts.parameters[i].offset, offsets[i]);
  }
  EXPECT_TRUE(module_->function("wrong")->facts().parameters.empty());
}

TEST_F(GpuTest, UnknownEntriesAndBadPtxAreSentences) {
  std::string message;
  EXPECT_EQ(code_of([&] { module_->function("saxpi"); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, AllOf(HasSubstr("cuda:0"), HasSubstr("gpu_test.ptx"), HasSubstr("saxpi")));
  if (device_->facts().driver_version >= 12040) {
    EXPECT_THAT(message, AllOf(HasSubstr("saxpy"), HasSubstr("reverse")));
  }
  try {
    device_->load_module(
        as_image(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { bogus; }\n"),
        "bad.ptx");
    ADD_FAILURE() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("bad.ptx"), HasSubstr("cuda:0")));
    EXPECT_THAT(error.detail(), HasSubstr("bogus"));
  }
  EXPECT_EQ(
      code_of([&] { device_->load_module(as_image(".version 99.0\n.target sm_80\n"), "new.ptx"); }, &message),
      ErrorCode::unsupported)
      << message;
}

TEST_F(GpuTest, SharedMemoryAbove48Kilobytes) {
  const auto reverse = module_->function("reverse");
  std::vector<std::uint32_t> expected(256);
  for (std::uint32_t i = 0; i < 256; ++i) expected[i] = 255 - i;
  const std::size_t most = device_->facts().launch.max_shared_per_block;
  for (const std::size_t bytes : {std::size_t{1024}, std::size_t{100} * 1024, std::size_t{64} * 1024, most}) {
    Address out = upload(std::vector<std::uint32_t>(256, 0xEEEEEEEE));
    auto at = static_cast<std::uint32_t>(bytes - 1024);
    const std::array<void*, 2> arguments = {&out, &at};
    stream_->launch(*reverse, {.block = {256}, .dynamic_shared_bytes = bytes}, arguments);
    EXPECT_EQ(download<std::uint32_t>(out, 256), expected) << bytes;
  }
  EXPECT_GE(reverse->max_active_blocks(256, 0), 2);
  EXPECT_EQ(reverse->max_active_blocks(256, most), 1);
  EXPECT_EQ(reverse->max_active_blocks(256, most + 1), 0);
  EXPECT_EQ(module_->function("saxpy")->max_active_blocks(1024, 0),
            device_->facts().compute_major == 8 && device_->facts().compute_minor > 0 ? 1 : 2);
}

TEST_F(GpuTest, WrongLaunchesAreRefusedAndHarmNothing) {
  const auto wrong = module_->function("wrong");
  const std::size_t most = device_->facts().launch.max_shared_per_block;
  expect_refused([&] { stream_->launch(*wrong, {.grid = {0}}, {}); }, "cuda:0: kernel wrong: grid");
  expect_refused([&] { stream_->launch(*wrong, {.block = {1025}}, {}); }, "cuda:0: kernel wrong: block");
  expect_refused([&] { stream_->launch(*wrong, {.dynamic_shared_bytes = most + 1}, {}); },
                 "cuda:0: kernel wrong: ");
  if (wrong->facts().parameters_known) {
    expect_refused([&] { stream_->launch(*module_->function("saxpy"), {}, {}); },
                   "cuda:0: kernel saxpy has 4");
  }
  stream_->synchronize();
}

TEST_F(GpuTest, ACooperativeLaunchHasAllBlocksAtOnce) {
  const auto all_blocks = module_->function("all_blocks");
  const auto most =
      static_cast<std::uint32_t>(all_blocks->max_active_blocks(32, 0) * device_->facts().multiprocessors);
  Address counter = upload(std::vector<std::uint32_t>(1, 0));
  const std::array<void*, 1> arguments = {&counter};
  stream_->launch(*all_blocks, {.grid = {most}, .block = {32}, .cooperative = true}, arguments);
  EXPECT_EQ(download<std::uint32_t>(counter, 1)[0], most * 32);
  std::string message;
  EXPECT_EQ(code_of(
                [&] {
                  stream_->launch(*all_blocks, {.grid = {most + 1}, .block = {32}, .cooperative = true},
                                  arguments);
                },
                &message),
            ErrorCode::invalid_argument);
  EXPECT_THAT(message,
              AllOf(HasSubstr(std::to_string(most + 1)), HasSubstr("only " + std::to_string(most) + " fit")));
  stream_->synchronize();
}

TEST_F(GpuTest, ClustersAreAsLargeAsAsked) {
  if (!hopper()) GTEST_SKIP() << "clusters need SM 90 or newer";
  const auto function = device_->load_module(as_image(kHopperPtx), "hopper.ptx")->function("cluster_facts");
  const std::uint32_t most = device_->facts().launch.max_cluster_blocks;
  ASSERT_LE(most, 16u);
  const int multiprocessors = device_->facts().multiprocessors;
  EXPECT_EQ(function->max_active_clusters({.block = {1024}, .cluster = {1}}),
            multiprocessors * function->max_active_blocks(1024, 0));
  const int widest = function->max_active_clusters({.block = {1024}, .cluster = {most}});
  EXPECT_GE(widest, 1);
  EXPECT_LE(widest * static_cast<int>(most), multiprocessors * function->max_active_blocks(1024, 0));
  for (std::uint32_t blocks = 1; blocks <= most; blocks *= 2) {
    Address out = upload(std::vector<std::uint32_t>(16, 0));
    const std::array<void*, 1> arguments = {&out};
    stream_->launch(*function, {.grid = {16}, .cluster = {blocks}}, arguments);
    const auto result = download<std::uint32_t>(out, 16);
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(result[i], blocks * 100 + i % blocks);
  }
  Address none = 0;
  const std::array<void*, 1> arguments = {&none};
  expect_refused([&] { stream_->launch(*function, {.grid = {15}, .cluster = {2}}, arguments); },
                 "cuda:0: kernel");
  expect_refused([&] { stream_->launch(*function, {.grid = {32}, .cluster = {2 * most}}, arguments); },
                 "cuda:0: kernel");
}

TEST_F(GpuTest, ProgrammaticLaunchesKeepTheOrderTheKernelAsksFor) {
  if (!hopper()) GTEST_SKIP() << "griddepcontrol needs SM 90 or newer";
  const auto module = device_->load_module(as_image(kHopperPtx), "hopper.ptx");
  const auto add_late = module->function("add_late");
  const auto double_after = module->function("double_after");
  Address word = upload(std::vector<std::uint32_t>(1, 0));
  const std::array<void*, 1> arguments = {&word};
  std::uint32_t expected = 0;
  for (int i = 0; i < 10; ++i) {
    stream_->launch(*add_late, {}, arguments);
    stream_->launch(*double_after, {.programmatic = true}, arguments);
    expected = (expected + 1) * 2;
  }
  EXPECT_EQ(download<std::uint32_t>(word, 1)[0], expected);
}

TEST_F(GpuTest, GraphsOfKernelsReplayAndUpdate) {
  const auto saxpy = module_->function("saxpy");
  constexpr std::uint32_t kCount = 1000;
  Address x = upload(std::vector<float>(kCount, 1.0f));
  Address y = upload(std::vector<float>(kCount, 0.0f));
  Address z = upload(std::vector<float>(kCount, 0.0f));
  const auto fork = device_->make_event(false);
  const auto join = device_->make_event(false);
  const auto branch = device_->make_stream();
  const auto capture = [&](float a) {
    std::uint32_t n = kCount;
    const std::array<void*, 4> on_y = {&y, &x, &a, &n};
    const std::array<void*, 4> on_z = {&z, &y, &a, &n};
    stream_->begin_capture();
    stream_->launch(*saxpy, {.grid = {4}, .block = {256}}, on_y);
    stream_->record(*fork);
    branch->wait(*fork);
    branch->launch(*saxpy, {.grid = {4}, .block = {256}}, on_z);
    branch->record(*join);
    stream_->wait(*join);
    return stream_->end_capture();
  };
  const auto graph = capture(2.0f);
  EXPECT_EQ(graph->node_count(), 2u);
  EXPECT_EQ(download<float>(y, 1)[0], 0.0f);
  graph->launch(*stream_);  // y = 2, z = 4
  graph->launch(*stream_);  // y = 4, z = 12
  graph->update(*capture(10.0f));
  graph->launch(*stream_);  // y = 14, z = 152
  EXPECT_EQ(download<float>(y, kCount), std::vector<float>(kCount, 14.0f));
  EXPECT_EQ(download<float>(z, kCount), std::vector<float>(kCount, 152.0f));

  stream_->begin_capture();
  stream_->fill(y, 0, 4, kCount);
  const auto other_shape = stream_->end_capture();
  EXPECT_EQ(code_of([&] { graph->update(*other_shape); }), ErrorCode::unsupported);
  graph->launch(*stream_);  // y = 24, z = 392
  EXPECT_EQ(download<float>(z, kCount), std::vector<float>(kCount, 392.0f));
}

TEST_F(GpuTest, KernelTimesAreMeasured) {
  const auto saxpy = module_->function("saxpy");
  std::uint32_t n = 1 << 24;
  Address y = device_->allocate(n * sizeof(float), *stream_);
  Address x = device_->allocate(n * sizeof(float), *stream_);
  buffers_ = {x, y};
  float a = 0;
  const std::array<void*, 4> arguments = {&y, &x, &a, &n};
  const auto start = device_->make_event();
  const auto end = device_->make_event();
  stream_->record(*start);
  for (int i = 0; i < 10; ++i) stream_->launch(*saxpy, {.grid = {n / 256}, .block = {256}}, arguments);
  stream_->record(*end);
  end->synchronize();
  EXPECT_GT(end->elapsed_ms_since(*start), 0.1f);  // 2 GB moved: more than 10 TB/s would be no measurement
  EXPECT_LT(end->elapsed_ms_since(*start), 1000.0f);
}

TEST_F(GpuTest, MoreMemoryThanIsLeftIsOutOfMemoryAndPasses) {
  const MemoryInfo before = device_->memory_info();
  const Address most = device_->allocate(before.free_bytes - (std::size_t{2} << 30), *stream_);
  std::string message;
  EXPECT_EQ(code_of([&] { device_->allocate(std::size_t{4} << 30, *stream_); }, &message),
            ErrorCode::out_of_memory);
  EXPECT_THAT(message, HasSubstr("4294967296 bytes"));
  device_->free(most, *stream_);
  stream_->synchronize();
  EXPECT_GE(device_->memory_info().free_bytes, before.free_bytes - (std::size_t{1} << 30))
      << "what the pool keeps counts as free";
  const Address again = device_->allocate(std::size_t{4} << 30, *stream_);
  device_->free(again, *stream_);
  stream_->synchronize();

  // With the last reference the memory goes back to other programs: a pool would keep it for this process.
  const auto driver = cuda::Driver::load(cuda::search_options(read_environment()));
  module_.reset();
  stream_.reset();
  device_.reset();
  const auto fresh = make_cuda_device(driver, 0);
  cuda::RawContext context = nullptr;
  driver->device_primary_ctx_retain("test", &context, 0);
  driver->ctx_set_current("test", context);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  driver->mem_get_info("test", &free_bytes, &total_bytes);
  driver->ctx_set_current("test", nullptr);
  driver->device_primary_ctx_release("test", 0);
  EXPECT_GE(free_bytes, before.free_bytes - (std::size_t{1} << 30));
}

// A sticky error takes the whole process's context with it, so it has a process of its own.
TEST_F(GpuTest, AStickyErrorIsReportedAndSurvived) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [&] {
    auto event = device_->make_event();
    auto function = module_->function("wrong");
    const Address block = device_->allocate(1024, *stream_);
    stream_->begin_capture();
    stream_->enqueue([] {});
    auto graph = stream_->end_capture();
    stream_->launch(*function, {}, {});
    const auto failure_of = [](const std::function<void()>& call) {
      try {
        call();
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());  // shown when the test fails
        return error.code() == ErrorCode::cuda ? error.message() : std::string();
      }
      return std::string();
    };
    const std::string first = failure_of([&] { stream_->synchronize(); });
    const std::string second = failure_of([&] { device_->synchronize(); });
    const bool reported =
        first.find("ILLEGAL_ADDRESS") != std::string::npos && first.find("cuda:0") != std::string::npos;
    const bool stays = second.find("ILLEGAL_ADDRESS") != std::string::npos;
    device_->free(block, *stream_);
    graph.reset();
    event.reset();
    function.reset();
    module_.reset();
    device_.reset();
    stream_.reset();
    std::exit(reported && stays ? 0 : 1);
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gpuforge::device
