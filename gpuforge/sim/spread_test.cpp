// What the rules say was written must not depend on what was not: each instruction runs twice, on values that
// differ only there.
#include "gpuforge/sim/spread.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "gpuforge/sim/lanes/rows_for_tests.h"
#include "gpuforge/sim/table.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

using lane_tests::handlers_of;

struct Instruction {
  std::string text;
  int sources = 2;
  int source_bits = 32;
  int result_bits = 32;
  std::uint64_t immediate = 0;
};

SpreadRule rule_of(const std::string& text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    words.push_back(std::string_view(text).substr(at, dot - at));
    at = dot + 1;
  }
  return spread_rule(words[0], make_match(std::span<const std::string_view>(words).subspan(1)));
}

class Runner {
 public:
  Runner() : bytes_(8 * 512 + 64) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    warp_.rows = bytes_.data() + (64 - at % 64) % 64;
    warp_.active = warp_.live = kAllLanes;
  }
  // The results of 32 lanes; slot 0 is the destination.
  std::array<std::uint64_t, kLanes> run(const Instruction& one, Handlers handlers,
                                        const std::array<std::array<std::uint64_t, kLanes>, 4>& values) {
    Op op;
    for (std::uint32_t slot = 0; slot < 5; ++slot) op.operand[slot] = 512 * slot;
    op.immediate = static_cast<std::int64_t>(one.immediate);
    op.register_bytes = one.result_bits == 64 ? 8 : 4;
    op.source_bytes = one.source_bits == 64 ? 8 : 4;
    for (int i = 0; i < one.sources; ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        put(op.operand[static_cast<std::size_t>(i) + 1], lane, source_bits(one, i),
            values[static_cast<std::size_t>(i)][static_cast<std::size_t>(lane)]);
    handlers.full(warp_, &op);
    std::array<std::uint64_t, kLanes> results{};
    for (int lane = 0; lane < kLanes; ++lane)
      results[static_cast<std::size_t>(lane)] =
          one.result_bits == 64 ? row<std::uint64_t>(warp_, 0)[lane] : row<std::uint32_t>(warp_, 0)[lane];
    return results;
  }
  static unsigned source_bits(const Instruction& one, int index) {
    return index < rule_of(one.text).data ? static_cast<unsigned>(one.source_bits) : 32u;
  }

 private:
  void put(std::uint32_t offset, int lane, unsigned bits, std::uint64_t value) {
    if (bits == 64)
      row<std::uint64_t>(warp_, offset)[lane] = value;
    else
      row<std::uint32_t>(warp_, offset)[lane] = static_cast<std::uint32_t>(value);
  }
  std::vector<std::byte> bytes_;
  Warp warp_;
};

void check(std::span<const OpcodeRow> rows, const Instruction& one) {
  SCOPED_TRACE(one.text);
  const SpreadRule rule = rule_of(one.text);
  const Handlers handlers = handlers_of(rows, one.text);
  ASSERT_NE(handlers.full, nullptr);
  ASSERT_NE(rule.kind, Spread::everything);
  std::mt19937_64 random(one.text.size());
  Runner runner;
  std::uint64_t kept = 0;  // results of which a part is known
  for (int round = 0; round < 200; ++round) {
    std::array<std::array<std::uint64_t, kLanes>, 4> first{}, second{};
    std::array<std::uint64_t, kLanes> unwritten{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::array<PartlyWritten, 4> sources;
      for (int i = 0; i < one.sources; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool steers = i >= rule.data;
        const std::uint64_t width = low_bits(Runner::source_bits(one, i));
        sources[at].value = steers ? random() % 40 : random() & width;
        if (rule.kind == Spread::permute && steers) sources[at].value = random() & 0xffff;
        if (!steers) sources[at].unwritten = random() & random() & (random() | random() << 16) & width;
        if (!steers && random() % 3 == 0) sources[at].unwritten &= 0xff00ff;
        first[at][lane] = sources[at].value;
        second[at][lane] = sources[at].value ^ (random() & sources[at].unwritten);
      }
      unwritten[lane] = unwritten_result(
          rule, std::span<const PartlyWritten>(sources).first(static_cast<std::size_t>(one.sources)),
          static_cast<std::int64_t>(one.immediate));
      if ((~unwritten[lane] & low_bits(rule.result_bits)) != 0) ++kept;
    }
    const auto a = runner.run(one, handlers, first), b = runner.run(one, handlers, second);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      ASSERT_EQ((a[lane] ^ b[lane]) & ~unwritten[lane], 0u)
          << std::hex << first[0][lane] << " and " << second[0][lane] << ", " << first[1][lane] << " and "
          << second[1][lane] << ", " << first[2][lane] << ", unwritten " << unwritten[lane];
  }
  EXPECT_GT(kept, 0u);
}

TEST(SimSpread, WrittenBitsDoNotDependOnTheOthers) {
  for (const Instruction& one : {Instruction{"and.b32"},
                                 {"or.b32"},
                                 {"xor.b32"},
                                 {"and.b64", 2, 64, 64},
                                 {"or.b16", 2, 16},
                                 {"not.b32", 1},
                                 {"lop3.b32", 3, 32, 32, 0xe8},
                                 {"lop3.b32", 3, 32, 32, 0xca},
                                 {"lop3.b32", 3, 32, 32, 0x96},
                                 {"shl.b32"},
                                 {"shl.b64", 2, 64, 64},
                                 {"shl.b16", 2, 16},
                                 {"shr.u32"},
                                 {"shr.s32"},
                                 {"shr.s64", 2, 64, 64},
                                 {"shr.s16", 2, 16},
                                 {"shr.u64", 2, 64, 64},
                                 {"shf.l.wrap.b32", 3},
                                 {"shf.r.wrap.b32", 3},
                                 {"shf.l.clamp.b32", 3},
                                 {"shf.r.clamp.b32", 3},
                                 {"prmt.b32", 3},
                                 {"bfe.u32", 3},
                                 {"bfe.s32", 3},
                                 {"bfe.u64", 3, 64, 64},
                                 {"bfe.s64", 3, 64, 64},
                                 {"bfi.b32", 4},
                                 {"bfi.b64", 4, 64, 64}})
    check(logic_rows(), one);
  for (const Instruction& one : {Instruction{"add.u32"},
                                 {"sub.s32"},
                                 {"add.u64", 2, 64, 64},
                                 {"mul.lo.u32"},
                                 {"mul.lo.s64", 2, 64, 64},
                                 {"mad.lo.u32", 3},
                                 {"neg.s32", 1},
                                 {"add.u16x2"},
                                 {"min.s16x2"}})
    check(integer_rows(), one);
  for (const Instruction& one : {Instruction{"cvt.u32.u8", 1},
                                 {"cvt.s32.s8", 1},
                                 {"cvt.u8.u32", 1},
                                 {"cvt.s8.u32", 1},
                                 {"cvt.u64.u32", 1, 32, 64},
                                 {"cvt.s64.s32", 1, 32, 64},
                                 {"cvt.u32.u64", 1, 64},
                                 {"cvt.s16.s64", 1, 64},
                                 {"cvt.rn.f16x2.f32", 2},
                                 {"cvt.rn.bf16x2.f32", 2}})
    check(convert_rows(), one);
  for (const Instruction& one :
       {Instruction{"fma.rn.f16x2", 3}, {"add.f16x2"}, {"mul.bf16x2"}, {"neg.f16x2", 1}})
    check(half_rows(), one);
  for (const Instruction& one : {Instruction{"mov.b32", 1}, {"mov.u64", 1, 64, 64}}) check(move_rows(), one);
}

TEST(SimSpread, Equality) {
  EXPECT_FALSE(equality_unwritten({4, 3}, {0, 0}));
  EXPECT_TRUE(equality_unwritten({4, 3}, {4, 0}));
  EXPECT_FALSE(equality_unwritten({4, 0}, {4, 0}));
}

}  // namespace
}  // namespace gpuforge::sim
