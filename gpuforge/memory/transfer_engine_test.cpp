#include "gpuforge/memory/transfer_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/allocator.h"

namespace gpuforge::memory {
namespace {

using device::Gate;
using Bytes = std::vector<unsigned char>;

Bytes counted(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  std::mt19937 random(seed);
  for (unsigned char& byte : made) byte = static_cast<unsigned char>(random());
  return made;
}

TransferEngineOptions small_pieces() {
  TransferEngineOptions options;
  const LaneLimits lane{1000, 4, 4000, 2};
  options.limits = {lane, lane, lane};
  return options;
}

// Memory of the device for as long as a test.
class Memory {
 public:
  Memory(const std::shared_ptr<device::Device>& device, std::size_t bytes)
      : stream_(device->make_stream()), buffer_(make_device_allocator(device), bytes, stream_) {
    stream_->synchronize();
  }
  device::Address address() const { return buffer_.address(); }
  Bytes fetch() {
    Bytes host(buffer_.bytes());
    stream_->copy_to_host(host.data(), buffer_.address(), host.size());
    stream_->synchronize();
    return host;
  }

 private:
  std::shared_ptr<device::Stream> stream_;
  Buffer buffer_;
};

// What holds on every device.
class TransferContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      device_ = device::open_device(GetParam(), cuda::search_options(read_environment()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no " << GetParam() << " here: " << error.what();
    }
  }
  std::shared_ptr<device::Device> device_;
};

TEST_P(TransferContract, RoundTripsOfEverySizePageableAndPinned) {
  TransferEngine engine(device_, small_pieces());
  for (const std::size_t bytes : {0, 1, 999, 1000, 1001, 54321}) {
    for (const bool pinned : {false, true}) {
      const Bytes expected = counted(bytes, 3);
      Memory first(device_, bytes);
      Memory second(device_, bytes);
      void* const host = pinned && bytes > 0 ? device_->allocate_pinned(bytes) : nullptr;
      Bytes pageable(bytes);
      unsigned char* const data = host != nullptr ? static_cast<unsigned char*>(host) : pageable.data();
      std::copy(expected.begin(), expected.end(), data);

      const Transfer there = engine.to_device(first.address(), data, bytes, {.pinned = pinned});
      EXPECT_EQ(there.wait(), TransferState::completed);
      EXPECT_EQ(engine.on_device(second.address(), first.address(), bytes).wait(), TransferState::completed);
      std::fill_n(data, bytes, 0);
      const Transfer back = engine.to_host(data, second.address(), bytes, {.pinned = pinned});
      EXPECT_EQ(back.wait(), TransferState::completed);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data)) << bytes;
      EXPECT_EQ(back.status().bytes_done, bytes);
      EXPECT_EQ(back.status().staged, !pinned && bytes > 0);
      EXPECT_DOUBLE_EQ(back.progress(), 1);
      EXPECT_EQ(back.bandwidth_gbps() > 0, bytes > 0);
      if (host != nullptr) device_->free_pinned(host);
    }
  }
}

TEST_P(TransferContract, WaitsForTheUsersEventAndTheUsersStreamForIt) {
  TransferEngine engine(device_, small_pieces());
  const std::size_t bytes = 10000;
  Memory memory(device_, bytes);
  const auto stream = device_->make_stream();
  const Bytes data = counted(bytes, 5);
  Bytes first(bytes), second(bytes);
  const Transfer up = engine.to_device(memory.address(), data.data(), bytes);
  up.order_before(*stream);
  stream->copy_to_host(first.data(), memory.address(), bytes);
  stream->fill(memory.address(), 7, 1, bytes);
  const auto filled = device_->make_event();
  stream->record(*filled);
  const Transfer down = engine.to_host(second.data(), memory.address(), bytes, {.after = filled.get()});
  EXPECT_EQ(down.wait(), TransferState::completed);
  stream->synchronize();
  EXPECT_EQ(first, data);
  EXPECT_EQ(second, Bytes(bytes, 7));

  stream->fill(memory.address(), 9, 1, bytes);
  const Transfer again =
      engine.to_host(second.data(), memory.address(), bytes, {.after_stream = stream.get()});
  EXPECT_EQ(again.wait(), TransferState::completed);
  EXPECT_EQ(second, Bytes(bytes, 9));
}

TEST_P(TransferContract, ManyThreadsSubmitAndEveryByteArrives) {
  TransferEngine engine(device_, small_pieces());
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      Memory memory(device_, 5000);
      for (unsigned round = 0; round < 20; ++round) {
        const std::size_t bytes = random() % 5000;
        const Bytes data = counted(bytes, 100 * t + round);
        Bytes back(bytes);
        const int priority = static_cast<int>(random() % 3);
        const Transfer up = engine.to_device(memory.address(), data.data(), bytes, {.priority = priority});
        if (random() % 4 == 0) {
          if (up.cancel()) {
            wrong += up.wait() != TransferState::cancelled ? 1 : 0;
            continue;
          }
        }
        up.wait();
        engine.to_host(back.data(), memory.address(), bytes).wait();
        wrong += back != data ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  engine.wait_all();
  for (std::size_t i = 0; i < kTransferDirections; ++i) {
    EXPECT_EQ(engine.totals(static_cast<TransferDirection>(i)).pieces, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Host, TransferContract, testing::Values("cpu", "sim"),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Gpu, TransferContract, testing::Values("cuda:0"),
                         [](const auto&) { return std::string("cuda"); });

class TransferEngineTest : public testing::Test {
 protected:
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
};

// Holds a lane up: its first transfer waits for an event, on nothing else.
struct HeldStream {
  explicit HeldStream(device::Device& device) : stream(device.make_stream()), event(device.make_event()) {
    stream->enqueue(gate.work());
    stream->record(*event);
  }
  Gate gate;
  std::shared_ptr<device::Stream> stream;
  std::unique_ptr<device::Event> event;
};

TEST_F(TransferEngineTest, AnEventThatIsLateHoldsOnlyItsOwnTransferUp) {
  TransferEngine engine(device_, small_pieces());
  Memory memory(device_, 8);
  Bytes data(8, 1), other(8, 2);
  HeldStream held(*device_);
  const Transfer waits = engine.to_device(memory.address(), data.data(), 8, {.after = held.event.get()});
  EXPECT_EQ(engine.reason(waits), "waits for its event");
  EXPECT_EQ(engine.to_device(memory.address(), other.data(), 8).wait(), TransferState::completed);
  EXPECT_EQ(memory.fetch(), other);
  EXPECT_EQ(waits.status().state, TransferState::queued);
  EXPECT_FALSE(waits.done());
  held.gate.open();
  EXPECT_EQ(waits.wait(), TransferState::completed);
  EXPECT_EQ(engine.reason(waits), "completed");
  EXPECT_EQ(memory.fetch(), data);
}

TEST_F(TransferEngineTest, CancelWhileQueuedWritesNothing) {
  TransferEngine engine(device_, small_pieces());
  Memory memory(device_, 8);
  Bytes zero(8, 0), data(8, 1);
  engine.to_device(memory.address(), zero.data(), 8).wait();
  HeldStream held(*device_);
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  const Transfer waits = engine.to_device(memory.address(), data.data(), 8,
                                          {.after = held.event.get(), .keep = std::move(kept)});
  EXPECT_FALSE(watched.expired());
  EXPECT_TRUE(waits.cancel());
  EXPECT_EQ(waits.wait(), TransferState::cancelled);
  EXPECT_TRUE(watched.expired()) << "what it kept is let go";
  EXPECT_FALSE(waits.cancel()) << "it is over";
  EXPECT_THROW(waits.order_before(*held.stream), Error);
  held.gate.open();
  held.stream->synchronize();
  EXPECT_EQ(memory.fetch(), zero);
}

TEST_F(TransferEngineTest, AnUrgentOneOvertakesAHugeOne) {
  std::mutex mutex;
  std::vector<std::string> order;
  TransferEngineOptions options = small_pieces();
  options.on_over = [&](const TransferStatus& status) {
    const std::lock_guard lock(mutex);
    order.push_back(status.label);
  };
  TransferEngine engine(device_, options);
  constexpr std::size_t kHuge = 20'000'000;
  Memory to(device_, kHuge), small(device_, 100);
  const Bytes data = counted(kHuge, 1);
  const Transfer huge = engine.to_device(to.address(), data.data(), kHuge, {.label = "huge"});
  const Transfer normal = engine.to_device(small.address(), data.data(), 100, {.label = "normal"});
  const Transfer urgent =
      engine.to_device(small.address(), data.data(), 100, {.priority = 1, .label = "urgent"});
  urgent.wait();
  EXPECT_FALSE(huge.done()) << "20000 pieces cannot be through";
  EXPECT_LT(huge.progress(), 1);
  normal.wait();
  huge.wait();
  EXPECT_EQ(to.fetch(), data);
  EXPECT_GT(normal.status().started_us, urgent.status().updated_us)
      << "it started after the huge one's last piece";
  const std::lock_guard lock(mutex);
  // The last pieces of the huge one and the next are in flight together, and either may be first to end.
  EXPECT_EQ(order.front(), "urgent");
  EXPECT_EQ(order.size(), 3u);
}

TEST_F(TransferEngineTest, CancelInProgressStopsWithinThePiecesInFlight) {
  TransferEngine engine(device_, small_pieces());
  constexpr std::size_t kHuge = 50'000'000;
  Memory to(device_, kHuge);
  const Bytes data(kHuge, 1);
  const Transfer huge = engine.to_device(to.address(), data.data(), kHuge);
  EXPECT_TRUE(device::eventually([&] { return huge.status().bytes_done > 0; }));
  EXPECT_TRUE(huge.cancel());
  EXPECT_EQ(huge.wait(), TransferState::cancelled);
  EXPECT_GT(huge.status().bytes_done, 0u);
  EXPECT_LT(huge.status().bytes_done, kHuge);
  EXPECT_EQ(engine.totals(TransferDirection::to_device).pieces, 0u);
  EXPECT_EQ(engine.totals(TransferDirection::to_device).cancelled, 1u);
}

TEST_F(TransferEngineTest, DestructionLeavesEveryTransferOverAndNothingInUse) {
  constexpr std::size_t kHuge = 20'000'000;
  Memory to(device_, kHuge);
  auto data = std::make_shared<Bytes>(kHuge, 1);
  const std::weak_ptr<Bytes> watched = data;
  HeldStream held(*device_);
  Transfer huge, waiting;
  {
    TransferEngine engine(device_, small_pieces());
    huge = engine.to_device(to.address(), data->data(), kHuge, {.keep = data});
    waiting = engine.to_device(to.address(), data->data(), 10, {.after = held.event.get()});
    data = nullptr;
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(waiting.wait(), TransferState::cancelled);
  EXPECT_TRUE(huge.done());
  EXPECT_FALSE(huge.cancel());
}

TEST_F(TransferEngineTest, AnObserverThatThrowsHarmsNothing) {
  TransferEngineOptions options;
  std::atomic<int> seen = 0;
  options.on_over = [&](const TransferStatus&) {
    ++seen;
    throw std::runtime_error("mine");
  };
  TransferEngine engine(device_, options);
  Memory to(device_, 8);
  const Bytes data(8, 1);
  EXPECT_EQ(engine.to_device(to.address(), data.data(), 8).wait(), TransferState::completed);
  EXPECT_EQ(seen, 1);
}

TEST_F(TransferEngineTest, RefusesBadInput) {
  TransferEngine engine(device_);
  Memory memory(device_, 64);
  Bytes data(64);
  const auto other = device::make_cpu_device();
  const auto foreign = other->make_event();
  const auto foreign_stream = other->make_stream();
  const auto expect = [](const std::function<void()>& call, const std::string& text) {
    std::string message;
    EXPECT_EQ(device::code_of(call, &message), ErrorCode::invalid_argument);
    EXPECT_THAT(message, testing::HasSubstr(text));
  };
  expect([&] { engine.to_device(0, data.data(), 8); },
         "8 bytes were to be copied, but the device's memory is null");
  expect([&] { engine.to_device(memory.address(), nullptr, 8); }, "the host's memory is null");
  expect([&] { engine.to_host(data.data(), memory.address(), SIZE_MAX); }, "go beyond the end");
  expect([&] { engine.on_device(memory.address(), memory.address() + 8, 16); }, "overlap");
  expect([&] { engine.to_device(memory.address(), data.data(), 8, {.after = foreign.get()}); },
         "cannot wait for an event of cpu");
  expect([&] { engine.to_device(memory.address(), data.data(), 8, {.after_stream = foreign_stream.get()}); },
         "cannot wait for a stream of cpu");
  expect([&] { Transfer().wait(); }, "of no transfer");
  expect([&] { TransferEngine{nullptr}; }, "needs a device");
  expect([&] { TransferEngine(device_, {.staging_threads = 0}); }, "at least 1 staging thread");

  const auto stream = device_->make_stream();
  stream->begin_capture();
  expect([&] { engine.to_device(memory.address(), data.data(), 8, {.after_stream = stream.get()}); },
         "not allowed after a record in a capture");
  static_cast<void>(stream->end_capture());
  EXPECT_TRUE(engine.totals(TransferDirection::to_device).completed == 0);
}

}  // namespace
}  // namespace gpuforge::memory
