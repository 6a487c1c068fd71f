#include "gpuforge/memory/pinned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"

namespace gpuforge::memory {
namespace {

TEST(PinnedPool, BlocksWasteAtMostAThird) {
  for (std::size_t bytes = 4096; bytes < 1 << 20; bytes += 13) {
    const std::size_t block = PinnedPool::block_bytes(bytes);
    ASSERT_GE(block, bytes);
    ASSERT_LE((block - bytes) * 3, block) << bytes;
    ASSERT_EQ(PinnedPool::block_bytes(block), block);
  }
}

TEST(PinnedPool, KeepsWhatIsFreed) {
  PinnedPool pool(device::make_cpu_device());
  void* const first = pool.allocate(10'000);
  std::memset(first, 1, 10'000);
  pool.free(first, 10'000);
  EXPECT_EQ(pool.allocate(9'000), first);
  EXPECT_EQ(pool.statistics().reuses, 1u);
  EXPECT_EQ(pool.statistics().reserved_bytes, 12'288u);
  pool.free(first, 9'000);
  pool.trim();
  EXPECT_EQ(pool.statistics().reserved_bytes, 0u);
  EXPECT_EQ(pool.statistics().peak_reserved_bytes, 12'288u);
  EXPECT_EQ(pool.allocate(0), nullptr);
  pool.free(nullptr, 0);
}

TEST(PinnedPool, CachedBytesCountAndAreGivenUpFirst) {
  PinnedPool pool(device::make_cpu_device(), 1 << 20);
  void* const small = pool.allocate(4096);
  pool.free(small, 4096);
  void* const all = pool.allocate(1 << 20);  // only without the cached one
  try {
    pool.allocate(5000);
    FAIL() << "more than the quota";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(error.message(), testing::HasSubstr("5000 bytes"));
    EXPECT_THAT(error.message(), testing::HasSubstr("1048576"));
  }
  pool.free(all, 1 << 20);
  const PinnedBuffer after(std::make_shared<PinnedPool>(device::make_cpu_device()), 100);
  EXPECT_NE(after.data(), nullptr);
}

TEST(PinnedPool, ThreadsMayShareIt) {
  PinnedPool pool(device::make_cpu_device());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t bytes = 1000 + i * 97;
        auto* const data = static_cast<unsigned char*>(pool.allocate(bytes));
        std::memset(data, t, bytes);
        EXPECT_EQ(data[bytes - 1], t);
        pool.free(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().live_bytes, 0u);
}

}  // namespace
}  // namespace gpuforge::memory
