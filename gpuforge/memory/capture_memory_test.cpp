// What a pool does with memory of captures, beyond the contract of every allocator.
#include "gpuforge/memory/capture_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge::memory {
namespace {

using device::Address;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class CaptureMemoryTest : public testing::Test {
 protected:
  void make(std::size_t quota_bytes = 0) {
    PoolOptions options;
    options.quota_bytes = quota_bytes;
    pool_ = make_pool(device_, options);
  }

  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
  std::shared_ptr<Pool> pool_;
};

TEST_F(CaptureMemoryTest, ReusesWhatTheStreamFreedInTheSameCapture) {
  make();
  stream_->begin_capture();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100'000}, 3 * kMiB}) {
    const Address first = pool_->allocate(bytes, *stream_);
    const Address second = pool_->allocate(bytes, *stream_);
    EXPECT_NE(first, second);
    pool_->free(first, bytes, *stream_);
    EXPECT_EQ(pool_->allocate(bytes, *stream_), first) << bytes;
    pool_->free(first, bytes, *stream_);
    pool_->free(second, bytes, *stream_);
  }
  const auto graph = stream_->end_capture();
  // Another capture is another order.
  stream_->begin_capture();
  const Address elsewhere = pool_->allocate(100, *stream_);
  const auto other = stream_->end_capture();
  EXPECT_EQ(pool_->statistics().blocks, 7u);
  pool_->free(elsewhere, 100, *stream_);
}

// A branch of a capture runs beside the others: it does not get what they freed.
TEST_F(CaptureMemoryTest, BranchesHaveMemoryOfTheirOwn) {
  make();
  const auto branch = device_->make_stream();
  const auto event = device_->make_event(false);
  stream_->begin_capture();
  const Address first = pool_->allocate(4096, *stream_);
  stream_->record(*event);
  branch->wait(*event);
  pool_->free(first, 4096, *stream_);
  const Address beside = pool_->allocate(4096, *branch);
  EXPECT_NE(beside, first);
  EXPECT_EQ(pool_->allocate(4096, *stream_), first);
  branch->record(*event);
  stream_->wait(*event);
  const auto graph = stream_->end_capture();
}

TEST_F(CaptureMemoryTest, IsPinnedAndGoesBackWithTheGraph) {
  make();
  stream_->begin_capture();
  const auto tagged = pool_->tagged("activations");
  const Address freed = tagged->allocate(2 * kMiB, *stream_);
  tagged->free(freed, 2 * kMiB, *stream_);
  const Address kept = pool_->allocate(kMiB, *stream_);
  auto graph = stream_->end_capture();
  PoolStatistics now = pool_->statistics();
  EXPECT_EQ(now.pinned_blocks, 2u);
  EXPECT_EQ(now.pinned_bytes, 3 * kMiB);
  EXPECT_EQ(now.requested_bytes, 3 * kMiB) << "the graph has it, also what was freed";
  EXPECT_EQ(now.tags[0].tag, "activations");
  graph.reset();
  now = pool_->statistics();
  EXPECT_EQ(now.pinned_blocks, 0u);
  EXPECT_EQ(now.requested_bytes, kMiB) << "what its user still has";
  pool_->free(kept, kMiB, *stream_);
  EXPECT_EQ(pool_->statistics().requested_bytes, 0u);
  EXPECT_TRUE(pool_->statistics().tags.empty());
  EXPECT_GT(pool_->trim(), 0u);
  EXPECT_EQ(pool_->statistics().reserved_bytes, 0u);
}

// Launches under way keep it too.
TEST_F(CaptureMemoryTest, StaysUntilTheLastLaunchIsDone) {
  make();
  stream_->begin_capture();
  const Address address = pool_->allocate(4096, *stream_);
  stream_->fill(address, 1, 1, 4096);
  pool_->free(address, 4096, *stream_);
  auto graph = stream_->end_capture();
  device::Gate gate;
  stream_->enqueue(gate.work());
  graph->launch(*stream_);
  graph.reset();
  EXPECT_EQ(pool_->statistics().pinned_blocks, 1u);
  const Address other = pool_->allocate(4096, *stream_);
  EXPECT_NE(other, address);
  pool_->free(other, 4096, *stream_);
  gate.open();
  EXPECT_TRUE(device::eventually([&] { return pool_->statistics().pinned_blocks == 0; }));
}

// What used it after the capture may go on when array and graph are gone: nobody has it before that is done.
TEST_F(CaptureMemoryTest, WaitsForWorkThatCameAfterTheCapture) {
  make();
  stream_->begin_capture();
  const Address address = pool_->allocate(4096, *stream_);
  auto graph = stream_->end_capture();
  device::Gate gate;
  stream_->enqueue(gate.work());
  stream_->fill(address, 1, 1, 4096);
  pool_->free(address, 4096, *stream_);
  graph.reset();
  const auto other = device_->make_stream();
  std::vector<Address> others;
  for (int i = 0; i < 60; ++i) {
    others.push_back(pool_->allocate(4096, *other));
    // Time for what is free by events to be offered.
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(std::count(others.begin(), others.end(), address), 0);
  gate.open();
  for (const Address each : others) pool_->free(each, 4096, *other);
}

// The memory was never evictable, though the allocator's is: it stays, and others go to the host instead.
TEST_F(CaptureMemoryTest, IsNotEvicted) {
  make(8 * kMiB);
  const auto weights = pool_->tagged("weights", Use::evictable);
  stream_->begin_capture();
  const Address in_graph = weights->allocate(2 * kMiB, *stream_);
  const Hold use = weights->use(in_graph, *stream_);
  stream_->fill(in_graph, 4, 1, 2 * kMiB);
  const auto graph = stream_->end_capture();
  EXPECT_FALSE(pool_->evict(in_graph));
  std::vector<Address> others;
  for (int i = 0; i < 6; ++i) {
    others.push_back(weights->allocate(2 * kMiB, *stream_));
    const Hold hold = weights->use(others.back(), *stream_);
    stream_->fill(others.back(), 1, 1, 2 * kMiB);
    stream_->synchronize();
  }
  EXPECT_GT(pool_->statistics().evictions, 0u);
  EXPECT_TRUE(pool_->resident(in_graph));
  graph->launch(*stream_);
  std::vector<unsigned char> seen(2 * kMiB);
  stream_->copy_to_host(seen.data(), in_graph, seen.size());
  stream_->synchronize();
  EXPECT_EQ(seen, std::vector<unsigned char>(2 * kMiB, 4));
  for (const Address other : others) weights->free(other, 2 * kMiB, *stream_);
  weights->free(in_graph, 2 * kMiB, *stream_);
}

// Nobody knows when a graph runs: its memory is not one that another stream still works on.
TEST_F(CaptureMemoryTest, IsIdleMemory) {
  make(2 * kMiB);
  const auto busy = device_->make_stream();
  const Address used = pool_->allocate(2 * kMiB, *busy);
  device::Gate gate;
  busy->enqueue(gate.work());
  busy->fill(used, 1, 1, 2 * kMiB);
  const auto filled = device_->make_event(false);
  busy->record(*filled);
  pool_->free(used, 2 * kMiB, *busy);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  stream_->begin_capture();
  const Address address = pool_->allocate(2 * kMiB, *stream_);
  EXPECT_TRUE(filled->done());
  const auto graph = stream_->end_capture();
  opener.join();
  pool_->free(address, 2 * kMiB, *stream_);
}

// Captures and ordinary work of many threads at once: every replay finds its own bytes.
TEST_F(CaptureMemoryTest, ThreadsMayCaptureAtOnce) {
  make();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      const auto stream = device_->make_stream();
      for (int round = 0; round < 30; ++round) {
        const std::size_t bytes = 1 + random() % (number % 2 == 0 ? 300'000 : 5'000);
        std::vector<unsigned char> seen(bytes);
        const bool captures = number < 5;
        if (captures) stream->begin_capture();
        for (int i = 0; i < 3; ++i) {
          const Address address = pool_->allocate(bytes, *stream);
          stream->fill(address, number + 1, 1, bytes);
          stream->copy_to_host(seen.data(), address, bytes);
          pool_->free(address, bytes, *stream);
        }
        if (captures) stream->end_capture()->launch(*stream);
        stream->synchronize();
        wrong += seen == std::vector<unsigned char>(bytes, static_cast<unsigned char>(number + 1)) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(device::eventually([&] { return pool_->statistics().requested_bytes == 0; }));
}

TEST_F(CaptureMemoryTest, OutOfMemoryLeavesTheCaptureUnharmed) {
  make(4 * kMiB);
  stream_->begin_capture();
  const Address address = pool_->allocate(kMiB, *stream_);
  stream_->fill(address, 1, 1, kMiB);
  EXPECT_EQ(device::code_of([&] { pool_->allocate(8 * kMiB, *stream_); }), ErrorCode::out_of_memory);
  EXPECT_EQ(stream_->end_capture()->node_count(), 1u);
  pool_->free(address, kMiB, *stream_);
}

}  // namespace
}  // namespace gpuforge::memory
