// gpuforge profile: where a kernel's time goes, by NVIDIA's tools on a GPU and by the simulator's counts
// anywhere.
#include <algorithm>

#include "cli/profile_verbs.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {
namespace {

// Which options belong to which part.
struct Part {
  std::string_view name;
  std::string_view options[7];
};
constexpr Part kParts[] = {
    {"extract", {"kernel"}},
    {"sim", {"kernel", "variant", "dtype", "shape", "set", "lines", "no-tuning"}},
    {"once", {"variant", "dtype", "shape", "set", "no-tuning"}},
    {"ncu", {"kernel", "extract", "dry-run"}},
    {"nsys", {"kernel", "extract", "dry-run"}},
    {"sanitizer", {"kernel", "extract", "dry-run"}},
};

void check_options(const Invocation& invocation) {
  const std::string& part = invocation.positionals.front();
  for (const Option& option : invocation.command->options) {
    if (!invocation.has(option.name)) continue;
    std::string takers;
    bool ours = false;
    for (const Part& each : kParts) {
      if (std::find(std::begin(each.options), std::end(each.options), option.name) == std::end(each.options))
        continue;
      ours = ours || each.name == part;
      takers += (takers.empty() ? "" : ", ") + std::string(each.name);
    }
    GPUFORGE_CHECK(ours, "profile {}: --{} is for profile {}", part, option.name, takers);
  }
}

int run(Session& session, const Invocation& invocation) {
  check_options(invocation);
  const std::string& part = invocation.positionals.front();
  if (part == "extract") return profile_extract(session, invocation);
  if (part == "sim") return profile_sim(session, invocation);
  if (part == "once") return profile_once(session, invocation);
  return profile_with_tool(session, invocation);
}

constexpr std::string_view kPartNames[] = {"ncu", "nsys", "sanitizer", "extract", "sim", "once"};
constexpr std::string_view kTools[] = {"ncu", "nsys", "sanitizer"};
constexpr std::string_view kOursAmongTheTools[] = {"extract", "kernel", "dry-run", "json"};
constexpr Positional kPositionals[] = {
    {.name = "WITH",
     .help = "ncu, nsys or sanitizer, then their options and behind -- a verb; extract and a report; sim and "
             "an op",
     .required = true,
     .values = kPartNames,
     .only_values = true},
    {.name = "REPORT|OP", .help = "for extract, for sim and once", .kind = ValueKind::file},
};
constexpr Option kOptions[] = {
    {.name = "extract", .help = "ncu: print what the report says when it is done"},
    {.name = "kernel", .value = "NAME", .help = "only kernels with this in their name"},
    {.name = "dry-run", .help = "print the tool's command line and run nothing"},
    {.name = "variant", .value = "NAME", .help = "sim, once: of the op; its first when none is named"},
    {.name = "dtype", .value = "NAME", .help = "sim, once: f32, f16, bf16"},
    {.name = "shape",
     .value = "MxN",
     .help = "sim, once: of the op's first input; the largest of `check` when not given"},
    {.name = "set",
     .value = "NAME=VALUE",
     .help = "sim, once: an option of the op (dim=-1), or a value of its configuration (tile=32)",
     .repeatable = true},
    {.name = "no-tuning", .help = "sim, once: choose as if nothing had been tuned"},
    {.name = "lines", .help = "sim: the counts by source line too"},
};
constexpr Example kExamples[] = {
    {.line = "gpuforge profile ncu --extract -- run examples/saxpy.cu --grid 4 --block 256 ..",
     .meaning = "measure a kernel and print what matters"},
    {.line = "gpuforge profile ncu --set basic -c 3 --kernel transpose -- bench --op copy_transpose",
     .meaning = "the tool's own options stand before --"},
    {.line = "gpuforge profile sanitizer --tool racecheck -- check softmax_online",
     .meaning = "exit code 1 when it finds something"},
    {.line = "gpuforge profile extract profiles/ncu_20261115_140102.ncu-rep --json",
     .meaning = "for programs"},
    {.line = "gpuforge profile sim copy_transpose --shape 1024x1024 --lines",
     .meaning = "sectors, bank conflicts and divergence by source line, without a GPU"},
};

}  // namespace

const Command kProfileCommand = {
    .name = "profile",
    .summary = "run a verb inside ncu, nsys or compute-sanitizer; read reports; count in the simulator",
    .usage =
        "ncu|nsys|sanitizer [tool's options] [--extract] [--kernel NAME] [--dry-run] -- VERB ..\n"
        "extract REPORT.ncu-rep|REPORT.csv [--kernel NAME] [--json]\n"
        "sim OP [--variant V] [--dtype D] [--shape S] [--set k=v] [--lines] [--json]",
    .description =
        "What stands between the tool's name and -- goes to the tool, but for the options below and --json; "
        "options "
        "of every verb stand before the tool's name. Reports go to profiles/, named by the time. ncu "
        "collects --set "
        "full and compute-sanitizer runs --tool memcheck unless their options say otherwise. The exit code "
        "is the "
        "verb's own; 1 when the sanitizer found errors; 3 when the tool is not here or may not read the "
        "GPU's "
        "counters, and then what compiling told is shown.\n"
        "extract prints, for each launch: GPU throughput, pipe utilisation, warp stalls, occupancy, sectors "
        "per request "
        "and bank conflicts. sim runs the op once in the simulator and counts; each count is shown with "
        "ncu's name for it. once runs the op once on the device, for a tool to look at.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .passing_after = kTools,
    .passing_options = kOursAmongTheTools,
    .run = run,
};

}  // namespace gpuforge::cli
