// What every Allocator must do, as tests. An allocator earns its place with INSTANTIATE_TEST_SUITE_P over one
// AllocatorCase per device it serves. Included by tests alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/allocator.h"

namespace gpuforge::memory {

struct AllocatorCase {
  std::string device_name;  // "cpu", "cuda:0"
  std::function<std::shared_ptr<Allocator>(std::shared_ptr<device::Device>)> make;
  // Where the device is not to be found by its name: the fake driver's.
  std::function<std::shared_ptr<device::Device>()> open;
  // Called when a test has let go of everything; may be empty.
  std::function<void()> finish;
};

inline std::string allocator_case_name(const testing::TestParamInfo<AllocatorCase>& info) {
  return info.param.device_name.substr(0, info.param.device_name.find(':'));
}

class AllocatorContract : public testing::TestWithParam<AllocatorCase> {
 protected:
  void SetUp() override {
    if (GetParam().open) device_ = GetParam().open();
    try {
      if (device_ == nullptr)
        device_ = device::open_device(GetParam().device_name, cuda::search_options(read_environment()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam().device_name << " here: " << error.what();
    }
    allocator_ = GetParam().make(device_);
    stream_ = device_->make_stream();
  }

  void TearDown() override {
    stream_.reset();
    allocator_.reset();
    device_.reset();
    if (GetParam().finish) GetParam().finish();
  }

  std::vector<unsigned char> fetch(device::Address address, std::size_t bytes) {
    std::vector<unsigned char> host(bytes);
    stream_->copy_to_host(host.data(), address, bytes);
    stream_->synchronize();
    return host;
  }

  std::shared_ptr<device::Device> device_;
  std::shared_ptr<Allocator> allocator_;
  std::shared_ptr<device::Stream> stream_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AllocatorContract);

TEST_P(AllocatorContract, KnowsItsDevice) {
  EXPECT_EQ(&allocator_->device(), device_.get());
}

TEST_P(AllocatorContract, ZeroBytesAreAddressZero) {
  EXPECT_EQ(allocator_->allocate(0, *stream_), 0u);
  allocator_->free(0, 0, *stream_);
  stream_->synchronize();
}

TEST_P(AllocatorContract, AddressesAreAligned) {
  for (const std::size_t bytes : {1, 2, 3, 7, 255, 256, 257, 4097, 1 << 20}) {
    const device::Address address = allocator_->allocate(bytes, *stream_);
    EXPECT_NE(address, 0u);
    EXPECT_EQ(address % 256, 0u) << bytes << " bytes";
    allocator_->free(address, bytes, *stream_);
  }
  stream_->synchronize();
}

TEST_P(AllocatorContract, LiveBlocksDoNotShareBytes) {
  constexpr std::size_t kBlocks = 50;
  std::vector<std::pair<device::Address, std::size_t>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t bytes = 1 + i * i * 7;
    blocks.emplace_back(allocator_->allocate(bytes, *stream_), bytes);
    stream_->fill(blocks.back().first, static_cast<std::uint32_t>(i + 1), 1, bytes);
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::vector<unsigned char> host = fetch(blocks[i].first, blocks[i].second);
    EXPECT_EQ(host, std::vector<unsigned char>(blocks[i].second, static_cast<unsigned char>(i + 1)))
        << "block " << i;
  }
  for (const auto& [address, bytes] : blocks) allocator_->free(address, bytes, *stream_);
  stream_->synchronize();
}

// Work queued before a free still finds its bytes, although the block may be handed out again at once.
TEST_P(AllocatorContract, FreesFollowTheStreamsOrder) {
  constexpr std::size_t kBytes = 1 << 16;
  constexpr int kRounds = 20;
  std::vector<std::vector<unsigned char>> seen(kRounds, std::vector<unsigned char>(kBytes));
  for (int round = 0; round < kRounds; ++round) {
    const device::Address address = allocator_->allocate(kBytes, *stream_);
    stream_->fill(address, static_cast<std::uint32_t>(round + 1), 1, kBytes);
    stream_->copy_to_host(seen[static_cast<std::size_t>(round)].data(), address, kBytes);
    allocator_->free(address, kBytes, *stream_);
  }
  stream_->synchronize();
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_EQ(seen[static_cast<std::size_t>(round)],
              std::vector<unsigned char>(kBytes, static_cast<unsigned char>(round + 1)))
        << "round " << round;
  }
}

TEST_P(AllocatorContract, OutOfMemorySaysWhatWasWantedAndWhatIsFree) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 60;
  for (const std::size_t bytes : {kTooMuch, SIZE_MAX - 1}) {
    try {
      allocator_->allocate(bytes, *stream_);
      FAIL() << bytes << " bytes were given";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      EXPECT_THAT(error.message(), testing::HasSubstr(device_->facts().name));
      EXPECT_THAT(error.message(), testing::HasSubstr("free"));
      EXPECT_THAT(error.message(), testing::HasSubstr(std::to_string(bytes)));
    }
  }
  // And goes on as if nothing had been asked.
  const device::Address address = allocator_->allocate(1024, *stream_);
  EXPECT_NE(address, 0u);
  allocator_->free(address, 1024, *stream_);
  stream_->synchronize();
}

TEST_P(AllocatorContract, ThreadsMayAllocateAtOnce) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBlocks = 100;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = device_->make_stream();
      for (std::size_t i = 0; i < kBlocks; ++i) {
        const std::size_t bytes = 64 + (i * 37 + t) % 5000;
        const auto mark = static_cast<unsigned char>(t * kBlocks + i);
        const device::Address address = allocator_->allocate(bytes, *stream);
        stream->fill(address, mark, 1, bytes);
        std::vector<unsigned char> host(bytes);
        stream->copy_to_host(host.data(), address, bytes);
        allocator_->free(address, bytes, *stream);
        stream->synchronize();
        if (host != std::vector<unsigned char>(bytes, mark)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(AllocatorContract, BlocksMayBeFreedOnAnotherStreamThatWaited) {
  constexpr std::size_t kBytes = 1 << 16;
  const auto other = device_->make_stream();
  const auto event = device_->make_event(false);
  std::vector<unsigned char> seen(kBytes);
  const device::Address address = allocator_->allocate(kBytes, *stream_);
  stream_->fill(address, 9, 1, kBytes);
  stream_->copy_to_host(seen.data(), address, kBytes);
  stream_->record(*event);
  other->wait(*event);
  allocator_->free(address, kBytes, *other);
  other->synchronize();
  stream_->synchronize();
  EXPECT_EQ(seen, std::vector<unsigned char>(kBytes, 9));
}

// A block freed while its stream is still working is not another stream's before that work is done.
TEST_P(AllocatorContract, OtherStreamsGetABlockOnlyAfterItsWork) {
  constexpr std::size_t kBytes = 1 << 18;
  const auto other = device_->make_stream();
  std::promise<void> gate;
  std::vector<unsigned char> seen(kBytes);
  const device::Address address = allocator_->allocate(kBytes, *stream_);
  stream_->fill(address, 3, 1, kBytes);
  stream_->enqueue([opened = gate.get_future().share()] { opened.wait(); });
  auto* const pinned = static_cast<unsigned char*>(device_->allocate_pinned(kBytes));
  stream_->copy_to_host(pinned, address, kBytes);
  allocator_->free(address, kBytes, *stream_);
  const device::Address thief = allocator_->allocate(kBytes, *other);
  other->fill(thief, 9, 1, kBytes);
  if (thief != address) other->synchronize();
  gate.set_value();
  stream_->synchronize();
  other->synchronize();
  EXPECT_EQ(pinned[0], 3);
  EXPECT_EQ(pinned[kBytes - 1], 3);
  allocator_->free(thief, kBytes, *other);
  device_->free_pinned(pinned);
}

TEST_P(AllocatorContract, CapturingStreamsMayFreeWhatWasThereBefore) {
  const device::Address address = allocator_->allocate(4096, *stream_);
  stream_->begin_capture();
  stream_->enqueue([] {});
  allocator_->free(address, 4096, *stream_);
  const auto outside = device_->make_stream();
  const device::Address elsewhere = allocator_->allocate(4096, *outside);
  outside->fill(elsewhere, 1, 1, 4096);
  EXPECT_EQ(stream_->end_capture()->node_count(), 1u);
  const device::Address after = allocator_->allocate(4096, *stream_);
  stream_->fill(after, 2, 1, 4096);
  stream_->synchronize();
  EXPECT_EQ(fetch(after, 4096), std::vector<unsigned char>(4096, 2));
  allocator_->free(after, 4096, *stream_);
  allocator_->free(elsewhere, 4096, *outside);
  outside->synchronize();
}

// Memory of a capture is the graph's: whatever others allocate meanwhile, every replay has it.
TEST_P(AllocatorContract, MemoryAllocatedInACaptureBelongsToTheGraph) {
  for (const std::size_t bytes : {std::size_t{300}, std::size_t{200'000}, std::size_t{3} << 20}) {
    auto* const seen = static_cast<unsigned char*>(device_->allocate_pinned(2 * bytes));
    std::memset(seen, 0, 2 * bytes);
    stream_->begin_capture();
    const device::Address first = allocator_->allocate(bytes, *stream_);
    stream_->fill(first, 5, 1, bytes);
    stream_->copy_to_host(seen, first, bytes);
    allocator_->free(first, bytes, *stream_);
    const device::Address second = allocator_->allocate(bytes, *stream_);
    stream_->fill(second, 6, 1, bytes);
    stream_->copy_to_host(seen + bytes, second, bytes);
    auto graph = stream_->end_capture();
    EXPECT_EQ(graph->node_count(), 4u);
    std::vector<device::Address> others;
    for (int i = 0; i < 4; ++i) others.push_back(allocator_->allocate(bytes, *stream_));
    for (const device::Address other : others) {
      EXPECT_NE(other, first);
      EXPECT_NE(other, second);
      stream_->fill(other, 9, 1, bytes);
    }
    graph->launch(*stream_);
    graph->launch(*stream_);
    for (const device::Address other : others) {
      EXPECT_EQ(fetch(other, bytes), std::vector<unsigned char>(bytes, 9));
      allocator_->free(other, bytes, *stream_);
    }
    EXPECT_EQ(std::count(seen, seen + bytes, 5), static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(std::count(seen + bytes, seen + 2 * bytes, 6), static_cast<std::ptrdiff_t>(bytes));
    // The second one outlives the graph, and is then like any other block.
    graph.reset();
    stream_->fill(second, 7, 1, bytes);
    EXPECT_EQ(fetch(second, bytes), std::vector<unsigned char>(bytes, 7));
    allocator_->free(second, bytes, *stream_);
    stream_->synchronize();
    device_->free_pinned(seen);
  }
}

TEST_P(AllocatorContract, ADroppedCaptureGivesItsMemoryBack) {
  stream_->begin_capture();
  const device::Address address = allocator_->allocate(4096, *stream_);
  const auto joined = device_->make_stream();
  const auto event = device_->make_event(false);
  stream_->record(*event);
  joined->wait(*event);
  const device::Address on_joined = allocator_->allocate(4096, *joined);
  EXPECT_NE(on_joined, address);
  joined->fill(on_joined, 1, 1, 4096);
  EXPECT_THROW(stream_->end_capture(), Error);  // nobody waited for it
  allocator_->free(on_joined, 4096, *joined);
  stream_->fill(address, 3, 1, 4096);
  EXPECT_EQ(fetch(address, 4096), std::vector<unsigned char>(4096, 3));
  allocator_->free(address, 4096, *stream_);
  stream_->synchronize();
}

TEST_P(AllocatorContract, StreamsOfAnotherDeviceAreRefused) {
  const auto elsewhere = device::make_cpu_device();
  const auto foreign = elsewhere->make_stream();
  EXPECT_THROW(allocator_->allocate(64, *foreign), Error);
  const device::Address address = allocator_->allocate(64, *stream_);
  allocator_->free(address, 64, *foreign);  // cannot be refused, so it is not done
  stream_->fill(address, 7, 1, 64);
  EXPECT_EQ(fetch(address, 64), std::vector<unsigned char>(64, 7));
  allocator_->free(address, 64, *stream_);
  stream_->synchronize();
}

TEST_P(AllocatorContract, MayGoWhileItsMemoryIsInUse) {
  std::promise<void> gate;
  stream_->enqueue([opened = gate.get_future().share()] { opened.wait(); });
  for (const std::size_t bytes : {100u, 1u << 20, 5u << 20}) {
    const device::Address address = allocator_->allocate(bytes, *stream_);
    stream_->fill(address, 1, 1, bytes);
    allocator_->free(address, bytes, *stream_);
  }
  allocator_.reset();
  gate.set_value();
  stream_->synchronize();
}

TEST_P(AllocatorContract, BuffersFreeWhatTheyOwn) {
  std::vector<unsigned char> seen(300);
  {
    Buffer buffer(allocator_, 300, stream_);
    EXPECT_NE(buffer.address(), 0u);
    EXPECT_EQ(buffer.bytes(), 300u);
    EXPECT_EQ(&buffer.stream(), stream_.get());
    stream_->fill(buffer.address(), 5, 1, 300);
    stream_->copy_to_host(seen.data(), buffer.address(), 300);
  }
  stream_->synchronize();
  EXPECT_THAT(seen, testing::Each(5));
}

}  // namespace gpuforge::memory
