#include "gpuforge/lab/tuning_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/lab/tuning_record.h"

namespace gpuforge::lab {
namespace {

using gpuforge::to_string;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const TunedDevice kH200 = {"NVIDIA H200", "sm_90"};

TuningRecord record(std::int64_t block, double p50, Shape shape = {4096, 1024}) {
  return {.device = kH200,
          .key = {"reduce_sum", "best", DType::f16, shape_class({4096, 1024})},
          .problem = {.shape = shape, .dtype = DType::f16, .options = {{"dim", "-1"}}},
          .config = {{"block", block}, {"vector", 8}},
          .compile_key = "abc",
          .p50 = p50,
          .unit = "ms",
          .program = "0.1.0",
          .date = "2026-11-15T10:00:00Z"};
}

class TuningCache : public testing::Test {
 protected:
  std::vector<TuningRecord> read() { return read_tuning(folder_.path(), log_); }
  std::string best(std::span<const TuningRecord> records, const StillHas& still_has = {}) {
    const TuningTable table = tuning_table(records, kH200, still_has);
    const Config* const config = table.find(record(1, 1).key);
    return config != nullptr ? to_string(*config) : "none";
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
  Log log_{LogLevel::warning, [this](LogLevel, std::string_view text) { warnings_.emplace_back(text); }};
};

TEST_F(TuningCache, ReadsWhatWasAppended) {
  TuningRecord odd = record(64, 0);
  odd.outcome = Outcome::wrong_result;
  odd.reason = "3 of 4 elements of \"out\" are wrong\nand more";
  odd.is_default = true;
  odd.problem.shape = {};
  odd.problem.options.clear();
  odd.config.clear();
  append_tuning(folder_.path() / "new", record(128, 0.0123456789));
  append_tuning(folder_.path() / "new", odd);
  EXPECT_THAT(read_tuning(folder_.path() / "new", log_), ElementsAre(record(128, 0.0123456789), odd));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "new/NVIDIA_H200-sm_90.jsonl"));
  EXPECT_THAT(read_tuning(folder_.path() / "absent", log_), IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
  const TuningSize size = tuning_size(folder_.path() / "new");
  EXPECT_EQ(size.files, 1u);
  EXPECT_EQ(size.records, 2u);
  EXPECT_EQ(clear_tuning(folder_.path() / "new").records, 2u);
  EXPECT_THAT(read_tuning(folder_.path() / "new", log_), IsEmpty());
}

TEST_F(TuningCache, TornAndForeignLinesAreSkippedWithOneWarning) {
  const std::string line = to_json(record(32, 1)).dump();
  append_tuning(folder_.path(), record(128, 1));
  const std::filesystem::path file = tuning_file(folder_.path(), kH200);
  std::ofstream(file, std::ios::app) << "not JSON\n\n[]\n{\"tuning\": 2}\n" << line.substr(0, 60);
  append_tuning(folder_.path(), record(256, 2));  // does not continue the torn line
  folder_.write("other.jsonl", "nonsense\n");
  folder_.write("notes.txt", "not looked at\n");
  EXPECT_THAT(read(), ElementsAre(record(128, 1), record(256, 2)));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("5 lines are no result of tuning and are skipped, the first "));
  EXPECT_THAT(warnings_[0], HasSubstr("sm_90.jsonl:2 "));
}

TEST_F(TuningCache, EveryTruncationAndEveryWrongTypeIsSkipped) {
  const Json good = to_json(record(32, 1));
  const std::string line = good.dump();
  for (std::size_t length = 1; length < line.size(); ++length) {
    folder_.write("torn.jsonl", line.substr(0, length));
    EXPECT_THAT(read(), IsEmpty()) << length;
  }
  for (const auto& [key, value] : good.as_object()) {
    Json bad = good;
    bad.set(key, value.is_number() ? Json("text") : Json(-1.5));
    folder_.write("torn.jsonl", bad.dump());
    EXPECT_THAT(read(), IsEmpty()) << key;
  }
}

TEST_F(TuningCache, WritersAtOnceLoseNothing) {
  constexpr int kLines = 200;
  const auto write = [&](int writer) {
    for (int i = 0; i < kLines; ++i) append_tuning(folder_.path(), record(writer * kLines + i + 1, 1));
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    write(0);
    ::_exit(0);
  }
  std::thread other(write, 1);
  write(2);
  other.join();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::set<std::int64_t> blocks;
  for (const TuningRecord& found : read()) blocks.insert(found.config.at("block"));
  EXPECT_EQ(blocks.size(), 3u * kLines);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TuningCache, MergesFilesOfOtherMachines) {
  TuningRecord theirs = record(64, 3);
  theirs.device = {"NVIDIA RTX 4090", "sm_89"};
  append_tuning(folder_.path(), record(128, 1));
  const auto file =
      folder_.write("from/elsewhere.txt", to_json(record(128, 1)).dump() + "\n" + to_json(theirs).dump() +
                                              "\n" + to_json(record(256, 1)).dump() + "\ntorn");
  const Merged merged = merge_tuning(folder_.path(), file, log_);
  EXPECT_EQ(merged.added, 2u);
  EXPECT_EQ(merged.known, 1u);
  EXPECT_EQ(merged.skipped, 1u);
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(read(), ElementsAre(record(128, 1), record(256, 1), theirs));
  EXPECT_EQ(merge_tuning(folder_.path(), file, log_).added, 0u);
  EXPECT_THROW(merge_tuning(folder_.path(), folder_.path() / "absent", log_), Error);
}

TEST_F(TuningCache, TheBestVerifiedOfThisDeviceIsChosen) {
  std::vector<TuningRecord> records = {record(32, 3), record(64, 2), record(128, 1), record(256, 0.5),
                                       record(512, 0.1)};
  records[3].device.arch = "sm_100";
  records[4].outcome = Outcome::wrong_result;
  EXPECT_EQ(best(records), "block=128 vector=8");
  EXPECT_EQ(best(records, [](const TuningRecord& one) { return one.config.at("block") < 100; }),
            "block=64 vector=8");
  EXPECT_EQ(best(records, [](const TuningRecord&) { return false; }), "none");
  // What was measured again counts as it is now.
  records.push_back(record(128, 9));
  records.back().date = "2026-11-16T10:00:00Z";
  EXPECT_EQ(best(records), "block=64 vector=8");
  std::swap(records[2], records.back());
  EXPECT_EQ(best(records), "block=64 vector=8");
}

TEST_F(TuningCache, AClassOfSeveralProblemsTakesWhatIsBestOnTheWhole) {
  // 64 is 2x faster on one problem, 128 a little on the other: times of different problems are not compared.
  std::vector<TuningRecord> records = {record(32, 2),
                                       record(64, 1),
                                       record(128, 1.9),
                                       record(32, 0.2, {4000, 1000}),
                                       record(64, 0.11, {4000, 1000}),
                                       record(128, 0.1, {4000, 1000})};
  records[0].is_default = records[3].is_default = true;
  EXPECT_EQ(best(records), "block=64 vector=8");
  // Measured on the small problem alone, 256 is no better than the default on the other.
  records.push_back(record(256, 0.09, {4000, 1000}));
  EXPECT_EQ(best(records), "block=64 vector=8");
}

}  // namespace
}  // namespace gpuforge::lab
