// Transfers on a driver that fails, and on one that is lost with work in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/allocator.h"
#include "gpuforge/memory/transfer_engine.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::memory {
namespace {

using fake_driver::FakeDriver;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;  // sticky: the context is lost

class TransferFailure : public testing::Test {
 protected:
  // Streams with work queued let go of the device when that is done; the next test has its own driver.
  void TearDown() override {
    memory_.reset();
    stream_ = nullptr;
    device_ = nullptr;
    EXPECT_TRUE(device::eventually([this] { return driver_.counters().contexts == 0; }));
  }
  FakeDriver driver_;
  std::shared_ptr<device::Device> device_ = device::open_device("cuda:0", FakeDriver::search());
  std::shared_ptr<device::Stream> stream_ = device_->make_stream();
  std::vector<char> host_ = std::vector<char>(100000);
  Buffer memory_{make_device_allocator(device_), 100000, stream_};
};

TEST_F(TransferFailure, ACopyTheDriverRefusesFailsItsTransferAlone) {
  TransferEngine engine(device_, {.limits = {.to_device = {1000, 4, 4000, 2}}});
  driver_.fail("cuMemcpyHtoDAsync", kInvalidValue);
  const Transfer bad = engine.to_device(memory_.address(), host_.data(), 100000, {.label = "weights"});
  std::string message;
  EXPECT_EQ(device::code_of([&] { bad.wait(); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message, testing::HasSubstr("transfer 1 'weights' to the device of 100000 bytes failed"));
  EXPECT_THAT(message, testing::HasSubstr("CUDA_ERROR_INVALID_VALUE"));
  EXPECT_EQ(bad.status().state, TransferState::failed);
  EXPECT_TRUE(bad.failure().has_value());
  EXPECT_THROW(bad.order_before(*stream_), Error);
  driver_.fail("cuMemcpyHtoDAsync", 0);
  EXPECT_EQ(engine.to_device(memory_.address(), host_.data(), 100000).wait(), TransferState::completed);
  EXPECT_EQ(engine.totals(TransferDirection::to_device).failed, 1u);
  EXPECT_EQ(engine.totals(TransferDirection::to_device).completed, 1u);
}

TEST_F(TransferFailure, NoPinnedMemoryToStageWithIsOutOfMemory) {
  TransferEngine engine(device_);
  driver_.fail("cuMemHostAlloc", kOutOfMemory);
  const Transfer bad = engine.to_device(memory_.address(), host_.data(), 1000);
  EXPECT_EQ(device::code_of([&] { bad.wait(); }), ErrorCode::out_of_memory);
  driver_.fail("cuMemHostAlloc", 0);
  EXPECT_EQ(engine.to_device(memory_.address(), host_.data(), 1000).wait(), TransferState::completed);
}

// A lost context runs no host functions, so no notice comes: the engine has to ask.
TEST_F(TransferFailure, ALostContextEndsWhatWaitsForAnEvent) {
  TransferEngine engine(device_);
  device::Gate gate;
  const auto held = device_->make_stream();
  const auto event = device_->make_event();
  held->enqueue(gate.work());
  held->record(*event);
  const Transfer waits = engine.to_device(memory_.address(), host_.data(), 1000, {.after = event.get()});
  driver_.fail("cuEventQuery", kIllegalAddress);
  std::string message;
  EXPECT_EQ(device::code_of([&] { waits.wait(); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message, testing::HasSubstr("ILLEGAL_ADDRESS"));
  const Transfer later = engine.to_device(memory_.address(), host_.data(), 1000);
  EXPECT_EQ(device::code_of([&] { later.wait(); }), ErrorCode::cuda);
  gate.open();
}

// Pieces are on their way when the context goes: their transfer, those behind it and what comes later all end
// with the reason, and nobody waits for ever.
TEST_F(TransferFailure, ALostContextEndsWhatHasPiecesInFlight) {
  std::vector<char> back(100000);
  const Buffer other(make_device_allocator(device_), 100000, stream_);
  stream_->synchronize();
  auto engine = std::make_unique<TransferEngine>(
      device_,
      TransferEngineOptions{.limits = {.to_device = {1000, 2, 2000, 2}, .to_host = {1000, 2, 2000, 2}}});
  driver_.fail("cuEventQuery", kNotReady);  // no piece ever ends
  const Transfer transfers[] = {
      engine->to_device(memory_.address(), host_.data(), 100000, {.label = "first"}),
      engine->to_device(memory_.address(), host_.data(), 100000, {.label = "behind it"}),
      engine->to_host(back.data(), other.address(), 100000, {.label = "the other way"})};
  ASSERT_TRUE(device::eventually(
      [&] { return transfers[0].status().started_us > 0 && transfers[2].status().started_us > 0; }));
  EXPECT_FALSE(transfers[0].done());
  driver_.fail("cuEventQuery", kIllegalAddress);
  for (const Transfer& transfer : transfers) {
    std::string message;
    EXPECT_EQ(device::code_of([&] { transfer.wait(); }, &message), ErrorCode::cuda);
    EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("ILLEGAL_ADDRESS"),
                                        testing::HasSubstr(transfer.status().label)));
    EXPECT_EQ(transfer.status().state, TransferState::failed);
  }
  EXPECT_EQ(device::code_of([&] { engine->to_device(memory_.address(), host_.data(), 10).wait(); }),
            ErrorCode::cuda);
  EXPECT_EQ(engine->totals(TransferDirection::to_device).failed, 3u);
  engine.reset();  // does not hang
}

TEST_F(TransferFailure, NothingIsLeftBehind) {
  const FakeCudaCounters before = driver_.counters();
  {
    TransferEngine engine(device_,
                          {.limits = {.to_device = {1000, 4, 4000, 2}, .to_host = {1000, 4, 4000, 2}}});
    engine.to_device(memory_.address(), host_.data(), 100000);
    std::vector<char> back(100000);
    const Buffer other(make_device_allocator(device_), 100000, stream_);
    stream_->synchronize();
    engine.to_host(back.data(), other.address(), 100000);
    engine.wait_all();
    const Transfer kept = engine.to_device(memory_.address(), host_.data(), 100000);
  }
  EXPECT_TRUE(device::eventually([&] {
    const FakeCudaCounters now = driver_.counters();
    return now.streams == before.streams && now.events == before.events && now.pinned == before.pinned;
  }));
}

}  // namespace
}  // namespace gpuforge::memory
