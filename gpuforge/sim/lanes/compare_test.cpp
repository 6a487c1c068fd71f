#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "gpuforge/base/half.h"
#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;

using Strings = std::vector<std::string>;
const Strings kOrders{"eq", "ne", "lt", "le", "gt", "ge"};
const Strings kUnsignedOrders{"lo", "ls", "hi", "hs"};
const Strings kFloatOrders{"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                           "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
const Strings kIntegerTypes{"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"};
const Strings kFloatTypes{"f16", "bf16", "f16x2", "bf16x2", "f32", "f64"};
const Strings kCombines{"", ".and", ".or", ".xor"};
const Values kBits{0, 1};

template <class T>
bool holds(const std::string& order, T a, T b, bool unordered = false) {
  if (order == "num") return !unordered;
  if (order == "nan") return unordered;
  if (order.size() == 3 && unordered) return true;  // equ and the like
  if (unordered) return false;
  const std::string plain = order.size() == 3 ? order.substr(0, 2) : order;
  if (plain == "eq") return a == b;
  if (plain == "ne") return a != b;
  if (plain == "lt" || plain == "lo") return a < b;
  if (plain == "le" || plain == "ls") return a <= b;
  if (plain == "gt" || plain == "hi") return a > b;
  return a >= b;
}
bool combine(const std::string& how, bool value, bool c) {
  if (how == ".and") return value && c;
  if (how == ".or") return value || c;
  if (how == ".xor") return value != c;
  return value;
}
// Part `high` of a packed type, or the value.
double float_of(const std::string& type, Value bits, bool high, bool flush) {
  if (type == "f64") return std::bit_cast<double>(static_cast<std::uint64_t>(bits));
  double value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const auto half = static_cast<std::uint16_t>(high ? bits >> 16 : bits);
  if (type.starts_with("f16")) value = Half{half}.to_double();
  if (type.starts_with("bf16")) value = BFloat16{half}.to_double();
  const double smallest = type.starts_with("f16") ? 0x1p-14 : 0x1p-126;
  return flush && std::fabs(value) < smallest ? 0.0 : value;
}
bool is_pair(const std::string& type) {
  return type.ends_with("x2");
}
bool compares(const std::string& type, const std::string& order, Value a, Value b, bool high, bool flush) {
  if (type[0] == 'f' || type.starts_with("bf")) {
    const double x = float_of(type, a, high, flush), y = float_of(type, b, high, flush);
    return holds(order, x, y, std::isnan(x) || std::isnan(y));
  }
  return holds(order, number_of(type, a), number_of(type, b));
}
Values values_of(const std::string& type) {
  Values halves;
  if (type.starts_with("f16"))
    halves = {0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,  0x8400, 0x3c00,
              0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff, 0x7fff};
  if (type.starts_with("bf16"))
    halves = {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x8080, 0x3f80,
              0x3f81, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7f81, 0x7fff, 0xffc0};
  if (is_pair(type)) {
    Values words;
    for (std::size_t i = 0; i < halves.size(); ++i)
      for (const std::size_t step : {0u, 1u, 5u})
        words.push_back(halves[i] << 16 | halves[(i + step) % halves.size()]);
    return words;
  }
  if (!halves.empty()) return halves;
  if (type == "f32")
    return {0,           0x80000000u, 1,           0x80000001u, 0x7fffff,    0x807fffffu,
            0x800000,    0x80800000u, 0x3f800000u, 0x3f800001u, 0xbf800000u, 0x7f7fffffu,
            0x7f800000u, 0xff800000u, 0x7f800001u, 0x7fffffffu, 0xffc00000u};
  if (type == "f64") {
    Values values{0, Value{1} << 63, 1, (Value{1} << 63) + 1, 0x000fffffffffffffu, 0x0010000000000000u};
    for (const double value :
         {1.0, -1.0, 1.0000000000000002, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, std::nan("")})
      values.push_back(std::bit_cast<std::uint64_t>(value));
    return values;
  }
  return edge_values(width_of(type));
}
// Every step-th value: set shares its comparisons with setp, which sees all pairs.
void thin(Values& values, std::size_t step) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.size(); i += step) values[kept++] = values[i];
  values.resize(kept);
}
int bytes_of(const std::string& type) {
  return type.ends_with("64") ? 8 : 4;
}

class Compare : public testing::Test {
 protected:
  void check(const std::string& name, const Shape& shape, const std::vector<Values>& domains,
             const Reference& reference) {
    runner_.check(name, handlers_of(compare_rows(), name), shape, domains, reference);
  }
  void refused(const std::string& name) {
    EXPECT_EQ(handlers_of(compare_rows(), name).full, nullptr) << name;
  }
  void check_setp(const std::string& type, const std::string& order, bool flush) {
    for (const std::string& how : kCombines) {
      Shape shape{{0, 0}, {bytes_of(type), bytes_of(type)}};
      std::vector<Values> domains(2, values_of(type));
      if (!how.empty()) {
        shape.inputs.push_back(0);
        domains.push_back(kBits);
      }
      check("setp." + order + how + (flush ? ".ftz." : ".") + type, shape, domains,
            [&](const Value* in, Value* out) {
              const bool c = !how.empty() && in[2] != 0;
              const bool first = compares(type, order, in[0], in[1], false, flush);
              const bool second = is_pair(type) ? compares(type, order, in[0], in[1], true, flush) : !first;
              out[0] = combine(how, first, c);
              out[1] = combine(how, second, c);
            });
    }
  }
  void check_set(const std::string& result, const std::string& type, const std::string& order, bool flush,
                 Value one) {
    for (const std::string& how : kCombines) {
      Shape shape{{4}, {bytes_of(type), bytes_of(type)}};
      std::vector<Values> domains(2, values_of(type));
      thin(domains[1], is_pair(type) ? 5 : 3);
      if (!how.empty()) {
        shape.inputs.push_back(0);
        domains.push_back(kBits);
      }
      check("set." + order + how + (flush ? ".ftz." : ".") + result + "." + type, shape, domains,
            [&](const Value* in, Value* out) {
              const bool c = !how.empty() && in[2] != 0;
              out[0] = combine(how, compares(type, order, in[0], in[1], false, flush), c) ? one : 0;
              if (is_pair(type) && combine(how, compares(type, order, in[0], in[1], true, flush), c))
                out[0] |= one << 16;
            });
    }
  }
  LaneRunner runner_;
};

TEST_F(Compare, SetpOfIntegers) {
  for (const std::string& type : kIntegerTypes) {
    for (const std::string& order : kOrders) {
      if (type[0] == 'b' && order != "eq" && order != "ne")
        refused("setp." + order + "." + type);
      else
        check_setp(type, order, false);
    }
    for (const std::string& order : kUnsignedOrders) {
      if (type[0] == 'u')
        check_setp(type, order, false);
      else
        refused("setp." + order + "." + type);
    }
    refused("setp.ltu." + type);
    refused("setp.eq.ftz." + type);
  }
}

TEST_F(Compare, SetpOfFloats) {
  for (const std::string& type : kFloatTypes) {
    for (const std::string& order : kFloatOrders) {
      check_setp(type, order, false);
      if (type == "f64" || type.starts_with("bf16"))
        refused("setp." + order + ".ftz." + type);
      else
        check_setp(type, order, true);
    }
    refused("setp.lo." + type);
  }
}

TEST_F(Compare, SetGivesOnesOrOne) {
  struct Result {
    const char* type;
    Value one;
  };
  const Result results[] = {
      {"u32", 0xffffffffu}, {"s32", 0xffffffffu}, {"f32", 0x3f800000u}, {"f16", 0x3c00}, {"bf16", 0x3f80}};
  for (const Result& result : results) {
    for (const std::string& type : kIntegerTypes) {
      check_set(result.type, type, "ne", false, result.one);
      if (type[0] == 'b')
        refused(std::string("set.lt.") + result.type + "." + type);
      else
        for (const std::string& order : kOrders) check_set(result.type, type, order, false, result.one);
    }
    for (const std::string& order : kFloatOrders) {
      check_set(result.type, "f32", order, false, result.one);
      check_set(result.type, "f32", order, true, result.one);
      check_set(result.type, "f64", order, false, result.one);
    }
  }
  for (const std::string& order : kFloatOrders) {
    for (const std::string type : {"f16", "bf16"}) {
      check_set("u32", type, order, false, 0xffffffffu);
      check_set("s16", type, order, false, 0xffff);
      check_set("u16", type, order, false, 0xffff);
      check_set("bf16", type, order, false, 0x3f80);
    }
    check_set("f16", "f16", order, true, 0x3c00);
    check_set("u32", "f16x2", order, false, 0xffff);
    check_set("s32", "f16x2", order, true, 0xffff);
    check_set("f16x2", "f16x2", order, true, 0x3c00);
    check_set("bf16x2", "bf16x2", order, false, 0x3f80);
    check_set("u32", "bf16x2", order, false, 0xffff);
  }
}

TEST_F(Compare, SetRefusesWhatPtxasRefuses) {
  for (const char* name : {"set.lt.f16.bf16", "set.lt.u16.f32", "set.lt.u16.u16", "set.lt.f32.f16",
                           "set.lt.f32.bf16", "set.lt.ftz.u32.s32", "set.lt.ftz.u32.f64",
                           "set.lt.f16x2.bf16x2", "set.lt.f32.f16x2", "set.lt.b32.f16x2", "set.lt.u64.s32",
                           "set.lt.f64.s32", "set.lo.u32.s32", "set.lo.u32.f32", "set.ltu.u32.u32"})
    refused(name);
}

TEST_F(Compare, Selp) {
  for (const std::string type :
       {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const Values values = edge_values(width_of(type));
    check("selp." + type, {{bytes_of(type)}, {bytes_of(type), bytes_of(type), 0}}, {values, values, kBits},
          [](const Value* in, Value* out) { out[0] = in[2] != 0 ? in[0] : in[1]; });
  }
  refused("selp.pred");
  refused("selp.f16");
}

TEST_F(Compare, Slct) {
  for (const std::string type :
       {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const Values values = edge_values(width_of(type));
    const Shape shape{{bytes_of(type)}, {bytes_of(type), bytes_of(type), 4}};
    check("slct." + type + ".s32", shape, {values, values, edge_values(32)},
          [](const Value* in, Value* out) { out[0] = number_of("s32", in[2]) >= 0 ? in[0] : in[1]; });
    for (const bool flush : {false, true})
      check(std::string("slct.") + (flush ? "ftz." : "") + type + ".f32", shape,
            {values, values, values_of("f32")}, [&](const Value* in, Value* out) {
              out[0] = float_of("f32", in[2], false, flush) >= 0 ? in[0] : in[1];
            });
  }
  refused("slct.ftz.b32.s32");
}

TEST_F(Compare, Testp) {
  const std::pair<std::string, std::function<bool(int)>> tests[] = {
      {"finite", [](int c) { return c != FP_INFINITE && c != FP_NAN; }},
      {"infinite", [](int c) { return c == FP_INFINITE; }},
      {"number", [](int c) { return c != FP_NAN; }},
      {"notanumber", [](int c) { return c == FP_NAN; }},
      {"normal", [](int c) { return c == FP_NORMAL || c == FP_ZERO; }},
      {"subnormal", [](int c) { return c == FP_SUBNORMAL; }}};
  for (const auto& [name, test] : tests) {
    check("testp." + name + ".f32", {{0}, {4}}, {values_of("f32")}, [&](const Value* in, Value* out) {
      out[0] = test(std::fpclassify(std::bit_cast<float>(static_cast<std::uint32_t>(in[0]))));
    });
    check("testp." + name + ".f64", {{0}, {8}}, {values_of("f64")}, [&](const Value* in, Value* out) {
      out[0] = test(std::fpclassify(std::bit_cast<double>(static_cast<std::uint64_t>(in[0]))));
    });
  }
}

}  // namespace
}  // namespace gpuforge::sim
