#include "gpuforge/memory/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/memory/size_class.h"

namespace gpuforge::memory {
namespace {

using testing::HasSubstr;

class PoolTest : public testing::Test {
 protected:
  void make(std::size_t quota_bytes = 0, std::size_t page_bytes = 64 << 10) {
    PoolOptions options;
    options.quota_bytes = quota_bytes;
    options.page_bytes = page_bytes;
    pool_ = make_pool(device_, options);
  }
  std::string refusal(std::size_t bytes) {
    try {
      pool_->allocate(bytes, *stream_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      return error.message();
    }
    return "";
  }

  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
  std::shared_ptr<Pool> pool_;
};

TEST_F(PoolTest, TheSameStreamGetsABlockBackAtOnce) {
  make();
  device::Gate gate;
  stream_->enqueue(gate.work());
  for (const std::size_t bytes : {1u, 4000u, 100'000u, 3u << 20}) {
    const device::Address first = pool_->allocate(bytes, *stream_);
    pool_->free(first, bytes, *stream_);
    EXPECT_EQ(pool_->allocate(bytes, *stream_), first) << bytes;
    pool_->free(first, bytes, *stream_);
  }
  EXPECT_EQ(pool_->statistics().reuses, 4u);
}

TEST_F(PoolTest, AnotherStreamGetsABlockWhenTheEventHasPassed) {
  make(1 << 20);
  const auto other = device_->make_stream();
  device::Gate gate;
  stream_->enqueue(gate.work());
  const device::Address first = pool_->allocate(1000, *stream_);
  pool_->free(first, 1000, *stream_);
  EXPECT_NE(pool_->allocate(1000, *other), first);
  gate.open();
  stream_->synchronize();
  bool seen = false;
  for (int i = 0; i < 2000 && !seen; ++i) seen = pool_->allocate(1000, *other) == first;
  EXPECT_TRUE(seen) << "the freed block is never handed to the other stream";
}

// Full, and all that is free is another stream's, which is busy: the taker's stream waits, and not the
// caller.
TEST_F(PoolTest, WithoutRoomTheTakersStreamWaits) {
  make(4 << 20);
  const auto other = device_->make_stream();
  constexpr std::size_t kBytes = 3 << 20;
  const device::Address first = pool_->allocate(kBytes, *stream_);
  device::Gate gate;
  std::vector<unsigned char> seen(kBytes);
  EXPECT_TRUE(device::returns_behind(gate, [&] {
    stream_->fill(first, 5, 1, kBytes);
    stream_->enqueue(gate.work());
    stream_->copy_to_host(seen.data(), first, kBytes);
    pool_->free(first, kBytes, *stream_);
    EXPECT_EQ(pool_->allocate(kBytes, *other), first);
    other->fill(first, 6, 1, kBytes);
  }));
  gate.open();
  other->synchronize();
  stream_->synchronize();
  EXPECT_EQ(seen, std::vector<unsigned char>(kBytes, 5));
  EXPECT_EQ(pool_->statistics().stream_waits, 1u);
  EXPECT_EQ(pool_->statistics().host_waits, 0u);
}

// Every other block of a full quota is free: pieces of 1 MiB serve a request of half the quota.
TEST_F(PoolTest, FragmentationDoesNotEndInOutOfMemory) {
  constexpr std::size_t kQuota = 64 << 20;
  for (const std::size_t page : {64u << 10, 1u << 20}) {
    make(kQuota, page);
    std::vector<device::Address> blocks;
    for (int i = 0; i < 64; ++i) blocks.push_back(pool_->allocate(1 << 20, *stream_));
    for (std::size_t i = 0; i < 64; i += 2) pool_->free(blocks[i], 1 << 20, *stream_);
    const device::Address large = pool_->allocate(32 << 20, *stream_);
    stream_->fill(large, 1, 1, 32 << 20);
    stream_->synchronize();
    EXPECT_LE(pool_->statistics().reserved_bytes, kQuota);
    EXPECT_GT(pool_->statistics().moved_pages, 0u);
  }
}

// Small blocks of one size do not keep memory from another size.
TEST_F(PoolTest, SlabsThatAreFreeBecomeMemoryForOtherSizes) {
  make(8 << 20);
  std::vector<device::Address> blocks;
  for (int i = 0; i < 7000; ++i) blocks.push_back(pool_->allocate(1000, *stream_));
  EXPECT_NE(refusal(6 << 20), "");
  for (const device::Address address : blocks) pool_->free(address, 1000, *stream_);
  EXPECT_EQ(refusal(6 << 20), "");
}

TEST_F(PoolTest, TheQuotaCountsWhatIsReserved) {
  make(16 << 20);
  const auto weights = pool_->tagged("weights");
  const auto cache = pool_->tagged("kv cache");
  const device::Address a = weights->allocate(8 << 20, *stream_);
  cache->allocate(4 << 20, *stream_);
  cache->allocate(1 << 20, *stream_);
  const std::string message = refusal(5 << 20);
  EXPECT_THAT(message, HasSubstr("cpu: an allocation of 5242880 bytes wanted"));
  EXPECT_THAT(message, HasSubstr("a quota of 16777216 bytes"));
  EXPECT_THAT(message, HasSubstr("weights 8192.0 KiB in 1 blocks, kv cache 5120.0 KiB in 2 blocks"));
  EXPECT_THAT(message, HasSubstr("Free arrays"));
  EXPECT_THAT(message, HasSubstr("raise the quota"));
  weights->free(a, 8 << 20, *stream_);
  EXPECT_EQ(pool_->statistics().requested_bytes, std::size_t{5} << 20);
  EXPECT_GE(pool_->statistics().reserved_bytes, std::size_t{13} << 20) << "cached memory is reserved";
  EXPECT_EQ(refusal(10 << 20), "") << "cached memory goes before anything is refused";
  EXPECT_LE(pool_->statistics().peak_reserved_bytes, std::size_t{16} << 20);
}

// A request that cannot be met takes nothing.
TEST_F(PoolTest, WhatIsRefusedLeavesNothingBehind) {
  make();
  const std::size_t all = device_->memory_info().total_bytes;
  EXPECT_THAT(refusal(all * 2), HasSubstr("no quota"));
  EXPECT_EQ(pool_->statistics().peak_reserved_bytes, 0u) << "nothing was even tried";
  make(8 << 20);
  const device::Address kept = pool_->allocate(5 << 20, *stream_);
  EXPECT_NE(refusal(7 << 20), "");
  EXPECT_LE(pool_->statistics().reserved_bytes, (std::size_t{5} << 20) + (64 << 10));
  pool_->free(kept, 5 << 20, *stream_);
}

TEST_F(PoolTest, WaitsForWorkBeforeItRefuses) {
  make(8 << 20);
  device::Gate gate;
  const device::Address block = pool_->allocate(7 << 20, *stream_);
  stream_->enqueue(gate.work());
  pool_->free(block, 7 << 20, *stream_);
  const auto other = device_->make_stream();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  EXPECT_NE(pool_->allocate(6 << 20, *other), 0u);  // another size, so the pages have to move
  opener.join();
  EXPECT_EQ(pool_->statistics().host_waits, 1u);
}

TEST_F(PoolTest, TrimGivesIdleMemoryBack) {
  make();
  const device::Address kept = pool_->allocate(100, *stream_);
  const device::Address small = pool_->allocate(5000, *stream_);
  const device::Address large = pool_->allocate(10 << 20, *stream_);
  pool_->free(small, 5000, *stream_);
  pool_->free(large, 10 << 20, *stream_);
  EXPECT_GE(pool_->trim(), std::size_t{10} << 20);
  EXPECT_LE(pool_->statistics().reserved_bytes, std::size_t{64} << 10);
  pool_->free(kept, 100, *stream_);
  pool_->trim();
  EXPECT_EQ(pool_->statistics().reserved_bytes, 0u);
  EXPECT_EQ(pool_->statistics().blocks, 0u);
}

TEST_F(PoolTest, StreamsThatAreGoneAreLetGo) {
  make();
  for (int i = 0; i < 100; ++i) {
    const auto stream = device_->make_stream();
    const device::Address address = pool_->allocate(200 << 10, *stream);
    stream->fill(address, 1, 1, 200 << 10);
    pool_->free(address, 200 << 10, *stream);
    stream->synchronize();
  }
  EXPECT_LE(pool_->statistics().reserved_bytes, std::size_t{2} << 20) << "each stream had its own memory";
}

TEST_F(PoolTest, TagsAreCounted) {
  make();
  const auto a = pool_->tagged("a");
  const auto again = pool_->tagged("a");
  const device::Address one = a->allocate(1000, *stream_);
  const device::Address two = again->allocate(500, *stream_);
  const device::Address none = pool_->allocate(10, *stream_);
  const PoolStatistics now = pool_->statistics();
  ASSERT_EQ(now.tags.size(), 2u);
  EXPECT_EQ(now.tags[0].tag, "a");
  EXPECT_EQ(now.tags[0].requested_bytes, 1500u);
  EXPECT_EQ(now.tags[0].blocks, 2u);
  EXPECT_EQ(now.tags[1].tag, "untagged");
  EXPECT_EQ(now.requested_bytes, 1510u);
  EXPECT_EQ(now.block_bytes, 1024u + 512 + 256);
  EXPECT_THAT(to_string(now), HasSubstr("  a: 1500 bytes in 2 blocks\n"));
  a->free(one, 1000, *stream_);
  again->free(two, 500, *stream_);
  pool_->free(none, 10, *stream_);
  EXPECT_TRUE(pool_->statistics().tags.empty());
  EXPECT_THROW(pool_->tagged(""), Error);
  // Tags that nobody has any more make room; those in use do not, nor those with blocks.
  for (int i = 0; i < 200; ++i) pool_->tagged("tag " + std::to_string(i));
  const device::Address left = pool_->tagged("left")->allocate(10, *stream_);
  std::vector<std::shared_ptr<Allocator>> kept = {a};
  for (int i = 0; i < 61; ++i) kept.push_back(pool_->tagged("tag " + std::to_string(i)));
  EXPECT_THROW(pool_->tagged("one too many"), Error);
  kept.pop_back();
  EXPECT_EQ(pool_->statistics().tags[0].tag, "left");
  pool_->tagged("left")->free(left, 10, *stream_);
  static_cast<void>(pool_->tagged("room again"));
}

// Blocks of many pages are a call of the driver each; what they hold goes elsewhere when all of it is free.
TEST_F(PoolTest, LargeRequestsComeInLargeBlocks) {
  make(1 << 30);  // of which a block is at most 4 MiB, 64 pages
  const device::Address large = pool_->allocate(16 << 20, *stream_);
  EXPECT_EQ(pool_->statistics().grown_pages, 256u);
  EXPECT_EQ(pool_->statistics().grown_blocks, 4u);
  EXPECT_EQ(pool_->statistics().reserved_bytes, std::size_t{16} << 20);
  pool_->free(large, 16 << 20, *stream_);
  // A part of it in use: the blocks around that can go, and nothing of it is given to another stream.
  const device::Address part = pool_->allocate(1 << 20, *stream_);
  EXPECT_EQ(part, large) << "in the memory there is";
  stream_->fill(part, 7, 1, 1 << 20);
  stream_->synchronize();
  EXPECT_EQ(pool_->trim(), std::size_t{12} << 20);
  EXPECT_EQ(pool_->statistics().reserved_bytes, std::size_t{4} << 20);
  const auto other = device_->make_stream();
  const device::Address elsewhere = pool_->allocate(20 << 20, *other);
  other->fill(elsewhere, 9, 1, 20 << 20);
  other->synchronize();
  std::vector<unsigned char> seen(1 << 20);
  stream_->copy_to_host(seen.data(), part, seen.size());
  stream_->synchronize();
  EXPECT_EQ(seen, std::vector<unsigned char>(1 << 20, 7));
  pool_->free(part, 1 << 20, *stream_);
  pool_->free(elsewhere, 20 << 20, *other);
  pool_->trim();
  EXPECT_EQ(pool_->statistics().reserved_bytes, 0u);
}

// What another stream has free in large blocks serves this one, at the quota, as pages.
TEST_F(PoolTest, LargeBlocksThatAreFreeMakeRoomForOthers) {
  make(256 << 20);
  const device::Address large = pool_->allocate(200 << 20, *stream_);
  pool_->free(large, 200 << 20, *stream_);
  stream_->synchronize();
  const auto other = device_->make_stream();
  std::vector<device::Address> blocks;
  for (int i = 0; i < 24; ++i) blocks.push_back(pool_->allocate(10 << 20, *other));
  EXPECT_LE(pool_->statistics().peak_reserved_bytes, std::size_t{256} << 20);
  for (const device::Address block : blocks) pool_->free(block, 10 << 20, *other);
}

TEST_F(PoolTest, HardReservationsHoldAndSoftOnesAreNoted) {
  make(16 << 20);
  const device::Address before = pool_->allocate(2 << 20, *stream_);
  EXPECT_TRUE(pool_->can_reserve(12 << 20));
  EXPECT_FALSE(pool_->can_reserve(15 << 20));
  EXPECT_THROW(pool_->reserve(15 << 20, ReservationKind::hard, "x"), Error);
  EXPECT_THROW(pool_->reserve(0, ReservationKind::hard, "x"), Error);
  EXPECT_THROW(pool_->reserve(SIZE_MAX, ReservationKind::hard, "x"), Error);
  auto part = pool_->reserve(10 << 20, ReservationKind::hard, "kv");
  EXPECT_EQ(pool_->statistics().hard_reserved_bytes, std::size_t{10} << 20);
  EXPECT_NE(refusal(6 << 20), "") << "what is reserved is not for others";
  const device::Address mine = part->allocate(10 << 20, *stream_);
  EXPECT_NE(mine, 0u);
  EXPECT_THROW(part->allocate(1 << 20, *stream_), Error);
  part->free(mine, 10 << 20, *stream_);
  part.reset();
  EXPECT_EQ(pool_->statistics().hard_reserved_bytes, 0u);
  EXPECT_EQ(refusal(6 << 20), "");
  auto soft = pool_->reserve(std::size_t{1} << 40, ReservationKind::soft, "later");
  EXPECT_EQ(pool_->statistics().soft_reserved_bytes, std::size_t{1} << 40);
  EXPECT_NE(soft->allocate(1 << 20, *stream_), 0u);
  EXPECT_EQ(pool_->statistics().tags[1].tag, "later");
  soft.reset();
  EXPECT_EQ(pool_->statistics().soft_reserved_bytes, 0u);
  pool_->free(before, 2 << 20, *stream_);
}

TEST_F(PoolTest, BadOptionsAreSentences) {
  EXPECT_THROW(make_pool(nullptr), Error);
  PoolOptions options;
  options.page_bytes = 100;
  EXPECT_THROW(make_pool(device_, options), Error);
  options = {};
  options.soft_share = 0.99;
  EXPECT_THROW(make_pool(device_, options), Error);
  options = {};
  options.host = std::make_shared<PinnedPool>(device::make_cpu_device());
  EXPECT_THROW(make_pool(device_, options), Error);
}

TEST_F(PoolTest, WithoutVirtualMemoryTheQuotaHoldsToo) {
  PoolOptions options;
  options.virtual_memory = false;
  options.quota_bytes = 16 << 20;
  pool_ = make_pool(device_, options);
  const device::Address a = pool_->allocate(10 << 20, *stream_);
  EXPECT_NE(refusal(7 << 20), "");
  EXPECT_LE(pool_->statistics().reserved_bytes, std::size_t{16} << 20);
  pool_->free(a, 10 << 20, *stream_);
  EXPECT_EQ(refusal(15 << 20), "") << "what is cached is given up first";
  EXPECT_THROW(pool_->tagged("x", Use::evictable), Error);
}

// Any order of requests and frees on several streams: what is live keeps its bytes, what is reserved stays
// within the quota, and everything comes back.
TEST(PoolProperty, LiveBlocksKeepTheirBytes) {
  EXPECT_TRUE(rc::check("pool", [] {
    const auto device = device::make_cpu_device();
    const std::size_t quota = std::size_t{8} << 20;
    PoolOptions options;
    options.quota_bytes = quota;
    options.page_bytes = *rc::gen::element<std::size_t>(64 << 10, 256 << 10);
    const auto pool = make_pool(device, options);
    const bool evictable = *rc::gen::arbitrary<bool>();
    const std::shared_ptr<Allocator> views[] = {
        pool, pool->tagged("b", evictable ? Use::evictable : Use::resident)};
    struct Live {
      device::Address address;
      std::size_t bytes;
      std::size_t view;
      std::size_t stream;
      unsigned char mark;
    };
    std::vector<std::shared_ptr<device::Stream>> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(device->make_stream());
    std::vector<Live> live;
    std::size_t requested = 0;
    // False: it was evicted, and the others leave no room for it, which may be so while they are there.
    const auto check = [&](const Live& block) {
      device::Stream& stream = *streams[block.stream];
      Hold hold;
      try {
        hold = views[block.view]->use(block.address, stream);
      } catch (const Error& error) {
        RC_ASSERT(error.code() == ErrorCode::out_of_memory);
        RC_ASSERT(evictable && block.view == 1);
        return false;
      }
      std::vector<unsigned char> host(block.bytes);
      stream.copy_to_host(host.data(), block.address, block.bytes);
      stream.synchronize();
      RC_ASSERT(std::all_of(host.begin(), host.end(), [&](unsigned char x) { return x == block.mark; }));
      return true;
    };
    const int steps = *rc::gen::inRange(1, 120);
    for (int step = 0; step < steps; ++step) {
      const int action = *rc::gen::inRange(0, 10);
      if (action < 6) {
        const std::size_t most = std::size_t{1} << *rc::gen::inRange(1, 22);
        Live block{0, *rc::gen::inRange<std::size_t>(1, most + 1), *rc::gen::inRange<std::size_t>(0, 2),
                   *rc::gen::inRange<std::size_t>(0, 3), static_cast<unsigned char>(step)};
        try {
          block.address = views[block.view]->allocate(block.bytes, *streams[block.stream]);
        } catch (const Error& error) {
          RC_ASSERT(error.code() == ErrorCode::out_of_memory);
          continue;
        }
        const Hold hold = views[block.view]->use(block.address, *streams[block.stream]);
        streams[block.stream]->fill(block.address, block.mark, 1, block.bytes);
        live.push_back(block);
        requested += block.bytes;
      } else if (action < 9 && !live.empty()) {
        const std::size_t which = *rc::gen::inRange<std::size_t>(0, live.size());
        const Live block = live[which];
        if (action == 8) check(block);
        views[block.view]->free(block.address, block.bytes, *streams[block.stream]);
        requested -= block.bytes;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      } else if (!live.empty()) {
        pool->evict(live[*rc::gen::inRange<std::size_t>(0, live.size())].address);
      }
      const PoolStatistics now = pool->statistics();
      RC_ASSERT(now.reserved_bytes <= quota);
      RC_ASSERT(now.requested_bytes == requested);
      RC_ASSERT(now.blocks == live.size());
    }
    while (!live.empty()) {
      const std::size_t left = live.size();
      std::erase_if(live, [&](const Live& block) {
        if (!check(block)) return false;
        views[block.view]->free(block.address, block.bytes, *streams[block.stream]);
        return true;
      });
      RC_ASSERT(live.size() < left);
    }
    for (const auto& stream : streams) stream->synchronize();
    pool->trim();
    RC_ASSERT(pool->statistics().reserved_bytes == 0u);
    RC_ASSERT(pool->statistics().blocks == 0u);
  }));
}

}  // namespace
}  // namespace gpuforge::memory
