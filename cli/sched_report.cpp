#include "cli/sched_report.h"

#include <algorithm>
#include <array>

#include "cli/table.h"
#include "cli/terminal.h"
#include "gpuforge/base/format.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

std::string latency(const sched::TaskReport& task, double part) {
  return task.latencies_us.empty() ? std::string("-") : show_us(sched::percentile(task.latencies_us, part));
}

// `detail` 2: all columns; 1: those that most look for; 0: what fits almost anywhere.
std::string task_table(const sched::RunReport& report, int detail) {
  struct Column {
    const char* heading;
    int detail;
    std::string (*cell)(const sched::TaskReport&);
  };
  using Task = const sched::TaskReport&;
  static constexpr Column kColumns[] = {
      {"task", 0, [](Task task) { return task.status.task.name; }},
      {"class", 1, [](Task task) { return std::string(name(task.status.task.qos)); }},
      {"state", 0, [](Task task) { return std::string(name(task.status.state)); }},
      {">asked", 1,
       [](Task task) {
         const double asked = requested_share(task.status.task);
         return asked > 0 ? format_text("{:.3g}", asked) : std::string("-");
       }},
      {">share", 0,
       [](Task task) {
         return task.status.used_us > 0 ? format_text("{:.3f}", task.status.share()) : std::string("-");
       }},
      {">used", 2, [](Task task) { return show_us(task.status.used_us); }},
      {">done", 2, [](Task task) { return format_text("{}", task.latencies_us.size()); }},
      {">p50", 1, [](Task task) { return latency(task, 0.5); }},
      {">p99", 0, [](Task task) { return latency(task, 0.99); }},
  };
  std::vector<std::string> headings;
  for (const Column& column : kColumns) {
    if (column.detail <= detail) headings.emplace_back(column.heading);
  }
  Table table(headings);
  for (const sched::TaskReport& task : report.tasks) {
    std::vector<std::string> cells;
    for (const Column& column : kColumns) {
      if (column.detail <= detail) cells.push_back(column.cell(task));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  return static_cast<int>(widest);
}

std::string partitions_text(const sched::RunReport& report, int columns) {
  std::string text;
  for (const sched::PartitionStatus& status : report.partitions) {
    std::string line =
        format_text("partition {} got {:.3f} of the device's time. Its limits:", status.partition.name,
                    report.used_us > 0 ? status.used_us / report.used_us : 0.0);
    bool first = true;
    for (const sched::Limit& limit : limits(status.partition)) {
      line += format_text("{} {} {} ({}: {})", first ? "" : ",", limit.what, limit.value,
                          name(limit.enforcement), limit.how);
      first = false;
    }
    text += wrap(line, columns, 0) + "\n";
  }
  return text;
}

std::string counts_text(const sched::RunReport& report, int columns) {
  std::array<std::uint64_t, sched::kDecisionKindCount> counts{};
  for (const sched::Decision& decision : report.decisions) ++counts[static_cast<std::size_t>(decision.kind)];
  std::string line = format_text("{} decisions:", report.decisions_made);
  bool first = true;
  for (int kind = 0; kind < sched::kDecisionKindCount; ++kind) {
    if (counts[static_cast<std::size_t>(kind)] == 0) continue;
    line += format_text("{} {} {}", first ? "" : ",", counts[static_cast<std::size_t>(kind)],
                        name(static_cast<sched::DecisionKind>(kind)));
    first = false;
  }
  if (report.decisions_made > report.decisions.size())
    line += format_text(" (of the last {})", report.decisions.size());
  return wrap(line, columns, 0) + "\n";
}

}  // namespace

std::string sched_text(const sched::RunReport& report, int columns) {
  std::string text;
  for (int detail = 2; detail >= 0; --detail) {
    text = task_table(report, detail);
    if (widest_line(text) <= columns) break;
  }
  std::string reasons;
  for (const sched::TaskReport& task : report.tasks) {
    if (task.status.message.empty()) continue;
    reasons +=
        wrap(format_text("{} {}: {}", task.status.task.name, name(task.status.state), task.status.message),
             columns, 0) +
        "\n";
  }
  if (!reasons.empty()) text += "\n" + reasons;
  text += "\n" + partitions_text(report, columns) + "\n" + counts_text(report, columns);
  text += wrap(format_text("{}: {} in all, of which the device worked {} ({:.1f} %)", report.device,
                           show_us(report.end_us), show_us(report.used_us),
                           report.end_us > 0 ? 100 * report.used_us / report.end_us : 0.0),
               columns, 0) +
          "\n";
  return text;
}

std::string decisions_text(const sched::RunReport& report, int columns) {
  const sched::TaskNames names = names_of(report);
  std::size_t width = 0;
  for (const sched::TaskReport& task : report.tasks) width = std::max(width, task.status.task.name.size());
  std::string text;
  for (const sched::Decision& decision : report.decisions) {
    std::string who = names(decision.task);
    who.resize(std::max(who.size(), width), ' ');
    const std::string head =
        format_text("{:>10}  {}  {:<8}  ", show_us(decision.time_us), who, name(decision.kind));
    const std::string why = sentence(decision, names);
    const int indent = static_cast<int>(head.size());
    if (indent + 20 > columns) {
      text += head + "\n" + wrap(why, columns, 4) + "\n";
    } else {
      const std::string wrapped = wrap(why, columns, indent);
      text += head + wrapped.substr(std::min(wrapped.size(), head.size())) + "\n";
    }
  }
  return text;
}

}  // namespace gpuforge::cli
