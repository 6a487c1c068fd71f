#include "gpuforge/sched/workload_expect.h"

#include <algorithm>

#include "gpuforge/base/format.h"
#include "gpuforge/base/suggest.h"
#include "gpuforge/sched/workload_values.h"

namespace gpuforge::sched {
namespace {

std::string read_task_name(const Yaml& yaml, const std::vector<std::string>& tasks) {
  if (std::ranges::find(tasks, yaml.text()) == tasks.end())
    yaml.fail(format_text("there is no task '{}'{}", yaml.text(), did_you_mean(yaml.text(), tasks)));
  return yaml.text();
}

// A value by its name, of an enumeration that counts from 0.
template <typename Value>
Value read_named(const Yaml& yaml, std::string_view what, int count) {
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(name(static_cast<Value>(i)));
    if (names.back() == yaml.text()) return static_cast<Value>(i);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  yaml.fail(format_text("expected a {}; found '{}'{} (there are {})", what, yaml.text(),
                        did_you_mean(yaml.text(), names), list));
}

}  // namespace

Expectation read_expectation(const Yaml& yaml, const std::vector<std::string>& tasks) {
  yaml.allow_keys({"task", "state", "share", "within", "p99_at_most", "ended_at_most", "message", "decision",
                   "reason", "times", "order"});
  Expectation expectation{.where = yaml.where()};
  if (const Yaml* order = yaml.find("order")) {
    for (const Yaml& task : order->list()) expectation.order.push_back(read_task_name(task, tasks));
    if (expectation.order.size() < 2) order->fail("expected at least two tasks, in the order they end");
    if (yaml.map().size() > 1) yaml.fail("'order' stands alone: write the rest as another expectation");
    return expectation;
  }
  if (const Yaml* task = yaml.find("task")) expectation.task = read_task_name(*task, tasks);
  if (const Yaml* state = yaml.find("state"))
    expectation.state = read_named<TaskState>(*state, "state", kTaskStateCount);
  if (const Yaml* share = yaml.find("share")) expectation.share = read_share(*share);
  if (const Yaml* within = yaml.find("within")) expectation.within = read_share(*within);
  if (const Yaml* p99 = yaml.find("p99_at_most")) expectation.p99_at_most_us = read_duration(*p99);
  if (const Yaml* ended = yaml.find("ended_at_most")) expectation.ended_at_most_us = read_duration(*ended);
  if (const Yaml* message = yaml.find("message")) expectation.message = message->text();
  if (const Yaml* decision = yaml.find("decision"))
    expectation.decision = read_named<DecisionKind>(*decision, "decision", kDecisionKindCount);
  if (const Yaml* reason = yaml.find("reason"))
    expectation.reason = read_named<Reason>(*reason, "reason", kReasonCount);
  if (const Yaml* times = yaml.find("times")) expectation.times = read_whole(*times, 0, INT64_MAX);
  const bool about_a_task = expectation.state || expectation.share || expectation.p99_at_most_us ||
                            expectation.ended_at_most_us || !expectation.message.empty();
  if (about_a_task && expectation.task.empty()) yaml.fail("expected the key 'task': whom is this about?");
  if (!expectation.decision && (expectation.reason || expectation.times))
    yaml.fail("expected the key 'decision' beside 'reason' or 'times'");
  if (!about_a_task && !expectation.decision) yaml.fail("expected something to expect, such as 'state'");
  return expectation;
}

}  // namespace gpuforge::sched
