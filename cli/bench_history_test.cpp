#include "cli/bench_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/bench_report_for_tests.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kProduct = "Test <GPU>";
const std::string kCase = "sum best f16 1024x1024";

TEST(BenchHistory, KeepsWhatWasMeasuredAndFindsItByCaseAndDevice) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "new" / "h.sqlite";
  for (const double p50 : {0.5, 0.4, 0.3}) {
    BenchHistory history(path);
    history.add(report_for_tests(p50));
  }
  BenchHistory history(path);
  const auto points = history.find(kProduct, kCase);
  ASSERT_THAT(points, SizeIs(3));
  EXPECT_EQ(points[0].p50_ms, 0.5);
  EXPECT_EQ(points[2].p50_ms, 0.3);
  EXPECT_EQ(points[2].which, kCase);
  EXPECT_DOUBLE_EQ(points[2].gb_per_s, report_for_tests(0.3).rows[0].result.gb_per_s());
  EXPECT_THAT(points[0].time, testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_EQ(history.find(kProduct, kCase, 2)[0].p50_ms, 0.4) << "the newest";
  EXPECT_THAT(history.find("another", kCase), IsEmpty());
  EXPECT_THAT(history.find(kProduct, "sum naive f16 1024x1024"), IsEmpty()) << "it failed";
}

std::string complaint(const std::filesystem::path& path) {
  try {
    BenchHistory history(path);
    history.add(report_for_tests());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

TEST(BenchHistory, SaysWhyItCannotBeUsed) {
  const TemporaryFolder folder;
  write_file(folder.path() / "text", std::string(4096, 'x'));
  EXPECT_THAT(complaint(folder.path() / "text"), HasSubstr("text cannot be used: file is not a database"));
  EXPECT_THAT(complaint(folder.path() / "text" / "h.sqlite"), HasSubstr("cannot be used: unable to open"));
}

}  // namespace
}  // namespace gpuforge::cli
