// Copies are as wide as the strides known to the compiler allow, never misaligned, and stop at the edges.
#include <algorithm>
#include <numeric>

#include "gpuforge/base/format.h"
#include "gpuforge/layout/partition.h"
#include "tests/tile/tile_testing.h"

namespace gpuforge::tile_tests {
namespace {

using layout::Layout;
using layout::parse_layout;

class TileCopies : public TileTest {
 protected:
  // Copies a matrix; the bytes that loads and stores have in the simulator.
  template <typename T>
  std::uint64_t copy(const std::string& type, const Layout& matrix, const Layout& pattern) {
    SCOPED_TRACE(format_text("{} of {} as {}", to_text(matrix), type, to_text(pattern)));
    const layout::DeviceLayout device = device_layout(matrix, pattern);
    const layout::ThreadValueLayout by =
        layout::make_layout_tv(parse_layout("(4,8):(8,1)"), parse_layout("(1,16):(16,1)"));
    const std::string entry = format_text("copy_tiles<{},{},{},{}>", type, device_type(by.tv),
                                          layout::device_type(by.tiler), device.type);
    jit::KernelSource kernels = source("copies.cu");
    kernels.instantiations = {entry};
    const auto kernel = context_->jit().kernel(kernels, entry, context_->device());
    std::vector<T> values(static_cast<std::size_t>(cosize(matrix).value()));
    std::iota(values.begin(), values.end(), T{1});
    const Array in = from(values);
    const Array out = from(std::vector<T>(values.size()));
    (*kernel)({.grid = {1}, .block = {32}}, *stream_, out, in, device.bytes());
    const auto report = finish();
    const std::vector<T> found = out.template to_vector<T>(*stream_);
    for (std::int64_t i = 0; i < size(matrix).value(); ++i) {
      const auto at = static_cast<std::size_t>(crd2idx(layout::IntTuple(i), matrix).value());
      EXPECT_EQ(found[at], values[at]) << "at " << i;
    }
    if (!report) return 0;
    const std::uint64_t loaded = widest_access(*report, "ld.global"),
                        stored = widest_access(*report, "st.global");
    if (!takes_apart<T>()) {
      EXPECT_EQ(stored, loaded);
    }
    return loaded;
  }

  bool is_clang() const { return GetParam().compiler == jit::CompilerChoice::clang; }
  // Clang 19 moves some vectors of bytes as words.
  template <typename T>
  bool takes_apart() const {
    return is_clang() && sizeof(T) == 1;
  }
  static Layout rows(std::int64_t height, std::int64_t width, std::int64_t pitch) {
    return Layout(layout::tuple({height, width}), layout::tuple({pitch, 1}));
  }
  // Rows of the compiler's width: as wide as the width allows.
  template <typename T>
  void check_widths(const std::string& type, const std::vector<std::int64_t>& widths) {
    for (const std::int64_t width : widths) {
      const std::int64_t bytes = width * static_cast<std::int64_t>(sizeof(T));
      const Layout matrix = rows(5, width, width);
      const std::uint64_t found = copy<T>(type, matrix, layout::with_dynamic(matrix, {0}));
      if (!simulated()) continue;
      const auto expected = static_cast<std::uint64_t>(std::min<std::int64_t>(16, bytes & -bytes));
      if (takes_apart<T>()) {
        EXPECT_LE(found, expected) << width << " " << type;
      } else {
        EXPECT_EQ(found, expected) << width << " " << type;
      }
    }
  }
};

TEST_P(TileCopies, AreAsWideAsRowsAllow) {
  check_widths<float>("float", {1, 2, 3, 4, 127, 128, 130, 132, 260});
  check_widths<double>("double", {1, 2, 129, 130});
  check_widths<std::int16_t>("half_t", {8, 129, 132, 136});
  check_widths<std::uint8_t>("unsigned char", {1, 16, 128, 130, 140, 136});
}

TEST_P(TileCopies, OfUnknownRowsAreElementByElement) {
  for (const std::int64_t width : {1, 16, 129}) {
    const Layout matrix = rows(3, width, width);
    const std::uint64_t bytes = copy<float>("float", matrix, layout::with_dynamic(matrix, {0, 1}, {0}));
    if (simulated()) {
      EXPECT_EQ(bytes, 4u);
    }
  }
}

// A pitch that is known, a width that is not: a vector may be cut.
TEST_P(TileCopies, AreCutAtTheEdge) {
  const Layout pattern = parse_layout("(?,?):(256,1)");
  for (const std::int64_t width : {1, 2, 3, 5, 127, 128, 129, 255, 256}) {
    const std::uint64_t bytes = copy<float>("float", rows(5, width, 256), pattern);
    if (simulated()) {
      EXPECT_EQ(bytes, width < 4 ? 4u : 16u) << width;
    }
  }
}

TEST_P(TileCopies, OfOneMode) {
  const layout::ThreadValueLayout by =
      layout::make_layout_tv(parse_layout("(32):(1)"), parse_layout("(4):(1)"));
  const Layout pattern = parse_layout("?:1");
  jit::KernelSource kernels = source("copies.cu");
  const std::string types =
      format_text("<{},{},{}>", device_type(by.tv), layout::device_type(by.tiler), device_type(pattern));
  kernels.instantiations = {"copy_row" + types, "copy_filled" + types};
  for (const std::int64_t count : {1, 4, 127, 128, 129, 1000}) {
    SCOPED_TRACE(count);
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    const Array in = from(values);
    const Array out = from(std::vector<float>(values.size()));
    const layout::DeviceLayout device = device_layout(Layout(count, 1), pattern);
    const auto row = context_->jit().kernel(kernels, "copy_row" + types, context_->device());
    (*row)({.grid = {static_cast<std::uint32_t>((count + 127) / 128)}, .block = {32}}, *stream_, out, in,
           device.bytes());
    finish();
    EXPECT_EQ(out.to_vector<float>(*stream_), values);

    const Array filled = from(std::vector<float>(128));
    const auto fill = context_->jit().kernel(kernels, "copy_filled" + types, context_->device());
    (*fill)({.grid = {1}, .block = {32}}, *stream_, filled, in, device.bytes());
    finish();
    std::vector<float> expected = values;
    expected.resize(128, -7.0f);
    EXPECT_EQ(filled.to_vector<float>(*stream_), expected);
  }
  EXPECT_EQ(context_->jit().counters().compiles, is_clang() ? 2u : 1u)
      << "all lengths share one (and clang was tried before)";
}

INSTANTIATE_TEST_SUITE_P(Places, TileCopies, places(), place_name);

}  // namespace
}  // namespace gpuforge::tile_tests
