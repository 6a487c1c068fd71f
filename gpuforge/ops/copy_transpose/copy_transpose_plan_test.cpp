// What copy_transpose does without data: choices, plans, the order of tiles.
#include <gtest/gtest.h>

#include "gpuforge/ops/copy_transpose/copy_transpose_kernels.h"

namespace gpuforge::ops {
namespace {

device::DeviceFacts facts_of_many() {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  return facts;
}

TransposeConfig chosen(const TransposeProblem& problem) {
  return choose_transpose(problem, "best", 0, facts_of_many(), {}).config;
}

TEST(CopyTransposeChoice, ComesFromTheTableWhenThereIsAnEntry) {
  TuningTable table;
  const TransposeProblem problem{1, 4096, 4096, DType::f16};
  EXPECT_EQ(choose_transpose(problem, "tiled", 0, facts_of_many(), table).config,
            (TransposeConfig{.tile = 32, .rows = 8}));
  table.set(transpose_tuning_key(problem, "best"), {{"tile", 16}, {"rows", 4}});
  const TransposeChoice choice =
      choose_transpose({1, 4000, 3992, DType::f16}, "best", 0, facts_of_many(), table);
  EXPECT_EQ(choice.config.tile, 16);
  EXPECT_EQ(choice.config.rows, 4);
  EXPECT_EQ(choice.reason.text(), "tuned on this device");
  EXPECT_EQ(choose_transpose(problem, "best", 32, facts_of_many(), table).config.tile, 32);
  EXPECT_TRUE(choose_transpose({1, 4001, 3992, DType::f16}, "best", 0, facts_of_many(), table).config.shifted)
      << "an entry of aligned shapes says nothing of others";
}

TEST(CopyTransposeChoice, AccessesAreAsWideAsTheShapeAllows) {
  const TransposeConfig shifted{.tall = 64, .rows = 16, .group = 0, .shifted = true};
  EXPECT_EQ(chosen({1, 4096, 4096, DType::f16}),
            (TransposeConfig{.tile = 128, .rows = 16, .vector = 8, .group = 0}));
  EXPECT_EQ(chosen({1, 256, 131072, DType::f16}),
            (TransposeConfig{.tile = 64, .rows = 32, .vector = 8, .group = 0}));
  EXPECT_EQ(chosen({1, 4096, 4096, DType::f32}),
            (TransposeConfig{.tile = 64, .rows = 32, .vector = 4, .group = 0}));
  EXPECT_EQ(chosen({1, 4096, 4092, DType::f16}),
            (TransposeConfig{.tile = 64, .rows = 8, .vector = 4, .group = 0}));
  EXPECT_EQ(chosen({1, 4098, 4096, DType::f16}), shifted);
  EXPECT_EQ(chosen({1, 8191, 8193, DType::bf16}), shifted);
  EXPECT_EQ(chosen({1, 8191, 8193, DType::f32}), shifted);
  EXPECT_EQ(chosen({1, 31, 100001, DType::f16}), (TransposeConfig{.tile = 64, .rows = 4}))
      << "too narrow for the tiles of shifted accesses";
}

TEST(CopyTransposeChoice, SmallMatricesHaveSmallTiles) {
  for (const auto& [rows, columns] : {std::pair{64, 256}, {64, 4096}, {512, 512}, {511, 513}})
    EXPECT_EQ(chosen({1, rows, columns, DType::f16}), TransposeConfig{}) << rows << "x" << columns;
  EXPECT_EQ(chosen({4, 512, 512, DType::f16}).vector, 8) << "many planes are no small matrix";
}

TEST(CopyTransposeChoice, ConfigurationsHaveNames) {
  const TransposeConfig all[] = {{.tile = 16, .rows = 8},
                                 {.tile = 64, .tall = 128, .rows = 32, .vector = 8, .group = 0},
                                 {.tile = 64, .rows = 16, .vector = 8, .group = 8},
                                 {.tall = 64, .rows = 16, .group = 0, .shifted = true}};
  for (const TransposeConfig& config : all)
    EXPECT_EQ(transpose_config("best", to_config(config), DType::f16), config)
        << to_string(to_config(config));
  EXPECT_EQ(to_string(to_config(all[0])), "rows=8 tile=16 vector=1");
  EXPECT_EQ(to_string(to_config(all[3])), "group=0 rows=16 shifted=1 tall=64");
}

TransposePlan plan(const Shape& shape, const Strides& x, const Strides& out) {
  return plan_transpose(shape, x, out, false);
}

TEST(CopyTransposePlan, RunsAlongTheRowsOfBoth) {
  EXPECT_FALSE(plan({8, 6}, {6, 1}, {8, 1}).straight);
  EXPECT_TRUE(plan({8, 6}, {1, 8}, {8, 1}).straight) << "x is a transposed view";
  EXPECT_TRUE(plan({8, 6}, {6, 1}, {1, 6}).straight) << "out is one";
  EXPECT_TRUE(plan({1, 6}, {6, 1}, {1, 1}).straight);
  EXPECT_TRUE(plan({8, 1}, {1, 1}, {8, 1}).straight);
  const TransposePlan both = plan({8, 6}, {1, 8}, {1, 6});
  EXPECT_FALSE(both.straight);
  EXPECT_EQ(both.matrix.rows, 6);
  EXPECT_EQ(both.matrix.x_column, 1);
  EXPECT_EQ(both.matrix.out_column, 1);
}

TEST(CopyTransposePlan, AccessesAreAsWideAsBothSidesAllow) {
  const TransposeConfig config{.tile = 64, .rows = 16, .vector = 8};
  const auto used = [&](const Shape& shape, const Strides& x, const Strides& out, device::Address from) {
    return fitted(plan(shape, x, out), from, 0x1000, DType::f16, config);
  };
  EXPECT_EQ(used({64, 32}, {32, 1}, {64, 1}, 0x1000), config);
  EXPECT_EQ(used({64, 36}, {36, 1}, {64, 1}, 0x1000).vector, 4);
  const TransposeConfig shifted = shifted_config(DType::f16);
  EXPECT_EQ(used({64, 128}, {128, 1}, {64, 1}, 0x1004), shifted);
  EXPECT_EQ(used({66, 128}, {128, 1}, {66, 1}, 0x1000), shifted);
  EXPECT_EQ(used({64, 128}, {129, 1}, {64, 1}, 0x1000), shifted);
  EXPECT_EQ(used({3, 64, 128}, {8193, 128, 1}, {8192, 64, 1}, 0x1000), shifted);
  EXPECT_EQ(used({64, 32}, {32, 1}, {64, 1}, 0x1004).vector, 2) << "too narrow for it";
  EXPECT_EQ(used({64, 32}, {64, 2}, {64, 1}, 0x1000), (TransposeConfig{.tile = 64, .rows = 16}))
      << "no neighbours to access at once";
  const TransposePlan strided = plan({64, 32}, {64, 2}, {64, 1});
  EXPECT_EQ(fitted(strided, 0, 0, DType::f16, shifted), TransposeConfig{.group = 0});
  EXPECT_EQ(fitted(strided, 0, 0, DType::f16, {.tile = 128, .tall = 64, .rows = 32, .vector = 8}),
            (TransposeConfig{.tile = 64, .rows = 16}))
      << "square, and no more threads than a block has";
}

TEST(CopyTransposePlan, DivisorsAreExact) {
  for (const std::int64_t by : {1, 2, 3, 5, 7, 64, 127, 641, 65535, 65537, 1 << 30, 2147483647}) {
    const DeviceDivisor divisor = ops::divisor(by);
    for (const std::int64_t near :
         {std::int64_t{0}, by, 2 * by, 1000 * by, std::int64_t{2147483647} / by * by}) {
      for (std::int64_t number = near - 2; number <= near + 2; ++number) {
        if (number < 0 || number > 2147483647) continue;
        const auto high = static_cast<std::uint64_t>(number) * divisor.magic >> 32;
        EXPECT_EQ((high + static_cast<std::uint64_t>(number)) >> divisor.shift, number / by)
            << number << "/" << by;
      }
    }
  }
}

TEST(CopyTransposePlan, EveryTileHasABlock) {
  const auto tiles = [](const Shape& shape, const TransposeConfig& config) {
    return transpose_tiles(plan(shape, row_major_strides(shape), row_major_strides(transposed_shape(shape))),
                           config, DType::f16);
  };
  const TransposeTiles along = tiles({3, 129, 70}, {.tile = 32});
  EXPECT_EQ(along.grid, (device::Dim3{3, 5, 3}));
  EXPECT_EQ(std::get<DeviceGridOrder>(along.order).down_first, 0u);
  const TransposeTiles down = tiles({3, 129, 70}, {.tile = 32, .group = 0});
  EXPECT_EQ(down.grid, (device::Dim3{5, 3, 3}));
  EXPECT_EQ(std::get<DeviceGridOrder>(down.order).down_first, 1u);
  const TransposeTiles groups = tiles({3, 129, 70}, {.tile = 32, .group = 4});
  EXPECT_EQ(groups.grid, (device::Dim3{3 * 8 * 3})) << "two groups of four";
  EXPECT_EQ(std::get<DeviceGroupOrder>(groups.order).group_tiles.value, 12u);
  EXPECT_EQ(tiles({129, 70}, {.tile = 32, .group = 8}).grid, (device::Dim3{5, 3}))
      << "no more than there are";
  const TransposeTiles many = tiles({70000, 5, 70}, {.tile = 32});
  EXPECT_EQ(many.grid, (device::Dim3{70000 * 3})) << "more than a grid's other axes have";
  EXPECT_EQ(std::get<DeviceGroupOrder>(many.order).plane_tiles.value, 3u);
  EXPECT_EQ(tiles({121, 248}, shifted_config(DType::f16)).grid, (device::Dim3{2, 1}));
  EXPECT_EQ(tiles({122, 249}, shifted_config(DType::f16)).grid, (device::Dim3{3, 2}))
      << "rows may begin 7 before the tile";
  EXPECT_EQ(tiles({122, 249}, shifted_config(DType::f16)).shape.columns, 125) << "both alike";
  EXPECT_TRUE(std::holds_alternative<NarrowMatrix>(many.matrix));
  EXPECT_TRUE(std::holds_alternative<NarrowMatrix>(tiles({131072, 256}, {.tile = 64}).matrix));
  EXPECT_TRUE(std::holds_alternative<NarrowMatrix>(tiles({256, 131072}, {.tile = 64}).matrix));
  EXPECT_TRUE(std::holds_alternative<WideMatrix>(tiles({50000, 50000}, {.tile = 32}).matrix));
  EXPECT_TRUE(std::holds_alternative<WideMatrix>(tiles({2, std::int64_t{1} << 32}, {.tile = 32}).matrix));
  EXPECT_THROW(tiles({1 << 30, 1 << 30}, {.tile = 16}), Error);
}

}  // namespace
}  // namespace gpuforge::ops
