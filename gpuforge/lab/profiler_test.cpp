#include "gpuforge/lab/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::lab {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

ProfilerRequest request(Profiler profiler, std::vector<std::string> options = {}) {
  return {.profiler = profiler,
          .options = std::move(options),
          .kernel = {},
          .report = "profiles/r" + std::string(facts(profiler).extension),
          .program = "/bin/gpuforge",
          .arguments = {"check", "softmax_online", "--shape", "4x8"}};
}

ChildResult ended(int code) {
  return {.end = ChildResult::End::exited, .code = code, .out = {}, .err = {}};
}

std::string recorded(const std::string& name) {
  return read_file(std::string(GPUFORGE_SOURCE_DIR) + "/tests/profile/" + name);
}

TEST(Profiler, CommandLinesHaveDefaultsAndTheRun) {
  EXPECT_THAT(profiler_command(request(Profiler::ncu)).arguments,
              ElementsAre("--set", "full", "--export", "profiles/r.ncu-rep", "/bin/gpuforge", "check",
                          "softmax_online", "--shape", "4x8"));
  EXPECT_THAT(profiler_command(request(Profiler::nsys)).arguments,
              ElementsAre("profile", "--output", "profiles/r.nsys-rep", "/bin/gpuforge", "check",
                          "softmax_online", "--shape", "4x8"));
  EXPECT_THAT(profiler_command(request(Profiler::sanitizer)).arguments,
              ElementsAre("--tool", "memcheck", "--error-exitcode", "86", "/bin/gpuforge", "check",
                          "softmax_online", "--shape", "4x8"));
  EXPECT_THAT(profiler_command(request(Profiler::sanitizer)).environment,
              ElementsAre(testing::Pair("GPUFORGE_POOL", "off")));
  EXPECT_THAT(profiler_command(request(Profiler::ncu)).environment, testing::IsEmpty());
}

// The seed's wrapper took one option before the dashes and no more.
TEST(Profiler, AnyNumberOfTheUsersOptionsIsPassedOnAndReplacesDefaults) {
  EXPECT_THAT(
      profiler_command(request(Profiler::ncu, {"--section", "A", "--section=B", "-c", "3", "-f"})).arguments,
      ElementsAre("--export", "profiles/r.ncu-rep", "--section", "A", "--section=B", "-c", "3", "-f",
                  "/bin/gpuforge", "check", "softmax_online", "--shape", "4x8"));
  const ProfilerCommand own = profiler_command(request(Profiler::ncu, {"--set=basic", "-o", "mine"}));
  EXPECT_EQ(own.report, "mine.ncu-rep");
  EXPECT_THAT(own.arguments, ElementsAre("--set=basic", "-o", "mine", "/bin/gpuforge", "check",
                                         "softmax_online", "--shape", "4x8"));
  EXPECT_THAT(profiler_command(request(Profiler::sanitizer, {"--tool", "racecheck"})).arguments,
              ElementsAre("--error-exitcode", "86", "--tool", "racecheck", "/bin/gpuforge", "check",
                          "softmax_online", "--shape", "4x8"));
}

TEST(Profiler, KernelsAreChosenTheWayEachToolTakesIt) {
  ProfilerRequest one = request(Profiler::ncu);
  one.kernel = "sum<4>(x)";
  EXPECT_THAT(profiler_command(one).arguments, testing::Contains("regex:sum<4>\\(x\\)"));
  one.profiler = Profiler::sanitizer;
  EXPECT_THAT(profiler_command(one).arguments, testing::Contains("kns=sum<4>(x)"));
  one.profiler = Profiler::nsys;
  EXPECT_THROW(profiler_command(one), Error);
}

void make_program(const fs::path& path) {
  fs::create_directories(path.parent_path());
  write_file(path, "#!/bin/sh\n");
  fs::permissions(path, fs::perms::owner_all);
}

TEST(Profiler, IsFoundOnPathThenInTheToolkitThenInPackagesNewestFirst) {
  const TemporaryFolder root;
  Environment environment;
  EXPECT_FALSE(find_profiler(Profiler::ncu, environment, root.path()));
  for (const char* version : {"2024.3.2", "2025.10.0", "2025.3.1"})
    make_program(root / "opt/nvidia/nsight-compute" / version / "ncu");
  EXPECT_EQ(find_profiler(Profiler::ncu, environment, root.path()),
            root / "opt/nvidia/nsight-compute/2025.10.0/ncu");
  make_program(root / "usr/local/cuda/bin/ncu");
  EXPECT_EQ(find_profiler(Profiler::ncu, environment, root.path()), root / "usr/local/cuda/bin/ncu");
  make_program(root / "toolkit/bin/ncu");
  environment.cuda_home = (root / "toolkit").string();
  EXPECT_EQ(find_profiler(Profiler::ncu, environment, root.path()), root / "toolkit/bin/ncu");
  make_program(root / "path/ncu");
  environment.path = (root / "path").string();
  EXPECT_EQ(find_profiler(Profiler::ncu, environment, root.path()), root / "path/ncu");
  make_program(root / "usr/local/cuda/compute-sanitizer/compute-sanitizer");
  EXPECT_EQ(find_profiler(Profiler::sanitizer, environment, root.path()),
            root / "usr/local/cuda/compute-sanitizer/compute-sanitizer");
  environment.library_path = "none";
  EXPECT_FALSE(find_profiler(Profiler::sanitizer, environment, root.path()));
  environment.library_path.reset();
  make_program(root / "opt/nvidia/nsight-systems/2025.1.1/bin/nsys");
  EXPECT_EQ(find_profiler(Profiler::nsys, environment, root.path()),
            root / "opt/nvidia/nsight-systems/2025.1.1/bin/nsys");
}

TEST(Profiler, ReportsAreNamedByTheTime) {
  const TemporaryFolder folder;
  std::tm parts{};
  parts.tm_year = 126, parts.tm_mon = 10, parts.tm_mday = 15, parts.tm_hour = 14, parts.tm_min = 1,
  parts.tm_sec = 2;
  parts.tm_isdst = -1;
  const std::time_t now = std::mktime(&parts);
  EXPECT_EQ(report_path("profiles", Profiler::ncu, now), "profiles/ncu_20261115_140102.ncu-rep");
  write_file(report_path(folder.path(), Profiler::sanitizer, now), "");
  EXPECT_EQ(report_path(folder.path(), Profiler::sanitizer, now), folder / "sanitizer_20261115_140102_2.txt");
}

TEST(Profiler, EndingsOfNcu) {
  EXPECT_EQ(judge(Profiler::ncu, ended(0), recorded("ncu_run.txt")).verdict, ProfilerVerdict::good);
  const auto barred =
      judge(Profiler::ncu, ended(1),
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
            "Performance Counters on the target device 0.");
  EXPECT_EQ(barred.verdict, ProfilerVerdict::counters_barred);
  EXPECT_THAT(barred.sentence, HasSubstr("NVreg_RestrictProfilingToAdminUsers"));
  const auto failed =
      judge(Profiler::ncu, ended(1), "==ERROR== The application returned an error code (2).\n");
  EXPECT_EQ(failed.verdict, ProfilerVerdict::program_failed);
  EXPECT_EQ(failed.code, 2);
  EXPECT_EQ(judge(Profiler::ncu, ended(0), "==WARNING== No kernels were profiled.\n").verdict,
            ProfilerVerdict::nothing_seen);
  EXPECT_EQ(judge(Profiler::ncu, ended(9), "").verdict, ProfilerVerdict::tool_failed);
}

TEST(Profiler, EndingsOfTheSanitizer) {
  const auto found = judge(Profiler::sanitizer, ended(0), recorded("sanitizer_memcheck.txt"));
  EXPECT_EQ(found.verdict, ProfilerVerdict::errors_found);
  EXPECT_EQ(found.sentence, "compute-sanitizer found 1 error");
  EXPECT_EQ(judge(Profiler::sanitizer, ended(86), "").verdict, ProfilerVerdict::errors_found);
  EXPECT_EQ(judge(Profiler::sanitizer, ended(0), "========= ERROR SUMMARY: 0 errors\n").verdict,
            ProfilerVerdict::good);
  EXPECT_EQ(judge(Profiler::sanitizer, ended(0),
                  "========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)\n")
                .sentence,
            "compute-sanitizer found 3 errors");
  const auto failed =
      judge(Profiler::sanitizer, ended(2),
            "========= Target application returned an error\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_EQ(failed.verdict, ProfilerVerdict::program_failed);
  EXPECT_EQ(failed.code, 2);
}

}  // namespace
}  // namespace gpuforge::lab
