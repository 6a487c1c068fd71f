#include "gpuforge/context/tuning_table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gpuforge {
namespace {

TEST(TuningTable, ShapeClassesRoundUpAndTellRaggedExtents) {
  EXPECT_EQ(shape_class({4096, 1000}), "4096x1024");
  EXPECT_EQ(shape_class({4096, 1001}), "4096x1024r");
  EXPECT_EQ(shape_class({0, 1}), "0x1r");
  EXPECT_EQ(shape_class({}), "");
}

TEST(TuningTable, FindsWhatWasSetLast) {
  TuningTable table;
  const TuningKey key{"reduce_sum", "best", DType::f16, "4096x1024"};
  EXPECT_EQ(table.find(key), nullptr);
  table.set(key, {{"block", 128}});
  table.set(key, {{"block", 256}, {"vector", 8}});
  ASSERT_NE(table.find(key), nullptr);
  EXPECT_EQ(to_string(*table.find(key)), "block=256 vector=8");
  EXPECT_EQ(table.find({"reduce_sum", "best", DType::f32, "4096x1024"}), nullptr);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.find_by([&] { return key; }), table.find(key));
  EXPECT_EQ(TuningTable().find_by([]() -> TuningKey { throw std::logic_error("made a key for nothing"); }),
            nullptr);
  EXPECT_EQ(to_string(Config{}), "-");
}

}  // namespace
}  // namespace gpuforge
