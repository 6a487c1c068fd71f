#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpuforge/base/format.h"
#include "gpuforge/sim/lanes/memory_machine_for_tests.h"
#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

struct Random {
  std::mt19937 engine;
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
  std::uint32_t below(std::uint32_t limit) { return (*this)() % limit; }
};

bool has(Mask mask, unsigned lane) {
  return ((mask >> lane) & 1u) != 0;
}
std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

struct TypeCase {
  const char* name;
  unsigned bytes;
  bool is_signed;
};
constexpr TypeCase kTypes[] = {{"b8", 1, false},  {"u8", 1, false},  {"s8", 1, true},   {"b16", 2, false},
                               {"u16", 2, false}, {"s16", 2, true},  {"b32", 4, false}, {"u32", 4, false},
                               {"s32", 4, true},  {"f32", 4, false}, {"b64", 8, false}, {"s64", 8, true},
                               {"u64", 8, false}, {"f64", 8, false}};

std::uint64_t extended(const std::byte* from, const TypeCase& type, unsigned register_bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, type.bytes);
  if (type.is_signed && ((value >> (8 * type.bytes - 1)) & 1u) != 0)
    for (unsigned byte = type.bytes; byte < register_bytes; ++byte)
      value |= std::uint64_t{0xff} << (8 * byte);
  return value;
}

Mask random_mask(Random& random) {
  switch (random.below(5)) {
    case 0:
      return random();
    case 1:
      return kAllLanes >> random.below(32);
    case 2:
      return (kAllLanes >> random.below(16)) & (kAllLanes << random.below(16));
    default:
      return kAllLanes;
  }
}

std::vector<std::uint64_t> random_units(Random& random, std::uint32_t room) {
  std::vector<std::uint64_t> unit(kLanes);
  const std::uint32_t kind = random.below(5);
  const std::uint32_t start = random.below(room - 32);
  const std::uint32_t step = random.below(room / 32);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    unit[lane] = random.below(room);
    if (kind == 1) unit[lane] = start + lane;
    if (kind == 2) unit[lane] = start;
    if (kind == 3) unit[lane] = lane * step;
    if (kind == 4) unit[lane] = start / 2 + random.below(8);
  }
  return unit;
}

// Loads and stores of every type, width, space and pattern against bytes moved one at a time.
TEST(LoadStore, AgainstBytes) {
  Random random{std::mt19937(1)};
  constexpr const char* kSpaces[] = {"", ".global", ".shared", ".local"};
  constexpr const char* kStrengths[] = {"", ".volatile", ".weak"};
  for (int round = 0; round < 8000; ++round) {
    MemoryMachine machine;
    const TypeCase type = kTypes[random.below(std::size(kTypes))];
    const unsigned count = 1u << random.below(type.bytes == 8 ? 2 : 3);
    const unsigned bytes = type.bytes * count;
    const std::uint32_t space = random.below(4);
    const bool is_load = random.below(2) == 0;
    unsigned register_bytes = std::max(type.bytes, 2u << random.below(3));
    if (random.below(2) == 0) register_bytes = std::max(type.bytes, 4u);
    const std::string text =
        format_text("{}{}{}{}.{}", is_load ? "ld" : "st", kStrengths[random.below(3)], kSpaces[space],
                    count == 1 ? "" : format_text(".v{}", count), type.name);
    Op op = machine.op(text, static_cast<std::uint8_t>(register_bytes));
    ASSERT_NE(op.run[0], nullptr) << text;
    SCOPED_TRACE(format_text("round {} {} into {} bytes", round, text, register_bytes));

    const auto memory = machine.allocate(4096, "x", random.below(2) == 0, random.below(2) * 32);
    // Where generic addresses point: 0 global, 2 shared, 3 local.
    std::uint32_t real = space == 0 ? (random.below(3) + 1) : space;
    std::vector<std::byte> before(real == 3 ? MemoryMachine::kThreads * MemoryMachine::kLocalStride : 4096);
    for (std::byte& one : before) one = static_cast<std::byte>(random());
    std::byte* base = real == 1 ? at(memory->begin) : real == 2 ? machine.block.shared : machine.block.local;
    std::memcpy(base, before.data(), before.size());
    machine.warp.index = random.below(2);
    const auto unit = random_units(random, (real == 3 ? MemoryMachine::kLocalStride : 4096) / bytes > 32
                                               ? (real == 3 ? MemoryMachine::kLocalStride : 4096) / bytes
                                               : 33);
    const Mask active = random_mask(random);
    const std::uint64_t window = space != 0  ? (real == 1 ? memory->begin : 0)
                                 : real == 1 ? memory->begin
                                 : real == 2 ? kSharedWindow
                                             : kLocalWindow;
    op.immediate = random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(4096)) - 2048;
    op.address_bytes = space >= 2 && random.below(2) == 0 ? 4 : 8;
    std::vector<std::uint64_t> place(kLanes);  // of the lane's bytes in `before`
    bool inside = true;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t offset = unit[lane] * bytes;
      if (has(active, lane) && real == 3 && offset + bytes > MemoryMachine::kLocalStride) inside = false;
      place[lane] = offset + (real == 3 ? (machine.warp.index * 32 + lane) * MemoryMachine::kLocalStride : 0);
      // Lanes that take no part point nowhere.
      const std::uint64_t address =
          (has(active, lane) ? window + offset : random()) - static_cast<std::uint64_t>(op.immediate);
      if (op.address_bytes == 8)
        machine.addresses()[lane] = address;
      else
        machine.addresses32()[lane] = static_cast<std::uint32_t>(address);
    }
    if (!inside) continue;
    for (unsigned element = 0; element < count; ++element)
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (register_bytes == 8)
          machine.row64(element)[lane] = (std::uint64_t{random()} << 32) | random();
        else
          machine.row32(element)[lane] = register_bytes == 2 ? random() & 0xffff : random();
      }
    std::vector<std::uint64_t> old(kLanes * count);
    const auto value = [&](unsigned element, unsigned lane) {
      return register_bytes == 8 ? machine.row64(element)[lane] : machine.row32(element)[lane];
    };
    for (unsigned i = 0; i < kLanes * count; ++i) old[i] = value(i % count, i / count);

    ASSERT_TRUE(machine.run(op, active));
    EXPECT_EQ(machine.finding(), nullptr);
    std::vector<std::byte> expected = before;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned element = 0; element < count; ++element) {
        std::uint64_t wanted = old[lane * count + element];
        if (has(active, lane) && is_load)
          wanted = extended(before.data() + place[lane] + element * type.bytes, type, register_bytes);
        else if (has(active, lane))
          std::memcpy(expected.data() + place[lane] + element * type.bytes, &wanted, type.bytes);
        ASSERT_EQ(value(element, lane), wanted) << "lane " << lane << " element " << element;
      }
    ASSERT_EQ(std::memcmp(base, expected.data(), expected.size()), 0);

    // Counters and written bits.
    std::set<std::uint64_t> sectors, useful;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned byte = 0; has(active, lane) && byte < bytes; ++byte) {
        useful.insert(place[lane] + byte);
        const std::uint64_t local = unit[lane] * bytes + byte;
        sectors.insert(real == 3 ? (local / 4 * 32 + lane) / 8 : (memory->begin + place[lane] + byte) / 32);
      }
    const SiteCounters& counters = machine.counters();
    EXPECT_EQ(counters.requests, active != 0 ? 1u : 0u);
    EXPECT_EQ(counters.requested_bytes, static_cast<unsigned>(std::popcount(active)) * bytes);
    EXPECT_EQ(counters.useful_bytes, useful.size());
    EXPECT_EQ(counters.sectors, real == 2 ? 0 : sectors.size());
    EXPECT_EQ(counters.wavefronts > 0, real == 2 && active != 0);
    EXPECT_LE(counters.ideal_wavefronts, counters.wavefronts);
    const std::uint64_t* bits = real == 1   ? memory->initialized.get()
                                : real == 2 ? machine.block.shared_initialized
                                            : machine.block.local_initialized;
    const bool tracked = real != 1 || !memory->initialized_whole;
    EXPECT_EQ(machine.launch.marked, is_load && tracked ? active : 0u);
    if (tracked) {
      for (std::uint64_t byte = 0; byte < before.size(); ++byte)
        ASSERT_EQ(all_written(bits, byte, 1), !is_load && useful.contains(byte)) << byte;
    }
  }
}

TEST(LoadStore, LastByteAndOnePast) {
  MemoryMachine machine;
  const auto x = machine.allocate(4096, "x", true);
  const Op load = machine.op("ld.global.u8", 4);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->end() - 32 + lane;
  EXPECT_TRUE(machine.run(load));
  for (unsigned lane = 0; lane < kLanes; ++lane) ++machine.addresses()[lane];
  EXPECT_TRUE(machine.run(load, 0x7fffffff));
  EXPECT_FALSE(machine.run(load));
  ASSERT_NE(machine.finding(), nullptr);
  EXPECT_EQ(machine.finding()->kind, FindingKind::out_of_bounds);
  EXPECT_EQ(machine.launch.last_lane_reported, 31);
  EXPECT_EQ(machine.finding()->space, "global");
  EXPECT_EQ(machine.finding()->address, x->end());
  EXPECT_NE(machine.finding()->message.find("right past the end of x, 4096 bytes at 0x"), std::string::npos)
      << machine.finding()->message;
}

TEST(LoadStore, NamesTheNearestAllocation) {
  const auto message = [](std::int64_t from_begin, const char* text) {
    MemoryMachine machine;
    const auto x = machine.allocate(4096, "x", true);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      machine.addresses()[lane] = x->begin + static_cast<std::uint64_t>(from_begin);
    EXPECT_FALSE(machine.run(machine.op(text, 4)));
    return machine.finding()->message;
  };
  EXPECT_NE(message(4108, "ld.global.u32").find("load of 4 bytes"), std::string::npos);
  EXPECT_NE(message(4108, "ld.global.u32").find("12 bytes past the end of x"), std::string::npos);
  EXPECT_NE(message(-1, "st.global.u8").find("1 byte before x"), std::string::npos);
  EXPECT_NE(message(4094, "st.global.u32").find("with 2 bytes past the end of x"), std::string::npos);
}

TEST(LoadStore, StraddlingTwoAllocations) {
  MemoryMachine machine;
  alignas(256) static std::byte memory[512];
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  machine.memory.add(begin, 64, "low", true);
  machine.memory.add(begin + 64, 128, "high", true);
  machine.refresh();
  machine.record_races();
  // Lanes of one access may lie in two neighbours; the bytes of one lane may not.
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = begin + 4 * lane;
  EXPECT_TRUE(machine.run(machine.op("ld.global.u32", 4)));
  ASSERT_EQ(machine.launch.accesses.size(), 2u);
  EXPECT_EQ(machine.launch.accesses[0].allocation, "low");
  EXPECT_EQ(machine.launch.accesses[0].access.lanes, 0xffffu);
  EXPECT_EQ(machine.launch.accesses[1].allocation, "high");
  EXPECT_EQ(machine.launch.accesses[1].access.lanes, 0xffff0000u);
  EXPECT_EQ(machine.counters().requests, 1u);
  EXPECT_EQ(machine.counters().sectors, 4u);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = begin + 60;
  EXPECT_FALSE(machine.run(machine.op("ld.global.u64", 8)));
  EXPECT_EQ(machine.finding()->kind, FindingKind::out_of_bounds);
}

TEST(LoadStore, Misaligned) {
  for (const char* text : {"ld.global.v4.u32", "ld.v4.u32", "ld.shared.v4.u32", "st.local.v4.u32"}) {
    for (const unsigned wrong : {0u, 5u, 31u}) {
      MemoryMachine machine;
      const auto x = machine.allocate(4096, "x", true);
      const Op op = machine.op(text, 4);
      const bool global = op.space == Space::global || op.space == Space::generic;
      for (unsigned lane = 0; lane < kLanes; ++lane)
        machine.addresses()[lane] =
            (global ? x->begin : 0) + (op.space == Space::local ? 16 : 16 * lane) + (lane >= wrong ? 8 : 0);
      EXPECT_TRUE(machine.run(op, 0));
      EXPECT_FALSE(machine.run(op)) << text;
      EXPECT_EQ(machine.finding()->kind, FindingKind::misaligned);
      EXPECT_EQ(machine.finding()->bytes, 16u);
      EXPECT_EQ(machine.launch.last_lane_reported, static_cast<int>(wrong));
      EXPECT_TRUE(machine.launch.failed);
    }
  }
}

TEST(LoadStore, UseAfterFree) {
  MemoryMachine machine;
  const auto x = machine.allocate(4096, "x", true);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin + 4 * lane;
  machine.free(*x);
  EXPECT_FALSE(machine.run(machine.op("ld.global.u32", 4)));
  EXPECT_EQ(machine.finding()->kind, FindingKind::use_after_free);
  EXPECT_NE(machine.finding()->message.find("freed: x, 4096 bytes"), std::string::npos);
}

TEST(LoadStore, OutsideTheOtherSpaces) {
  struct Case {
    const char* text;
    std::uint64_t address;
    const char* space;
    const char* message;
  };
  for (const Case& one :
       {Case{"ld.shared.u32", 4096, "shared", "4096 bytes"},
        Case{"ld.shared.u32", std::uint64_t(-4), "shared", "offset -4"},
        Case{"ld.u32", kSharedWindow - 4, "shared", "offset -4"},
        Case{"st.local.u32", 256, "local", "256 bytes"},
        Case{"ld.u32", kLocalWindow + 256, "local", "256 bytes"},
        Case{"ld.param.u32", 64, "param", "64 bytes"}, Case{"ld.u32", kParamWindow + 64, "param", "64 bytes"},
        Case{"ld.global.u32", kSharedWindow, "global", "no allocation"},
        Case{"ld.u32", 0, "global", "null pointer"}}) {
    MemoryMachine machine;
    for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = one.address;
    EXPECT_FALSE(machine.run(machine.op(one.text, 4))) << one.text;
    EXPECT_EQ(machine.finding()->kind, FindingKind::out_of_bounds);
    EXPECT_EQ(machine.finding()->space, one.space);
    EXPECT_EQ(machine.finding()->address, one.address);
    EXPECT_NE(machine.finding()->message.find(one.message), std::string::npos) << machine.finding()->message;
  }
}

TEST(LoadStore, ReadOnly) {
  MemoryMachine machine;
  const auto table = machine.allocate(256, "table", true);
  table->read_only = true;
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = table->begin + 4 * lane;
  EXPECT_TRUE(machine.run(machine.op("ld.const.u32", 4)));
  EXPECT_EQ(machine.counters().requests, 0u);
  EXPECT_FALSE(machine.run(machine.op("st.u32", 4)));
  EXPECT_EQ(machine.finding()->kind, FindingKind::read_only);
  MemoryMachine other;
  for (unsigned lane = 0; lane < kLanes; ++lane) other.addresses()[lane] = kParamWindow;
  EXPECT_TRUE(other.run(other.op("ld.u32", 4)));
  EXPECT_FALSE(other.run(other.op("st.u32", 4)));
  EXPECT_EQ(other.finding()->kind, FindingKind::read_only);
}

TEST(LoadStore, GenericAddressesOfSeveralSpaces) {
  MemoryMachine machine;
  const auto x = machine.allocate(4096, "x", true);
  const Op load = machine.op("ld.u32", 4);
  const Op store = machine.op("st.u32", 4);
  std::uint32_t* expected[kLanes] = {};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::byte* place[] = {at(x->begin + 4 * lane), machine.block.shared + 4 * lane,
                          machine.block.local + lane * MemoryMachine::kLocalStride + 8};
    const std::uint64_t address[] = {x->begin + 4 * lane, kSharedWindow + 4 * lane, kLocalWindow + 8};
    expected[lane] = reinterpret_cast<std::uint32_t*>(place[lane % 3]);
    machine.addresses()[lane] = address[lane % 3];
    machine.row32(0)[lane] = 100 + lane;
  }
  const Mask active = 0xfffff7f1;
  ASSERT_TRUE(machine.run(store, active));
  EXPECT_EQ(machine.counters().requests, 1u);
  EXPECT_EQ(machine.counters().useful_bytes, 4u * static_cast<unsigned>(std::popcount(active)));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(*expected[lane], has(active, lane) ? 100 + lane : 0);
    machine.row32(0)[lane] = 7;
  }
  ASSERT_TRUE(machine.run(load, active));
  for (unsigned lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(machine.row32(0)[lane], has(active, lane) ? 100 + lane : 7);
  EXPECT_EQ(machine.launch.marked, 0u);
}

TEST(LoadStore, ParametersAndWideValues) {
  MemoryMachine machine;
  for (unsigned byte = 0; byte < 64; ++byte) machine.launch.params[byte] = static_cast<std::byte>(byte);
  Op load = machine.op("ld.param.u64", 8);
  load.has_address_row = false;
  load.immediate = 8;
  ASSERT_TRUE(machine.run(load, 0x0000ffff));
  EXPECT_EQ(machine.row64(0)[15], 0x0f0e0d0c0b0a0908u);
  EXPECT_EQ(machine.row64(0)[16], 0u);

  const auto x = machine.allocate(1024, "x", true);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.addresses()[lane] = x->begin + 16 * (31 - lane);
    machine.row64(0)[lane] = lane;
    machine.row64(0)[kLanes + lane] = 1000 + lane;
  }
  ASSERT_TRUE(machine.run(machine.op("st.global.b128", 16)));
  std::uint64_t pair[2];
  std::memcpy(pair, at(x->begin + 16 * 30), 16);
  EXPECT_EQ(pair[0], 1u);
  EXPECT_EQ(pair[1], 1001u);
  std::memset(machine.row64(0), 0, 512);
  ASSERT_TRUE(machine.run(machine.op("ld.relaxed.gpu.global.b128", 16), 0x80000001));
  EXPECT_EQ(machine.row64(0)[31], 31u);
  EXPECT_EQ(machine.row64(0)[kLanes + 31], 1031u);
  EXPECT_EQ(machine.row64(0)[kLanes + 1], 0u);
}

TEST(LoadStore, ArgumentsOfCalls) {
  MemoryMachine machine;
  machine.launch.function_params.resize(kLanes * 24);
  Op store = machine.op("st.param::func.v2.u32", 4);
  store.immediate = 8;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.row32(0)[lane] = lane;
    machine.row32(1)[lane] = 50 + lane;
  }
  ASSERT_TRUE(machine.run(store, 0xfffffffe));
  Op load = machine.op("ld.param::func.u32", 4);
  load.immediate = 12;
  ASSERT_TRUE(machine.run(load));
  EXPECT_EQ(machine.row32(0)[0], 0u);
  EXPECT_EQ(machine.row32(0)[31], 81u);
}

TEST(LoadStore, SeveralLanesInOnePlace) {
  MemoryMachine machine;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.addresses()[lane] = 64;
    machine.row32(0)[lane] = lane;
  }
  ASSERT_TRUE(machine.run(machine.op("st.shared.u32", 4), 0x00ffff00));
  std::uint32_t value = 0;
  std::memcpy(&value, machine.block.shared + 64, 4);
  EXPECT_EQ(value, 23u);
}

TEST(LoadStore, TellsTheRaceDetector) {
  MemoryMachine machine;
  machine.record_races();
  const auto x = machine.allocate(4096, "x", true);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    machine.addresses()[lane] = x->begin + 8 * lane + 16;
    machine.row32(0)[lane] = lane;
    machine.row32(1)[lane] = 90 + lane;
  }
  ASSERT_TRUE(machine.run(machine.op("st.release.cta.global.v2.u32", 4), 0xfffffff0));
  ASSERT_TRUE(machine.run(machine.op("st.global.v2.u32", 4), 0xfffffff0));
  ASSERT_TRUE(machine.run(machine.op("ld.volatile.global.v2.u32", 4), 0xfffffff0));
  ASSERT_EQ(machine.launch.accesses.size(), 3u);
  const SeenAccess& released = machine.launch.accesses[0];
  EXPECT_EQ(released.access.order, Order::release);
  EXPECT_EQ(released.access.scope, Scope::cta);
  EXPECT_TRUE(released.access.writes);
  EXPECT_FALSE(released.access.reads);
  const SeenAccess& weak = machine.launch.accesses[1];
  EXPECT_EQ(weak.access.pattern, Pattern::contiguous);
  EXPECT_EQ(weak.access.order, Order::weak);
  EXPECT_EQ(weak.access.lanes, 0xfffffff0u);
  for (unsigned lane = 4; lane < kLanes; ++lane) {
    EXPECT_EQ(weak.address[lane], x->begin + 8 * lane + 16);
    std::uint32_t pair[2];
    std::memcpy(pair, weak.values.data() + 8 * lane, 8);
    EXPECT_EQ(pair[0], lane);
    EXPECT_EQ(pair[1], 90 + lane);
  }
  EXPECT_EQ(machine.launch.accesses[2].access.order, Order::relaxed);
  EXPECT_EQ(machine.launch.accesses[2].access.scope, Scope::sys);
  EXPECT_TRUE(machine.launch.accesses[2].access.reads);
}

TEST(LoadStore, MarkedValues) {
  MemoryMachine machine;
  machine.warp.mode = Mode::tracked;
  const auto x = machine.allocate(4096, "x", true);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin + 8 * lane;
  machine.launch.marked_data[1] = 0x10;
  ASSERT_TRUE(machine.run(machine.op("st.global.v2.u32", 4), 0xf));
  EXPECT_EQ(machine.finding(), nullptr);
  ASSERT_TRUE(machine.run(machine.op("st.global.v2.u32", 4)));
  ASSERT_NE(machine.finding(), nullptr);
  EXPECT_EQ(machine.finding()->kind, FindingKind::uninitialized);
  EXPECT_EQ(machine.launch.last_lane_reported, 4);
  EXPECT_FALSE(machine.launch.failed);

  MemoryMachine local;
  local.warp.mode = Mode::tracked;
  local.launch.marked_data[1] = 0x10;
  for (unsigned lane = 0; lane < kLanes; ++lane) local.addresses()[lane] = 64;
  ASSERT_TRUE(local.run(local.op("st.local.v2.u32", 4)));
  EXPECT_EQ(local.finding(), nullptr);
  ASSERT_TRUE(local.run(local.op("ld.local.v2.u32", 4)));
  EXPECT_EQ(local.launch.marked, 0x10u);
  local.launch.marked = 0;
  ASSERT_TRUE(local.run(local.op("ld.local.u32", 4)));
  EXPECT_EQ(local.launch.marked, 0u);

  MemoryMachine address;
  address.warp.mode = Mode::tracked;
  address.launch.marked_address = 0x6;
  for (unsigned lane = 0; lane < kLanes; ++lane) address.addresses()[lane] = 4 * lane;
  ASSERT_TRUE(address.run(address.op("st.shared.u32", 4), 0x1));
  EXPECT_EQ(address.finding(), nullptr);
  ASSERT_TRUE(address.run(address.op("st.shared.u32", 4)));
  EXPECT_EQ(address.finding()->kind, FindingKind::uninitialized);
  EXPECT_EQ(address.launch.last_lane_reported, 1);
  address.launch.checks.initialized = false;
}

TEST(LoadStore, CopiesOfWhatWasNeverWritten) {
  MemoryMachine machine;
  machine.warp.mode = Mode::tracked;
  machine.launch.computed = false;
  machine.launch.marked_data[1] = 0x10;
  const auto x = machine.allocate(4096, "x", false);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin + 8 * lane;
  ASSERT_TRUE(machine.run(machine.op("st.global.v2.u32", 4)));  // a part of what lane 4 stores
  EXPECT_EQ(machine.finding(), nullptr);
  EXPECT_TRUE(all_written(x->initialized.get(), 0, 8 * 4 + 4));
  EXPECT_FALSE(all_written(x->initialized.get(), 8 * 4 + 4, 1));
  EXPECT_TRUE(all_written(x->initialized.get(), 8 * 5, 8 * 27));
  machine.launch.marked_data[0] = 0x20;
  machine.launch.unwritten_bits[0] = 0xffffff00;  // one byte of the word is there
  machine.launch.beside = true;
  ASSERT_TRUE(machine.run(machine.op("st.global.u32", 4)));
  EXPECT_EQ(machine.finding(), nullptr);
  EXPECT_TRUE(all_written(x->initialized.get(), 8 * 5, 1));
  EXPECT_FALSE(all_written(x->initialized.get(), 8 * 5 + 1, 1));
  machine.launch.beside = false;
  machine.launch.unwritten_bits[0] = 0xfffffffe;  // a part of a byte: no padding
  ASSERT_TRUE(machine.run(machine.op("st.global.u32", 4)));
  ASSERT_NE(machine.finding(), nullptr);
  EXPECT_EQ(machine.launch.last_lane_reported, 5);

  MemoryMachine shared;
  shared.warp.mode = Mode::tracked;
  shared.launch.computed = false;
  shared.launch.marked_data[0] = 0x3;
  shared.launch.unwritten_bits[0] = 0xffffff0f;  // bits of a byte, and three bytes
  for (unsigned lane = 0; lane < kLanes; ++lane) shared.addresses()[lane] = 4 * (lane / 2);
  ASSERT_TRUE(shared.run(shared.op("st.shared.u32", 4), 0xfffffff9));  // lane 0 alone at its place
  EXPECT_EQ(shared.finding(), nullptr);
  ASSERT_TRUE(shared.run(shared.op("ld.shared.u32", 4)));
  EXPECT_EQ(shared.launch.marked, 0x3u);
  EXPECT_EQ(shared.launch.marked_beside, 0x3u);
  EXPECT_EQ(shared.launch.marked_bytes[0], (std::vector<std::uint8_t>{0x0f, 0xff, 0xff, 0xff}));
  shared.launch.marked = 0;
  shared.launch.marked_data[0] = 0x1;  // the other lane at the same place wins
  ASSERT_TRUE(shared.run(shared.op("st.shared.u32", 4)));
  ASSERT_TRUE(shared.run(shared.op("ld.shared.u32", 4)));
  EXPECT_EQ(shared.launch.marked, 0u);
  shared.launch.computed = true;
  ASSERT_TRUE(shared.run(shared.op("st.shared.u32", 4)));
  EXPECT_NE(shared.finding(), nullptr);
}

// Bytes alone in a word that was not written otherwise, and bytes beside others.
TEST(LoadStore, BesideWhatWasWritten) {
  MemoryMachine machine;
  machine.block.shared_initialized[0] = 0x1;
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = lane;
  ASSERT_TRUE(machine.run(machine.op("ld.shared.u8", 4)));
  EXPECT_EQ(machine.launch.marked, ~1u);
  EXPECT_EQ(machine.launch.marked_beside, 0xeu);
}

TEST(LoadStore, SwitchedOff) {
  MemoryMachine machine;
  machine.launch.checks = {false, false, false};
  machine.launch.counters.clear();
  const auto x = machine.allocate(4096, "x", false);
  for (unsigned lane = 0; lane < kLanes; ++lane) machine.addresses()[lane] = x->begin + 4 * (lane * 7 % 32);
  ASSERT_TRUE(machine.run(machine.op("ld.u32", 4)));
  EXPECT_EQ(machine.launch.marked, 0u);
  machine.addresses()[3] = kSharedWindow;
  ASSERT_TRUE(machine.run(machine.op("ld.u32", 4)));
  machine.addresses()[3] = x->end();
  EXPECT_FALSE(machine.run(machine.op("ld.u32", 4)));
}

TEST(LoadStore, WhatTheTablesTake) {
  MemoryMachine machine;
  for (const char* text : {"ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v4.f32",
                           "ld.global.ca.nc.u32",
                           "ld.acquire.sys.u64",
                           "ld.mmio.relaxed.sys.global.u32",
                           "ldu.global.v4.f32",
                           "ld.param::entry.u32",
                           "ld.shared::cta.u16",
                           "st.wt.u32",
                           "st.relaxed.cluster.shared.u32",
                           "st.global.L1::evict_last.L2::evict_first.u8",
                           "ld.global.v8.f32",
                           "ld.global.v4.f64",
                           "prefetch.global.L2",
                           "prefetchu.L1",
                           "cp.async.bulk.prefetch.L2.global",
                           "prefetch.L1",
                           "discard.global.L2",
                           "applypriority.global.L2::evict_normal",
                           "createpolicy.fractional.L2::evict_last.b64",
                           "createpolicy.cvt.L2.b64"})
    EXPECT_NE(machine.op(text, 4).run[0], nullptr) << text;
  for (const char* text :
       {"ld.shared.v8.f32", "ld.global.v8.u16", "ld.global.v2.b128", "ld.nc.u32", "ld.relaxed.u32",
        "st.const.u32", "ld.global", "ld.global.pred", "st.acquire.gpu.u32", "ld.shared::cluster.u32",
        "ld.global.v3.f32", "ld.local.v4.f64"})
    EXPECT_EQ(machine.op(text, 4).run[0], nullptr) << text;
}

}  // namespace
}  // namespace gpuforge::sim
