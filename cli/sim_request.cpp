#include "cli/sim_request.h"

#include <algorithm>

#include "cli/report.h"
#include "gpuforge/base/demangle.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"

namespace gpuforge::cli {
namespace {

sim::Suppression parse_suppression(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto line = colon == std::string_view::npos ? std::nullopt : parse_count(text.substr(colon + 1));
  GPUFORGE_CHECK(colon != std::string_view::npos && colon > 0 && line && *line >= 1 && *line <= 4294967295,
                 "run: --suppress is FILE:LINE such as tile.cu:12, but '{}' was given", text);
  return {std::string(text.substr(0, colon)), static_cast<std::uint32_t>(*line)};
}

}  // namespace

SimRequest read_sim_request(const Invocation& invocation) {
  SimRequest request;
  for (const Option& option : kSimOptions) {
    if (invocation.has(option.name)) request.given.emplace_back(option.name);
  }
  request.report = invocation.has("report");
  request.options.races = !invocation.has("no-races");
  request.options.initialized = !invocation.has("no-init");
  constexpr std::int64_t kMost = 9223372036854775807;
  if (const auto seed = invocation.value("schedule")) {
    request.options.schedule_seed =
        static_cast<std::uint64_t>(require_count("run: --schedule", *seed, 0, kMost));
  }
  if (const auto orders = invocation.value("schedules")) {
    request.options.schedules = static_cast<unsigned>(require_count("run: --schedules", *orders, 0, 1000));
  }
  if (const auto steps = invocation.value("max-steps")) {
    request.options.step_limit =
        static_cast<std::uint64_t>(require_count("run: --max-steps", *steps, 1, kMost));
  }
  for (const std::string& text : invocation.values("suppress")) {
    request.options.suppressions.push_back(parse_suppression(text));
  }
  return request;
}

void check_is_sim(const SimRequest& request, const device::DeviceFacts& device) {
  if (request.given.empty() || device.kind == device::DeviceKind::sim) return;
  throw Error(ErrorCode::invalid_argument,
              format_text("run: --{} is for the simulator alone, and the device is {}; add --device sim",
                          request.given.front(), device.name));
}

int show_report(Session& session, const SimRequest& request, const sim::LaunchReport& report) {
  if (request.report && !session.json) {
    session.out.write("\n" + report.text(session.terminal.columns));
    session.out.flush();
  }
  const std::string findings = report.findings_text(session.terminal.columns);
  if (report.clean()) {
    if (!findings.empty()) session.messages.note(findings.substr(0, findings.find_last_not_of('\n') + 1));
    return kDone;
  }
  const auto count = std::count_if(report.findings.begin(), report.findings.end(),
                                   [](const sim::Finding& finding) { return !finding.suppressed; });
  session.messages.write(
      LogLevel::error,
      format_text("run: the simulator has {} finding{} in kernel {}\n{}", count, count == 1 ? "" : "s",
                  readable_name(report.kernel), findings.substr(0, findings.find_last_not_of('\n') + 1)));
  return kWrong;
}

}  // namespace gpuforge::cli
