#include "gpuforge/context/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/memory/transfer_engine.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;

class ProfilerTest : public testing::Test {
 protected:
  static std::function<void()> sleep(int ms) {
    return [ms] { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  }
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
};

TEST_F(ProfilerTest, RangesHaveTheirRealTimes) {
  Profiler profiler(device_);
  const double before = host_clock_us();
  {
    ProfileRange outer(&profiler, *stream_, "outer");
    ProfileRange inner(&profiler, *stream_, "inner", 1e6, 2e6);
    stream_->enqueue(sleep(10));
  }
  const auto other = device_->make_stream();
  profiler.name_stream(*other, "second");
  {
    ProfileRange range(&profiler, *other, "elsewhere");
    other->enqueue(sleep(1));
  }
  const ProfileReport report = profiler.report();
  const double after = host_clock_us();
  ASSERT_EQ(report.spans.size(), 3u);
  for (const ProfileSpan& span : report.spans) {
    EXPECT_GE(span.start_us, before - report.clock_error_us - 1);
    EXPECT_LE(span.start_us + span.duration_us, after + report.clock_error_us + 1);
  }
  const auto& totals = report.totals();
  std::map<std::string, ProfileTotal> named;
  for (const ProfileTotal& total : totals) named[total.name] = total;
  EXPECT_GE(named["inner"].total_us, 10000);
  EXPECT_GE(named["outer"].total_us, named["inner"].total_us);
  EXPECT_GT(named["inner"].gbps(), 0);
  EXPECT_LE(named["inner"].gbps(), 2e6 / 10e-3 / 1e9);
  std::set<std::string> tracks;
  for (const ProfileSpan& span : report.spans) tracks.insert(span.track);
  EXPECT_EQ(tracks, (std::set<std::string>{"stream 1", "second"}));
  profiler.clear();
  EXPECT_TRUE(profiler.report().spans.empty());
}

TEST_F(ProfilerTest, ManyRangesFromManyThreads) {
  Profiler profiler(device_, {.most_spans = 3000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const auto own = device_->make_stream();
      for (int i = 0; i < 500; ++i) ProfileRange(&profiler, *own, "short");
      own->synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ProfileReport report = profiler.report();
  EXPECT_EQ(report.spans.size(), 3000u);
  EXPECT_EQ(report.dropped, 1000u);
  EXPECT_EQ(report.dropped_why, "only 3000 spans are kept");
}

TEST_F(ProfilerTest, NoProfilerNoRange) {
  ProfileRange range(nullptr, *stream_, "nothing");
  EXPECT_TRUE(stream_->done());
}

TEST_F(ProfilerTest, ARangeInACaptureHasNoTimeAndHarmsNothing) {
  Profiler profiler(device_);
  stream_->begin_capture();
  {
    ProfileRange range(&profiler, *stream_, "captured");
    stream_->enqueue([] {});
  }
  EXPECT_EQ(stream_->end_capture()->node_count(), 1u);
  const ProfileReport report = profiler.report();
  EXPECT_TRUE(report.spans.empty());
  EXPECT_EQ(report.dropped, 1u);
  EXPECT_THAT(report.dropped_why, HasSubstr("capture"));
}

TEST_F(ProfilerTest, AStreamOfAnotherDeviceHasNoTimeEither) {
  Profiler profiler(device_);
  const auto foreign = device::make_cpu_device()->make_stream();
  { ProfileRange range(&profiler, *foreign, "foreign"); }
  EXPECT_EQ(profiler.report().dropped, 1u);
}

TEST_F(ProfilerTest, CopiesDecisionsAndMemoryAreOnTheSameClock) {
  std::size_t held = 5;
  Profiler profiler(device_, {.bytes_by_tag = [&] {
                      return std::map<std::string, std::size_t>{{"x", held}};
                    }});
  const MemorySnapshot first = profiler.snapshot("first");
  const double before = host_clock_us();
  std::vector<char> host(100000);
  const device::Address memory = device_->allocate(host.size(), *stream_);
  stream_->synchronize();
  {
    memory::TransferEngine engine(
        device_, {.on_over = [&](const memory::TransferStatus& status) { profiler.add(status); }});
    engine.to_device(memory, host.data(), host.size(), {.label = "weights"}).wait();
  }
  device_->free(memory, *stream_);
  profiler.add({"admit", "task a", host_clock_us(), Json::object()});
  held = 25;
  EXPECT_EQ(difference(first, profiler.snapshot("second")).bytes_by_tag.at("x"), 20);
  const ProfileReport report = profiler.report();
  ASSERT_EQ(report.spans.size(), 1u);
  EXPECT_EQ(report.spans[0].name, "weights");
  EXPECT_EQ(report.spans[0].track, "copies to the device");
  EXPECT_EQ(report.spans[0].bytes, 100000);
  EXPECT_GE(report.spans[0].start_us, before);
  EXPECT_LE(report.spans[0].start_us + report.spans[0].duration_us, report.decisions[0].at_us);
  EXPECT_GT(first.total_bytes, 0u);
  EXPECT_EQ(trace_events(report).size(), 4u);
}

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry nothing(.param .u32 a) { ret; }
.visible .entry more() { ret; }
)";

TEST(Profiler, EveryKernelLaunchedWhileItIsOnIsARange) {
  const auto device = device::make_sim_device();
  const auto context = Context::make(device);
  const auto stream = context->make_stream();
  const auto nothing = context->jit().kernel_from_ptx(kPtx, "k.ptx", "nothing", *device);
  const auto more = context->jit().kernel_from_ptx(kPtx, "k.ptx", "more", *device);
  Profiler profiler(device);
  (*nothing)({}, *stream, 1u);
  {
    const KernelRanges kernels(profiler, context->jit());
    EXPECT_THROW(KernelRanges(profiler, context->jit()), Error) << "one at a time";
    for (int i = 0; i < 3; ++i) (*nothing)({}, *stream, 1u);
    (*more)({}, *stream);
    EXPECT_THROW((*more)({.block = {5000}}, *stream), Error);
  }
  (*more)({}, *stream);
  stream->synchronize();
  std::map<std::string, std::uint64_t> counts;
  for (const ProfileTotal& total : profiler.report().totals()) {
    EXPECT_EQ(total.category, "kernel");
    counts[total.name] = total.count;
  }
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"nothing", 3}, {"more", 1}}));
}

TEST(ProfilerGpu, AFillTakesAsLongAsItsBytesNeed) {
  std::shared_ptr<device::Device> device;
  try {
    device = device::open_device("cuda:0", cuda::search_options(read_environment()));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  Profiler profiler(device);
  const auto stream = device->make_stream();
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const device::Address memory = device->allocate(kBytes, *stream);
  stream->synchronize();
  for (int i = 0; i < 3; ++i) {
    ProfileRange range(&profiler, *stream, "fill", 0, kBytes);
    stream->fill(memory, 0, 1, kBytes);
  }
  const ProfileReport report = profiler.report();
  device->free(memory, *stream);
  ASSERT_EQ(report.spans.size(), 3u);
  EXPECT_GT(report.totals()[0].gbps(), 100);
  EXPECT_LT(report.totals()[0].gbps(), 20000);
  EXPECT_LT(report.clock_error_us, 1000);
}

}  // namespace
}  // namespace gpuforge
