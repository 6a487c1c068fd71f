// The parts of `gpuforge profile`, a file each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "gpuforge/lab/ncu_report.h"
#include "gpuforge/lab/op.h"
#include "gpuforge/lab/profile_sim.h"

namespace gpuforge::cli {

int profile_with_tool(Session& session, const Invocation& invocation);
int profile_extract(Session& session, const Invocation& invocation);
int profile_sim(Session& session, const Invocation& invocation);
int profile_once(Session& session, const Invocation& invocation);

// A report of ncu's, or a table it wrote. unavailable where ncu is needed and not here.
lab::NcuReport open_ncu_report(Session& session, const std::filesystem::path& path);
std::string ncu_report_text(const lab::NcuReport& report);
Json ncu_report_json(const lab::NcuReport& report);
// A warning and kWrong when the table was cut off.
int warn_if_cut_off(Session& session, const lab::NcuReport& report, std::string_view what);

// What `--shape`, `--dtype`, `--variant` and `--set` say of an op; what they leave out is the usual.
struct OpWords {
  std::string op;
  std::string variant;
  std::string dtype;
  std::string shape;
  std::vector<std::string> settings;  // "dim=-1": an option of the op, or of its configuration
};
lab::OnceRequest once_request_for(const lab::Op& op, const OpWords& words);

// Registers, spills, shared memory of the op's kernels, and how many blocks of the launches' size fit.
std::string resources_text(const std::vector<lab::KernelResources>& kernels,
                           const std::vector<sim::LaunchReport>& launches);
// Of the ops and kernel files that a verb's arguments name: what is known without a profiler.
void show_without_profiler(Session& session, const std::vector<std::string>& arguments);

}  // namespace gpuforge::cli
