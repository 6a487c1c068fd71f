#include "gpuforge/sched/captured_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge::sched {
namespace {

using testing::HasSubstr;

constexpr std::size_t kBytes = 1024;

// An input of 7s, an output, and a range that stands for a KV cache.
class CapturedGraphTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = device::open_device(GetParam(), cuda::search_options(read_environment()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam() << " here: " << error.what();
    }
    stream_ = device_->make_stream();
    other_ = device_->make_stream();
    for (device::Address* range : {&in_, &out_, &cache_}) {
      *range = device_->allocate(kBytes, *stream_);
      stream_->fill(*range, range == &in_ ? 7u : 0u, 1, kBytes);
    }
    stream_->synchronize();
  }
  void TearDown() override {
    if (!device_) return;
    for (const device::Address range : {in_, out_, cache_}) device_->free(range, *stream_);
    stream_->synchronize();
  }

  GraphWork work(std::function<void(device::Stream&)> queue) {
    return {"step", std::move(queue), {{"out", out_, kBytes}}, {{"cache", cache_, kBytes}}};
  }
  std::string problem(std::function<void(device::Stream&)> queue) {
    try {
      capture_graph(work(std::move(queue)), *stream_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.message();
    }
    return "none";
  }
  std::byte first_of(device::Address address) {
    std::byte value{};
    stream_->copy_to_host(&value, address, 1);
    stream_->synchronize();
    return value;
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::Stream> stream_;
  std::shared_ptr<device::Stream> other_;
  device::Address in_ = 0;
  device::Address out_ = 0;
  device::Address cache_ = 0;
};

TEST_P(CapturedGraphTest, AReplayIsTheEagerRun) {
  const auto graph = capture_graph(work([&](device::Stream& stream) {
                                     stream.copy(out_, in_, kBytes);
                                     stream.fill(out_ + 512, 9, 1, 512);
                                   }),
                                   *stream_);
  EXPECT_EQ(graph->node_count(), 2u);
  stream_->fill(out_, 0, 1, kBytes);
  graph->launch(*stream_);
  std::vector<std::byte> contents(kBytes);
  stream_->copy_to_host(contents.data(), out_, kBytes);
  stream_->synchronize();
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(contents[i], std::byte(i < 512 ? 7 : 9)) << i;
  EXPECT_EQ(first_of(cache_), std::byte{0});
}

// A driver may refuse to wait for the other stream while one captures; else the replay shows it.
TEST_P(CapturedGraphTest, ACopyOnAnotherStreamIsNotInTheGraph) {
  EXPECT_THAT(
      problem([&](device::Stream& stream) {
        stream.fill(out_ + 512, 9, 1, 512);
        other_->copy(out_, in_, 512);
        other_->synchronize();
      }),
      device_->facts().kind == device::DeviceKind::cpu
          ? testing::Matcher<std::string>(HasSubstr("a replay is not the eager run: byte 0 of out was 7"))
          : testing::Matcher<std::string>(HasSubstr("sched: graph step: ")));
}

TEST_P(CapturedGraphTest, AProtectedRangeIsNotWritten) {
  EXPECT_THAT(problem([&](device::Stream& stream) {
                stream.copy(out_, in_, kBytes);
                stream.fill(cache_ + 16, 1, 1, 4);
              }),
              HasSubstr("the eager run wrote to cache, which is protected: byte 16 was 0 and is 1"));
}

TEST_P(CapturedGraphTest, AnotherPathIsSeen) {
  int calls = 0;
  EXPECT_THAT(problem([&](device::Stream& stream) {
                stream.copy(out_, in_, kBytes);
                if (++calls == 3) stream.fill(out_, 7, 1, 4);
              }),
              HasSubstr("took another path the second time: 1 nodes, then 2"));
}

TEST_P(CapturedGraphTest, AValueThatChangesIsSeen) {
  std::uint32_t value = 0;
  EXPECT_THAT(problem([&](device::Stream& stream) { stream.fill(out_, ++value, 1, kBytes); }),
              HasSubstr("a replay is not the eager run: byte 0 of out was 1 and is 3"));
}

TEST_P(CapturedGraphTest, WaitingAndAllocatingInsideAreTold) {
  EXPECT_THAT(problem([&](device::Stream& stream) {
                stream.copy(out_, in_, kBytes);
                stream.synchronize();
              }),
              HasSubstr("graph step: the work ran, but cannot be captured"));
  EXPECT_THAT(problem([&](device::Stream& stream) {
                device_->free(device_->allocate(256, stream), stream);
                stream.copy(out_, in_, kBytes);
              }),
              HasSubstr("graph step: the work ran, but cannot be captured"));
  stream_->synchronize();  // and the stream is usable as before
  EXPECT_EQ(problem([&](device::Stream& stream) { stream.copy(out_, in_, kBytes); }), "none");
}

TEST_P(CapturedGraphTest, AGraphIsATaskLikeAnyOther) {
  Executor executor(device_, {});
  const TaskId id =
      executor.submit({.name = "decode", .qos = Qos::guaranteed},
                      graph_body(work([&](device::Stream& stream) { stream.copy(out_, in_, kBytes); }), 20));
  const TaskId bad = executor.submit(
      {.name = "bad"}, graph_body(work([&](device::Stream& stream) { stream.fill(cache_, 1, 1, 4); }), 5));
  executor.wait_all();
  EXPECT_EQ(executor.status(id).state, TaskState::completed);
  EXPECT_EQ(executor.status(id).pieces, 20u);
  EXPECT_EQ(first_of(out_), std::byte{7});
  EXPECT_EQ(executor.status(bad).state, TaskState::failed);
  EXPECT_THAT(executor.status(bad).message, HasSubstr("which is protected"));
}

INSTANTIATE_TEST_SUITE_P(Cpu, CapturedGraphTest, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Gpu, CapturedGraphTest, testing::Values("cuda:0"));

}  // namespace
}  // namespace gpuforge::sched
