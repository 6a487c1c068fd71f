#include "gpuforge/ops/row_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

RowProblem halves(std::int64_t count, std::int64_t length, int vector = 8) {
  return {.op = "softmax_online",
          .count = count,
          .length = length,
          .dtype = DType::f16,
          .vector = vector,
          .held_bytes = 128};
}

device::DeviceFacts big_chip() {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  return facts;
}

RowChoice chosen(const RowProblem& problem, const TuningTable& table = {}) {
  return choose_row_config(problem, "best", nullptr, big_chip(), table);
}

TEST(RowConfig, RowsAreHeldAsLongAsTheyFit) {
  EXPECT_EQ(chosen(halves(4096, 1024)).config,
            (RowConfig{.threads = 32, .rows = 4, .vector = 8, .items = 32}));
  EXPECT_EQ(chosen(halves(4096, 1024)).reason.text(),
            "rows of 1024 are held by 32 threads, 32 elements each");
  EXPECT_EQ(chosen(halves(16384, 4096)).config,
            (RowConfig{.threads = 128, .rows = 1, .vector = 8, .items = 32}));
  EXPECT_EQ(chosen(halves(4096, 65536)).config,
            (RowConfig{.threads = 1024, .rows = 1, .vector = 8, .items = 64}));
  EXPECT_EQ(chosen(halves(4096, 65537)).config,
            (RowConfig{.threads = 1024, .rows = 1, .vector = 8, .items = 0}));
  EXPECT_EQ(chosen(halves(4096, 65537)).reason.text(),
            "rows of 65537 are more than the registers of a block hold");
}

// Without registers for more, 64 bytes a thread; with them, blocks of which two fit beside each other.
TEST(RowConfig, LongRowsHaveMoreBytesAThread) {
  EXPECT_EQ(chosen(halves(4096, 32768)).config,
            (RowConfig{.threads = 512, .rows = 1, .vector = 8, .items = 64}));
  RowProblem tight = halves(4096, 32768);
  tight.held_bytes = 64;
  EXPECT_EQ(chosen(tight).config, (RowConfig{.threads = 1024, .rows = 1, .vector = 8, .items = 32}));
  EXPECT_EQ(chosen(halves(100, 32768)).config,
            (RowConfig{.threads = 1024, .rows = 1, .vector = 8, .items = 32}));
}

TEST(RowConfig, ShortRowsShareAWarp) {
  EXPECT_EQ(chosen(halves(100000, 256)).config,
            (RowConfig{.threads = 16, .rows = 8, .vector = 8, .items = 16}));
  EXPECT_EQ(chosen(halves(100000, 3)).config, (RowConfig{.threads = 16, .rows = 8, .vector = 8, .items = 8}));
}

TEST(RowConfig, FewRowsHaveMoreThreads) {
  EXPECT_EQ(chosen(halves(4, 2048)).config, (RowConfig{.threads = 256, .rows = 1, .vector = 8, .items = 8}));
  EXPECT_EQ(chosen(halves(4096, 2048)).config,
            (RowConfig{.threads = 64, .rows = 2, .vector = 8, .items = 32}));
}

TEST(RowConfig, ColumnsHaveThreadsSideBySide) {
  RowProblem problem = halves(4096, 100, 1);
  problem.columns = true;
  EXPECT_EQ(chosen(problem).config,
            (RowConfig{.threads = 8, .rows = 32, .vector = 1, .items = 16, .columns = true}));
  problem.length = 100000;
  EXPECT_EQ(chosen(problem).config,
            (RowConfig{.threads = 32, .rows = 32, .vector = 1, .items = 0, .columns = true}));
}

// Every choice is one of those declared, whatever the shape.
TEST(RowConfig, ChoicesAreAmongTheDeclared) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const std::int64_t length : {0, 1, 3, 7, 31, 32, 255, 257, 1023, 1025, 5000, 40000, 262144}) {
      for (const std::int64_t count : {1, 100, 100000}) {
        for (const bool columns : {false, true}) {
          for (const int held : {0, 64, 128}) {
            for (int vector = columns ? 1 : 16 / static_cast<int>(element_bytes(dtype)); vector > 0;
                 vector /= 2) {
              const RowProblem problem{"op", count, length, dtype, vector, columns, held};
              const std::vector<RowConfig> all = row_configs(problem);
              EXPECT_GE(all.size(), 20u);
              EXPECT_THAT(all, testing::Contains(chosen(problem).config))
                  << name(dtype) << " " << count << " x " << length << " vector " << vector << " held "
                  << held << ": " << to_string(to_config(chosen(problem).config));
              for (const RowConfig& config : all) EXPECT_EQ(row_config(to_config(config), problem), config);
            }
          }
        }
      }
    }
  }
}

TEST(RowConfig, TheTableComesFirst) {
  TuningTable table;
  const RowConfig tuned{.threads = 256, .rows = 1, .vector = 4, .items = 4};
  table.set(row_tuning_key(halves(4096, 1024), "best"), to_config(tuned));
  EXPECT_EQ(chosen(halves(4000, 1000), table).config, tuned);
  EXPECT_EQ(chosen(halves(4000, 1000), table).reason.text(), "tuned on this device");
  // Not what the arrays at hand allow: narrower loads, and nothing held of a row that is too long.
  EXPECT_EQ(chosen(halves(4000, 1000, 2), table).config,
            (RowConfig{.threads = 256, .rows = 1, .vector = 2, .items = 4}));
  const Config config = to_config(tuned);
  EXPECT_EQ(choose_row_config(halves(1, 5000), "best", &config, big_chip(), {}).config,
            (RowConfig{.threads = 256, .rows = 1, .vector = 4, .items = 0}));
}

TEST(RowConfig, RefusesWhatNoKernelHas) {
  const auto refusal = [](const Config& config) {
    return error_of([&] { row_config(config, halves(1, 100)); });
  };
  EXPECT_THAT(refusal({{"threads", 33}}), HasSubstr("softmax_online: there is no configuration threads=33"));
  EXPECT_THAT(refusal({{"speed", 1}}), HasSubstr("there is no configuration speed=1"));
  EXPECT_THAT(refusal({{"threads", 8}, {"rows", 2}}), HasSubstr("threads*rows=16"));
  EXPECT_THAT(refusal({{"vector", 16}}), HasSubstr("vector=16"));
  EXPECT_THAT(refusal({{"threads", 8}, {"rows", 8}, {"vector", 8}}), HasSubstr("vector=8"));
  EXPECT_THAT(refusal({{"vector", 4}, {"items", 2}}), HasSubstr("items=2"));
}

}  // namespace
}  // namespace gpuforge::ops
