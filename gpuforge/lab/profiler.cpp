#include "gpuforge/lab/profiler.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "gpuforge/base/error.h"
#include "gpuforge/base/find_program.h"

namespace gpuforge::lab {
namespace {

namespace fs = std::filesystem;

constexpr ProfilerFacts kFacts[] = {
    {"ncu", "ncu", ".ncu-rep", "no counters of a single kernel",
     "install NVIDIA Nsight Compute (package cuda-nsight-compute-*, or nsight-compute of the CUDA toolkit)"},
    {"nsys", "nsys", ".nsys-rep", "no time line of a whole program",
     "install NVIDIA Nsight Systems (package nsight-systems)"},
    {"sanitizer", "compute-sanitizer", ".txt", "bad accesses and races on the GPU are not located",
     "install NVIDIA's compute-sanitizer (package cuda-sanitizer-*, part of the CUDA toolkit)"},
};

// What compute-sanitizer ends with when it found errors, so that it differs from the program's own codes.
constexpr int kErrorsFound = 86;

// Folders below `parent`, newest version first: "2025.3.1" before "2024.1".
std::vector<fs::path> versions_below(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(parent, failed), end; !failed && entry != end; entry.increment(failed))
    found.push_back(entry->path());
  const auto numbers = [](const fs::path& path) {
    std::vector<long> parts;
    const std::string name = path.filename().string();
    const char* at = name.data();
    const char* const end = at + name.size();
    while (at < end) {
      long part = 0;
      const auto [next, error] = std::from_chars(at, end, part);
      if (error != std::errc()) break;
      parts.push_back(part);
      at = next + (next < end);
    }
    return parts;
  };
  std::sort(found.begin(), found.end(), [&](const fs::path& a, const fs::path& b) {
    const auto left = numbers(a), right = numbers(b);
    return left != right ? left > right : a > b;
  });
  return found;
}

std::vector<fs::path> package_folders(Profiler profiler, const Environment& environment,
                                      const fs::path& root) {
  if (environment.library_path == "none") return {};
  std::vector<fs::path> toolkits;
  if (environment.cuda_home) toolkits.emplace_back(*environment.cuda_home);
  toolkits.push_back(root / "usr/local/cuda");
  std::vector<fs::path> folders;
  for (const fs::path& toolkit : toolkits) {
    folders.push_back(toolkit / "bin");
    if (profiler == Profiler::sanitizer) folders.push_back(toolkit / "compute-sanitizer");
  }
  if (profiler == Profiler::ncu)
    for (const fs::path& version : versions_below(root / "opt/nvidia/nsight-compute"))
      folders.push_back(version);
  if (profiler == Profiler::nsys)
    for (const fs::path& version : versions_below(root / "opt/nvidia/nsight-systems"))
      folders.insert(folders.end(), {version / "bin", version / "target-linux-x64"});
  return folders;
}

// The value of one of these options: "--set full", "--set=full", "-o name". Nothing when none is given.
std::optional<std::string> given(std::span<const std::string> options,
                                 std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const std::string_view name : names) {
      if (options[i] == name) return i + 1 < options.size() ? options[i + 1] : std::string();
      if (options[i].starts_with(std::string(name) + "=")) return options[i].substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

fs::path with_extension(fs::path path, std::string_view extension) {
  if (path.extension() != extension) path += extension;
  return path;
}

// NAME as ncu's regular expressions take it literally.
std::string literal(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void append(std::vector<std::string>& to, std::initializer_list<std::string> more) {
  to.insert(to.end(), more);
}

ProfilerCommand ncu_command(const ProfilerRequest& request) {
  ProfilerCommand command;
  const auto& options = request.options;
  if (!given(options, {"--set", "--section", "--metrics", "--list-sets"}))
    append(command.arguments, {"--set", "full"});
  if (!request.kernel.empty())
    append(command.arguments, {"--kernel-name", "regex:" + literal(request.kernel)});
  if (const auto own = given(options, {"-o", "--export"})) {
    command.report = with_extension(*own, facts(Profiler::ncu).extension);
  } else {
    command.report = request.report;
    append(command.arguments, {"--export", request.report.string()});
  }
  return command;
}

ProfilerCommand nsys_command(const ProfilerRequest& request) {
  GPUFORGE_CHECK(request.kernel.empty(),
                 "profile: nsys records whole programs, --kernel is for ncu and sanitizer");
  ProfilerCommand command;
  command.arguments.push_back("profile");
  if (const auto own = given(request.options, {"-o", "--output"})) {
    command.report = with_extension(*own, facts(Profiler::nsys).extension);
  } else {
    command.report = request.report;
    append(command.arguments, {"--output", request.report.string()});
  }
  return command;
}

ProfilerCommand sanitizer_command(const ProfilerRequest& request) {
  ProfilerCommand command;
  if (!given(request.options, {"--tool", "-t"})) append(command.arguments, {"--tool", "memcheck"});
  if (!given(request.options, {"--error-exitcode"}))
    append(command.arguments, {"--error-exitcode", std::to_string(kErrorsFound)});
  if (!request.kernel.empty()) append(command.arguments, {"--kernel-name", "kns=" + request.kernel});
  command.report = request.report;
  // In a pool it would not see where an array ends, and take a copy across two mappings for a wrong one.
  command.environment = {{"GPUFORGE_POOL", "off"}};
  return command;
}

// The number after the last `mark`.
std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + mark.size());
  int number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

ProfilerOutcome judge_ncu(const ChildResult& ending, std::string_view output) {
  if (has(output, "ERR_NVGPUCTRPERM"))
    return {ProfilerVerdict::counters_barred, ending.code,
            "ncu may not read this GPU's counters (ERR_NVGPUCTRPERM); an administrator allows it with the "
            "driver's "
            "module option NVreg_RestrictProfilingToAdminUsers=0, a container with --cap-add=SYS_ADMIN"};
  if (const auto code = number_after(output, "The application returned an error code ("))
    return {ProfilerVerdict::program_failed, *code,
            format_text("the profiled run ended with exit code {}", *code)};
  if (ending.good() &&
      (has(output, "No kernels were profiled") || has(output, "before first instrumented API call")) &&
      !has(output, "==PROF== Report: "))
    return {ProfilerVerdict::nothing_seen, 0, "ncu saw no kernel: none ran on a GPU, or none has that name"};
  return {};
}

ProfilerOutcome judge_sanitizer(const ChildResult& ending, std::string_view output) {
  int errors = number_after(output, "ERROR SUMMARY: ").value_or(0);
  if (errors == 0) errors = number_after(output, "RACECHECK SUMMARY: ").value_or(0);
  const bool found = ending.end == ChildResult::End::exited && ending.code == kErrorsFound;
  if (errors == 0 && !found) {
    // It passes the program's exit code on.
    if (has(output, "SUMMARY: ") && ending.end == ChildResult::End::exited && ending.code != 0)
      return {ProfilerVerdict::program_failed, ending.code,
              format_text("the checked run ended with exit code {}", ending.code)};
    return {};
  }
  return {ProfilerVerdict::errors_found, ending.code,
          errors == 0 ? "compute-sanitizer found errors"
                      : format_text("compute-sanitizer found {} error{}", errors, errors == 1 ? "" : "s")};
}

}  // namespace

const ProfilerFacts& facts(Profiler profiler) {
  return kFacts[static_cast<std::size_t>(profiler)];
}

std::optional<fs::path> find_profiler(Profiler profiler, const Environment& environment,
                                      const fs::path& root) {
  const std::string_view program = facts(profiler).program;
  if (auto found = find_program(program, environment.path.value_or(""))) return found;
  for (const fs::path& folder : package_folders(profiler, environment, root))
    if (is_program(folder / program)) return folder / program;
  return std::nullopt;
}

ProfilerCommand profiler_command(const ProfilerRequest& request) {
  ProfilerCommand command = request.profiler == Profiler::ncu    ? ncu_command(request)
                            : request.profiler == Profiler::nsys ? nsys_command(request)
                                                                 : sanitizer_command(request);
  auto& all = command.arguments;
  all.insert(all.end(), request.options.begin(), request.options.end());
  all.push_back(request.program.string());
  all.insert(all.end(), request.arguments.begin(), request.arguments.end());
  return command;
}

fs::path report_path(const fs::path& folder, Profiler profiler, std::time_t now) {
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char stamp[32] = {};
  std::strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &parts);
  const std::string stem = format_text("{}_{}", facts(profiler).name, stamp);
  for (int number = 1;; ++number) {
    const std::string suffix = number == 1 ? std::string() : format_text("_{}", number);
    fs::path path = folder / (stem + suffix + std::string(facts(profiler).extension));
    std::error_code failed;
    if (!fs::exists(path, failed)) return path;
  }
}

ProfilerOutcome judge(Profiler profiler, const ChildResult& ending, std::string_view output) {
  ProfilerOutcome outcome;
  if (profiler == Profiler::ncu) outcome = judge_ncu(ending, output);
  if (profiler == Profiler::nsys && ending.end == ChildResult::End::exited && ending.code != 0)
    return {ProfilerVerdict::program_failed, ending.code,
            format_text("nsys, or the run it recorded, ended with exit code {}", ending.code)};
  if (profiler == Profiler::sanitizer) outcome = judge_sanitizer(ending, output);
  if (outcome.verdict != ProfilerVerdict::good || ending.good()) return outcome;
  return {ProfilerVerdict::tool_failed, ending.code,
          format_text("{}: {}", facts(profiler).program, describe(ending, {}))};
}

}  // namespace gpuforge::lab
