#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class EvictionTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      device_ = device::open_device(GetParam(), cuda::search_options(read_environment()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam() << " here: " << error.what();
    }
    stream_ = device_->make_stream();
  }
  void make(std::size_t quota_bytes) {
    PoolOptions options;
    options.quota_bytes = quota_bytes;
    pool_ = make_pool(device_, options);
    weights_ = pool_->tagged("weights", Use::evictable);
  }
  device::Address filled(std::size_t bytes, std::uint32_t mark) {
    const device::Address address = weights_->allocate(bytes, *stream_);
    const Hold hold = weights_->use(address, *stream_);
    stream_->fill(address, mark, 4, bytes / 4);
    return address;
  }
  // Whether every word is `mark`, read on `stream`.
  bool holds(device::Address address, std::size_t bytes, std::uint32_t mark, device::Stream& stream) {
    std::vector<std::uint32_t> host(bytes / 4);
    {
      const Hold hold = weights_->use(address, stream);
      stream.copy_to_host(host.data(), address, bytes);
    }
    stream.synchronize();
    return host == std::vector<std::uint32_t>(bytes / 4, mark);
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<device::Stream> stream_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Allocator> weights_;
};

TEST_P(EvictionTest, TwiceTheQuotaLivesAndKeepsItsBytes) {
  make(32 * kMiB);
  std::vector<device::Address> blocks;
  for (std::uint32_t i = 0; i < 16; ++i) blocks.push_back(filled(4 * kMiB, i + 1));
  EXPECT_LE(pool_->statistics().peak_reserved_bytes, 32 * kMiB);
  EXPECT_EQ(pool_->statistics().requested_bytes, 64 * kMiB);
  const auto other = device_->make_stream();
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 16; ++i) {
      EXPECT_TRUE(holds(blocks[i], 4 * kMiB, i + 1, round == 1 ? *other : *stream_)) << i;
    }
  }
  const PoolStatistics now = pool_->statistics();
  EXPECT_GT(now.evictions, 16u);
  EXPECT_GT(now.rehydrations, 16u);
  EXPECT_GE(now.evicted_bytes, 32 * kMiB);
  for (const device::Address address : blocks) weights_->free(address, 4 * kMiB, *stream_);
  stream_->synchronize();
  other->synchronize();
  // A copy ahead of need may still be under way.
  EXPECT_TRUE(device::eventually([&] {
    pool_->trim();
    return pool_->statistics().reserved_bytes == 0;
  }));
  EXPECT_EQ(pool_->statistics().evicted_bytes, 0u);
}

TEST_P(EvictionTest, ComesBackToTheSameAddressWithItsNewBytes) {
  make(0);
  const device::Address address = filled(5 * kMiB, 1);
  stream_->synchronize();
  for (std::uint32_t round = 2; round < 6; ++round) {
    ASSERT_TRUE(pool_->evict(address));
    EXPECT_FALSE(pool_->resident(address));
    EXPECT_FALSE(pool_->evict(address)) << "it is out already";
    ASSERT_TRUE(holds(address, 5 * kMiB, round - 1, *stream_));
    EXPECT_TRUE(pool_->resident(address));
    const Hold hold = weights_->use(address, *stream_);
    stream_->fill(address, round, 4, 5 * kMiB / 4);
    stream_->synchronize();
  }
  ASSERT_TRUE(pool_->evict(address));
  pool_->prefetch(address, *stream_);
  EXPECT_TRUE(pool_->resident(address));
  ASSERT_TRUE(pool_->evict(address) || !stream_->done());
  weights_->free(address, 5 * kMiB, *stream_);  // also when it is out
  stream_->synchronize();
  pool_->trim();
  EXPECT_EQ(pool_->statistics().reserved_bytes, 0u);
}

TEST_P(EvictionTest, TheLeastRecentlyUsedGoesFirst) {
  make(18 * kMiB);
  const device::Address a = filled(4 * kMiB, 1);
  const device::Address b = filled(4 * kMiB, 2);
  const device::Address c = filled(4 * kMiB, 3);
  EXPECT_TRUE(holds(a, 4 * kMiB, 1, *stream_));
  const device::Address d = filled(6 * kMiB, 4);
  EXPECT_TRUE(pool_->resident(a));
  EXPECT_FALSE(pool_->resident(b));
  EXPECT_TRUE(pool_->resident(d));
  EXPECT_TRUE(holds(b, 4 * kMiB, 2, *stream_));
  EXPECT_TRUE(holds(c, 4 * kMiB, 3, *stream_));
}

// Queued work, a hold, a pin: each keeps a block where it is.
TEST_P(EvictionTest, BlocksInUseStay) {
  make(16 * kMiB);
  const device::Address busy = filled(4 * kMiB, 1);
  const device::Address pinned = filled(4 * kMiB, 2);
  const device::Address held = filled(4 * kMiB, 3);
  stream_->synchronize();
  Hold pin = weights_->pin(pinned, 4 * kMiB);
  EXPECT_EQ(pool_->statistics().pinned_blocks, 1u);
  EXPECT_EQ(pool_->statistics().pinned_bytes, 4 * kMiB);
  const auto other = device_->make_stream();
  device::Gate gate;
  other->enqueue(gate.work());
  {
    const Hold hold = weights_->use(busy, *other);
    other->fill(busy, 5, 4, kMiB);
  }
  Hold hold = weights_->use(held, *stream_);
  for (const device::Address address : {busy, pinned, held}) EXPECT_FALSE(pool_->evict(address));
  gate.open();
  other->synchronize();
  EXPECT_TRUE(pool_->evict(busy));
  pin.reset();
  EXPECT_TRUE(pool_->evict(pinned));
  hold.reset();
  EXPECT_TRUE(pool_->evict(held));
  EXPECT_TRUE(holds(busy, 4 * kMiB, 5, *stream_));
  EXPECT_TRUE(holds(pinned, 4 * kMiB, 2, *stream_));
  EXPECT_TRUE(holds(held, 4 * kMiB, 3, *stream_));
}

// All is pinned: out of memory says so, and nothing is harmed.
TEST_P(EvictionTest, WhatCannotGoIsSaid) {
  make(16 * kMiB);
  const device::Address block = filled(12 * kMiB, 1);
  stream_->synchronize();
  Hold pin = weights_->pin(block, 12 * kMiB);
  try {
    pool_->allocate(8 * kMiB, *stream_);
    FAIL() << "there is no room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(error.message(), testing::HasSubstr("weights 12.0 MiB in 1 blocks (1 blocks are pinned)"));
    EXPECT_THAT(error.message(), testing::HasSubstr("evictable"));
  }
  pin.reset();
  EXPECT_NE(pool_->allocate(8 * kMiB, *stream_), 0u) << "now it can go";
  EXPECT_FALSE(pool_->resident(block));
  EXPECT_THROW(holds(block, 12 * kMiB, 1, *stream_), Error) << "no room to come back";
}

// From the soft share on, copies are made ahead, and using such a block loses nothing.
TEST_P(EvictionTest, CopiesAheadOfNeedDoNotFreezeTheBytes) {
  make(20 * kMiB);
  const device::Address a = filled(8 * kMiB, 1);
  stream_->synchronize();
  const device::Address b = filled(10 * kMiB, 2);  // above 0.8: a copy of `a` is under way, or done
  EXPECT_TRUE(pool_->resident(a));
  {
    const Hold hold = weights_->use(a, *stream_);
    stream_->fill(a, 7, 4, 2 * kMiB);
  }
  stream_->synchronize();
  EXPECT_TRUE(pool_->evict(a));
  EXPECT_TRUE(holds(a, 8 * kMiB, 7, *stream_));
  EXPECT_TRUE(holds(b, 10 * kMiB, 2, *stream_));
}

// A capture of work on an evicted block has it back before the graph runs.
TEST_P(EvictionTest, AGraphFindsItsMemory) {
  make(0);
  const device::Address address = filled(2 * kMiB, 1);
  stream_->synchronize();
  ASSERT_TRUE(pool_->evict(address));
  std::vector<std::uint32_t> seen(kMiB / 2);
  stream_->begin_capture();
  Hold pin;
  {
    const Hold hold = weights_->use(address, *stream_);
    pin = weights_->pin(address, 2 * kMiB);
    stream_->copy_to_host(seen.data(), address, 2 * kMiB);
  }
  const auto graph = stream_->end_capture();
  EXPECT_EQ(graph->node_count(), 1u);
  EXPECT_FALSE(pool_->evict(address));
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_EQ(seen, std::vector<std::uint32_t>(kMiB / 2, 1));
}

TEST_P(EvictionTest, ThreadsMayUseMoreThanThereIs) {
  make(24 * kMiB);
  constexpr std::size_t kThreads = 4;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = device_->make_stream();
      std::vector<device::Address> blocks;
      for (std::uint32_t i = 0; i < 5; ++i) {
        const device::Address address = weights_->allocate(2 * kMiB, *stream);
        const Hold hold = weights_->use(address, *stream);
        stream->fill(address, static_cast<std::uint32_t>(t) * 16 + i, 4, kMiB / 2);
        blocks.push_back(address);
      }
      for (std::uint32_t round = 0; round < 15; ++round) {
        const std::uint32_t i = (round * 7 + static_cast<std::uint32_t>(t)) % 5;
        if (!holds(blocks[i], 2 * kMiB, static_cast<std::uint32_t>(t) * 16 + i, *stream)) ++wrong;
      }
      for (const device::Address address : blocks) weights_->free(address, 2 * kMiB, *stream);
      stream->synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Host, EvictionTest, testing::Values("cpu", "sim"),
                         [](const auto& tested) { return std::string(tested.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, EvictionTest, testing::Values("cuda:0"),
                         [](const auto&) { return std::string("cuda"); });

}  // namespace
}  // namespace gpuforge::memory
