// The fake must behave as the real driver does where tests lean on it. Most answers expected here were
// measured on an H200 (CUDA 13.0 driver). Not measured: ranges that end just past an allocation, the code of
// an unjoined fork, an update that does not fit, waiting for another stream in a capture still valid, and the
// code of a bad image.
#include "tests/fake_driver/fake_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include "gpuforge/cuda/cuda.h"

namespace gpuforge::fake_driver {
namespace {

using namespace cuda;

class Fake : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = Driver::load(FakeDriver::search());
    driver_->device_primary_ctx_retain("cuda:0", &context_, 0);
    driver_->ctx_set_current("cuda:0", context_);
    stream_ = make_stream();
    other_ = make_stream();
  }
  RawStream make_stream() {
    RawStream stream = nullptr;
    driver_->stream_create_with_priority("stream", &stream, StreamFlags::non_blocking, 0);
    return stream;
  }
  RawEvent make_event(EventFlags flags = EventFlags::none) {
    RawEvent event = nullptr;
    driver_->event_create("event", &event, flags);
    return event;
  }
  DevicePointer allocate(std::size_t bytes) {
    DevicePointer pointer = 0;
    driver_->mem_alloc_async("memory", &pointer, bytes, stream_);
    return pointer;
  }
  RawFunction load(const char* image, const char* name) {
    RawModule module = nullptr;
    driver_->module_load_data("module", &module, image);
    RawFunction function = nullptr;
    driver_->module_get_function("function", &function, module, name);
    return function;
  }
  void begin() { driver_->stream_begin_capture("capture", stream_, CaptureMode::per_thread); }
  Result end(RawGraph* graph) { return driver_->stream_end_capture.raw(stream_, graph); }

  FakeDriver fake_{
      {"FAKE_CUDA_MEMORY_BYTES", "1000000"}, {"FAKE_CUDA_SM", "75"}, {"FAKE_CUDA_NAME", "Old GPU"}};
  std::shared_ptr<const Driver> driver_;
  RawContext context_ = nullptr;
  RawStream stream_ = nullptr;
  RawStream other_ = nullptr;
};

TEST_F(Fake, IsConfiguredByTheEnvironment) {
  char name[64] = {};
  driver_->device_get_name("name", name, 64, 0);
  EXPECT_STREQ(name, "Old GPU");
  int major = 0;
  int minor = 0;
  driver_->device_get_attribute("major", &major, DeviceAttribute::compute_capability_major, 0);
  driver_->device_get_attribute("minor", &minor, DeviceAttribute::compute_capability_minor, 0);
  EXPECT_EQ(major * 10 + minor, 75);
  std::size_t bytes = 0;
  driver_->device_total_mem("memory", &bytes, 0);
  EXPECT_EQ(bytes, 1000000u);
  EXPECT_EQ(driver_->device_total_mem.raw(&bytes, 1), Result::invalid_device);
}

TEST_F(Fake, CountsMemoryAndRefusesWhatItDoesNotKnow) {
  const DevicePointer pointer = allocate(4096);
  EXPECT_EQ(fake_.counters().allocations, 1u);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  driver_->mem_get_info("memory", &free_bytes, &total_bytes);
  EXPECT_EQ(total_bytes - free_bytes, 4096u);
  RawMemoryPool pool = nullptr;
  driver_->device_get_default_mem_pool("pool", &pool, 0);
  std::uint64_t used = 0;
  driver_->mem_pool_get_attribute("pool", pool, MemoryPoolAttribute::used_bytes, &used);
  EXPECT_EQ(used, 4096u);
  DevicePointer more = 1;
  EXPECT_EQ(driver_->mem_alloc_async.raw(&more, 1000000, stream_), Result::out_of_memory);
  EXPECT_EQ(driver_->mem_alloc.raw(&more, 0), Result::invalid_value);
  EXPECT_EQ(driver_->mem_alloc_async.raw(&more, 0, stream_), Result::success);
  EXPECT_EQ(more, 0u);
  EXPECT_EQ(driver_->memset_d8_async.raw(pointer + 4090, 0, 7, stream_), Result::invalid_value);
  EXPECT_EQ(driver_->memset_d32_async.raw(pointer + 1, 0, 1, stream_), Result::invalid_value);
  EXPECT_EQ(driver_->mem_free_async.raw(pointer + 1, stream_), Result::invalid_value);
  EXPECT_EQ(driver_->mem_free_async.raw(pointer, stream_), Result::success);
  EXPECT_EQ(driver_->mem_free_async.raw(pointer, stream_), Result::invalid_value);
  EXPECT_EQ(driver_->memset_d8_async.raw(pointer, 0, 1, stream_), Result::invalid_value);
  EXPECT_EQ(fake_.counters().allocations, 0u);
}

TEST_F(Fake, CopiesAndFillsInStreamOrder) {
  const DevicePointer pointer = allocate(12);
  std::array<std::uint8_t, 12> bytes{};
  driver_->memset_d32_async("fill", pointer, 0x04030201u, 3, stream_);
  driver_->memset_d16_async("fill", pointer + 4, 0x0605, 2, stream_);
  driver_->memset_d8_async("fill", pointer + 11, 9, 1, stream_);
  driver_->memcpy_dtoh_async("copy", bytes.data(), pointer, 12, stream_);
  driver_->stream_synchronize("stream", stream_);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 12>{1, 2, 3, 4, 5, 6, 5, 6, 1, 2, 3, 9}));
  driver_->memcpy_htod("copy", pointer, "abc", 3);
  driver_->memcpy_dtoh("copy", bytes.data(), pointer, 3);
  EXPECT_EQ(std::memcmp(bytes.data(), "abc", 3), 0);
}

TEST_F(Fake, StreamsRunByThemselvesAndEventsOrderThem) {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> done = 0;
  driver_->launch_host_func(
      "wait", stream_, [](void* future) { static_cast<std::shared_future<void>*>(future)->wait(); }, &open);
  const RawEvent event = make_event();
  driver_->event_record("event", event, stream_);
  driver_->stream_wait_event("wait", other_, event, EventWaitFlags::none);
  driver_->launch_host_func(
      "count", other_, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &done);
  EXPECT_EQ(driver_->stream_query.raw(stream_), Result::not_ready);
  EXPECT_EQ(driver_->stream_query.raw(other_), Result::not_ready);
  EXPECT_EQ(driver_->event_query.raw(event), Result::not_ready);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(fake_.counters().synchronizes, 0u);
  gate.set_value();
  driver_->stream_synchronize("other", other_);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(driver_->event_query.raw(event), Result::success);
  EXPECT_EQ(fake_.counters().synchronizes, 1u);
}

TEST_F(Fake, EventsKeepTimesUnlessToldNotTo) {
  const RawEvent start = make_event();
  const RawEvent end = make_event();
  const RawEvent untimed = make_event(EventFlags::disable_timing);
  float ms = -1;
  EXPECT_EQ(driver_->event_query.raw(start), Result::success);
  EXPECT_EQ(driver_->event_elapsed_time.raw(&ms, start, end), Result::invalid_handle);
  for (const RawEvent event : {start, untimed, end}) driver_->event_record("event", event, stream_);
  driver_->event_synchronize("end", end);
  driver_->event_elapsed_time("time", &ms, start, end);
  EXPECT_GE(ms, 0.0f);
  EXPECT_EQ(driver_->event_elapsed_time.raw(&ms, start, untimed), Result::invalid_handle);
}

TEST_F(Fake, HostFunctionsMayNotCallTheDriver) {
  struct Probe {
    const Driver* driver;
    Result result;
  } probe{driver_.get(), Result::success};
  driver_->launch_host_func(
      "probe", stream_,
      [](void* data) {
        Probe* const p = static_cast<Probe*>(data);
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        p->result = p->driver->mem_get_info.raw(&free_bytes, &total_bytes);
      },
      &probe);
  driver_->stream_synchronize("stream", stream_);
  EXPECT_EQ(probe.result, Result::not_permitted);
}

TEST_F(Fake, ContextsAreNeededToMakeThingsNotToUseThem) {
  const RawEvent event = make_event();
  Result make = Result::success;
  Result use = Result::unknown;
  std::thread([&] {
    RawStream made = nullptr;
    make = driver_->stream_create_with_priority.raw(&made, StreamFlags::none, 0);
    use = driver_->event_record.raw(event, stream_);
  }).join();
  EXPECT_EQ(make, Result::invalid_context);
  EXPECT_EQ(use, Result::success);
}

TEST_F(Fake, StickyErrorsStickAndShutdownEndsAll) {
  fake_.fail("cuStreamSynchronize", 700);
  EXPECT_EQ(driver_->stream_synchronize.raw(stream_), Result::illegal_address);
  fake_.fail("cuStreamSynchronize", 0);
  EXPECT_EQ(driver_->stream_synchronize.raw(stream_), Result::illegal_address);
  EXPECT_EQ(driver_->stream_destroy.raw(stream_), Result::illegal_address);
  RawContext context = nullptr;
  EXPECT_EQ(driver_->ctx_get_current.raw(&context), Result::success);
  EXPECT_EQ(driver_->device_primary_ctx_retain.raw(&context, 0), Result::illegal_address);
  fake_.shut_down();
  EXPECT_EQ(driver_->stream_destroy.raw(stream_), Result::deinitialized);
}

TEST_F(Fake, NothingIsCopiedAfterAStickyError) {
  const DevicePointer pointer = allocate(4);
  std::uint32_t copied = 7;
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  driver_->launch_host_func(
      "wait", stream_, [](void* future) { static_cast<std::shared_future<void>*>(future)->wait(); }, &open);
  driver_->memcpy_dtoh_async("copy", &copied, pointer, 4, stream_);
  std::promise<void> past;
  driver_->launch_host_func(
      "tell", stream_, [](void* promise) { static_cast<std::promise<void>*>(promise)->set_value(); }, &past);
  fake_.fail("cuStreamQuery", 700);
  EXPECT_EQ(driver_->stream_query.raw(stream_), Result::illegal_address);
  gate.set_value();
  past.get_future().wait();
  EXPECT_EQ(copied, 7u);
}

TEST_F(Fake, ACaptureRecordsReplaysAndUpdates) {
  const DevicePointer pointer = allocate(1);
  driver_->memset_d8_async("fill", pointer, 7, 1, stream_);
  const auto value = [&] {
    std::uint8_t byte = 0;
    driver_->stream_synchronize("stream", stream_);
    driver_->memcpy_dtoh("copy", &byte, pointer, 1);
    return static_cast<int>(byte);
  };
  RawGraph graphs[2] = {};
  for (int i = 0; i < 2; ++i) {
    begin();
    driver_->memset_d8_async("fill", pointer, static_cast<unsigned char>(i + 1), 1, stream_);
    ASSERT_EQ(end(&graphs[i]), Result::success);
  }
  EXPECT_EQ(value(), 7) << "captured work ran";
  RawGraphExec exec = nullptr;
  driver_->graph_instantiate("graph", &exec, graphs[0], GraphInstantiateFlags::none);
  driver_->graph_launch("graph", exec, stream_);
  EXPECT_EQ(value(), 1);
  GraphUpdateInfo info;
  driver_->graph_exec_update("graph", exec, graphs[1], &info);
  driver_->graph_launch("graph", exec, stream_);
  EXPECT_EQ(value(), 2);
  RawGraph other_shape = nullptr;
  begin();
  ASSERT_EQ(end(&other_shape), Result::success);
  EXPECT_EQ(driver_->graph_exec_update.raw(exec, other_shape, &info), Result::graph_exec_update_failure);
  EXPECT_EQ(info.result, GraphUpdateResult::topology_changed);
  driver_->graph_launch("graph", exec, stream_);
  EXPECT_EQ(value(), 2);
}

TEST_F(Fake, CapturesRefuseWaiting) {
  const RawEvent outside = make_event();
  driver_->event_record("outside", outside, other_);
  RawGraph graph = nullptr;
  std::size_t checked = 0;
  const auto expect_ended_by = [&](const char* what, Result expected, const std::function<Result()>& call) {
    begin();
    EXPECT_EQ(call(), expected) << what;
    EXPECT_EQ(end(&graph), Result::stream_capture_invalidated) << what;
    EXPECT_EQ(graph, nullptr);
    ++checked;
  };
  DevicePointer pointer = 0;
  expect_ended_by("synchronize", Result::stream_capture_unsupported,
                  [&] { return driver_->stream_synchronize.raw(stream_); });
  expect_ended_by("query", Result::stream_capture_unsupported,
                  [&] { return driver_->stream_query.raw(stream_); });
  expect_ended_by("other stream", Result::stream_capture_unsupported,
                  [&] { return driver_->stream_synchronize.raw(other_); });
  expect_ended_by("event", Result::stream_capture_unsupported,
                  [&] { return driver_->event_query.raw(outside); });
  expect_ended_by("context", Result::stream_capture_unsupported,
                  [&] { return driver_->ctx_synchronize.raw(); });
  expect_ended_by("allocation", Result::stream_capture_unsupported,
                  [&] { return driver_->mem_alloc.raw(&pointer, 16); });
  expect_ended_by("outside event", Result::stream_capture_isolation,
                  [&] { return driver_->stream_wait_event.raw(stream_, outside, EventWaitFlags::none); });
  EXPECT_EQ(checked, 7u);
  EXPECT_EQ(end(&graph), Result::illegal_state);
  EXPECT_EQ(driver_->stream_begin_capture.raw(nullptr, CaptureMode::relaxed),
            Result::stream_capture_unsupported);
}

TEST_F(Fake, CapturesFollowForksAndJoins) {
  const DevicePointer pointer = allocate(2);
  const RawEvent fork = make_event();
  const RawEvent join = make_event();
  const auto record = [&](bool joined) {
    begin();
    driver_->memset_d8_async("fill", pointer, 1, 1, stream_);
    driver_->event_record("fork", fork, stream_);
    driver_->stream_wait_event("fork", other_, fork, EventWaitFlags::none);
    driver_->memset_d8_async("fill", pointer + 1, 2, 1, other_);
    driver_->event_record("join", join, other_);
    if (joined) driver_->stream_wait_event("join", stream_, join, EventWaitFlags::none);
  };
  RawGraph graph = nullptr;
  record(false);
  EXPECT_EQ(end(&graph), Result::stream_capture_unjoined);
  EXPECT_EQ(driver_->event_query.raw(join), Result::invalid_value);
  record(true);
  EXPECT_EQ(driver_->stream_end_capture.raw(other_, &graph), Result::stream_capture_unmatched);
  EXPECT_EQ(end(&graph), Result::stream_capture_invalidated);
  record(true);
  ASSERT_EQ(end(&graph), Result::success);
  CaptureStatus status = CaptureStatus::active;
  driver_->stream_is_capturing("other", other_, &status);
  EXPECT_EQ(status, CaptureStatus::none);
  std::size_t nodes = 0;
  driver_->graph_get_nodes("graph", graph, nullptr, &nodes);
  EXPECT_EQ(nodes, 2u);
}

TEST_F(Fake, OnlyTheCapturingThreadEndsACapture) {
  begin();
  RawGraph graph = nullptr;
  Result result = Result::success;
  std::thread([&] { result = end(&graph); }).join();
  EXPECT_EQ(result, Result::stream_capture_wrong_thread);
  EXPECT_EQ(end(&graph), Result::illegal_state);
}

TEST_F(Fake, ModulesKnowTheirEntriesAndParameters) {
  const char* const ptx =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry f(.param .u64 a, .param .f32 b,\n .param .align 8 .b8 c[24])\n{ ret; }\n.visible "
      ".entry g()\n{ ret; }";
  const RawFunction function = load(ptx, "f");
  const std::size_t expected[3][2] = {{0, 8}, {8, 4}, {16, 24}};
  std::size_t offset = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    driver_->func_get_param_info("parameter", function, i, &offset, &bytes);
    EXPECT_EQ(offset, expected[i][0]);
    EXPECT_EQ(bytes, expected[i][1]);
  }
  EXPECT_EQ(driver_->func_get_param_info.raw(function, 3, &offset, &bytes), Result::invalid_value);
  RawModule module = nullptr;
  driver_->module_load_data("module", &module, "FAKE\nentry scale 8 4\n");
  RawFunction absent = nullptr;
  EXPECT_EQ(driver_->module_get_function.raw(&absent, module, "nope"), Result::not_found);
  unsigned count = 0;
  driver_->module_get_function_count("count", &count, module);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(driver_->module_load_data.raw(&module, "BAD"), Result::invalid_image);
}

TEST_F(Fake, LaunchesCopyTheirArgumentsAndCallTheStandIn) {
  struct Seen {
    std::string function;
    int value = 0;
    unsigned grid = 0;
    unsigned cluster = 0;
    int cooperative = 0;
  } seen;
  fake_.on_launch(
      [](const FakeCudaLaunch* launch, void* data) {
        Seen& out = *static_cast<Seen*>(data);
        out.function = launch->function;
        out.value = *static_cast<const int*>(launch->parameters[0]);
        out.grid = launch->grid[0];
        out.cluster = launch->cluster[0];
        out.cooperative = launch->cooperative;
      },
      &seen);
  const RawFunction function = load("FAKE\nentry scale 4\n", "scale");
  int value = 42;
  void* parameters[] = {&value};
  std::array<LaunchAttribute, 2> attributes;
  attributes[0].id = LaunchAttributeId::cluster_dimension;
  attributes[0].value.cluster = {2, 1, 1};
  attributes[1].id = LaunchAttributeId::cooperative;
  attributes[1].value.cooperative = 1;
  LaunchConfig config;
  config.grid_x = 4;
  config.stream = stream_;
  config.attributes = attributes.data();
  config.attribute_count = 2;
  driver_->launch_kernel_ex("launch", &config, function, parameters, nullptr);
  value = 0;
  driver_->stream_synchronize("stream", stream_);
  EXPECT_EQ(seen.function, "scale");
  EXPECT_EQ(seen.value, 42);
  EXPECT_EQ(seen.grid, 4u);
  EXPECT_EQ(seen.cluster, 2u);
  EXPECT_EQ(seen.cooperative, 1);
  config.grid_x = 3;
  EXPECT_EQ(driver_->launch_kernel_ex.raw(&config, function, parameters, nullptr),
            Result::invalid_cluster_size);
  EXPECT_EQ(driver_->launch_kernel.raw(function, 0, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr),
            Result::invalid_value);
  EXPECT_EQ(driver_->launch_kernel.raw(function, 1, 1, 1, 32, 1, 1, 65536, stream_, parameters, nullptr),
            Result::invalid_value);
  driver_->func_set_attribute("opt in", function, FunctionAttribute::max_dynamic_shared_size_bytes, 65536);
  EXPECT_EQ(driver_->launch_kernel.raw(function, 1, 1, 1, 32, 1, 1, 65536, stream_, parameters, nullptr),
            Result::success);
  driver_->stream_synchronize("stream", stream_);  // the stand-in writes to `seen`
}

}  // namespace
}  // namespace gpuforge::fake_driver
