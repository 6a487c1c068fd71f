// The example kernels that are written with layouts: right for any shape, wide where rows are aligned,
// without bank conflicts, and compiled once for all heights.
#include <utility>

#include "gpuforge/base/format.h"
#include "gpuforge/layout/partition.h"
#include "tests/tile/tile_testing.h"

namespace gpuforge::tile_tests {
namespace {

using layout::Layout;
using layout::parse_layout;

Layout row_major(std::int32_t rows, std::int32_t columns) {
  return Layout(layout::tuple({rows, columns}), layout::tuple({columns, 1}));
}
Layout all_dynamic(const Layout& matrix) {
  return layout::with_dynamic(matrix, {0, 1}, {0});
}
std::vector<float> numbers(std::int32_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251);
  return values;
}

class TileKernels : public TileTest {
 protected:
  std::optional<sim::LaunchReport> row_sum(std::int32_t rows, std::int32_t columns, const Layout& pattern) {
    SCOPED_TRACE(format_text("row sum of {} x {} as {}", rows, columns, to_text(pattern)));
    const layout::DeviceLayout matrix = device_layout(row_major(rows, columns), pattern);
    jit::KernelSource kernel_source = source("row_sum_layout.cu");
    kernel_source.defines = {"MATRIX=" + matrix.type};
    const auto kernel = context_->jit().kernel(kernel_source, "row_sum_layout", context_->device());
    const std::vector<float> values = numbers(rows * columns);
    const Array in = from(values);
    const Array out = from(std::vector<float>(static_cast<std::size_t>(rows), -1.0f));
    (*kernel)({.grid = {static_cast<std::uint32_t>((rows + 7) / 8)}, .block = {256}}, *stream_, out, in,
              matrix.bytes());
    auto report = finish();
    std::vector<float> expected(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < values.size(); ++i)
      expected[i / static_cast<std::size_t>(columns)] += values[i];
    EXPECT_EQ(out.to_vector<float>(*stream_), expected);  // small integers: exact in any order
    return report;
  }

  std::optional<sim::LaunchReport> transpose(std::int32_t rows, std::int32_t columns, bool known) {
    SCOPED_TRACE(format_text("transpose of {} x {}", rows, columns));
    const Layout in_matrix = row_major(rows, columns), out_matrix = row_major(columns, rows);
    const auto in_layout =
        known ? device_layout(in_matrix) : device_layout(in_matrix, all_dynamic(in_matrix));
    const auto out_layout =
        known ? device_layout(out_matrix) : device_layout(out_matrix, all_dynamic(out_matrix));
    jit::KernelSource kernel_source = source("transpose_layout.cu");
    kernel_source.defines = {"IN=" + in_layout.type, "OUT=" + out_layout.type};
    const auto kernel = context_->jit().kernel(kernel_source, "transpose_layout", context_->device());
    const std::vector<float> values = numbers(rows * columns);
    const Array in = from(values);
    const Array out = from(std::vector<float>(values.size(), -1.0f));
    (*kernel)({.grid = {static_cast<std::uint32_t>((columns + 31) / 32),
                        static_cast<std::uint32_t>((rows + 31) / 32)},
               .block = {256}},
              *stream_, out, in, out_layout.bytes(), in_layout.bytes());
    auto report = finish();
    const std::vector<float> found = out.to_vector<float>(*stream_);
    for (std::int32_t row = 0; row < rows; ++row)
      for (std::int32_t column = 0; column < columns; ++column)
        EXPECT_EQ(found[static_cast<std::size_t>(column * rows + row)],
                  values[static_cast<std::size_t>(row * columns + column)])
            << row << ", " << column;
    return report;
  }
};

TEST_P(TileKernels, OneRowSumServesAllHeightsOfAWidth) {
  const auto compiles = [&] { return context_->jit().counters().compiles; };
  const auto before = compiles();
  for (const std::int32_t rows : {1, 7, 8, 9, 70}) row_sum(rows, 132, parse_layout("(?,132):(132,1)"));
  EXPECT_EQ(compiles() - before, 1u);
  for (const std::int32_t rows : {1, 33}) row_sum(rows, 100, parse_layout("(?,100):(100,1)"));
  EXPECT_EQ(compiles() - before, 2u) << "another width is another kernel";
  row_sum(20, 132, parse_layout("(?,132):(132,1)"));
  EXPECT_EQ(compiles() - before, 2u);
}

TEST_P(TileKernels, RowSumOfAnyShape) {
  for (const std::int32_t rows : {1, 8, 9}) {
    for (const std::int32_t columns : {1, 2, 3, 31, 33, 127, 128, 129, 131, 256, 1000}) {
      const Layout matrix = row_major(rows, columns);
      row_sum(rows, columns, all_dynamic(matrix));
      if (rows == 9) row_sum(rows, columns, layout::with_dynamic(matrix, {0}));
    }
  }
}

TEST_P(TileKernels, RowSumReadsVectorsWhereRowsAreAligned) {
  for (const auto& [columns, bytes] :
       {std::pair(1024, 16u), std::pair(1020, 16u), std::pair(1022, 8u), std::pair(1021, 4u)}) {
    const auto report = row_sum(16, columns, layout::with_dynamic(row_major(16, columns), {0}));
    if (!report) continue;
    EXPECT_EQ(widest_access(*report, "ld.global"), bytes) << columns;
    if (columns != 1024) continue;
    const sim::SiteCounters loads = counters(*report, "ld.global");
    EXPECT_EQ(loads.requests, 16u * 1024 / 128) << "a warp reads 128 elements at once";
    EXPECT_EQ(loads.sectors, loads.requests * 16) << "512 bytes are 16 sectors";
  }
}

TEST_P(TileKernels, TransposeOfAnyShape) {
  for (const auto& [rows, columns] :
       {std::pair(1, 1), std::pair(1, 70), std::pair(70, 1), std::pair(31, 33), std::pair(32, 32),
        std::pair(33, 32), std::pair(65, 34), std::pair(64, 100)}) {
    transpose(rows, columns, false);
    transpose(rows, columns, true);
  }
}

TEST_P(TileKernels, TransposeMovesVectorsWithoutBankConflicts) {
  const auto report = transpose(64, 96, true);
  if (!report) return;
  EXPECT_EQ(widest_access(*report, "ld.global"), 16u);
  EXPECT_EQ(widest_access(*report, "st.global"), 16u);
  EXPECT_EQ(widest_access(*report, "st.shared"), 16u) << "the swizzle keeps 16 bytes together";
  for (const char* const instruction : {"ld.global", "st.global"}) {
    const sim::SiteCounters counts = counters(*report, instruction);
    EXPECT_EQ(counts.requests, 64u * 96 / 128) << instruction;
    EXPECT_EQ(counts.sectors, counts.requests * 16) << instruction;
  }
  EXPECT_FALSE(report->bank_conflicts()) << report->text();
  EXPECT_EQ(counters(*report, "ld.shared").wavefronts, 64u * 96 / 32) << "one for each warp's 32 elements";
  EXPECT_EQ(counters(*report, "st.shared").wavefronts, 64u * 96 / 32);
}

// The same kernel without it, to see that the counts above can tell.
TEST_P(TileKernels, WithoutTheSwizzleBanksConflict) {
  if (!simulated()) GTEST_SKIP() << "a GPU has no report";
  jit::KernelSource kernel_source = source("transpose_layout.cu");
  const Layout matrix = row_major(32, 32);
  const layout::DeviceLayout device = device_layout(matrix);
  kernel_source.defines = {"IN=" + device.type, "OUT=" + device.type};
  std::size_t replaced = 0;
  const std::string with = "Swizzle<3, 2, 5>";
  for (std::size_t at; (at = kernel_source.text.find(with)) != std::string::npos; ++replaced)
    kernel_source.text.replace(at, with.size(), "NoSwizzle");
  ASSERT_EQ(replaced, 2u);
  const auto kernel = context_->jit().kernel(kernel_source, "transpose_layout", context_->device());
  const Array in = from(numbers(1024)), out = from(numbers(1024));
  (*kernel)({.grid = {1, 1}, .block = {256}}, *stream_, out, in, device.bytes(), device.bytes());
  EXPECT_TRUE(finish()->bank_conflicts());
}

// The TV layouts in the kernels are those that make_layout_tv has.
TEST(TileKernelTypes, TheirWorkIsWhatTheHostMakes) {
  const auto types = [](const char* threads, const char* values) {
    const layout::ThreadValueLayout by = layout::make_layout_tv(parse_layout(threads), parse_layout(values));
    std::string text = device_type(by.tv);
    for (std::size_t at; (at = text.find("gpuforge::")) != std::string::npos;) text.erase(at, 10);
    for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2)
      text.insert(at + 1, " ");
    return "using Work = " + text + ";";
  };
  EXPECT_THAT(source("row_sum_layout.cu").text, testing::HasSubstr(types("(8,32):(32,1)", "(1,4):(4,1)")));
  EXPECT_THAT(source("transpose_layout.cu").text, testing::HasSubstr(types("(32,8):(8,1)", "(1,4):(4,1)")));
}

INSTANTIATE_TEST_SUITE_P(Places, TileKernels, places(), place_name);

}  // namespace
}  // namespace gpuforge::tile_tests
