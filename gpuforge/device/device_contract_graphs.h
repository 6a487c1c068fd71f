// The part of the Device contract about capture and graphs. A test header: not installed.
#pragma once

#include "gpuforge/device/device_contract.h"

namespace gpuforge::device {

TEST_P(DeviceContract, ACaptureRecordsAndEachLaunchReplays) {
  constexpr std::size_t kBytes = 256;
  const Address a = device_->allocate(kBytes, *stream_);
  const Address b = device_->allocate(kBytes, *stream_);
  stream_->fill(b, 0, 1, kBytes);
  stream_->synchronize();
  std::vector<std::uint8_t> out(kBytes, 0);
  int runs = 0;

  stream_->begin_capture();
  stream_->fill(a, 0x21, 1, kBytes);
  stream_->copy(b, a, kBytes);
  stream_->enqueue([&] { ++runs; });
  stream_->copy_to_host(out.data(), b, kBytes);
  const std::unique_ptr<Graph> graph = stream_->end_capture();

  EXPECT_EQ(graph->node_count(), 4u);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(read(b, kBytes), std::vector<std::uint8_t>(kBytes, 0));
  for (int launch = 1; launch <= 3; ++launch) {
    stream_->fill(b, 0, 1, kBytes);
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    graph->launch(*stream_);
    stream_->synchronize();
    EXPECT_EQ(runs, launch);
    EXPECT_EQ(out, std::vector<std::uint8_t>(kBytes, 0x21));
  }
  const auto other = device_->make_stream();
  graph->launch(*other);
  other->synchronize();
  EXPECT_EQ(runs, 4);
  device_->free(a, *stream_);
  device_->free(b, *stream_);
}

TEST_P(DeviceContract, AnEmptyCaptureIsAGraphWithoutNodes) {
  stream_->begin_capture();
  stream_->fill(0, 0, 4, 0);
  stream_->copy(0, 0, 0);
  const auto graph = stream_->end_capture();
  EXPECT_EQ(graph->node_count(), 0u);
  graph->launch(*stream_);
  stream_->synchronize();
}

TEST_P(DeviceContract, RecordedFunctionsAreFreedOnceWithTheirGraph) {
  auto token = std::make_shared<int>(0);
  stream_->begin_capture();
  for (int i = 0; i < 3; ++i) stream_->enqueue([token] { ++*token; });
  auto graph = stream_->end_capture();
  EXPECT_GE(token.use_count(), 4);
  graph->launch(*stream_);
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_EQ(*token, 6);
  EXPECT_GE(token.use_count(), 4);
  graph.reset();
  EXPECT_EQ(token.use_count(), 1);
}

TEST_P(DeviceContract, AGraphMayBeDestroyedWhileItsLaunchWaits) {
  auto token = std::make_shared<std::atomic<int>>(0);
  const auto node = [token] { ++*token; };
  const auto capture = [&] {
    stream_->begin_capture();
    stream_->enqueue(node);
    return stream_->end_capture();
  };
  auto graph = capture();
  const auto replacement = capture();
  Gate gate;
  EXPECT_TRUE(returns_behind(gate, [&] {
    stream_->enqueue(gate.work());
    graph->launch(*stream_);
    graph->update(*replacement);  // the launch above keeps the work it had
    graph->launch(*stream_);
    graph.reset();
  }));
  EXPECT_EQ(*token, 0);
  gate.open();
  stream_->synchronize();
  EXPECT_EQ(*token, 2);
}

TEST_P(DeviceContract, StreamsThatWaitForACapturedEventJoinTheCapture) {
  const auto branch = device_->make_stream();
  const auto fork = device_->make_event(false);
  const auto join = device_->make_event(false);
  constexpr std::size_t kBytes = 64;
  const Address a = device_->allocate(kBytes, *stream_);
  const Address b = device_->allocate(kBytes, *stream_);
  std::vector<std::uint8_t> out(kBytes, 0);
  stream_->synchronize();

  stream_->begin_capture();
  stream_->fill(a, 5, 1, kBytes);
  stream_->record(*fork);
  branch->wait(*fork);
  branch->copy(b, a, kBytes);
  branch->record(*join);
  stream_->wait(*join);
  stream_->copy_to_host(out.data(), b, kBytes);
  const auto graph = stream_->end_capture();

  EXPECT_EQ(graph->node_count(), 3u);
  EXPECT_EQ(out[0], 0);
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_EQ(out, std::vector<std::uint8_t>(kBytes, 5));
  bool ran = false;  // the branch is an ordinary stream again
  branch->enqueue([&] { ran = true; });
  branch->synchronize();
  EXPECT_TRUE(ran);
  device_->free(a, *stream_);
  device_->free(b, *stream_);
}

TEST_P(DeviceContract, ACaptureThatIsNotJoinedIsAnErrorAndOver) {
  const auto branch = device_->make_stream();
  const auto fork = device_->make_event(false);
  int runs = 0;
  auto token = std::make_shared<int>(0);
  stream_->begin_capture();
  stream_->enqueue([&, token] { ++runs; });
  stream_->record(*fork);
  branch->wait(*fork);
  branch->enqueue([&, token] { ++runs; });
  std::string message;
  EXPECT_EQ(code_of([&] { stream_->end_capture(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, testing::HasSubstr("joined the capture"));
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(runs, 0);
  for (const auto& stream : {stream_, branch}) {
    stream->enqueue([&] { ++runs; });
    stream->synchronize();
  }
  EXPECT_EQ(runs, 2);
  stream_->begin_capture();
  EXPECT_EQ(stream_->end_capture()->node_count(), 0u);
}

TEST_P(DeviceContract, AJoinBeforeTheLastWorkIsNotAJoin) {
  const auto branch = device_->make_stream();
  const auto fork = device_->make_event(false);
  const auto join = device_->make_event(false);
  stream_->begin_capture();
  stream_->enqueue([] {});
  stream_->record(*fork);
  branch->wait(*fork);
  branch->enqueue([] {});
  branch->record(*join);
  branch->enqueue([] {});  // after the point that is waited for
  stream_->wait(*join);
  expect_refused([&] { stream_->end_capture(); }, device_name());
}

TEST_P(DeviceContract, WhatACaptureRefusesLeavesItUnharmed) {
  const auto branch = device_->make_stream();
  const auto outsider = device_->make_stream();
  const auto fork = device_->make_event(false);
  const auto join = device_->make_event(false);
  const auto outside = device_->make_event();
  const auto never = device_->make_event();
  outsider->begin_capture();
  const auto earlier_graph = outsider->end_capture();
  outsider->record(*outside);
  outsider->synchronize();
  int runs = 0;

  expect_refused([&] { stream_->end_capture(); }, device_name());
  stream_->begin_capture();
  stream_->enqueue([&] { ++runs; });
  stream_->record(*fork);
  branch->wait(*fork);
  for (const auto& stream : {stream_, branch}) {
    expect_refused([&] { stream->begin_capture(); }, device_name());
    expect_refused([&] { stream->synchronize(); }, device_name());
    expect_refused([&] { stream->done(); }, device_name());
    expect_refused([&] { stream->wait(*outside); }, device_name());
    expect_refused([&] { device_->allocate(64, *stream); }, device_name());
    expect_refused([&] { earlier_graph->launch(*stream); }, device_name());
    stream->wait(*never);
  }
  expect_refused([&] { device_->synchronize(); }, device_name());
  expect_refused([&] { branch->end_capture(); }, device_name());
  expect_refused([&] { fork->done(); }, device_name());
  expect_refused([&] { fork->synchronize(); }, device_name());
  expect_refused([&] { fork->elapsed_ms_since(*fork); }, device_name());
  outsider->begin_capture();
  expect_refused([&] { outsider->wait(*fork); }, device_name());
  EXPECT_EQ(outsider->end_capture()->node_count(), 0u);
  // Streams and events outside go on as ever.
  EXPECT_TRUE(outside->done());
  outsider->enqueue([] {});
  outsider->synchronize();
  void* const pinned = device_->allocate_pinned(4096);
  device_->free_pinned(pinned);
  const Address block = device_->allocate(64, *outsider);
  device_->free(block, *outsider);

  branch->enqueue([&] { ++runs; });
  branch->record(*join);
  stream_->wait(*join);
  const auto graph = stream_->end_capture();
  EXPECT_EQ(runs, 0);
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_EQ(runs, 2);
  device_->synchronize();
}

TEST_P(DeviceContract, AnEventOfAFinishedCaptureMustBeRecordedAgain) {
  const auto event = device_->make_event();
  stream_->begin_capture();
  stream_->enqueue([] {});
  stream_->record(*event);
  const auto graph = stream_->end_capture();
  expect_refused([&] { event->done(); }, device_name());
  expect_refused([&] { event->synchronize(); }, device_name());
  expect_refused([&] { stream_->wait(*event); }, device_name());
  stream_->record(*event);
  event->synchronize();
  EXPECT_TRUE(event->done());
  stream_->wait(*event);
  stream_->synchronize();
}

TEST_P(DeviceContract, MemoryFreedInACaptureLivesUntilItsEnd) {
  constexpr std::size_t kBytes = 4096;
  const Address block = device_->allocate(kBytes, *stream_);
  stream_->fill(block, 8, 1, kBytes);
  stream_->begin_capture();
  stream_->enqueue([] {});
  device_->free(block, *stream_);
  const auto graph = stream_->end_capture();
  EXPECT_EQ(graph->node_count(), 1u) << "a free is not recorded";
  graph->launch(*stream_);
  stream_->synchronize();
  const Address next = device_->allocate(kBytes, *stream_);
  stream_->fill(next, 1, 1, kBytes);
  device_->free(next, *stream_);
  stream_->synchronize();
}

TEST_P(DeviceContract, ACaptureKeepsWhatItsGraphNeeds) {
  const auto other = device_->make_stream();
  auto token = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = token;
  EXPECT_FALSE(stream_->keep_in_capture(token));
  EXPECT_FALSE(device_->capturing());
  stream_->begin_capture();
  EXPECT_TRUE(stream_->capturing() && device_->capturing());
  EXPECT_FALSE(other->capturing());
  EXPECT_FALSE(other->keep_in_capture(token));
  EXPECT_TRUE(stream_->keep_in_capture(std::move(token)));
  token.reset();
  auto graph = stream_->end_capture();
  EXPECT_FALSE(stream_->capturing() || device_->capturing());
  EXPECT_EQ(graph->node_count(), 0u);
  EXPECT_FALSE(watched.expired());
  Gate gate;
  EXPECT_TRUE(returns_behind(gate, [&] {
    other->enqueue(gate.work());
    graph->launch(*other);
    graph.reset();
  }));
  EXPECT_FALSE(watched.expired()) << "a launch is under way";
  gate.open();
  other->synchronize();
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
  // One that is dropped keeps nothing.
  auto second = std::make_shared<int>(8);
  const std::weak_ptr<int> watched_second = second;
  {
    const auto doomed = device_->make_stream();
    doomed->begin_capture();
    EXPECT_TRUE(doomed->keep_in_capture(std::move(second)));
    second.reset();
  }
  EXPECT_TRUE(eventually([&] { return watched_second.expired(); }));
}

TEST_P(DeviceContract, UpdateTakesOverWorkOfTheSameShape) {
  constexpr std::size_t kBytes = 32;
  const Address block = device_->allocate(kBytes, *stream_);
  std::string seen;
  const auto capture = [&](std::uint32_t value, char letter) {
    stream_->begin_capture();
    stream_->fill(block, value, 1, kBytes);
    stream_->enqueue([&seen, letter] { seen += letter; });
    return stream_->end_capture();
  };
  const auto graph = capture(1, 'a');
  {
    const auto next = capture(2, 'b');
    graph->update(*next);
  }
  graph->launch(*stream_);
  EXPECT_EQ(read(block, kBytes), std::vector<std::uint8_t>(kBytes, 2));
  EXPECT_EQ(seen, "b");
  // What was taken over can be handed on.
  const auto third = capture(3, 'c');
  third->update(*graph);
  third->launch(*stream_);
  EXPECT_EQ(read(block, kBytes), std::vector<std::uint8_t>(kBytes, 2));
  EXPECT_EQ(seen, "bb");
  device_->free(block, *stream_);
}

TEST_P(DeviceContract, UpdateOfAnotherShapeIsUnsupportedAndChangesNothing) {
  constexpr std::size_t kBytes = 32;
  const Address block = device_->allocate(kBytes, *stream_);
  int runs = 0;
  stream_->begin_capture();
  stream_->fill(block, 1, 1, kBytes);
  stream_->enqueue([&] { ++runs; });
  const auto graph = stream_->end_capture();
  stream_->begin_capture();
  stream_->fill(block, 2, 1, kBytes);
  const auto shorter = stream_->end_capture();
  stream_->begin_capture();
  stream_->fill(block, 3, 1, kBytes);
  stream_->fill(block, 4, 1, kBytes);
  const auto other_kinds = stream_->end_capture();
  for (const Graph* unfit : {shorter.get(), other_kinds.get()}) {
    std::string message;
    EXPECT_EQ(code_of([&] { graph->update(*unfit); }, &message), ErrorCode::unsupported);
    EXPECT_THAT(message, testing::StartsWith(device_name()));
  }
  graph->launch(*stream_);
  EXPECT_EQ(read(block, kBytes), std::vector<std::uint8_t>(kBytes, 1));
  EXPECT_EQ(runs, 1);
  device_->free(block, *stream_);
}

TEST_P(DeviceContract, GraphsOfAnotherDeviceAreRefused) {
  const auto other = another_device();
  const auto other_stream = other->make_stream();
  stream_->begin_capture();
  const auto graph = stream_->end_capture();
  other_stream->begin_capture();
  const auto other_graph = other_stream->end_capture();
  expect_refused([&] { graph->launch(*other_stream); }, device_name());
  expect_refused([&] { graph->update(*other_graph); }, device_name());
}

TEST_P(DeviceContract, ExceptionsInAGraphAppearOnTheStreamThatLaunchedIt) {
  const auto other = device_->make_stream();
  int after = 0;
  stream_->begin_capture();
  stream_->enqueue([] { throw Error(ErrorCode::io, "disk: gone"); });
  stream_->enqueue([&] { ++after; });
  const auto graph = stream_->end_capture();
  for (int launch = 1; launch <= 2; ++launch) {
    std::string message;
    graph->launch(*other);
    EXPECT_EQ(code_of([&] { other->synchronize(); }, &message), ErrorCode::io);
    EXPECT_THAT(message, testing::HasSubstr("disk: gone"));
    EXPECT_EQ(after, launch);
    other->synchronize();
    stream_->synchronize();
  }
}

TEST_P(DeviceContract, StreamsMayBeDestroyedWhileCapturing) {
  auto token = std::make_shared<int>(0);
  {
    const auto doomed = device_->make_stream();
    doomed->begin_capture();
    doomed->enqueue([token] {});
  }
  EXPECT_EQ(token.use_count(), 1);
  device_->synchronize();  // no capture is left open

  auto branch = device_->make_stream();
  const auto fork = device_->make_event(false);
  const auto join = device_->make_event(false);
  int runs = 0;
  stream_->begin_capture();
  stream_->enqueue([&] { ++runs; });
  stream_->record(*fork);
  branch->wait(*fork);
  branch->enqueue([&] { ++runs; });
  branch->record(*join);
  stream_->wait(*join);
  branch.reset();
  const auto graph = stream_->end_capture();
  graph->launch(*stream_);
  stream_->synchronize();
  EXPECT_EQ(runs, 2);
  device_->synchronize();
}

}  // namespace gpuforge::device
