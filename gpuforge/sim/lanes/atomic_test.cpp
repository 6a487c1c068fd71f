#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gpuforge/base/format.h"
#include "gpuforge/base/half.h"
#include "gpuforge/sim/lanes/memory_machine_for_tests.h"

namespace gpuforge::sim {
namespace {

bool has(Mask mask, unsigned lane) {
  return ((mask >> lane) & 1u) != 0;
}
std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

struct IntegerCase {
  std::string name;  // operation and type
  unsigned bytes;
  std::function<std::uint64_t(std::uint64_t old, std::uint64_t b, std::uint64_t c)> apply;
};
std::int64_t as_signed(std::uint64_t value, unsigned bytes) {
  return bytes == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}
std::vector<IntegerCase> integer_cases() {
  std::vector<IntegerCase> cases;
  for (const unsigned bytes : {4u, 8u}) {
    const char* width = bytes == 4 ? "32" : "64";
    const auto add = [&](const char* pattern, auto apply) {
      cases.push_back({format_text(pattern, width), bytes, apply});
    };
    using U = std::uint64_t;
    add("and.b{}", [](U old, U b, U) { return old & b; });
    add("or.b{}", [](U old, U b, U) { return old | b; });
    add("xor.b{}", [](U old, U b, U) { return old ^ b; });
    add("exch.b{}", [](U, U b, U) { return b; });
    add("cas.b{}", [](U old, U b, U c) { return old == b ? c : old; });
    add("add.u{}", [](U old, U b, U) { return old + b; });
    add("min.u{}", [](U old, U b, U) { return std::min(old, b); });
    add("max.u{}", [](U old, U b, U) { return std::max(old, b); });
    add("min.s{}", [bytes](U old, U b, U) { return as_signed(old, bytes) < as_signed(b, bytes) ? old : b; });
    add("max.s{}", [bytes](U old, U b, U) { return as_signed(old, bytes) > as_signed(b, bytes) ? old : b; });
  }
  cases.push_back({"inc.u32", 4, [](auto old, auto b, auto) { return old >= b ? 0 : old + 1; }});
  cases.push_back({"dec.u32", 4, [](auto old, auto b, auto) { return old == 0 || old > b ? b : old - 1; }});
  cases.push_back({"add.s32", 4, [](auto old, auto b, auto) { return old + b; }});
  return cases;
}

TEST(Atomic, IntegersAgainstALoop) {
  std::mt19937_64 random(3);
  for (const IntegerCase& one : integer_cases())
    for (int round = 0; round < 60; ++round) {
      MemoryMachine machine;
      const bool returns = one.name.starts_with("exch") || one.name.starts_with("cas") || random() % 2 == 0;
      const char* space = random() % 3 == 0 ? ".shared" : random() % 2 == 0 ? ".global" : "";
      const std::string text = format_text("{}{}.{}", returns ? "atom" : "red", space, one.name);
      SCOPED_TRACE(text);
      const Op op = machine.op(text, static_cast<std::uint8_t>(one.bytes));
      ASSERT_NE(op.run[0], nullptr);
      const auto x = machine.allocate(1024, "x", true);
      const bool shared = op.space == Space::shared || (op.space == Space::generic && round % 2 == 0);
      std::byte* base = shared ? machine.block.shared : at(x->begin);
      for (unsigned i = 0; i < 16; ++i) machine.block.shared_initialized[i] = ~std::uint64_t{0};
      std::vector<std::uint64_t> expected(128);
      const std::uint64_t range = round % 3 == 0 ? 4 : round % 3 == 1 ? 40 : ~std::uint64_t{0};
      const std::uint64_t mask = one.bytes == 4 ? 0xffffffffu : ~std::uint64_t{0};
      for (unsigned i = 0; i < 128; ++i) {
        expected[i] = random() % range & mask;
        std::memcpy(base + i * one.bytes, &expected[i], one.bytes);
      }
      const Mask active = round % 4 == 0 ? static_cast<Mask>(random()) | 1u : kAllLanes;
      const unsigned spread = 1u << random() % 6;
      const bool row = random() % 4 == 0;
      const unsigned first_data = returns ? 1 : 0;
      std::uint64_t index[kLanes], b[kLanes], c[kLanes], old[kLanes] = {};
      std::set<std::uint64_t> places;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        index[lane] = row ? lane : random() % spread;
        b[lane] = random() % range & mask;
        c[lane] = random() & mask;
        const std::uint64_t window = op.space == Space::shared ? 0 : shared ? kSharedWindow : x->begin;
        machine.addresses()[lane] = window + index[lane] * one.bytes;
        if (one.bytes == 8) {
          machine.row64(0)[lane] = 5;
          machine.row64(first_data)[lane] = b[lane];
          machine.row64(first_data + 1)[lane] = c[lane];
        } else {
          machine.row32(0)[lane] = 5;
          machine.row32(first_data)[lane] = static_cast<std::uint32_t>(b[lane]);
          machine.row32(first_data + 1)[lane] = static_cast<std::uint32_t>(c[lane]);
        }
      }
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!has(active, lane)) continue;
        places.insert(index[lane]);
        old[lane] = expected[index[lane]];
        expected[index[lane]] = one.apply(old[lane], b[lane], c[lane]) & mask;
      }
      ASSERT_TRUE(machine.run(op, active));
      EXPECT_EQ(machine.finding(), nullptr);
      for (unsigned i = 0; i < 128; ++i)
        ASSERT_EQ(std::memcmp(base + i * one.bytes, &expected[i], one.bytes), 0) << i;
      for (unsigned lane = 0; returns && lane < kLanes; ++lane)
        ASSERT_EQ(one.bytes == 8 ? machine.row64(0)[lane] : machine.row32(0)[lane],
                  has(active, lane) ? old[lane] : 5u);
      EXPECT_EQ(machine.counters().atomic_conflicts,
                static_cast<unsigned>(std::popcount(active)) - places.size());
    }
}

std::uint32_t added(const char* space, std::uint32_t memory, std::uint32_t value) {
  MemoryMachine machine;
  const auto x = machine.allocate(1024, "x", true);
  machine.block.shared_initialized[0] = ~std::uint64_t{0};
  const Op op = machine.op(format_text("atom.{}.add.f32", space), 4);
  std::byte* place = op.space == Space::shared ? machine.block.shared : at(x->begin);
  std::memcpy(place, &memory, 4);
  machine.addresses()[0] = op.space == Space::shared ? 0 : x->begin;
  machine.row32(1)[0] = value;
  EXPECT_TRUE(machine.run(op, 1));
  EXPECT_EQ(machine.row32(0)[0], memory);
  std::uint32_t result = 0;
  std::memcpy(&result, place, 4);
  return result;
}

TEST(Atomic, AddF32) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for (const char* space : {"global", "shared"}) {
    EXPECT_EQ(added(space, bits(1.5f), bits(2.25f)), bits(3.75f));
    EXPECT_EQ(added(space, bits(std::numeric_limits<float>::infinity()), 0xff800000u), 0x7fffffffu);
    EXPECT_EQ(added(space, 0x7fc00001u, bits(1.0f)), 0x7fffffffu);
  }
  EXPECT_EQ(added("shared", 0x00000001u, 0x00000002u), 0x00000003u);
  EXPECT_EQ(added("global", 0x00000001u, 0x00000002u), 0u);
  EXPECT_EQ(added("global", 0x80000001u, 0x80000000u), 0x80000000u);
  // A result that is subnormal though its inputs are not.
  EXPECT_EQ(added("global", 0x00800001u, 0x80800000u), 0u);
  EXPECT_EQ(added("shared", 0x00800001u, 0x80800000u), 1u);
}

TEST(Atomic, DoublesAndHalves) {
  MemoryMachine machine;
  const auto x = machine.allocate(4096, "x", true);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.addresses()[lane] = x->begin + 8;
    machine.row64(0)[lane] = std::bit_cast<std::uint64_t>(0.5 + lane);
  }
  ASSERT_TRUE(machine.run(machine.op("red.global.add.f64", 8)));
  double sum = 0;
  std::memcpy(&sum, at(x->begin + 8), 8);
  EXPECT_EQ(sum, 512.0);
  EXPECT_EQ(machine.counters().atomic_conflicts, 31u);

  // Sums of halves in the order of the lanes.
  std::mt19937 random(4);
  for (const char* type : {"f16", "bf16", "f16x2", "bf16x2"})
    for (const char* operation : {"add", "min", "max"})
      for (const unsigned count : {1u, 2u, 4u, 8u}) {
        const bool pair = std::strlen(type) > 4;
        const bool brain = type[0] == 'b';
        const bool accepted =
            (count == 1 ? std::strcmp(operation, "add") == 0 : true) && !(pair && count == 8);
        const std::string text = format_text("red.global.{}.noftz{}.{}", operation,
                                             count == 1 ? "" : format_text(".v{}", count), type);
        SCOPED_TRACE(text);
        const Op op = machine.op(text, 4);
        ASSERT_EQ(op.run[0] != nullptr, accepted);
        if (!accepted) continue;
        const unsigned halves = count * (pair ? 2 : 1);
        std::vector<std::uint16_t> expected(halves);
        const auto number = [&] {
          return brain ? BFloat16::from(static_cast<double>(random() % 64) - 31.5).bits
                       : Half::from(static_cast<double>(random() % 64) - 31.5).bits;
        };
        const auto value = [&](std::uint16_t one) {
          return brain ? BFloat16{one}.to_double() : Half{one}.to_double();
        };
        for (auto& one : expected) one = number();
        std::memcpy(at(x->begin), expected.data(), 2 * halves);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          machine.addresses()[lane] = x->begin;
          for (unsigned half = 0; half < halves; ++half) {
            const std::uint16_t b = number();
            const unsigned element = pair ? half / 2 : half;
            std::uint32_t& target = machine.row32(element)[lane];
            target = pair && half % 2 == 1 ? target | static_cast<std::uint32_t>(b) << 16 : b;
            const double old = value(expected[half]);
            const double made = operation[1] == 'd'   ? old + value(b)
                                : operation[1] == 'i' ? std::min(old, value(b))
                                                      : std::max(old, value(b));
            expected[half] = brain ? BFloat16::from(made).bits : Half::from(made).bits;
          }
        }
        ASSERT_TRUE(machine.run(op));
        ASSERT_EQ(std::memcmp(at(x->begin), expected.data(), 2 * halves), 0);
      }
}

TEST(Atomic, HalfEdges) {
  MemoryMachine machine;
  const auto x = machine.allocate(64, "x", true);
  const auto result = [&](const char* text, std::uint16_t memory, std::uint16_t b) {
    std::memcpy(at(x->begin), &memory, 2);
    machine.addresses()[0] = x->begin;
    machine.row32(0)[0] = machine.row32(1)[0] = b;
    EXPECT_TRUE(machine.run(machine.op(text, 4), 1));
    std::memcpy(&memory, at(x->begin), 2);
    return memory;
  };
  EXPECT_EQ(result("red.add.noftz.f16", 0x7bff, 0x7bff), 0x7c00);  // overflows
  EXPECT_EQ(result("red.add.noftz.f16", 0x0001, 0x0001), 0x0002);  // subnormals stay
  EXPECT_EQ(result("red.add.noftz.f16", 0x7c00, 0xfc00), 0x7fff);
  EXPECT_EQ(result("red.min.noftz.v2.f16", 0x7e00, 0x3c00), 0x3c00);
  EXPECT_EQ(result("red.max.noftz.v2.f16", 0x3c00, 0x7e00), 0x3c00);
  EXPECT_EQ(result("red.max.noftz.v2.f16", 0x7e00, 0x7e01), 0x7fff);
  EXPECT_EQ(result("red.min.noftz.v2.f16", 0x0000, 0x8000), 0x8000);
  EXPECT_EQ(result("red.max.noftz.v2.f16", 0x8000, 0x0000), 0x0000);
}

TEST(Atomic, VectorsGiveTheOldValues) {
  MemoryMachine machine;
  const auto x = machine.allocate(4096, "x", true);
  const Op op = machine.op("atom.global.add.v4.f32", 4);
  ASSERT_NE(op.run[0], nullptr);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.addresses()[lane] = x->begin + 16 * (lane / 2);
    for (unsigned element = 0; element < 4; ++element)
      machine.row32(4 + element)[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(lane + element));
  }
  ASSERT_TRUE(machine.run(op));
  EXPECT_EQ(std::bit_cast<float>(machine.row32(3)[6]), 0.0f);
  EXPECT_EQ(std::bit_cast<float>(machine.row32(3)[7]), 9.0f);
  float memory = 0;
  std::memcpy(&memory, at(x->begin + 16 * 3 + 12), 4);
  EXPECT_EQ(memory, 19.0f);
  EXPECT_EQ(machine.counters().atomic_conflicts, 16u);
  EXPECT_EQ(machine.op("atom.global.add.noftz.v8.f16", 4).run[0], nullptr);
}

TEST(Atomic, WideExchangeAndSwap) {
  MemoryMachine machine;
  const auto x = machine.allocate(64, "x", true);
  std::uint64_t memory[2] = {1, 2};
  std::memcpy(at(x->begin), memory, 16);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin;
  for (unsigned lane = 0; lane < 2; ++lane) {
    machine.row64(1)[lane] = 1;
    machine.row64(1)[kLanes + lane] = 2;
    machine.row64(2)[lane] = 3;
    machine.row64(2)[kLanes + lane] = 4 + lane;
  }
  ASSERT_TRUE(machine.run(machine.op("atom.global.cas.b128", 16), 0x3));
  std::memcpy(memory, at(x->begin), 16);
  EXPECT_EQ(memory[0], 3u);
  EXPECT_EQ(memory[1], 4u);  // lane 0 swapped, lane 1 came too late
  EXPECT_EQ(machine.row64(0)[0], 1u);
  EXPECT_EQ(machine.row64(0)[kLanes + 1], 4u);
  ASSERT_TRUE(machine.run(machine.op("atom.exch.b128", 16), 0x1));
  std::memcpy(memory, at(x->begin), 16);
  EXPECT_EQ(memory[1], 2u);
  EXPECT_EQ(machine.row64(0)[kLanes], 4u);

  const std::uint16_t half = 7;
  std::memcpy(at(x->begin), &half, 2);
  machine.row32(1)[0] = 7;
  machine.row32(2)[0] = 9;
  ASSERT_TRUE(machine.run(machine.op("atom.global.cas.b16", 4), 0x1));
  EXPECT_EQ(machine.row32(0)[0], 7u);
  EXPECT_EQ(*reinterpret_cast<std::uint16_t*>(x->begin), 9u);
}

TEST(Atomic, ChecksAndStrength) {
  MemoryMachine machine;
  machine.record_races();
  const auto x = machine.allocate(256, "x", false);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin + 4 * lane;
  ASSERT_TRUE(machine.run(machine.op("atom.acq_rel.cta.global.exch.b32", 4), 0xf));
  EXPECT_EQ(machine.launch.marked, 0xfu);
  EXPECT_EQ(machine.finding(), nullptr);
  EXPECT_EQ(machine.launch.accesses.back().access.order, Order::acq_rel);
  EXPECT_EQ(machine.launch.accesses.back().access.scope, Scope::cta);
  EXPECT_EQ(machine.launch.accesses.back().access.values, nullptr);
  ASSERT_TRUE(machine.run(machine.op("red.global.add.u32", 4), 0xf));  // written by exch
  EXPECT_EQ(machine.finding(), nullptr);
  EXPECT_EQ(machine.launch.accesses.back().access.order, Order::relaxed);
  EXPECT_EQ(machine.launch.accesses.back().access.scope, Scope::gpu);
  EXPECT_TRUE(machine.launch.accesses.back().access.reads && machine.launch.accesses.back().access.writes);
  ASSERT_TRUE(machine.run(machine.op("red.global.add.u32", 4)));
  ASSERT_NE(machine.finding(), nullptr);
  EXPECT_EQ(machine.finding()->kind, FindingKind::uninitialized);
  EXPECT_EQ(machine.launch.last_lane_reported, 4);
  EXPECT_EQ(machine.finding()->address, x->begin + 16);
  machine.addresses()[9] = x->end();
  EXPECT_FALSE(machine.run(machine.op("red.global.add.u32", 4)));
  EXPECT_EQ(machine.launch.last_lane_reported, 9);
  machine.addresses()[9] = x->begin + 2;
  EXPECT_FALSE(machine.run(machine.op("red.global.add.u32", 4)));
  EXPECT_EQ(machine.launch.findings.entries().back().kind, FindingKind::misaligned);
  for (const char* text : {"red.acquire.gpu.global.add.u32", "red.global.exch.b32", "atom.global.add.b32",
                           "atom.global.inc.u64", "atom.local.add.u32", "red.shared.add.v2.f32"})
    EXPECT_EQ(machine.op(text, 4).run[0], nullptr) << text;
}

}  // namespace
}  // namespace gpuforge::sim
