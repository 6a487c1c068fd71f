// The pool beside threads that use it, and beside streams whose work ends at any moment.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gpuforge/device/cpu_device.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge::memory {
namespace {

TEST(PoolThreads, BlocksAreNeverSharedBetweenThreads) {
  const auto device = device::make_cpu_device();
  PoolOptions options;
  options.page_bytes = 64 << 10;
  options.quota_bytes = 64 << 20;
  const auto pool = make_pool(device, options);
  const auto shared_stream = device->make_stream();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto own = device->make_stream();
      device::Stream& stream = t % 2 == 0 ? *own : *shared_stream;
      std::vector<std::pair<device::Address, std::size_t>> held;
      for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t bytes = 1 + (i * 7919 + t * 31) % (i % 10 == 0 ? 400'000 : 9'000);
        const device::Address address = pool->allocate(bytes, stream);
        stream.fill(address, static_cast<std::uint32_t>(t + 1), 1, bytes);
        held.emplace_back(address, bytes);
        if (held.size() < 8) continue;
        const auto [oldest, oldest_bytes] = held.front();
        held.erase(held.begin());
        std::vector<unsigned char> host(oldest_bytes);
        stream.copy_to_host(host.data(), oldest, oldest_bytes);
        stream.synchronize();
        for (const unsigned char byte : host) wrong += byte == t + 1 ? 0 : 1;
        pool->free(oldest, oldest_bytes, stream);
      }
      for (const auto& [address, bytes] : held) pool->free(address, bytes, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(pool->statistics().blocks, 0u);
}

// All memory is with a stream that ends while the pool looks for some: before, during and after each look.
class PoolRoom : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(VirtualMemory, PoolRoom, testing::Bool());

TEST_P(PoolRoom, WorkThatEndsDuringTheLookIsNotMissed) {
  const auto device = device::make_cpu_device();
  PoolOptions options;
  options.page_bytes = 64 << 10;
  options.quota_bytes = 1 << 20;
  options.virtual_memory = GetParam();
  const auto pool = make_pool(device, options);
  const auto first = device->make_stream(), second = device->make_stream();
  constexpr std::size_t kBytes = 1 << 20, kOther = 768 << 10;
  for (int i = 0; i < 4000; ++i) {
    const device::Address whole = pool->allocate(kBytes, *first);
    const auto length = std::chrono::nanoseconds(i * 97 % 20'000);
    first->enqueue([length] {
      const auto end = std::chrono::steady_clock::now() + length;
      while (std::chrono::steady_clock::now() < end) {
      }
    });
    pool->free(whole, kBytes, *first);
    const device::Address part = pool->allocate(kOther, *second);
    pool->free(part, kOther, *second);
    second->synchronize();
  }
  EXPECT_EQ(pool->statistics().blocks, 0u);
}

}  // namespace
}  // namespace gpuforge::memory
