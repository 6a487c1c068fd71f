// What every Device must do, as a parametrised suite: include it in one test file and instantiate it with a
// ContractCase. This part has memory and ordered work; device_contract_events.h and
// device_contract_graphs.h have the rest. A test header: not installed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/device.h"
#include "gpuforge/device/device_testing.h"

namespace gpuforge::device {

struct ContractCase {
  std::string name;
  // nullptr when this machine has none; `why` then says what is missing.
  std::function<std::shared_ptr<Device>(std::string* why)> make;
  // Called when a test has let go of everything; may be empty.
  std::function<void()> finish;

  friend void PrintTo(const ContractCase& param, std::ostream* out) { *out << param.name; }
};

class DeviceContract : public testing::TestWithParam<ContractCase> {
 protected:
  void SetUp() override {
    std::string why;
    device_ = GetParam().make(&why);
    if (device_ == nullptr) GTEST_SKIP() << why;
    stream_ = device_->make_stream();
  }

  void TearDown() override {
    stream_.reset();
    device_.reset();
    if (GetParam().finish) GetParam().finish();
  }

  std::shared_ptr<Device> another_device() const {
    std::string why;
    return GetParam().make(&why);
  }
  const std::string& device_name() const { return device_->facts().name; }

  std::vector<std::uint8_t> read(Address from, std::size_t bytes) {
    std::vector<std::uint8_t> out(bytes, 0xEE);
    stream_->copy_to_host(out.data(), from, bytes);
    stream_->synchronize();
    return out;
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> stream_;
};

// Facts and memory.

TEST_P(DeviceContract, FactsSayWhatItIs) {
  const DeviceFacts& facts = device_->facts();
  EXPECT_THAT(facts.name, testing::StartsWith(std::string(name(facts.kind))));
  EXPECT_FALSE(facts.product.empty());
  EXPECT_GT(facts.memory_bytes, 0u);
  EXPECT_GT(facts.multiprocessors, 0);
  const MemoryInfo info = device_->memory_info();
  EXPECT_GT(info.total_bytes, 0u);
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.total_bytes);
}

TEST_P(DeviceContract, AllocationsAreAlignedAndApart) {
  std::vector<std::pair<Address, std::size_t>> blocks;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{3}, std::size_t{255}, std::size_t{256},
                                  std::size_t{257}, std::size_t{1} << 20, (std::size_t{8} << 20) + 1}) {
    const Address address = device_->allocate(bytes, *stream_);
    EXPECT_NE(address, 0u);
    EXPECT_EQ(address % 256, 0u) << bytes;
    for (const auto& [other, other_bytes] : blocks) {
      EXPECT_TRUE(address + bytes <= other || other + other_bytes <= address);
    }
    blocks.emplace_back(address, bytes);
    stream_->fill(address, 0x5A, 1, bytes);  // all of it can be written
  }
  for (const auto& [address, bytes] : blocks) {
    EXPECT_EQ(read(address + bytes - 1, 1)[0], 0x5A);
    device_->free(address, *stream_);
  }
  stream_->synchronize();
}

TEST_P(DeviceContract, ZeroBytesAreAddressZero) {
  EXPECT_EQ(device_->allocate(0, *stream_), 0u);
  device_->free(0, *stream_);
  EXPECT_EQ(device_->allocate_pinned(0), nullptr);
  device_->free_pinned(nullptr);
  stream_->copy_to_device(0, nullptr, 0);
  stream_->copy_to_host(nullptr, 0, 0);
  stream_->copy(0, 0, 0);
  stream_->fill(0, 1, 4, 0);
  stream_->synchronize();
}

TEST_P(DeviceContract, TooMuchMemoryIsAnErrorWithBothNumbers) {
  const std::size_t twice = 2 * device_->memory_info().total_bytes;
  for (const std::size_t bytes : {twice, std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    std::string message;
    EXPECT_EQ(code_of([&] { device_->allocate(bytes, *stream_); }, &message), ErrorCode::out_of_memory);
    EXPECT_THAT(message, testing::StartsWith(device_name()));
    EXPECT_THAT(message, testing::HasSubstr(std::to_string(bytes) + " bytes"));
    EXPECT_THAT(message, testing::HasSubstr("free"));
  }
  for (const std::size_t bytes : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    std::string message;
    EXPECT_EQ(code_of([&] { device_->allocate_pinned(bytes); }, &message), ErrorCode::out_of_memory);
    EXPECT_THAT(message, testing::StartsWith(device_name()));
    EXPECT_THAT(message, testing::HasSubstr(std::to_string(bytes) + " bytes"));
    EXPECT_THAT(message, testing::HasSubstr("free"));
  }
  const Address after = device_->allocate(1024, *stream_);
  stream_->fill(after, 7, 1, 1024);
  EXPECT_EQ(read(after, 1024), std::vector<std::uint8_t>(1024, 7));
  device_->free(after, *stream_);
}

TEST_P(DeviceContract, PinnedMemoryCopiesBothWays) {
  constexpr std::size_t kBytes = 100'000;
  auto* const host = static_cast<std::uint8_t*>(device_->allocate_pinned(kBytes));
  auto* const back = static_cast<std::uint8_t*>(device_->allocate_pinned(kBytes));
  ASSERT_NE(host, nullptr);
  for (std::size_t i = 0; i < kBytes; ++i) host[i] = static_cast<std::uint8_t>(i * 7);
  std::memset(back, 0, kBytes);
  const Address there = device_->allocate(kBytes, *stream_);
  stream_->copy_to_device(there, host, kBytes);
  stream_->copy_to_host(back, there, kBytes);
  stream_->synchronize();
  EXPECT_EQ(std::memcmp(host, back, kBytes), 0);
  device_->free(there, *stream_);
  device_->free_pinned(host);
  device_->free_pinned(back);
}

TEST_P(DeviceContract, MemoryIsNotFreedBeforeQueuedWorkHasUsedIt) {
  constexpr std::size_t kBytes = 1 << 20;
  auto* const host = static_cast<std::uint8_t*>(device_->allocate_pinned(kBytes));
  std::memset(host, 0, kBytes);
  const auto other = device_->make_stream();
  Gate gate;
  const Address block = device_->allocate(kBytes, *stream_);
  stream_->fill(block, 0x11, 1, kBytes);
  stream_->synchronize();
  EXPECT_TRUE(returns_behind(gate, [&] {
    stream_->enqueue(gate.work());
    stream_->copy_to_host(host, block, kBytes);
    device_->free(block, *stream_);
  }));
  // Who allocates now, elsewhere, must get something else.
  const Address thief = device_->allocate(kBytes, *other);
  EXPECT_NE(thief, block);
  other->fill(thief, 0x99, 1, kBytes);
  other->synchronize();
  gate.open();
  stream_->synchronize();
  EXPECT_EQ(host[0], 0x11);
  EXPECT_EQ(host[kBytes - 1], 0x11);
  device_->free(thief, *other);
  device_->free_pinned(host);
}

// Ordered work.

TEST_P(DeviceContract, CopiesFillsAndFunctionsKeepTheirOrder) {
  constexpr std::size_t kBytes = 4096 + 3;
  std::vector<std::uint8_t> input(kBytes);
  std::iota(input.begin(), input.end(), std::uint8_t{1});
  std::vector<std::uint8_t> first(kBytes), second(kBytes), seen;
  const Address a = device_->allocate(kBytes, *stream_);
  const Address b = device_->allocate(kBytes, *stream_);
  stream_->fill(a, 0, 1, kBytes);
  stream_->copy_to_device(a, input.data(), kBytes);
  stream_->copy(b, a, kBytes);
  stream_->fill(a, 0xAB, 1, kBytes);
  stream_->copy_to_host(first.data(), b, kBytes);
  stream_->enqueue([&] { seen = first; });
  stream_->copy_to_host(second.data(), a, kBytes);
  device_->free(a, *stream_);
  device_->free(b, *stream_);
  stream_->synchronize();
  EXPECT_EQ(seen, input);
  EXPECT_EQ(second, std::vector<std::uint8_t>(kBytes, 0xAB));
}

TEST_P(DeviceContract, FillRepeatsOneTwoOrFourBytes) {
  const Address block = device_->allocate(64, *stream_);
  stream_->fill(block, 0x12345678, 4, 16);
  stream_->fill(block + 16, 0xCDEF1122, 2, 8);
  stream_->fill(block + 33, 0xFFFFFF44, 1, 3);
  const std::vector<std::uint8_t> out = read(block, 64);
  const std::uint8_t word[] = {0x78, 0x56, 0x34, 0x12};
  for (std::size_t i = 0; i < 64; ++i) {
    const bool half = i >= 16 && i < 32;
    const bool byte = i >= 33 && i < 36;
    const int expected = half ? (i % 2 == 0 ? 0x22 : 0x11) : byte ? 0x44 : word[i % 4];
    EXPECT_EQ(out[i], expected) << i;
  }
  expect_refused([&] { stream_->fill(block, 0, 3, 1); }, device_name());
  expect_refused([&] { stream_->fill(block, 0, 0, 1); }, device_name());
  expect_refused([&] { stream_->fill(block, 0, 8, 1); }, device_name());
  expect_refused([&] { stream_->fill(block + 2, 0, 4, 1); }, device_name());
  expect_refused([&] { stream_->fill(block + 1, 0, 2, 1); }, device_name());
  device_->free(block, *stream_);
}

TEST_P(DeviceContract, FunctionsRunOnceAndInOrder) {
  std::vector<int> seen;
  auto token = std::make_shared<int>(0);
  for (int i = 0; i < 100; ++i) stream_->enqueue([&seen, i, token] { seen.push_back(i); });
  stream_->synchronize();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(token.use_count(), 1) << "closures are freed when they have run";
  expect_refused([&] { stream_->enqueue(nullptr); }, device_name());
}

TEST_P(DeviceContract, OnlySynchronizeWaits) {
  constexpr std::size_t kBytes = 1 << 16;
  void* const host = device_->allocate_pinned(kBytes);
  std::memset(host, 3, kBytes);
  const auto event = device_->make_event();
  const auto unrelated = device_->make_event();
  std::shared_ptr<Stream> other;
  std::atomic<bool> reached = false;
  Gate gate;
  EXPECT_TRUE(returns_behind(gate, [&] {
    stream_->enqueue(gate.work());
    const Address block = device_->allocate(kBytes, *stream_);
    stream_->fill(block, 1, 1, kBytes);
    stream_->copy_to_device(block, host, kBytes);
    stream_->copy(block, block + kBytes / 2, kBytes / 2);
    stream_->copy_to_host(host, block, kBytes);
    stream_->record(*event);
    EXPECT_FALSE(stream_->done());
    EXPECT_FALSE(event->done());
    other = device_->make_stream();
    EXPECT_TRUE(other->done());
    other->wait(*event);
    other->enqueue([&] { reached = true; });
    EXPECT_FALSE(other->done());
    EXPECT_TRUE(unrelated->done());
    device_->free(block, *stream_);
    device_->memory_info();
  }));
  EXPECT_FALSE(reached);
  gate.open();
  other->synchronize();
  EXPECT_TRUE(reached);
  EXPECT_TRUE(event->done());
  stream_->synchronize();
  EXPECT_TRUE(stream_->done());
  device_->free_pinned(host);
}

TEST_P(DeviceContract, DeviceSynchronizeWaitsForEveryStream) {
  const auto other = device_->make_stream(5);
  std::vector<int> seen(2, 0);
  for (const auto& [stream, at] : {std::pair(stream_, 0u), std::pair(other, 1u)}) {
    stream->enqueue([&seen, at = at] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      seen[at] = 1;
    });
  }
  device_->synchronize();
  EXPECT_THAT(seen, testing::ElementsAre(1, 1));
  EXPECT_TRUE(stream_->done() && other->done());
}

TEST_P(DeviceContract, PrioritiesOutOfRangeAreClamped) {
  for (const int priority : {std::numeric_limits<int>::min(), -1, 1, 1000, std::numeric_limits<int>::max()}) {
    int runs = 0;
    const auto stream = device_->make_stream(priority);
    stream->enqueue([&] { ++runs; });
    stream->synchronize();
    EXPECT_EQ(runs, 1) << priority;
  }
}

// What enqueued work throws.

TEST_P(DeviceContract, ExceptionsOfWorkAppearAtSynchronizeOnce) {
  bool later_ran = false;
  stream_->enqueue([] { throw Error(ErrorCode::parse, "reader: line 3 is wrong", "the long text"); });
  stream_->enqueue([] { throw std::runtime_error("the second one"); });
  stream_->enqueue([&] { later_ran = true; });
  try {
    stream_->synchronize();
    ADD_FAILURE() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    EXPECT_THAT(error.message(), testing::StartsWith(device_name()));
    EXPECT_THAT(error.message(), testing::HasSubstr("reader: line 3 is wrong"));
    EXPECT_EQ(error.detail(), "the long text");
  }
  EXPECT_TRUE(later_ran);
  stream_->synchronize();
}

TEST_P(DeviceContract, ExceptionsOfAnyTypeAreReported) {
  std::string message;
  stream_->enqueue([] { throw std::runtime_error("plain"); });
  EXPECT_EQ(code_of([&] { stream_->synchronize(); }, &message), ErrorCode::internal);
  EXPECT_THAT(message, testing::HasSubstr("plain"));
  stream_->enqueue([] { throw 42; });
  EXPECT_EQ(code_of([&] { stream_->synchronize(); }, &message), ErrorCode::internal);
  stream_->enqueue([] { throw std::bad_alloc(); });
  EXPECT_EQ(code_of([&] { device_->synchronize(); }, &message), ErrorCode::out_of_memory);
  EXPECT_THAT(message, testing::StartsWith(device_name()));
  device_->synchronize();
  stream_->synchronize();
}

// Ownership.

TEST_P(DeviceContract, ObjectsKeepTheirDeviceInAnyOrderOfDestruction) {
  auto event = device_->make_event();
  int runs = 0;
  stream_->enqueue([&] { ++runs; });
  const std::weak_ptr<Device> watched = device_;
  device_.reset();
  EXPECT_FALSE(watched.expired());
  stream_->record(*event);
  stream_->synchronize();
  stream_.reset();
  EXPECT_TRUE(event->done());
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(event->device().facts().name.empty());
  event.reset();
  EXPECT_TRUE(watched.expired());
}

TEST_P(DeviceContract, WorkOfADestroyedStreamStillRuns) {
  Gate gate;
  std::promise<void> ran;
  EXPECT_TRUE(returns_behind(gate, [&] {
    stream_->enqueue(gate.work());
    stream_->enqueue([&] { ran.set_value(); });
    stream_.reset();
    device_.reset();
  }));
  gate.open();
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_P(DeviceContract, WorkMayHoldTheLastReferences) {
  std::promise<void> ran;
  std::weak_ptr<Stream> watched_stream = stream_;
  const std::weak_ptr<Device> watched_device = device_;
  {
    std::shared_ptr<Event> event = device_->make_event();
    stream_->record(*event);
    Stream& stream = *stream_;
    Gate gate;
    stream.enqueue([&ran, wait = gate.work(), kept_stream = std::move(stream_), kept_event = std::move(event),
                    kept_device = std::move(device_)] {
      wait();
      ran.set_value();
    });
    gate.open();
  }
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  // The closure dies after it has run.
  EXPECT_TRUE(eventually([&] { return watched_stream.expired() && watched_device.expired(); }));
}

TEST_P(DeviceContract, ObjectsOfAnotherDeviceAreRefused) {
  const auto other = another_device();
  const auto other_stream = other->make_stream();
  const auto other_event = other->make_event();
  const auto event = device_->make_event();
  expect_refused([&] { stream_->record(*other_event); }, device_name());
  expect_refused([&] { stream_->wait(*other_event); }, device_name());
  expect_refused([&] { device_->allocate(16, *other_stream); }, device_name());
  stream_->record(*event);
  other_stream->record(*other_event);
  stream_->synchronize();
  other_stream->synchronize();
  expect_refused([&] { event->elapsed_ms_since(*other_event); }, device_name());

  const Address block = device_->allocate(16, *stream_);
  stream_->fill(block, 9, 1, 16);
  device_->free(block, *other_stream);  // cannot be refused, so it is not done
  other_stream->synchronize();
  EXPECT_EQ(read(block, 16), std::vector<std::uint8_t>(16, 9));
  device_->free(block, *stream_);
}

TEST_P(DeviceContract, ManyThreadsShareADeviceAndAStream) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  std::atomic<int> shared_runs = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto own = device_->make_stream();
      const auto event = device_->make_event();
      for (int i = 0; i < kRounds; ++i) {
        const auto value = static_cast<std::uint32_t>(t * kRounds + i);
        std::uint32_t out[16] = {};
        const Address block = device_->allocate(sizeof(out), *own);
        own->fill(block, value, 4, 16);
        own->copy_to_host(out, block, sizeof(out));
        device_->free(block, *own);
        own->record(*event);
        stream_->wait(*event);
        stream_->enqueue([&] { ++shared_runs; });
        own->synchronize();
        for (const std::uint32_t element : out) wrong += element != value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream_->synchronize();
  EXPECT_EQ(shared_runs, kThreads * kRounds);
  EXPECT_EQ(wrong, 0);
}

}  // namespace gpuforge::device
