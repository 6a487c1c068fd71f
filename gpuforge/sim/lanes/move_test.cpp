#include <gtest/gtest.h>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;

class Move : public testing::Test {
 protected:
  Handlers handlers(const std::string& name, std::string_view operands = "") {
    return handlers_of(move_rows(), name, operands);
  }
  LaneRunner runner_;
};

TEST_F(Move, EveryType) {
  for (const std::string type :
       {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"}) {
    const int width = type == "b128" ? 128 : width_of(type);
    const int bytes = width == 128 ? 16 : row_bytes(width);
    const std::vector<Values> domains{edge_values(width, 20)};
    runner_.check("mov." + type, handlers("mov." + type, "d:t, a:t"), {{bytes}, {bytes}}, domains,
                  [](const Value* in, Value* out) { out[0] = in[0]; });
  }
  const std::vector<Values> bits{{0, 1}};
  runner_.check("mov.pred", handlers("mov.pred"), {{0}, {0}}, bits,
                [](const Value* in, Value* out) { out[0] = in[0]; });
  EXPECT_EQ(handlers("mov.f16").full, nullptr);
  EXPECT_EQ(handlers("mov.u32", "V:x").full, nullptr);
}

TEST_F(Move, PackAndUnpack) {
  struct Form {
    int width;
    int count;
  };
  for (const Form form :
       {Form{16, 2}, Form{32, 2}, Form{32, 4}, Form{64, 2}, Form{64, 4}, Form{128, 2}, Form{128, 4}}) {
    const std::string name = "mov.b" + std::to_string(form.width);
    const int part = form.width / form.count;
    const int whole_bytes = form.width == 128 ? 16 : row_bytes(form.width);
    const auto count = static_cast<std::size_t>(form.count);
    Shape shape{{whole_bytes}, std::vector<int>(count, row_bytes(part))};
    shape.count = form.count;
    Values parts = edge_values(part, 2);
    if (form.count == 4) parts.resize(8);
    const std::vector<Values> domains(count, parts);
    runner_.check(name + " pack", handlers(name, "d:t, V:x"), shape, domains,
                  [&](const Value* in, Value* out) {
                    out[0] = 0;
                    for (int i = 0; i < form.count; ++i) out[0] |= in[i] << (i * part);
                  });
    std::swap(shape.inputs, shape.outputs);
    const std::vector<Values> whole{edge_values(form.width, 40)};
    runner_.check(name + " unpack", handlers(name, "V:x, a:t"), shape, whole,
                  [&](const Value* in, Value* out) {
                    for (int i = 0; i < form.count; ++i)
                      out[i] = low(static_cast<SignedValue>(in[0] >> (i * part)), part);
                  });
  }
}

struct SpaceWindow {
  std::string name;
  Value window;
};
const SpaceWindow kWindows[] = {{"global", 0},
                                {"const", 0},
                                {"shared", kSharedWindow},
                                {"shared::cta", kSharedWindow},
                                {"shared::cluster", kSharedWindow},
                                {"local", kLocalWindow},
                                {"param", kParamWindow},
                                {"param::entry", kParamWindow}};

TEST_F(Move, AddressesToAndFromGeneric) {
  const std::vector<Values> offsets{{0, 1, 16, 0xffffu, 0xffffffffu, 0x7f0012345678u}};
  for (const SpaceWindow& space : kWindows) {
    runner_.check(space.name, handlers("cvta." + space.name + ".u64"), {{8}, {8}}, offsets,
                  [&](const Value* in, Value* out) { out[0] = in[0] + space.window; });
    std::vector<Values> generic = offsets;
    for (Value& value : generic[0]) value += space.window;
    runner_.check(space.name, handlers("cvta.to." + space.name + ".u64"), {{8}, {8}}, generic,
                  [&](const Value* in, Value* out) { out[0] = in[0] - space.window; });
  }
  EXPECT_EQ(handlers("cvta.u64").full, nullptr);
}

TEST_F(Move, IsspacepKnowsTheWindows) {
  const auto constants = std::make_shared<Allocation>(0x20000, 256, "constants", true);
  constants->read_only = true;
  Launch launch;
  launch.allocations = std::make_shared<Allocations>(
      Allocations{std::make_shared<Allocation>(0x10000, 256, "global", true), constants,
                  std::make_shared<Allocation>(0x30000, 256, "global", true)});
  Block block;
  block.launch = &launch;
  runner_.warp.block = &block;
  const std::vector<Values> addresses{{0, 0x10000, 0x1ffff, 0x20000, 0x200ff, 0x20100, 0x30000,
                                       kSharedWindow - 1, kSharedWindow, kSharedWindow + kWindowBytes - 1,
                                       kSharedWindow + kWindowBytes, kLocalWindow, kLocalWindow + 12,
                                       kParamWindow, kParamWindow + 100}};
  const auto within = [](Value address, Value begin, Value bytes) {
    return address >= begin && address - begin < bytes;
  };
  for (const SpaceWindow& space : kWindows) {
    Shape shape{{0}, {8}};
    shape.source_bytes = 8;
    runner_.check(
        space.name, handlers("isspacep." + space.name), shape, addresses, [&](const Value* in, Value* out) {
          const bool constant = within(in[0], 0x20000, 256);
          out[0] = within(in[0], space.window, kWindowBytes);
          if (space.name == "const") out[0] = constant;
          if (space.name == "global")
            out[0] = (in[0] < kSharedWindow && !constant) || within(in[0], kParamWindow, kWindowBytes);
        });
  }
  EXPECT_EQ(handlers("isspacep.param::func").full, nullptr);
}

}  // namespace
}  // namespace gpuforge::sim
