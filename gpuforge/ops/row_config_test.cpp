#include "gpuforge/ops/row_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/ops/norm_rows.h"
#include "gpuforge/ops/row_fit.h"

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

// The same, whose blocks form clusters.
device::DeviceFacts hopper() {
  device::DeviceFacts facts = big_chip();
  facts.kind = device::DeviceKind::cuda;
  facts.name = "cuda:0";
  facts.cluster_launch = true;
  facts.launch.max_cluster_blocks = 16;
  facts.launch.max_shared_per_block = 227 * 1024;
  return facts;
}

// As softmax_online has it, and its backward, which holds a second row in shared memory.
RowProblem clustered(std::int64_t count, std::int64_t length, int vector = 8) {
  RowProblem problem = halves(count, length, vector);
  problem.arrays = 1;
  problem.most_cluster = kMostCluster;
  problem.cluster_held_bytes = 128;
  return problem;
}
RowProblem clustered_pair(std::int64_t count, std::int64_t length) {
  RowProblem problem = clustered(count, length);
  problem.held_bytes = 64;
  problem.cluster_shared_arrays = 1;
  return problem;
}
RowConfig chosen_on_hopper(const RowProblem& problem) {
  return choose_row_config(problem, "best", nullptr, hopper(), {}).config;
}
RowConfig cluster_of(int cluster, int threads, int items) {
  return {.threads = threads, .rows = 1, .vector = 8, .items = items, .cluster = cluster};
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
  EXPECT_EQ(chosen(halves(4096, 65544)).config,
            (RowConfig{.threads = 1024, .rows = 1, .vector = 8, .items = 0}));
  EXPECT_EQ(chosen(halves(4096, 65544)).reason.text(),
            "rows of 65544 are more than the registers of a block hold");
}

// Up to seven elements at the ends of a row are nobody's items: they do not take twice the threads.
TEST(RowConfig, OddRowsAreHeldAsTheirEvenNeighbours) {
  for (const std::int64_t odd : {1, 7}) {
    EXPECT_EQ(chosen(halves(16384, 8192 + odd)).config, chosen(halves(16384, 8192)).config);
    EXPECT_EQ(chosen(halves(16384, 1024 + odd)).config, chosen(halves(16384, 1024)).config);
    EXPECT_EQ(chosen(halves(4096, 65536 + odd)).config, chosen(halves(4096, 65536)).config);
    EXPECT_EQ(chosen_on_hopper(clustered(512, 262144 + odd)), cluster_of(8, 512, 64));
    EXPECT_EQ(chosen_on_hopper(clustered_pair(512, 16384 + odd)), cluster_of(1, 512, 32));
  }
  EXPECT_EQ(chosen(halves(16384, 8200)).config,
            (RowConfig{.threads = 512, .rows = 1, .vector = 8, .items = 32}));
  EXPECT_EQ(chosen(halves(16384, 16385, 1)).config.items, 0);  // single elements are items
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

TEST(RowConfig, ClustersHoldWhatOutgrowsABlock) {
  EXPECT_EQ(chosen_on_hopper(clustered(8192, 16384)), cluster_of(1, 512, 32));
  EXPECT_EQ(chosen_on_hopper(clustered(4096, 32768)), cluster_of(4, 256, 32));
  EXPECT_EQ(chosen_on_hopper(clustered(4096, 65536)), cluster_of(8, 256, 32));
  EXPECT_EQ(chosen_on_hopper(clustered(1024, 131072)), cluster_of(16, 256, 32));
  EXPECT_EQ(chosen_on_hopper(clustered(512, 262144)), cluster_of(8, 512, 64));
  EXPECT_EQ(chosen_on_hopper(clustered(512, 524288)), cluster_of(16, 512, 64));
  EXPECT_EQ(chosen_on_hopper(clustered(512, 1048576)), cluster_of(16, 1024, 64));
  EXPECT_EQ(chosen_on_hopper(clustered(512, 1048584)).items, 0);
  EXPECT_EQ(chosen_on_hopper(clustered(512, 1048584)).cluster, 1);
  device::DeviceFacts portable = hopper();
  portable.launch.max_cluster_blocks = 8;
  EXPECT_EQ(choose_row_config(clustered(1024, 131072), "best", nullptr, portable, {}).config,
            cluster_of(4, 512, 64));
  EXPECT_EQ(choose_row_config(clustered(512, 524288), "best", nullptr, portable, {}).config,
            cluster_of(8, 1024, 64));
  EXPECT_EQ(choose_row_config(clustered(512, 262144), "best", nullptr, hopper(), {}).reason.text(),
            "rows of 262144 are held by clusters of 8 blocks, 64 elements a thread");
  RowProblem unit = clustered(512, 262144);
  unit.form = RowForm::whole;
  EXPECT_EQ(chosen_on_hopper(unit).form, RowForm::whole);
  unit.form = RowForm::unit;
  EXPECT_EQ(chosen_on_hopper(unit).form, RowForm::unit);
  EXPECT_GT(rows_ahead(unit, chosen_on_hopper(unit), hopper()), 0)
      << "those of any strides do not read ahead";
  // Few rows: as many multiprocessors as there are.
  EXPECT_EQ(chosen_on_hopper(clustered(1, 65536)), cluster_of(16, 256, 16));
  EXPECT_EQ(chosen_on_hopper(clustered(30, 65536)), cluster_of(8, 256, 32));
  // Rows of single elements, devices without clusters, kernels without them.
  EXPECT_EQ(chosen_on_hopper(clustered(1024, 131072, 1)).cluster, 1);
  EXPECT_EQ(chosen(clustered(1024, 131072)).config.cluster, 1);
  EXPECT_EQ(chosen_on_hopper(halves(1024, 131072)).cluster, 1);
}

// An op says where clusters begin and how much their threads hold, for as many rows as fill a device.
TEST(RowConfig, OpsSayFromWhereClustersAreFaster) {
  RowProblem sooner = clustered(4096, 16384);
  sooner.block_bytes = 32;
  EXPECT_EQ(chosen_on_hopper(sooner), cluster_of(2, 256, 32));
  sooner.cluster_bytes = 32;
  EXPECT_EQ(chosen_on_hopper(sooner), cluster_of(4, 256, 16));
  sooner.length = 131072;
  EXPECT_EQ(chosen_on_hopper(sooner), cluster_of(16, 256, 32)) << "no more blocks";
  sooner.length = 8192;
  EXPECT_EQ(chosen_on_hopper(sooner).cluster, 1);
  RowProblem few = sooner;
  few.count = 132;
  few.length = 16384;
  EXPECT_EQ(chosen_on_hopper(few).cluster, 1);
  RowProblem later = clustered(4096, 32768);
  later.block_bytes = 128;
  EXPECT_EQ(chosen_on_hopper(later), cluster_of(1, 512, 64));
  later.length = 32776;
  EXPECT_EQ(chosen_on_hopper(later), cluster_of(8, 256, 32));
}

// Memory is busy with 64 bytes a thread. With half of them, clusters of twice as many blocks had rows of
// 16,385 f32 in 1.3 times the time of those of 16,384.
TEST(RowConfig, ClustersHoldAsMuchOfAnOddRowOfANorm) {
  for (const std::string_view op : {"rms_norm", "layer_norm"}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      const std::int64_t even = dtype == DType::f32 ? 16384 : 32768;
      for (const bool residual : {false, true}) {
        const RowConfig config =
            chosen_on_hopper(norm_problem(op, {4096, even + 1}, dtype, residual, "best"));
        EXPECT_GT(config.cluster, 1) << op << " " << residual;
        EXPECT_EQ(config.items * bytes_of(dtype), 64) << op << " " << residual;
      }
    }
  }
}

TEST(RowConfig, ClustersOfTwoArraysUseSharedMemory) {
  EXPECT_EQ(chosen_on_hopper(clustered_pair(4096, 16384)), cluster_of(1, 512, 32));
  EXPECT_EQ(chosen_on_hopper(clustered_pair(4096, 32768)), cluster_of(4, 256, 32));
  EXPECT_EQ(chosen_on_hopper(clustered_pair(512, 262144)), cluster_of(8, 512, 64));
  const device::LaunchConfig launch =
      row_launch(clustered_pair(512, 262144), cluster_of(8, 512, 64), hopper()).launch;
  EXPECT_EQ(launch.grid, (device::Dim3{4096, 1, 1}));
  EXPECT_EQ(launch.cluster, (device::Dim3{8, 1, 1}));
  EXPECT_EQ(launch.dynamic_shared_bytes, 65536u);
  const device::LaunchConfig alone =
      row_launch(clustered_pair(512, 100), cluster_of(1, 32, 8), hopper()).launch;
  EXPECT_EQ(alone.dynamic_shared_bytes, 0u);
  EXPECT_EQ(alone.cluster, device::Dim3{});
  // Clusters of 16 that have whole rows in turn have room for a quarter of the next.
  RowProblem whole = clustered_pair(256, 262144);
  whole.form = RowForm::whole;
  whole.dtype = DType::f32;
  whole.vector = 4;
  const RowConfig turns = chosen_on_hopper(whole);
  EXPECT_EQ(std::pair(turns.cluster, turns.threads), std::pair(16, 512));
  EXPECT_TRUE(takes_turns(turns, whole.dtype));
  EXPECT_EQ(row_launch(whole, turns, hopper()).launch.dynamic_shared_bytes, 65536u / 4 * 5);
  whole.length = 131072;
  EXPECT_FALSE(takes_turns(chosen_on_hopper(whole), whole.dtype)) << "eight blocks hold it";
  // A chip with less of it reads such rows twice.
  device::DeviceFacts small = hopper();
  small.launch.max_shared_per_block = 99 * 1024;
  EXPECT_EQ(choose_row_config(clustered_pair(512, 1048576), "best", nullptr, hopper(), {}).config,
            cluster_of(16, 1024, 64));
  EXPECT_EQ(choose_row_config(clustered_pair(512, 1048576), "best", nullptr, small, {}).config.items, 0);
}

constexpr jit::FixedText kFile = "gpuforge/ops/softmax_online/softmax_online.cu";

TEST(RowConfig, PartOfTheRowsOfADeviceLieAhead) {
  const auto ahead = [](RowProblem problem, RowConfig config) {
    config.form = RowForm::whole;
    return row_launch(problem, config, hopper()).ahead;
  };
  EXPECT_EQ(ahead(clustered(4096, 8192), cluster_of(1, 256, 32)), 132 * 6 / 3);
  EXPECT_EQ(ahead(clustered(4096, 8192), cluster_of(1, 128, 64)), 132 * 8 / 3) << "fewer threads beside";
  EXPECT_EQ(ahead(clustered(4096, 65536), cluster_of(8, 256, 32)), 132 * 6 / 8 / 3);
  EXPECT_EQ(ahead(clustered(4096, 1048576), cluster_of(16, 1024, 64)), 132 / 16 / 3);
  RowProblem pair = clustered_pair(4096, 8192);
  pair.arrays = 2;
  EXPECT_EQ(ahead(pair, cluster_of(1, 256, 32)), 132 * 4 / 3);
  EXPECT_EQ(ahead(pair, cluster_of(2, 128, 32)), 132 * 12 / 2 / 3) << "one of them in shared memory";
  pair.ahead_parts = 6;
  EXPECT_EQ(ahead(pair, cluster_of(1, 256, 32)), 132 * 4 / 6);
  EXPECT_EQ(ahead(pair, cluster_of(2, 128, 32)), 132 * 12 / 2 / 3) << "for rows of a block alone";
  EXPECT_EQ(ahead(clustered(4096, 8192), cluster_of(1, 512, 16)), 132 * 3 / 2) << "which hold little";
  EXPECT_EQ(ahead(clustered(4096, 32768), cluster_of(8, 256, 16)), 132 * 6 / 8 / 2);
  EXPECT_EQ(ahead(clustered(792, 8192), cluster_of(1, 256, 32)), 0) << "all are there at once";
  EXPECT_EQ(ahead(clustered(793, 8192), cluster_of(1, 256, 32)), 264);
  EXPECT_EQ(ahead(clustered(4096, 8192), cluster_of(1, 256, 0)), 0) << "nothing is held";
  EXPECT_EQ(ahead(halves(4096, 8192), cluster_of(1, 256, 32)), 0) << "a kernel that does not read ahead";
  EXPECT_EQ(ahead(clustered(1 << 20, 256), {.threads = 32, .rows = 4, .vector = 8, .items = 8}),
            132 * 12 * 4 / 2);
  EXPECT_EQ(ahead(clustered(1 << 20, 128), {.threads = 16, .rows = 8, .vector = 8, .items = 8}), 0);
  EXPECT_EQ(row_launch(clustered(4096, 8192), cluster_of(1, 256, 32), hopper()).ahead, 0) << "any strides";
}

// Rows that begin anywhere are read in vectors, whatever is beside them; whole ones are so with all they
// have.
TEST(RowConfig, WhatIsBesideRowsMayBeginAnywhere) {
  const auto problem = [](std::int64_t length, device::Address weight) {
    const Rows rows = make_rows({64, length}, {{length, 1}, {length, 1}, {0, 1}}, 1);
    const RowStart both[] = {{0, 0x1000, 2}, {1, 0x2000, 2}}, beside[] = {{2, weight, 2}};
    return row_problem("rms_norm", rows, both, DType::f16, 64, beside);
  };
  EXPECT_EQ(problem(8193, 0x1000).vector, 8);
  EXPECT_EQ(problem(8193, 0x1000).form, RowForm::unit);
  EXPECT_EQ(problem(8192, 0x1000).form, RowForm::whole);
  EXPECT_EQ(problem(8192, 0x1002).vector, 8);
  EXPECT_EQ(problem(8192, 0x1002).form, RowForm::unit);
}

TEST(RowConfig, ClustersAreNamedOnlyWhereTheyAre) {
  EXPECT_FALSE(to_config(cluster_of(1, 512, 64)).contains("cluster"));
  EXPECT_EQ(row_kernel_id(kFile, "gpuforge::softmax_online", DType::f16, cluster_of(1, 512, 64)).expression(),
            "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false>");
  EXPECT_EQ(row_kernel_id(kFile, "gpuforge::softmax_online", DType::f16, cluster_of(4, 512, 64)).expression(),
            "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false, 0, 4>");
  RowConfig unit = cluster_of(4, 512, 64);
  unit.form = RowForm::unit;
  EXPECT_EQ(row_kernel_id(kFile, "gpuforge::softmax_online", DType::f16, unit).expression(),
            "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false, 1, 4>");
  unit.cluster = 1;
  EXPECT_EQ(row_kernel_id(kFile, "gpuforge::softmax_online", DType::f16, unit).expression(),
            "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false, 1>");
  EXPECT_EQ(row_config(to_config(cluster_of(4, 512, 64)), clustered(1, 100000)), cluster_of(4, 512, 64));
  EXPECT_EQ(row_config(to_config(cluster_of(4, 512, 64)), clustered(1, 200000)), cluster_of(1, 512, 0));
}

TEST(RowConfig, ClustersNeedADeviceThatHasThem) {
  const Config config = to_config(cluster_of(2, 512, 64));
  device::DeviceFacts sim = big_chip();
  sim.name = "sim";
  for (const std::int64_t length : {65536, 262144}) {
    EXPECT_EQ(
        error_of([&] { choose_row_config(clustered(1, length), "best", &config, sim, {}); }),
        "unavailable: softmax_online: cluster=2 needs a GPU that has clusters of blocks (SM 90 or newer); "
        "sim has none");
  }
  const auto refusal = [](const Config& asked, const RowProblem& problem) {
    return error_of([&] { row_config(asked, problem); });
  };
  EXPECT_THAT(refusal(config, halves(1, 100)), HasSubstr("cluster=2 ("));
  EXPECT_THAT(refusal(config, halves(1, 100)), HasSubstr("cluster: 1)"));
  EXPECT_THAT(refusal({{"cluster", 32}}, clustered(1, 100)), HasSubstr("cluster=32 ("));
  device::DeviceFacts portable = hopper();
  portable.launch.max_cluster_blocks = 8;
  const Config wide = to_config(cluster_of(16, 512, 64));
  EXPECT_EQ(
      error_of([&] { choose_row_config(clustered(1, 262144), "best", &wide, portable, {}); }),
      "unavailable: softmax_online: cluster=16 needs a GPU that has clusters of 16 blocks; cuda:0 has 8");
  EXPECT_THAT(refusal({{"cluster", 2}, {"threads", 64}, {"rows", 1}, {"items", 0}}, clustered(1, 100)),
              HasSubstr("cluster=2 ("));
  EXPECT_THAT(refusal({{"cluster", 2}, {"threads", 64}, {"rows", 2}, {"items", 8}}, clustered(1, 100)),
              HasSubstr("powers of two up to 16 with rows=1, columns=0, items"));
}

TEST(RowConfig, ShortRowsShareAWarp) {
  EXPECT_EQ(chosen(halves(100000, 256)).config,
            (RowConfig{.threads = 16, .rows = 8, .vector = 8, .items = 16}));
  EXPECT_EQ(chosen(halves(100000, 3)).config, (RowConfig{.threads = 16, .rows = 8, .vector = 8, .items = 8}));
}

TEST(RowConfig, FewRowsHaveMoreThreads) {
  EXPECT_EQ(chosen(halves(4, 2048)).config, (RowConfig{.threads = 256, .rows = 1, .vector = 8, .items = 8}));
  EXPECT_EQ(chosen(halves(64, 256)).config, (RowConfig{.threads = 32, .rows = 1, .vector = 8, .items = 8}));
  EXPECT_EQ(chosen(halves(300, 256)).config, (RowConfig{.threads = 32, .rows = 2, .vector = 8, .items = 8}));
  EXPECT_EQ(chosen(halves(4096, 2048)).config,
            (RowConfig{.threads = 64, .rows = 2, .vector = 8, .items = 32}));
}

// Half as many bytes a thread, where nothing is at the ends of rows and the op has no wish of its own.
TEST(RowConfig, WholeRowsHaveMoreThreads) {
  RowProblem whole = halves(16384, 4096);
  whole.form = RowForm::whole;
  EXPECT_EQ(chosen(whole).config,
            (RowConfig{.threads = 256, .rows = 1, .vector = 8, .items = 16, .form = RowForm::whole}));
  whole.thread_bytes = 64;
  EXPECT_EQ(chosen(whole).config.threads, 128);
  whole.thread_bytes = 0;
  whole.form = RowForm::unit;
  EXPECT_EQ(chosen(whole).config.threads, 128);
}

// Two of the largest blocks fit on a multiprocessor.
TEST(RowConfig, ThreadsOfOneLoadFillABlockInF32) {
  RowProblem light{"op", 16384, 4096, DType::f32, 4, false, 128};
  light.form = RowForm::whole;
  light.thread_bytes = 16;
  EXPECT_EQ(chosen(light).config,
            (RowConfig{.threads = 1024, .rows = 1, .vector = 4, .items = 4, .form = RowForm::whole}));
  light.length = 4100;
  EXPECT_EQ(chosen(light).config,
            (RowConfig{.threads = 512, .rows = 1, .vector = 4, .items = 16, .form = RowForm::whole}));
  RowProblem narrow = halves(16384, 8192);
  narrow.form = RowForm::whole;
  narrow.thread_bytes = 16;
  EXPECT_EQ(chosen(narrow).config,
            (RowConfig{.threads = 512, .rows = 1, .vector = 8, .items = 16, .form = RowForm::whole}));
}

// Of all the threads and registers a block has: the kernel for whole rows would spill.
TEST(RowConfig, TheFullestBlocksTakeUnitRows) {
  RowProblem whole = halves(4096, 65536);
  whole.form = RowForm::whole;
  EXPECT_EQ(chosen(whole).config.items, 64);
  EXPECT_EQ(chosen(whole).config.form, RowForm::unit);
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
              const RowProblem problem{.op = "op",
                                       .count = count,
                                       .length = length,
                                       .dtype = dtype,
                                       .vector = vector,
                                       .columns = columns,
                                       .held_bytes = held,
                                       .form = columns ? RowForm::any : RowForm::whole,
                                       .most_cluster = kMostCluster,
                                       .cluster_held_bytes = held == 0 ? 0 : 128,
                                       .cluster_shared_arrays = held == 64 ? 1 : 0};
              for (const device::DeviceFacts& facts : {big_chip(), hopper()}) {
                const std::vector<RowConfig> all = row_configs(problem, facts);
                EXPECT_GE(all.size(), 20u);
                const RowConfig config = choose_row_config(problem, "best", nullptr, facts, {}).config;
                EXPECT_THAT(all, testing::Contains(config))
                    << name(dtype) << " " << count << " x " << length << " vector " << vector << " held "
                    << held << ": " << to_string(to_config(config));
                for (const RowConfig& each : all) EXPECT_EQ(row_config(to_config(each), problem), each);
              }
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
