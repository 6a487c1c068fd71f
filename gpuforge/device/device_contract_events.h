// The part of the Device contract about events. A test header: not installed.
#pragma once

#include "gpuforge/device/device_contract.h"

namespace gpuforge::device {

TEST_P(DeviceContract, AnEventNeverRecordedIsDone) {
  const auto event = device_->make_event();
  EXPECT_TRUE(event->done());
  event->synchronize();
  bool ran = false;
  stream_->wait(*event);
  stream_->enqueue([&] { ran = true; });
  stream_->synchronize();
  EXPECT_TRUE(ran);
}

TEST_P(DeviceContract, EventsOrderWorkOfDifferentStreams) {
  constexpr std::size_t kBytes = 1024;
  const auto other = device_->make_stream();
  const auto event = device_->make_event(false);
  const Address block = device_->allocate(kBytes, *stream_);
  stream_->fill(block, 1, 1, kBytes);
  stream_->synchronize();
  for (std::uint32_t round = 2; round < 12; ++round) {
    std::vector<std::uint8_t> out(kBytes, 0);
    stream_->enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    stream_->fill(block, round, 1, kBytes);
    stream_->record(*event);
    other->wait(*event);
    other->copy_to_host(out.data(), block, kBytes);
    other->synchronize();
    EXPECT_EQ(out, std::vector<std::uint8_t>(kBytes, static_cast<std::uint8_t>(round)));
  }
  device_->free(block, *stream_);
}

TEST_P(DeviceContract, AWaitIsForTheRecordBeforeItNotForALaterOne) {
  const auto waiting = device_->make_stream();
  const auto free_stream = device_->make_stream();
  const auto event = device_->make_event();
  std::atomic<bool> reached = false;
  Gate gate;
  EXPECT_TRUE(returns_behind(gate, [&] {
    stream_->enqueue(gate.work());
    stream_->record(*event);
    waiting->wait(*event);
    waiting->enqueue([&] { reached = true; });
    free_stream->record(*event);  // from now on the event means this point, but the wait does not
    event->synchronize();
    EXPECT_TRUE(event->done());
    free_stream->synchronize();
  }));
  EXPECT_FALSE(waiting->done());
  EXPECT_FALSE(reached);
  gate.open();
  waiting->synchronize();
  EXPECT_TRUE(reached);
}

TEST_P(DeviceContract, AWaitForADoneEventHoldsNothingUp) {
  const auto other = device_->make_stream();
  const auto event = device_->make_event();
  stream_->record(*event);
  event->synchronize();
  EXPECT_TRUE(event->done());
  other->wait(*event);
  other->synchronize();
  EXPECT_TRUE(other->done());
}

TEST_P(DeviceContract, AnEventMayBeDestroyedWhileStreamsWaitForIt) {
  const auto other = device_->make_stream();
  bool reached = false;
  {
    const auto event = device_->make_event();
    stream_->enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
    stream_->record(*event);
    other->wait(*event);
    other->enqueue([&] { reached = true; });
  }
  other->synchronize();
  EXPECT_TRUE(reached);
  stream_->synchronize();
}

TEST_P(DeviceContract, TimesGrowAlongAStream) {
  const auto first = device_->make_event();
  const auto second = device_->make_event();
  const auto third = device_->make_event();
  stream_->record(*first);
  stream_->enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
  stream_->record(*second);
  stream_->record(*third);
  third->synchronize();
  const float ms = second->elapsed_ms_since(*first);
  EXPECT_GE(ms, 9.0f);
  EXPECT_LT(ms, 10'000.0f);
  EXPECT_GE(third->elapsed_ms_since(*second), 0.0f);
  EXPECT_GE(third->elapsed_ms_since(*first), ms);
  EXPECT_LE(first->elapsed_ms_since(*second), -9.0f);
  EXPECT_EQ(first->elapsed_ms_since(*first), 0.0f);
}

TEST_P(DeviceContract, TimesThatDoNotExistAreRefused) {
  const auto recorded = device_->make_event();
  const auto never = device_->make_event();
  const auto untimed = device_->make_event(false);
  stream_->record(*recorded);
  stream_->record(*untimed);
  stream_->synchronize();
  expect_refused([&] { recorded->elapsed_ms_since(*never); }, device_name());
  expect_refused([&] { never->elapsed_ms_since(*recorded); }, device_name());
  expect_refused([&] { recorded->elapsed_ms_since(*untimed); }, device_name());
  expect_refused([&] { untimed->elapsed_ms_since(*recorded); }, device_name());
  const auto late = device_->make_event();
  Gate gate;
  stream_->enqueue(gate.work());
  stream_->record(*late);
  expect_refused([&] { late->elapsed_ms_since(*recorded); }, device_name());
  expect_refused([&] { recorded->elapsed_ms_since(*late); }, device_name());
  gate.open();
  stream_->synchronize();
  EXPECT_GE(late->elapsed_ms_since(*recorded), 0.0f);
}

}  // namespace gpuforge::device
