#include <gtest/gtest.h>

#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

using namespace lane_tests;

class Logic : public testing::Test {
 protected:
  void check(const std::string& name, const Shape& shape, const std::vector<Values>& domains,
             const Reference& reference) {
    runner_.check(name, handlers_of(logic_rows(), name), shape, domains, reference);
  }
  void refused(const std::string& name) { EXPECT_EQ(handlers_of(logic_rows(), name).full, nullptr) << name; }
  LaneRunner runner_;
};

bool bit(Value value, int index) {
  return (value >> index & 1) != 0;
}
const Values kBits{0, 1};

TEST_F(Logic, AndOrXorNot) {
  for (const int width : {16, 32, 64}) {
    const std::string type = ".b" + std::to_string(width);
    const int bytes = row_bytes(width);
    const std::vector<Values> two(2, edge_values(width));
    check("and" + type, {{bytes}, {bytes, bytes}}, two,
          [](const Value* in, Value* out) { out[0] = in[0] & in[1]; });
    check("or" + type, {{bytes}, {bytes, bytes}}, two,
          [](const Value* in, Value* out) { out[0] = in[0] | in[1]; });
    check("xor" + type, {{bytes}, {bytes, bytes}}, two,
          [](const Value* in, Value* out) { out[0] = in[0] ^ in[1]; });
    const std::vector<Values> one(1, edge_values(width));
    check("not" + type, {{bytes}, {bytes}}, one,
          [&](const Value* in, Value* out) { out[0] = low(static_cast<SignedValue>(~in[0]), width); });
    check("cnot" + type, {{bytes}, {bytes}}, one,
          [](const Value* in, Value* out) { out[0] = in[0] == 0 ? 1 : 0; });
  }
  refused("and.u32");
  refused("not.b8");
  refused("cnot.pred");
}

TEST_F(Logic, Predicates) {
  const std::vector<Values> two(2, kBits);
  check("and.pred", {{0}, {0, 0}}, two, [](const Value* in, Value* out) { out[0] = in[0] & in[1]; });
  check("or.pred", {{0}, {0, 0}}, two, [](const Value* in, Value* out) { out[0] = in[0] | in[1]; });
  check("xor.pred", {{0}, {0, 0}}, two, [](const Value* in, Value* out) { out[0] = in[0] ^ in[1]; });
  check("not.pred", {{0}, {0}}, {kBits}, [](const Value* in, Value* out) { out[0] = 1 - in[0]; });
}

TEST_F(Logic, ShiftsClampTheirAmount) {
  for (const int width : {16, 32, 64}) {
    const std::string bits = std::to_string(width);
    const int bytes = row_bytes(width);
    const std::vector<Values> domains{edge_values(width), shift_amounts()};
    const auto bit_by_bit = [&](int direction, bool sign) {
      return [=](const Value* in, Value* out) {
        out[0] = 0;
        const auto amount = static_cast<std::int64_t>(in[1]);
        for (int i = 0; i < width; ++i) {
          const std::int64_t from = i + direction * amount;
          const bool outside = sign && bit(in[0], width - 1);
          const bool value = from < 0 || from >= width ? outside : bit(in[0], static_cast<int>(from));
          out[0] |= Value{value} << i;
        }
      };
    };
    check("shl.b" + bits, {{bytes}, {bytes, 4}}, domains, bit_by_bit(-1, false));
    check("shr.b" + bits, {{bytes}, {bytes, 4}}, domains, bit_by_bit(1, false));
    check("shr.u" + bits, {{bytes}, {bytes, 4}}, domains, bit_by_bit(1, false));
    check("shr.s" + bits, {{bytes}, {bytes, 4}}, domains, bit_by_bit(1, true));
  }
  refused("shl.u32");
}

TEST_F(Logic, FunnelShift) {
  for (const bool left : {false, true})
    for (const bool wrap : {false, true})
      check(std::string("shf.") + (left ? "l." : "r.") + (wrap ? "wrap" : "clamp") + ".b32", {{4}, {4, 4, 4}},
            {edge_values(32, 2), edge_values(32, 2), shift_amounts()}, [&](const Value* in, Value* out) {
              const Value pair = in[1] << 32 | in[0];
              const Value n = wrap ? in[2] % 32 : std::min<Value>(in[2], 32);
              out[0] = (left ? pair << n >> 32 : pair >> n) & 0xffffffffu;
            });
  refused("shf.l.b32");
}

TEST_F(Logic, Lop3) {
  for (int table = 0; table < 256; ++table) {
    const auto value = [&](const Value* in) {
      Value result = 0;
      for (int i = 0; i < 32; ++i) {
        const int index = bit(in[0], i) * 4 + bit(in[1], i) * 2 + bit(in[2], i);
        result |= Value{bit(static_cast<Value>(table), index)} << i;
      }
      return result;
    };
    const Values words{0xf0f0f0f0u, 0xccccccccu, 0xaaaaaaaau, 0, 0xffffffffu, 0x12345678u};
    Shape shape{{4}, {4, 4, 4}};
    shape.immediate = table;
    check("lop3.b32", shape, {words, words, words}, [&](const Value* in, Value* out) { out[0] = value(in); });
    if (table % 17 != 0) continue;
    shape.outputs = {4, 0};
    shape.inputs = {4, 4, 4, 0};
    check("lop3.and.b32", shape, {words, words, words, kBits}, [&](const Value* in, Value* out) {
      out[0] = value(in);
      out[1] = out[0] != 0 && in[3] != 0;
    });
    check("lop3.or.b32", shape, {words, words, words, kBits}, [&](const Value* in, Value* out) {
      out[0] = value(in);
      out[1] = out[0] != 0 || in[3] != 0;
    });
  }
  refused("lop3.xor.b32");
}

TEST_F(Logic, Permute) {
  const Values a{0x03020100u, 0x83828180u}, b{0x07060504u, 0x87868584u};
  const auto bytes = [](const Value* in, const int(&source)[4]) {
    Value result = 0;
    for (int i = 0; i < 4; ++i) result |= ((in[1] << 32 | in[0]) >> (source[i] * 8) & 0xff) << (i * 8);
    return result;
  };
  Values controls = edge_values(32, 60);
  controls.insert(controls.end(), {0x3210, 0x7654, 0xfedc, 0x5410, 0x7632, 0x8888, 0xb3c4});
  check("prmt.b32", {{4}, {4, 4, 4}}, {a, b, controls}, [&](const Value* in, Value* out) {
    out[0] = 0;
    for (int i = 0; i < 4; ++i) {
      const auto selector = static_cast<int>(in[2] >> (4 * i) & 15);
      const Value byte = (in[1] << 32 | in[0]) >> ((selector & 7) * 8) & 0xff;
      out[0] |= (selector < 8 ? byte : (byte >= 0x80 ? Value{0xff} : Value{0})) << (i * 8);
    }
  });
  // The manual's table, lowest byte first, for control 0 to 3.
  struct Mode {
    const char* name;
    int source[4][4];
  };
  const Mode modes[] = {{"f4e", {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}},
                        {"b4e", {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}},
                        {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecl", {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
                        {"ecr", {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}},
                        {"rc16", {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}};
  for (const Mode& mode : modes)
    for (const std::string& name :
         {std::string("prmt.b32.") + mode.name, std::string("prmt.") + mode.name + ".b32"})
      check(name, {{4}, {4, 4, 4}}, {a, b, {0, 1, 2, 3, 4, 5, 6, 7, 0xfffffffeu}},
            [&](const Value* in, Value* out) { out[0] = bytes(in, mode.source[in[2] & 3]); });
}

TEST_F(Logic, CountAndFind) {
  for (const int width : {32, 64}) {
    const std::string bits = std::to_string(width);
    const int bytes = row_bytes(width);
    Values words = edge_values(width, 60);
    for (int i = 0; i < width; ++i) words.push_back(Value{1} << i);
    const Shape to_word{{4}, {bytes}};
    check("popc.b" + bits, to_word, {words}, [&](const Value* in, Value* out) {
      out[0] = 0;
      for (int i = 0; i < width; ++i) out[0] += bit(in[0], i);
    });
    check("clz.b" + bits, to_word, {words}, [&](const Value* in, Value* out) {
      out[0] = 0;
      for (int i = width - 1; i >= 0 && !bit(in[0], i); --i) ++out[0];
    });
    check("brev.b" + bits, {{bytes}, {bytes}}, {words}, [&](const Value* in, Value* out) {
      out[0] = 0;
      for (int i = 0; i < width; ++i) out[0] |= Value{bit(in[0], i)} << (width - 1 - i);
    });
    for (const char sign : {'u', 's'})
      for (const bool amount : {false, true})
        check(std::string("bfind") + (amount ? ".shiftamt." : ".") + sign + bits, to_word, {words},
              [&](const Value* in, Value* out) {
                const bool wanted = !(sign == 's' && bit(in[0], width - 1));
                out[0] = 0xffffffffu;
                for (int i = width - 1; i >= 0 && out[0] == 0xffffffffu; --i)
                  if (bit(in[0], i) == wanted) out[0] = static_cast<Value>(amount ? width - 1 - i : i);
              });
  }
  refused("clz.u32");
}

// Of fields of 64 bits an H200 takes positions and lengths whole, of others the low 8 bits.
int field_number(Value number, int width) {
  return static_cast<int>(width == 64 ? std::min<Value>(number & 0xffffffffu, 1000) : number & 0xff);
}

TEST_F(Logic, BitFields) {
  for (const int width : {32, 64}) {
    const std::string bits = std::to_string(width);
    const int bytes = row_bytes(width);
    for (const char sign : {'u', 's'})
      check(std::string("bfe.") + sign + bits, {{bytes}, {bytes, 4, 4}},
            {edge_values(width, 4), shift_amounts(), shift_amounts()}, [&](const Value* in, Value* out) {
              const int position = field_number(in[1], width), length = field_number(in[2], width);
              const bool fill =
                  sign == 's' && length != 0 && bit(in[0], std::min(position + length, width) - 1);
              out[0] = 0;
              for (int i = 0; i < width; ++i)
                out[0] |= Value{i < length && position + i < width ? bit(in[0], position + i) : fill} << i;
            });
    check("bfi.b" + bits, {{bytes}, {bytes, bytes, 4, 4}},
          {edge_values(width, 0), {0, low(-1, width), 0x12345678}, shift_amounts(), shift_amounts()},
          [&](const Value* in, Value* out) {
            const int position = field_number(in[2], width), length = field_number(in[3], width);
            out[0] = in[1];
            for (int i = 0; i < length && position + i < width; ++i) {
              const Value one = Value{1} << (position + i);
              out[0] = bit(in[0], i) ? out[0] | one : out[0] & ~one;
            }
          });
  }
  refused("bfe.b32");
}

TEST_F(Logic, MasksAndExtensions) {
  for (const bool wrap : {false, true}) {
    const std::string mode = wrap ? "wrap" : "clamp";
    check("bmsk." + mode + ".b32", {{4}, {4, 4}}, {shift_amounts(), shift_amounts()},
          [&](const Value* in, Value* out) {
            const Value position = wrap ? in[0] % 32 : in[0], count = wrap ? in[1] % 32 : in[1];
            out[0] = 0;
            for (Value i = 0; i < 32; ++i)
              if (i >= position && i - position < count) out[0] |= Value{1} << i;
          });
    for (const char sign : {'u', 's'})
      check("szext." + mode + "." + sign + "32", {{4}, {4, 4}}, {edge_values(32), shift_amounts()},
            [&](const Value* in, Value* out) {
              const int count = static_cast<int>(wrap ? in[1] % 32 : std::min<Value>(in[1], 32));
              const bool fill = sign == 's' && count != 0 && bit(in[0], count - 1);
              out[0] = 0;
              for (int i = 0; i < 32; ++i) out[0] |= Value{i < count ? bit(in[0], i) : fill} << i;
            });
  }
  check("fns.b32", {{4}, {4, 4, 4}},
        {edge_values(32, 8),
         {0, 1, 5, 15, 16, 30, 31},
         {0, 1, 2, 5, 32, 33, 0xffffffffu, 0xfffffffeu, 0xffffffe0u, 0x80000000u}},
        [](const Value* in, Value* out) {
          const auto offset = static_cast<std::int32_t>(in[2]);
          std::vector<int> found;
          for (int i = static_cast<int>(in[1]); i >= 0 && i < 32; i += offset < 0 ? -1 : 1)
            if (bit(in[0], i)) found.push_back(i);
          const std::int64_t index = offset == 0 ? 0 : std::abs(std::int64_t{offset}) - 1;
          const bool exists = index < static_cast<std::int64_t>(found.size());
          out[0] = exists ? static_cast<Value>(found[static_cast<std::size_t>(index)]) : 0xffffffffu;
          if (offset == 0 && !bit(in[0], static_cast<int>(in[1]))) out[0] = 0xffffffffu;
        });
}

}  // namespace
}  // namespace gpuforge::sim
