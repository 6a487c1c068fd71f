// Layouts as types in kernels are the layouts of the host, for every coordinate, whatever part of them is
// known when the kernel is compiled.
#include <random>

#include "gpuforge/base/error.h"
#include "gpuforge/base/format.h"
#include "tests/tile/tile_testing.h"

namespace gpuforge::tile_tests {
namespace {

using layout::AnyLayout;
using layout::IntTuple;
using layout::Layout;
using layout::TupleView;

class TileLayouts : public TileTest {
 protected:
  struct Pair {
    AnyLayout layout;
    AnyLayout pattern;
  };
  void check(const std::vector<Pair>& pairs);
};

const Layout& plain(const AnyLayout& layout) {
  const auto* const swizzled = std::get_if<layout::SwizzledLayout>(&layout);
  return swizzled != nullptr ? swizzled->layout : std::get<Layout>(layout);
}

std::int64_t index_of(std::int64_t coordinate, const AnyLayout& layout) {
  return std::visit([&](const auto& one) { return crd2idx(IntTuple(coordinate), one).value(); }, layout);
}

// An expression for the coordinate of element `i`, as deep as the shape. `below`: sizes of what runs faster.
std::string coordinate_text(TupleView shape, std::int64_t& below) {
  if (!shape.is_tuple()) {
    const std::string text = format_text("i / {} % {}", below, shape.integer().value());
    below *= shape.integer().value();
    return text;
  }
  std::string text;
  for (const TupleView element : shape) text += (text.empty() ? "" : ", ") + coordinate_text(element, below);
  return format_text("make_coord({})", text);
}

// The same with one integer for each mode.
std::string flat_coordinate_text(TupleView shape) {
  std::string text;
  std::int64_t below = 1;
  for (const TupleView element : shape) {
    const std::int64_t size = product(element).value();
    text += format_text("{}i / {} % {}", text.empty() ? "" : ", ", below, size);
    below *= size;
  }
  return text;
}

constexpr std::int64_t kBeyond = 3;  // coordinates after the last one go on in the last mode

void TileLayouts::check(const std::vector<Pair>& pairs) {
  jit::KernelSource all{.name = "layouts.cu",
                        .text = "#include \"gpuforge/kernels/tile.cuh\"\nusing namespace gpuforge;\n"};
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const IntTuple& shape = plain(pairs[k].layout).shape();
    std::int64_t below = 1;
    all.text += format_text(
        "extern \"C\" __global__ void f{}(long long* out, int size, {} layout) {{\n"
        "  for (int i = threadIdx.x; i < size + {}; i += blockDim.x) out[3 * i] = layout(i);\n"
        "  for (int i = threadIdx.x; i < size; i += blockDim.x) {{\n"
        "    out[3 * i + 1] = layout({});\n"
        "    out[3 * i + 2] = layout({});\n"
        "  }}\n"
        "  if (threadIdx.x == 0) out[3 * (size + {})] = gpuforge::size(layout) * 1000 + extent<0>(layout);\n"
        "}}\n",
        k, device_type(pairs[k].pattern), kBeyond, coordinate_text(shape, below), flat_coordinate_text(shape),
        kBeyond);
  }
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Layout& host = plain(pairs[k].layout);
    SCOPED_TRACE(to_text(pairs[k].layout) + " as " + device_type(pairs[k].pattern));
    const auto elements = static_cast<std::int32_t>(size(host).value());
    const layout::DeviceLayout device = device_layout(pairs[k].layout, pairs[k].pattern);
    const auto kernel = context_->jit().kernel(all, format_text("f{}", k), context_->device());
    const Array out =
        from(std::vector<std::int64_t>(static_cast<std::size_t>(3 * (elements + kBeyond) + 1), -1));
    (*kernel)({.grid = {1}, .block = {32}}, *stream_, out, elements, device.bytes());
    finish();
    const std::vector<std::int64_t> found = out.to_vector<std::int64_t>(*stream_);
    for (std::int64_t i = 0; i < elements + kBeyond; ++i) {
      const std::int64_t expected = index_of(i, pairs[k].layout);
      const auto at = static_cast<std::size_t>(3 * i);
      ASSERT_EQ(found[at], expected) << "at " << i;
      if (i >= elements) continue;
      ASSERT_EQ(found[at + 1], expected) << "at the coordinate of " << i;
      ASSERT_EQ(found[at + 2], expected) << "at the coordinate of modes of " << i;
    }
    EXPECT_EQ(found.back(), elements * 1000 + product(host.shape()[0]).value());
  }
}

TEST_P(TileLayouts, AgreeWithTheHost) {
  std::vector<Pair> pairs;
  const auto add = [&](const char* text, const char* pattern) {
    pairs.push_back({layout::parse_layout(text), layout::parse_layout(pattern)});
  };
  add("8:1", "8:1");
  add("8:3", "?:3");
  add("(4,8):(8,1)", "(4,8):(8,1)");
  add("(4,8):(8,1)", "(?,8):(8,1)");
  add("(4,8):(8,1)", "(?,?):(?,1)");
  add("(4,8):(8,1)", "(?,?):(?,?)");
  add("(1,5):(0,7)", "(?,5):(0,?)");
  add("((2,4),8):((1,2),8)", "((2,4),8):((1,2),8)");
  add("((2,4),8):((4,16),1)", "((2,?),8):((?,16),1)");
  add("((2,(3,2)),(2,2)):((12,(2,1)),(100,7))", "((?,(3,?)),(2,2)):((12,(2,?)),(?,7))");
  add("((1,32),(3,2)):((0,1),(64,32))", "((1,32),(?,?)):((0,1),(?,32))");
  add("(3,(2,2)):(-4,(0,40))", "(3,(2,2)):(-4,(0,40))");
  add("(3,4):(5000000000,1)", "(3,4):(5000000000,1)");
  add("(3,4):(5000000000,1)", "(3,4):(?,1)");
  add("((4)):((2))", "((?)):((2))");
  for (const layout::Swizzle swizzle :
       {layout::Swizzle(3, 2, 5), layout::Swizzle(2, 0, 3), layout::Swizzle(2, 1, -3)}) {
    for (const std::int64_t offset : {0, 16, 5}) {
      const layout::SwizzledLayout swizzled{swizzle, offset, layout::parse_layout("(32,32):(32,1)")};
      pairs.push_back({swizzled, swizzled});
      pairs.push_back({swizzled, layout::SwizzledLayout{swizzle, layout::Integer::unknown(),
                                                        layout::parse_layout("(32,?):(?,1)")}});
    }
  }
  check(pairs);
}

// Shape, stride and pattern, side by side.
class RandomLayout {
 public:
  explicit RandomLayout(unsigned seed) : random_(seed) {}

  std::pair<Layout, Layout> next() {
    layout::TupleBuilder builders[4];
    left_ = 6;
    for (auto& builder : builders) builder.open();
    const int modes = 1 + below(3);
    for (int i = 0; i < modes; ++i) add(builders, 1);
    for (auto& builder : builders) builder.close();
    return {Layout(builders[0].take(), builders[1].take()), Layout(builders[2].take(), builders[3].take())};
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  void add(layout::TupleBuilder (&builders)[4], int depth) {
    if (depth < 3 && left_ > 0 && below(3) == 0) {
      for (auto& builder : builders) builder.open();
      const int modes = 1 + below(2);
      for (int i = 0; i < modes; ++i) add(builders, depth + 1);
      for (auto& builder : builders) builder.close();
      return;
    }
    --left_;
    const layout::Integer size = 1 + below(5), stride = below(40) - 5;
    builders[0].add(size);
    builders[1].add(stride);
    builders[2].add(below(2) == 0 ? layout::Integer::unknown() : size);
    builders[3].add(below(2) == 0 ? layout::Integer::unknown() : stride);
  }
  std::mt19937 random_;
  int left_ = 0;
};

TEST_P(TileLayouts, AgreeWithTheHostWhateverIsKnown) {
  RandomLayout random(20260);
  std::vector<Pair> pairs;
  for (int i = 0; i < 60; ++i) {
    const auto [layout, pattern] = random.next();
    pairs.push_back({layout, pattern});
  }
  check(pairs);
}

INSTANTIATE_TEST_SUITE_P(Places, TileLayouts, places(), place_name);

}  // namespace
}  // namespace gpuforge::tile_tests
