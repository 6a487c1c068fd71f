#include "gpuforge/base/trace.h"

#include <gtest/gtest.h>

#include <limits>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

TraceEvent span(const char* track, const char* name, double start_us, double duration_us) {
  TraceEvent event;
  event.process = "cuda:0";
  event.track = track;
  event.name = name;
  event.start_us = start_us;
  event.duration_us = duration_us;
  return event;
}

TEST(Trace, NamesProcessesAndTracksOnce) {
  const Json trace =
      chrome_trace({span("stream 1", "a", 0, 1), span("stream 2", "b", 1, 1), span("stream 1", "c", 2, 1)});
  EXPECT_EQ(trace.at("traceEvents").dump(),
            R"([{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"cuda:0"}},)"
            R"({"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"stream 1"}},)"
            R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"stream 2"}},)"
            R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":0.0,"dur":1.0},)"
            R"({"ph":"X","name":"b","pid":1,"tid":2,"ts":1.0,"dur":1.0},)"
            R"({"ph":"X","name":"c","pid":1,"tid":1,"ts":2.0,"dur":1.0}])");
}

TEST(Trace, IsInOrderOfTime) {
  const Json trace =
      chrome_trace({span("s", "late", 5, 1), span("s", "early", 1, 9), span("s", "same", 5, 2)});
  const Json::Array& events = trace.at("traceEvents").as_array();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[2].at("name").as_string(), "early");
  EXPECT_EQ(events[3].at("name").as_string(), "late");
  EXPECT_EQ(events[4].at("name").as_string(), "same");
}

TEST(Trace, WritesInstantsCountersAndArguments) {
  TraceEvent decision = span("task a", "queued", 3, 0);
  decision.kind = TraceEvent::Kind::instant;
  decision.category = "decision";
  decision.arguments.set("reason", "no memory");
  TraceEvent memory = span("memory", "bytes", 4, 0);
  memory.kind = TraceEvent::Kind::counter;
  memory.value = 1024;
  const Json trace = chrome_trace({decision, memory});
  const Json::Array& events = trace.at("traceEvents").as_array();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(
      events[3].dump(),
      R"({"ph":"i","name":"queued","pid":1,"tid":1,"ts":3.0,"cat":"decision","s":"t","args":{"reason":"no memory"}})");
  EXPECT_EQ(events[4].dump(),
            R"({"ph":"C","name":"bytes","pid":1,"tid":2,"ts":4.0,"args":{"value":1024.0}})");
}

TEST(Trace, RefusesTimesThatAreNone) {
  EXPECT_THROW(chrome_trace({span("s", "x", std::numeric_limits<double>::quiet_NaN(), 0)}), Error);
  EXPECT_THROW(chrome_trace({span("s", "x", 0, std::numeric_limits<double>::infinity())}), Error);
}

TEST(Trace, OfNothingIsAnEmptyList) {
  EXPECT_EQ(chrome_trace({}).at("traceEvents").dump(), "[]");
}

}  // namespace
}  // namespace gpuforge
