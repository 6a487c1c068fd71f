#include "gpuforge/memory/adaptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge {
std::span<const EmbeddedFile> recorded_traces();  // made from recorded/ when this is built
}

namespace gpuforge::memory {
namespace {

using testing::HasSubstr;

class AdaptorTest : public testing::Test {
 protected:
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
  std::shared_ptr<Pool> pool_ = make_pool(device_);
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_F(AdaptorTest, ALimitIsKept) {
  const auto limited = make_limit_allocator(pool_, 1000);
  const device::Address a = limited->allocate(600, *stream_);
  EXPECT_THAT(message_of([&] { limited->allocate(500, *stream_); }),
              HasSubstr("limit of 1000 bytes 600 are in use and 400 are free"));
  const device::Address b = limited->allocate(400, *stream_);
  limited->free(a, 600, *stream_);
  const device::Address c = limited->allocate(600, *stream_);
  limited->free(b, 400, *stream_);
  limited->free(c, 600, *stream_);
  // It may change; what is there stays.
  limited->set_limit(500);
  const device::Address d = limited->allocate(500, *stream_);
  limited->set_limit(100);
  EXPECT_EQ(limited->live_bytes(), 500u);
  EXPECT_THAT(message_of([&] { limited->allocate(1, *stream_); }),
              HasSubstr("500 are in use and 0 are free"));
  limited->free(d, 500, *stream_);
  EXPECT_THAT(message_of([&] { make_limit_allocator(pool_, 10, "task x")->allocate(11, *stream_); }),
              HasSubstr("task x: an allocation of 11 bytes wanted"));
  // What the inner one refuses does not count.
  const auto failing = make_limit_allocator(make_failing_allocator(pool_, {.numbers = {1}}), 100);
  EXPECT_THROW(failing->allocate(100, *stream_), Error);
  EXPECT_NE(failing->allocate(100, *stream_), 0u);
}

TEST_F(AdaptorTest, StatisticsAreCounted) {
  const auto counted = make_statistics_allocator(make_failing_allocator(pool_, {.numbers = {3}}));
  const device::Address a = counted->allocate(100, *stream_);
  const device::Address b = counted->allocate(50, *stream_);
  EXPECT_THROW(counted->allocate(1, *stream_), Error);
  counted->free(a, 100, *stream_);
  const AllocationStatistics now = counted->statistics();
  EXPECT_EQ(now.live_bytes, 50u);
  EXPECT_EQ(now.live_blocks, 1u);
  EXPECT_EQ(now.peak_bytes, 150u);
  EXPECT_EQ(now.total_bytes, 150u);
  EXPECT_EQ(now.allocations, 2u);
  EXPECT_EQ(now.frees, 1u);
  EXPECT_EQ(now.failures, 1u);
  EXPECT_EQ(now.largest_bytes, 100u);
  EXPECT_THAT(to_string(now), HasSubstr("50 bytes in 1 blocks live, 150 at most"));
  counted->free(b, 50, *stream_);
}

TEST_F(AdaptorTest, ALogReplays) {
  const auto other = device_->make_stream();
  const auto log = make_log_allocator(pool_);
  const device::Address a = log->allocate(1000, *stream_);
  const device::Address b = log->allocate(5 << 20, *other);
  log->free(a, 1000, *stream_);
  const device::Address c = log->allocate(1000, *stream_);
  log->free(b, 5 << 20, *other);
  const Trace trace = log->trace();
  EXPECT_EQ(to_text(trace), "a 0 1000 0\na 1 5242880 1\nf 0 0\na 2 1000 0\nf 1 1\n");
  EXPECT_EQ(parse_trace(to_text(trace)), trace);
  const auto counted = make_statistics_allocator(pool_);
  const std::shared_ptr<device::Stream> streams[] = {stream_, other};
  replay(trace, *counted, streams);
  EXPECT_EQ(counted->statistics().allocations, 3u);
  EXPECT_EQ(counted->statistics().live_blocks, 0u) << "what the trace leaves is freed";
  EXPECT_EQ(counted->statistics().peak_bytes, peak_bytes(trace));
  EXPECT_THROW(replay(trace, *counted, std::span(streams).first(1)), Error);
  log->free(c, 1000, *stream_);
}

TEST_F(AdaptorTest, FailuresAreAsPlanned) {
  const auto run = [&](FailurePlan plan) {
    const auto failing = make_failing_allocator(pool_, std::move(plan));
    std::string pattern;
    for (int i = 0; i < 40; ++i) {
      try {
        failing->free(failing->allocate(64, *stream_), 64, *stream_);
        pattern += '.';
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
        pattern += 'x';
      }
    }
    return pattern;
  };
  EXPECT_EQ(run({.numbers = {1, 3}}).substr(0, 4), "x.x.");
  const std::string half = run({.numbers = {}, .probability = 0.5, .seed = 7});
  EXPECT_EQ(half, run({.numbers = {}, .probability = 0.5, .seed = 7}));
  EXPECT_THAT(half, testing::AllOf(HasSubstr("x"), HasSubstr(".")));
  EXPECT_EQ(run({.numbers = {}, .probability = 1.0}), std::string(40, 'x'));
  EXPECT_THROW(make_failing_allocator(pool_, {.numbers = {}, .probability = 1.5}), Error);
  EXPECT_THROW(make_failing_allocator(nullptr, {}), Error);
}

TEST_F(AdaptorTest, EvictionWorksThroughThem) {
  const auto inner = pool_->tagged("weights", Use::evictable);
  const auto wrapped = make_log_allocator(make_statistics_allocator(make_limit_allocator(inner, 10 << 20)));
  EXPECT_TRUE(wrapped->evicts());
  const device::Address address = wrapped->allocate(3 << 20, *stream_);
  {
    const Hold hold = wrapped->use(address, *stream_);
    stream_->fill(address, 4, 1, 3 << 20);
    EXPECT_FALSE(pool_->evict(address));
  }
  stream_->synchronize();
  {
    const Hold pinned = wrapped->pin(address, 3 << 20);
    EXPECT_FALSE(pool_->evict(address));
  }
  EXPECT_TRUE(pool_->evict(address));
  wrapped->free(address, 3 << 20, *stream_);
}

TEST(Trace, MistakesNameTheLine) {
  const auto message = [](const char* text) { return message_of([&] { parse_trace(text); }); };
  EXPECT_TRUE(parse_trace("").empty());
  EXPECT_EQ(to_text(parse_trace("# of torch\na 7 100\nf 7\n")), "a 7 100 0\nf 7 0\n");
  EXPECT_THAT(message("a 1 2 0\nb 1\n"), HasSubstr("line 2: \"a ID BYTES STREAM\" or \"f ID STREAM\""));
  EXPECT_THAT(message("a 1 -2 0\n"),
              HasSubstr("line 1: the size was expected to be a number, and is \"-2\""));
  EXPECT_THAT(message("a 1 99999999999999999999 0\n"), HasSubstr("the size"));
  EXPECT_THAT(message("a 1 2 0\na 1 2 0\n"), HasSubstr("line 2: block 1 is allocated twice"));
  EXPECT_THAT(message("f 3 0\n"), HasSubstr("line 1: block 3 is freed and not live"));
  EXPECT_THAT(message("a 1 2 5000\n"), HasSubstr("stream 5000"));
  EXPECT_THAT(message("\n"), HasSubstr("line 1"));
}

TEST(Trace, TheLlmLoadIsWellFormedAndTheSameEachTime) {
  LlmTraceOptions options;
  options.weight_bytes = 64 << 20;
  options.layers = 8;
  const Trace trace = llm_trace(options);
  EXPECT_EQ(trace, llm_trace(options));
  EXPECT_EQ(parse_trace(to_text(trace)), trace);
  EXPECT_GT(peak_bytes(trace), options.weight_bytes);
  EXPECT_EQ(std::count_if(trace.begin(), trace.end(),
                          [](const TraceStep& step) { return step.kind == TraceStep::Kind::allocate; }) *
                2,
            static_cast<std::ptrdiff_t>(trace.size()));
  options.layers = 0;
  EXPECT_THROW(llm_trace(options), Error);
}

// The bar of the pool: what it reserves at most is at most a tenth above what is wanted at most. Also when
// the stream lags behind all the time, so that no page can be moved.
TEST(Trace, ThePoolReservesAtMostATenthMoreThanTheLlmLoadNeeds) {
  const auto device = device::make_cpu_device();
  const std::shared_ptr<device::Stream> streams[] = {device->make_stream()};
  for (const std::uint64_t seed : {1, 2, 3}) {
    LlmTraceOptions options;
    options.seed = seed;
    options.weight_bytes = std::size_t{1} << 30;
    const Trace trace = llm_trace(options);
    const auto pool = make_pool(device);
    device::Gate gate;
    if (seed == 3) streams[0]->enqueue(gate.work());
    replay(trace, *pool, streams);
    EXPECT_EQ(pool->statistics().moved_pages == 0, seed == 3);
    const double ratio =
        static_cast<double>(pool->statistics().peak_reserved_bytes) / static_cast<double>(peak_bytes(trace));
    EXPECT_LE(ratio, 1.10) << to_string(pool->statistics());
    EXPECT_GE(ratio, 1.0);
  }
}

TEST(Trace, ThePoolReservesAtMostATenthMoreThanARecordedDecoderNeeds) {
  const auto device = device::make_cpu_device();
  const std::shared_ptr<device::Stream> streams[] = {device->make_stream()};
  ASSERT_EQ(recorded_traces().size(), 1u);
  const Trace trace = parse_trace(recorded_traces()[0].text);
  EXPECT_GT(trace.size(), 10000u);
  const auto pool = make_pool(device);
  for (int round = 0; round < 2; ++round) replay(trace, *pool, streams);
  const double ratio =
      static_cast<double>(pool->statistics().peak_reserved_bytes) / static_cast<double>(peak_bytes(trace));
  EXPECT_LE(ratio, 1.10) << to_string(pool->statistics());
}

}  // namespace
}  // namespace gpuforge::memory
