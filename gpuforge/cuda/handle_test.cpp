#include "gpuforge/cuda/handle.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::cuda {
namespace {

using fake_driver::FakeDriver;

struct Note {
  std::vector<int>* destroyed = nullptr;
  void operator()(int value) const { destroyed->push_back(value); }
};
using NotedHandle = Handle<int, Note>;

static_assert(!std::is_copy_constructible_v<NotedHandle> && !std::is_copy_assignable_v<NotedHandle>);
static_assert(std::is_nothrow_move_constructible_v<NotedHandle> &&
              std::is_nothrow_destructible_v<NotedHandle>);

TEST(Handle, DestroysOnceWhereverItMoved) {
  std::vector<int> destroyed;
  {
    NotedHandle first(7, {&destroyed});
    NotedHandle second = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_TRUE(second);
    EXPECT_EQ(second.get(), 7);
  }
  EXPECT_EQ(destroyed, std::vector{7});
}

TEST(Handle, AssignmentDestroysWhatWasHeld) {
  std::vector<int> destroyed;
  NotedHandle held(1, {&destroyed});
  held = NotedHandle(2, {&destroyed});
  EXPECT_EQ(destroyed, std::vector{1});
  NotedHandle& self = held;
  held = std::move(self);
  EXPECT_EQ(held.get(), 2);
  EXPECT_EQ(destroyed, std::vector{1});
}

TEST(Handle, ReleaseAndResetAndEmpty) {
  std::vector<int> destroyed;
  {
    NotedHandle empty;
    NotedHandle released(3, {&destroyed});
    EXPECT_EQ(released.release(), 3);
    NotedHandle reset(4, {&destroyed});
    reset.reset();
    reset.reset();
  }
  EXPECT_EQ(destroyed, std::vector{4});
}

TEST(Handle, ADestroyerThatThrowsIsSwallowed) {
  struct Throws {
    void operator()(int) const { throw std::runtime_error("no"); }
  };
  EXPECT_NO_THROW((Handle<int, Throws>(1, {})));
}

class DriverHandles : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = Driver::load(FakeDriver::search());
    driver_->device_primary_ctx_retain("cuda:0", &context_, 0);
    primary_ = PrimaryContextHandle(context_, {driver_, 0});
    driver_->ctx_set_current("cuda:0", context_);
  }
  StreamHandle make_stream() {
    RawStream stream = nullptr;
    driver_->stream_create_with_priority("stream", &stream, StreamFlags::non_blocking, 0);
    return StreamHandle(stream, {driver_, context_});
  }
  EventHandle make_event() {
    RawEvent event = nullptr;
    driver_->event_create("event", &event, EventFlags::none);
    return EventHandle(event, {driver_, context_});
  }
  ModuleHandle make_module() {
    RawModule module = nullptr;
    driver_->module_load_data("module", &module, "FAKE\nentry f\n");
    return ModuleHandle(module, {driver_, context_});
  }
  GraphHandle make_graph() {
    const StreamHandle stream = make_stream();
    driver_->stream_begin_capture("stream", stream.get(), CaptureMode::per_thread);
    RawGraph graph = nullptr;
    driver_->stream_end_capture("stream", stream.get(), &graph);
    return GraphHandle(graph, {driver_, context_});
  }
  GraphExecHandle make_graph_exec(const GraphHandle& graph) {
    RawGraphExec exec = nullptr;
    driver_->graph_instantiate("graph", &exec, graph.get(), GraphInstantiateFlags::none);
    return GraphExecHandle(exec, {driver_, context_});
  }
  std::size_t live() {
    const FakeCudaCounters c = fake_.counters();
    return c.streams + c.events + c.modules + c.graphs + c.graph_execs;
  }

  FakeDriver fake_;
  std::shared_ptr<const Driver> driver_;
  RawContext context_ = nullptr;
  PrimaryContextHandle primary_;
};

TEST_F(DriverHandles, DestroyTheirObjects) {
  {
    const StreamHandle stream = make_stream();
    const EventHandle event = make_event();
    const ModuleHandle module = make_module();
    const GraphHandle graph = make_graph();
    const GraphExecHandle exec = make_graph_exec(graph);
    EXPECT_EQ(live(), 5u);
  }
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(fake_.counters().contexts, 1u);
  primary_.reset();
  EXPECT_EQ(fake_.counters().contexts, 0u);
}

TEST_F(DriverHandles, MakeTheirContextCurrentAndRestoreTheCallers) {
  ModuleHandle module = make_module();
  driver_->ctx_set_current("none", nullptr);
  module.reset();
  EXPECT_EQ(live(), 0u);
  RawContext current = context_;
  driver_->ctx_get_current("current", &current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(DriverHandles, KeepTheDriverTableAlive) {
  StreamHandle stream = make_stream();
  primary_.release();
  std::weak_ptr<const Driver> table = driver_;
  primary_ = {};
  driver_.reset();
  EXPECT_FALSE(table.expired());
  stream = {};
  EXPECT_TRUE(table.expired());
  EXPECT_EQ(live(), 0u);
}

TEST_F(DriverHandles, SurviveDriverShutdown) {
  StreamHandle stream = make_stream();
  EventHandle event = make_event();
  ModuleHandle module = make_module();
  GraphHandle graph = make_graph();
  GraphExecHandle exec = make_graph_exec(graph);
  fake_.shut_down();
  EXPECT_NO_THROW({
    stream.reset();
    event.reset();
    module.reset();
    exec.reset();
    graph.reset();
    primary_.reset();
  });
  EXPECT_FALSE(stream);
  EXPECT_FALSE(primary_);
}

TEST_F(DriverHandles, SurviveAStickyError) {
  StreamHandle stream = make_stream();
  ModuleHandle module = make_module();
  fake_.fail("cuCtxSynchronize", 719);
  EXPECT_EQ(driver_->ctx_synchronize.raw(), Result::launch_failed);
  EXPECT_NO_THROW(stream.reset());
  EXPECT_NO_THROW(module.reset());
  EXPECT_FALSE(stream);
}

TEST(DriverHandlesOfAnOldDriver, SurviveAMissingDestroyFunction) {
  FakeDriver variables({{"FAKE_CUDA_VERSION", "11040"}});
  SearchOptions options;
  options.explicit_path = GPUFORGE_FAKE_OLD_DRIVER_DIR;
  options.system = false;
  const auto driver = Driver::load(options);
  int thing = 0;
  EXPECT_NO_THROW(StreamHandle(reinterpret_cast<RawStream>(&thing), {driver, nullptr}));
}

}  // namespace
}  // namespace gpuforge::cuda
