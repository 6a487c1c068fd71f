#include <gtest/gtest.h>

#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;

class Carry : public testing::Test {
 protected:
  // value(in, carry) is exact; the flag is set when it leaves 0 to 2^width - 1.
  void check(const std::string& name, int width, int sources, bool writes,
             const std::function<SignedValue(const Value*, int)>& value) {
    Shape shape{{row_bytes(width)}, std::vector<int>(static_cast<std::size_t>(sources), row_bytes(width))};
    shape.carry = true;
    std::vector<Values> domains(static_cast<std::size_t>(sources), edge_values(width, sources == 3 ? 0 : 6));
    domains.push_back({0, 1});
    const auto flag = static_cast<std::size_t>(sources);
    runner_.check(name, handlers_of(carry_rows(), name), shape, domains, [&](const Value* in, Value* out) {
      const bool subtracts = name.starts_with("sub");  // then the flag is set when nothing is borrowed
      const SignedValue exact = value(in, (in[flag] != 0) != subtracts ? 1 : 0);
      out[0] = low(exact, width);
      const bool leaves = exact < 0 || exact >= static_cast<SignedValue>(1) << width;
      out[1] = writes ? Value{leaves != subtracts} : in[flag];
    });
  }
  LaneRunner runner_;
};

TEST_F(Carry, AddAndSub) {
  for (const std::string type : {"u32", "s32", "u64", "s64"}) {
    const int width = width_of(type);
    const auto add = [](const Value* in, int carry) {
      return static_cast<SignedValue>(in[0] + in[1]) + carry;
    };
    const auto sub = [](const Value* in, int borrow) {
      return static_cast<SignedValue>(in[0] - in[1]) - borrow;
    };
    check("add.cc." + type, width, 2, true, [&](const Value* in, int) { return add(in, 0); });
    check("addc." + type, width, 2, false, add);
    check("addc.cc." + type, width, 2, true, add);
    check("sub.cc." + type, width, 2, true, [&](const Value* in, int) { return sub(in, 0); });
    check("subc." + type, width, 2, false, sub);
    check("subc.cc." + type, width, 2, true, sub);
  }
  EXPECT_EQ(handlers_of(carry_rows(), "add.cc.u16").full, nullptr);
  EXPECT_EQ(handlers_of(carry_rows(), "add.u32").full, nullptr);
}

TEST_F(Carry, MultiplyAdd) {
  for (const std::string type : {"u32", "s32", "u64", "s64"}) {
    const int width = width_of(type);
    const Value mask = (Value{1} << width) - 1;
    const auto low_sum = [&](const Value* in, int carry) {
      return static_cast<SignedValue>((in[0] * in[1] & mask) + in[2]) + carry;
    };
    // The top half of the unsigned product, less what the signs stand for.
    const auto high_sum = [&](const Value* in, int carry) {
      Value high = (in[0] * in[1]) >> width;
      if (type[0] == 's')
        high -= (in[0] >> (width - 1) != 0 ? in[1] : 0) + (in[1] >> (width - 1) != 0 ? in[0] : 0);
      return static_cast<SignedValue>((high & mask) + in[2]) + carry;
    };
    check("mad.lo.cc." + type, width, 3, true, [&](const Value* in, int) { return low_sum(in, 0); });
    check("madc.lo." + type, width, 3, false, low_sum);
    check("madc.lo.cc." + type, width, 3, true, low_sum);
    check("mad.hi.cc." + type, width, 3, true, [&](const Value* in, int) { return high_sum(in, 0); });
    check("madc.hi." + type, width, 3, false, high_sum);
    check("madc.hi.cc." + type, width, 3, true, high_sum);
  }
  EXPECT_EQ(handlers_of(carry_rows(), "mad.wide.cc.u32").full, nullptr);
}

}  // namespace
}  // namespace gpuforge::sim
