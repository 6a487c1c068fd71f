// NVIDIA's tools around one of our own runs: where they are found, the command line each is given, and what
// its ending and its output say.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/base/child_process.h"
#include "gpuforge/base/environment.h"

namespace gpuforge::lab {

enum class Profiler { ncu, nsys, sanitizer };
inline constexpr Profiler kProfilers[] = {Profiler::ncu, Profiler::nsys, Profiler::sanitizer};

struct ProfilerFacts {
  std::string_view name;       // as the verb takes it and reports are named: "sanitizer"
  std::string_view program;    // "compute-sanitizer"
  std::string_view extension;  // of its report: ".ncu-rep"
  std::string_view costs;      // what is not to be had without it
  std::string_view fix;        // how to get it
};
const ProfilerFacts& facts(Profiler profiler);

// PATH, then CUDA_HOME, then where NVIDIA's packages put them: /usr/local/cuda, the newest below
// /opt/nvidia/nsight-compute and nsight-systems; GPUFORGE_LIBRARY_PATH=none keeps it to PATH. `root` stands
// before these folders, for tests.
std::optional<std::filesystem::path> find_profiler(Profiler profiler, const Environment& environment,
                                                   const std::filesystem::path& root = "/");

struct ProfilerRequest {
  Profiler profiler = Profiler::ncu;
  std::vector<std::string> options;  // the user's, for the tool, as they were typed
  std::string kernel;                // a part of kernels' names; empty: all
  std::filesystem::path report;      // where it is to be, with its extension
  std::filesystem::path program;     // ours
  std::vector<std::string> arguments;
};

struct ProfilerCommand {
  std::vector<std::string> arguments;  // after the tool's own name
  std::filesystem::path report;        // the user's own -o wins; empty: the tool writes none
  // What the tool's environment has besides, where the user's has not.
  std::vector<std::pair<std::string, std::string>> environment;
};
// Defaults (--set full, --tool memcheck, the report) are left out where the user's options say otherwise.
// invalid_argument for a kernel filter that the tool has not.
ProfilerCommand profiler_command(const ProfilerRequest& request);

// profiles/ncu_20261115_140102.ncu-rep, or with _2, _3 .. when that is there already.
std::filesystem::path report_path(const std::filesystem::path& folder, Profiler profiler, std::time_t now);

enum class ProfilerVerdict {
  good,
  program_failed,   // the profiled run ended with `code`
  errors_found,     // by the sanitizer
  counters_barred,  // ERR_NVGPUCTRPERM
  nothing_seen,     // no kernel ran on a GPU
  tool_failed,      // with `code`
};
struct ProfilerOutcome {
  ProfilerVerdict verdict = ProfilerVerdict::good;
  int code = 0;
  std::string sentence;  // empty when good
};
// `output` is what the tool and the program printed.
ProfilerOutcome judge(Profiler profiler, const ChildResult& ending, std::string_view output);

}  // namespace gpuforge::lab
