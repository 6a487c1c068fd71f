// `bench --compare` on samples that were recorded on a GPU: recorded/pack.py says how.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "gpuforge/base/embedded.h"
#include "gpuforge/lab/bench_json.h"
#include "gpuforge/lab/change.h"

namespace gpuforge {
std::span<const EmbeddedFile> recorded_files();  // made from recorded/*.json when this is built
}

namespace gpuforge::lab {
namespace {

std::string file_name(const EmbeddedFile& file) {
  return std::string(file.path.substr(file.path.rfind('/') + 1));
}

using Cases = std::map<std::string, Measurement>;  // by the case's name

Cases cases_of(const EmbeddedFile& file) {
  Cases cases;
  for (const BenchResult& result : read_bench_document(Json::parse(file.text, file.path), file.path)) {
    EXPECT_TRUE(result.good() && result.measurement) << file.path << ": " << result.failure;
    if (result.measurement) cases.emplace(to_string(result.which), *result.measurement);
  }
  return cases;
}

std::map<std::string, Cases> runs(std::string_view start) {
  std::map<std::string, Cases> found;
  for (const EmbeddedFile& file : recorded_files()) {
    if (file_name(file).starts_with(start)) found.emplace(file_name(file), cases_of(file));
  }
  return found;
}

Change change(const Measurement& before, const Measurement& now) {
  return compare_timings(before.samples, now.samples);
}

// The first run is what the twenty after it are compared with.
TEST(RecordedTimings, TwentyRunsOfOneProgramRaiseNoAlarm) {
  const auto same = runs("same_");
  ASSERT_EQ(same.size(), 21u);
  const Cases& first = same.begin()->second;
  ASSERT_GE(first.size(), 4u);
  for (const auto& [file, cases] : same) {
    ASSERT_EQ(cases.size(), first.size()) << file;
    for (const auto& [name, now] : cases) {
      ASSERT_TRUE(first.contains(name)) << file << ": " << name;
      const Change found = change(first.at(name), now);
      EXPECT_NE(found.verdict, Verdict::slower) << file << ": " << name << " by " << found.ratio;
      EXPECT_NE(found.verdict, Verdict::faster) << file << ": " << name << " by " << found.ratio;
    }
  }
}

// A kernel with 5 % more to do, under the same name.
TEST(RecordedTimings, ARealSlowDownOfFivePerCentIsFound) {
  const auto both = runs("slowdown_");
  ASSERT_EQ(both.size(), 2u);
  const auto& [which, before] = *both.at("slowdown_before.json").begin();
  const Measurement& after = both.at("slowdown_after.json").at(which);
  const Change found = change(before, after);
  EXPECT_EQ(name(found.verdict), "slower") << found.ratio;
  EXPECT_NEAR(found.ratio, 1.05, 0.015);
  EXPECT_EQ(name(change(after, before).verdict), "faster");
}

}  // namespace
}  // namespace gpuforge::lab
