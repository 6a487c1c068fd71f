// Tiles and thread-value partitions of kernels are those of the host.
#include "gpuforge/base/error.h"
#include "gpuforge/base/format.h"
#include "gpuforge/layout/partition.h"
#include "tests/tile/tile_testing.h"

namespace gpuforge::tile_tests {
namespace {

using layout::AnyLayout;
using layout::IntTuple;
using layout::Layout;
using layout::parse_layout;
using layout::parse_tuple;

class TilePartitions : public TileTest {
 protected:
  // The tile at `at`, by the definition: element tv(thread, value) of the tile, first mode fastest.
  void check(const AnyLayout& matrix, const AnyLayout& pattern, const char* threads, const char* values,
             const std::vector<std::int32_t>& at) {
    const layout::ThreadValueLayout by = layout::make_layout_tv(parse_layout(threads), parse_layout(values));
    SCOPED_TRACE(format_text("{} by {} in {}", to_text(matrix), to_text(by.tv), to_text(by.tiler)));
    const std::int64_t thread_count = size(by.tv.mode(0)).value(), value_count = size(by.tv.mode(1)).value();
    const layout::DeviceLayout device = device_layout(matrix, pattern);
    jit::KernelSource kernels = source("partitions.cu");
    std::string at_types;
    for (std::size_t k = 0; k < at.size(); ++k) at_types += ",int";
    const std::string entry = format_text("thread_values<{},{},{}{}>", device_type(by.tv),
                                          layout::device_type(by.tiler), device.type, at_types);
    kernels.instantiations = {entry};
    const auto kernel = context_->jit().kernel(kernels, entry, context_->device());
    const Array out =
        from(std::vector<std::int64_t>(static_cast<std::size_t>(2 * thread_count * value_count), -1));
    std::vector<jit::Argument> arguments = {argument(out), jit::argument(device.bytes())};
    for (const std::int32_t& coordinate : at) arguments.push_back(jit::argument(coordinate));
    kernel->launch({.grid = {1}, .block = {static_cast<std::uint32_t>(thread_count)}}, arguments, *stream_);
    finish();
    const std::vector<std::int64_t> found = out.to_vector<std::int64_t>(*stream_);

    const auto* const swizzled = std::get_if<layout::SwizzledLayout>(&matrix);
    const Layout& plain = swizzled != nullptr ? swizzled->layout : std::get<Layout>(matrix);
    for (std::int64_t thread = 0; thread < thread_count; ++thread) {
      for (std::int64_t value = 0; value < value_count; ++value) {
        const auto element = crd2idx(layout::tuple({thread, value}), by.tv);
        const IntTuple coordinate = idx2crd(IntTuple(element), by.tiler);
        std::int64_t expected = 0;
        bool inside = true;
        for (std::size_t k = 0; k < plain.rank(); ++k) {
          const std::int64_t mode = at[k] * by.tiler[k].integer().value() + coordinate[k].integer().value();
          expected += crd2idx(IntTuple(mode), plain.mode(k)).value();
          inside = inside && mode < plain.shape()[k].integer().value();
        }
        if (swizzled != nullptr)
          expected = swizzled->swizzle(swizzled->offset + layout::Integer(expected)).value();
        const auto place = static_cast<std::size_t>(thread * value_count + value);
        ASSERT_EQ(found[place], expected) << "thread " << thread << ", value " << value;
        ASSERT_EQ(found[place + static_cast<std::size_t>(thread_count * value_count)], inside ? 1 : 0)
            << "thread " << thread << ", value " << value;
      }
    }
  }
  void check(const char* matrix, const char* pattern, const char* threads, const char* values,
             const std::vector<std::int32_t>& at) {
    check(parse_layout(matrix), parse_layout(pattern), threads, values, at);
  }
};

TEST_P(TilePartitions, AreThoseOfTheHost) {
  check("(70,300):(300,1)", "(?,300):(300,1)", "(8,32):(32,1)", "(1,4):(4,1)", {8, 2});
  check("(70,300):(300,1)", "(?,?):(?,1)", "(8,32):(32,1)", "(1,4):(4,1)", {0, 1});
  check("(70,300):(1,70)", "(70,?):(1,70)", "(32,8):(1,32)", "(4,1):(1,4)", {0, 37});
  check("(64,64):(64,1)", "(64,64):(64,1)", "(4,8):(8,1)", "(2,2):(2,1)", {3, 1});
  check("(61,67):(67,1)", "(?,?):(?,?)", "(4,8):(1,4)", "(3,2):(1,3)", {5, 4});
  check("1000:1", "?:1", "32:1", "4:1", {7});
  check("(1000):(2)", "(?):(2)", "(32):(1)", "(1):(1)", {31});
  check("(5,9,33):(297,33,1)", "(?,9,33):(297,33,1)", "(2,4,8):(32,8,1)", "(1,2,2):(4,2,1)", {2, 1, 2});
  check("(16,16):(1,16)", "(16,16):(1,16)", "(2,16):(16,1)", "(4,1):(1,4)", {1, 0});
}

TEST_P(TilePartitions, StayBehindTheSwizzle) {
  for (const layout::Integer offset : {layout::Integer(0), layout::Integer(64)}) {
    const layout::SwizzledLayout matrix{layout::Swizzle(3, 2, 5), offset, parse_layout("(32,32):(32,1)")};
    check(matrix, matrix, "(32,8):(8,1)", "(1,4):(4,1)", {0, 0});
    check(matrix, matrix, "(4,8):(8,1)", "(2,1):(1,2)", {3, 2});
  }
}

// ((1,32),(M,N/32)) as the host divides it: only the rows are not known when the kernel is compiled.
TEST_P(TilePartitions, SlicesOfWhatTheHostDivided) {
  constexpr std::int32_t kRows = 5, kColumns = 96;
  const Layout matrix(layout::tuple({kRows, kColumns}), layout::tuple({kColumns, 1}));
  const layout::Tiler tiler(parse_tuple("(1,32)").view());
  const layout::DeviceLayout divided =
      device_layout(zipped_divide(matrix, tiler), zipped_divide(layout::with_dynamic(matrix, {0}), tiler));
  EXPECT_THAT(divided.values, testing::ElementsAre(kRows));
  const layout::ThreadValueLayout by =
      layout::make_layout_tv(parse_layout("(32):(1)"), parse_layout("(1):(1)"));
  const std::string tv = device_type(layout::make_layout({by.tv.mode(0), by.tv.mode(1)}));
  jit::KernelSource kernels = source("partitions.cu");
  const std::string entry = format_text("sum_of_slices<{},{}>", tv, divided.type);
  kernels.instantiations = {entry};
  const auto kernel = context_->jit().kernel(kernels, entry, context_->device());
  std::vector<float> values(kRows * kColumns);
  std::vector<float> expected(kRows);
  for (std::size_t i = 0; i < values.size(); ++i)
    expected[i / kColumns] += values[i] = static_cast<float>(i % 17);
  const Array out = from(std::vector<float>(kRows, -1.0f));
  const Array in = from(values);
  (*kernel)({.grid = {kRows}, .block = {32}}, *stream_, out, in, divided.bytes(), kColumns / 32);
  finish();
  EXPECT_EQ(out.to_vector<float>(*stream_), expected);
}

// What does not fit is a sentence of the compiler's, not a wrong kernel.
TEST_P(TilePartitions, RefuseWhatDoesNotFit) {
  jit::KernelSource kernels = source("partitions.cu");
  kernels.instantiations = {
      "thread_values<Layout<Shape<Int<32>,Int<4>>,Stride<Int<4>,Int<1>>>,Shape<Int<8>,Int<8>>,"
      "Layout<Shape<int,int>,Stride<long long,Int<1>>>,int,int>"};
  try {
    context_->jit().kernel(kernels, "", context_->device());
    FAIL() << "128 values in a tile of 64";
  } catch (const Error& error) {
    EXPECT_THAT(error.what() + std::string(error.detail()), testing::HasSubstr("does not fit the tile"));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, TilePartitions, places(), place_name);

}  // namespace
}  // namespace gpuforge::tile_tests
