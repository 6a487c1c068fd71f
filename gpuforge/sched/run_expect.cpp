// Whether what was expected of a workload came true.
#include <algorithm>
#include <cmath>

#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/sched/run_report.h"

namespace gpuforge::sched {
namespace {

const TaskReport& find_task(const RunReport& report, const std::string& wanted) {
  for (const TaskReport& task : report.tasks) {
    if (task.status.task.name == wanted) return task;
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("sched: the report of {} has no task '{}'", report.workload, wanted));
}

class Checker {
 public:
  Checker(const Expectation& expectation, const RunReport& report, std::vector<std::string>& problems)
      : expectation_(expectation), report_(report), problems_(problems) {}

  void check() {
    if (!expectation_.order.empty()) check_order();
    if (expectation_.decision) check_decision();
    if (!expectation_.task.empty()) check_task(find_task(report_, expectation_.task));
  }

 private:
  void complain(const std::string& text) { problems_.push_back(expectation_.where + ": " + text); }

  void check_order() {
    for (std::size_t i = 1; i < expectation_.order.size(); ++i) {
      const TaskStatus& first = find_task(report_, expectation_.order[i - 1]).status;
      const TaskStatus& second = find_task(report_, expectation_.order[i]).status;
      if (first.ended_us && second.ended_us && *first.ended_us <= *second.ended_us) continue;
      complain(format_text("expected {} to end before {}, but it ended at {}, and the other at {}",
                           first.task.name, second.task.name, show_us(first.ended_us.value_or(0)),
                           show_us(second.ended_us.value_or(0))));
    }
  }

  void check_decision() {
    const auto count = std::ranges::count_if(report_.decisions, [&](const Decision& decision) {
      return decision.kind == *expectation_.decision &&
             (!expectation_.reason || decision.reason == *expectation_.reason) &&
             (expectation_.task.empty() || find_task(report_, expectation_.task).id == decision.task);
    });
    if (expectation_.times ? count == *expectation_.times : count > 0) return;
    complain(format_text(
        "expected the decision {}{}{} {}, and found it {} times", name(*expectation_.decision),
        expectation_.reason ? " for " + std::string(name(*expectation_.reason)) : std::string(),
        expectation_.task.empty() ? std::string() : " on " + expectation_.task,
        expectation_.times ? format_text("{} times", *expectation_.times) : std::string("at least once"),
        count));
  }

  void check_task(const TaskReport& task) {
    const TaskStatus& status = task.status;
    const std::string& who = status.task.name;
    if (expectation_.state && status.state != *expectation_.state)
      complain(format_text("expected {} to be {}; it is {}{}", who, name(*expectation_.state),
                           name(status.state), status.message.empty() ? "" : ": " + status.message));
    if (expectation_.share && std::abs(status.share() - *expectation_.share) > expectation_.within)
      complain(format_text("expected {} to get {} of the time it wanted, give or take {}; it got {:.3f}", who,
                           *expectation_.share, expectation_.within, status.share()));
    if (expectation_.p99_at_most_us) {
      const double p99_us = percentile(task.latencies_us, 0.99);
      if (task.latencies_us.empty() || p99_us > *expectation_.p99_at_most_us)
        complain(format_text("expected 99 % of the requests of {} to take at most {}; it is {} ({} requests)",
                             who, show_us(*expectation_.p99_at_most_us), show_us(p99_us),
                             task.latencies_us.size()));
    }
    if (expectation_.ended_at_most_us &&
        (!status.ended_us || *status.ended_us > *expectation_.ended_at_most_us))
      complain(format_text("expected {} to end by {}; it ended at {}", who,
                           show_us(*expectation_.ended_at_most_us), show_us(status.ended_us.value_or(0))));
    if (!expectation_.message.empty() && status.message.find(expectation_.message) == std::string::npos)
      complain(format_text("expected the message of {} to have '{}' in it; it is '{}'", who,
                           expectation_.message, status.message));
  }

  const Expectation& expectation_;
  const RunReport& report_;
  std::vector<std::string>& problems_;
};

}  // namespace

std::vector<std::string> unmet(const Workload& workload, const RunReport& report) {
  std::vector<std::string> problems;
  for (const Expectation& expectation : workload.expectations) Checker(expectation, report, problems).check();
  return problems;
}

}  // namespace gpuforge::sched
