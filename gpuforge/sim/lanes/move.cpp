// mov, with packing and unpacking; cvta and isspacep.
#include <algorithm>
#include <iterator>
#include <type_traits>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/lanes/elementwise.h"
#include "gpuforge/sim/lanes/lane_vector.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kHighRow = kLanes * sizeof(std::uint64_t);  // of 128 bits, after the low row

template <class T, bool kMasked>
void copy_row(const Warp& warp, std::uint32_t to, std::uint32_t from) {
  auto* d = row<T>(warp, to);
  const auto* a = row<T>(warp, from);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? a[lane] : d[lane];
}
template <class T, bool kMasked>
const Op* move(Warp& warp, const Op* op) {
  copy_row<T, kMasked>(warp, op->operand[0], op->operand[1]);
  return op + 1;
}
template <bool kMasked>
const Op* move_128(Warp& warp, const Op* op) {
  copy_row<std::uint64_t, kMasked>(warp, op->operand[0], op->operand[1]);
  copy_row<std::uint64_t, kMasked>(warp, op->operand[0] + kHighRow, op->operand[1] + kHighRow);
  return op + 1;
}
const Op* move_predicate(Warp& warp, const Op* op) {
  write_predicate(warp, op->operand[0], predicate(warp, op->operand[1]));
  return op + 1;
}
Handlers bind_move(const Match& match) {
  if (match.type == Type::b128) return {move_128<false>, move_128<true>};
  if (bits(match.type) == 64) return {move<std::uint64_t, false>, move<std::uint64_t, true>};
  return {move<std::uint32_t, false>, move<std::uint32_t, true>};
}

// Packing: kCount elements of kBits / kCount bits each. Elements of up to 32 bits are rows of words.
template <class Whole, class Part, int kCount, bool kMasked>
void pack_row(const Warp& warp, std::uint32_t to, const std::uint32_t* from) {
  constexpr int part_bits = static_cast<int>(sizeof(Whole)) * 8 / kCount;
  constexpr Part part_mask = static_cast<Part>(~Part{0}) >> (sizeof(Part) * 8 - part_bits);
  auto* d = row<Whole>(warp, to);
  const Part* parts[kCount];
  for (int i = 0; i < kCount; ++i) parts[i] = row<Part>(warp, from[i]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    Whole value = 0;
    for (int i = 0; i < kCount; ++i)
      value |= static_cast<Whole>(parts[i][lane] & part_mask) << (i * part_bits);
    d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : d[lane];
  }
}
template <class Whole, class Part, int kCount, bool kMasked>
void unpack_row(const Warp& warp, const std::uint32_t* to, std::uint32_t from) {
  constexpr int part_bits = static_cast<int>(sizeof(Whole)) * 8 / kCount;
  constexpr Part part_mask = static_cast<Part>(~Part{0}) >> (sizeof(Part) * 8 - part_bits);
  const auto* a = row<Whole>(warp, from);
  Part* parts[kCount];
  for (int i = 0; i < kCount; ++i) parts[i] = row<Part>(warp, to[i]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const Whole value = a[lane];  // before any part is written: the source may be one of them
    for (int i = 0; i < kCount; ++i) {
      const Part part = static_cast<Part>(value >> (i * part_bits)) & part_mask;
      parts[i][lane] = !kMasked || warp.lane_mask[lane] != 0 ? part : parts[i][lane];
    }
  }
}

// The number of elements is known by the op alone, so each width has one handler for 2 and 4. A vector of
// another length is refused where operands are decoded; here it would be our mistake.
template <int kWidth, bool kMasked>
const Op* pack(Warp& warp, const Op* op) {
  const std::uint32_t to = op->operand[0];
  const std::uint32_t* from = op->operand.data() + 1;
  using Word = std::uint32_t;
  using Long = std::uint64_t;
  if constexpr (kWidth == 16) {
    auto* d = row<Word>(warp, to);
    const auto* low = row<Word>(warp, from[0]);
    const auto* high = row<Word>(warp, from[1]);
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const Word value = (low[lane] & 0xff) | (high[lane] & 0xff) << 8;
      d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : d[lane];
    }
  } else if constexpr (kWidth == 128) {
    if (op->count == 2) {
      copy_row<Long, kMasked>(warp, to, from[0]);
      copy_row<Long, kMasked>(warp, to + kHighRow, from[1]);
    } else {
      pack_row<Long, Word, 2, kMasked>(warp, to, from);
      pack_row<Long, Word, 2, kMasked>(warp, to + kHighRow, from + 2);
    }
  } else {
    using Whole = std::conditional_t<kWidth == 64, Long, Word>;
    if (op->count == 2)
      pack_row<Whole, Word, 2, kMasked>(warp, to, from);
    else
      pack_row<Whole, Word, 4, kMasked>(warp, to, from);
  }
  return op + 1;
}
template <int kWidth, bool kMasked>
const Op* unpack(Warp& warp, const Op* op) {
  const std::uint32_t* to = op->operand.data();
  const std::uint32_t from = op->operand[op->count];
  using Word = std::uint32_t;
  using Long = std::uint64_t;
  if constexpr (kWidth == 16) {
    auto* low = row<Word>(warp, to[0]);
    auto* high = row<Word>(warp, to[1]);
    const auto* a = row<Word>(warp, from);
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const Word value = a[lane];
      const bool writes = !kMasked || warp.lane_mask[lane] != 0;
      low[lane] = writes ? value & 0xff : low[lane];
      high[lane] = writes ? value >> 8 & 0xff : high[lane];
    }
  } else if constexpr (kWidth == 128) {
    if (op->count == 2) {
      copy_row<Long, kMasked>(warp, to[0], from);
      copy_row<Long, kMasked>(warp, to[1], from + kHighRow);
    } else {
      unpack_row<Long, Word, 2, kMasked>(warp, to, from);
      unpack_row<Long, Word, 2, kMasked>(warp, to + 2, from + kHighRow);
    }
  } else {
    using Whole = std::conditional_t<kWidth == 64, Long, Word>;
    if (op->count == 2)
      unpack_row<Whole, Word, 2, kMasked>(warp, to, from);
    else
      unpack_row<Whole, Word, 4, kMasked>(warp, to, from);
  }
  return op + 1;
}
Handlers bind_pack(const Match& match) {
  switch (match.type) {
    case Type::b16:
      return {pack<16, false>, pack<16, true>};
    case Type::b32:
      return {pack<32, false>, pack<32, true>};
    case Type::b64:
      return {pack<64, false>, pack<64, true>};
    case Type::b128:
      return {pack<128, false>, pack<128, true>};
    default:
      return {};
  }
}
Handlers bind_unpack(const Match& match) {
  switch (match.type) {
    case Type::b16:
      return {unpack<16, false>, unpack<16, true>};
    case Type::b32:
      return {unpack<32, false>, unpack<32, true>};
    case Type::b64:
      return {unpack<64, false>, unpack<64, true>};
    case Type::b128:
      return {unpack<128, false>, unpack<128, true>};
    default:
      return {};
  }
}

// cvta: each space is a window of the generic addresses; global and constant memory are addressed as they
// are.
template <std::uint64_t kWindow, bool kTo>
struct Convert {
  using Result = std::uint64_t;
  using A = std::uint64_t;
  static Result apply(A a) { return kTo ? a - kWindow : a + kWindow; }
};
template <bool kTo>
Handlers bind_cvta(const Match& match) {
  // 32-bit addresses have no room for the windows: the low 32 bits, which no window changes.
  if (match.type == Type::u32) return {move<std::uint32_t, false>, move<std::uint32_t, true>};
  if (match.has("shared") || match.has("shared::cta") || match.has("shared::cluster"))
    return unary<Convert<kSharedWindow, kTo>>();
  if (match.has("local")) return unary<Convert<kLocalWindow, kTo>>();
  if (match.has("param") || match.has("param::entry")) return unary<Convert<kParamWindow, kTo>>();
  return {move<std::uint64_t, false>, move<std::uint64_t, true>};
}

bool in_window(std::uint64_t address, std::uint64_t window) {
  return address - window < kWindowBytes;
}
// Constant memory lies among the global allocations, which know that they are read-only.
bool in_constant(const Warp& warp, std::uint64_t address) {
  const auto& allocations = *warp.block->launch->allocations;
  const auto after =
      std::upper_bound(allocations.begin(), allocations.end(), address,
                       [](std::uint64_t value, const auto& allocation) { return value < allocation->begin; });
  if (after == allocations.begin()) return false;
  const Allocation& allocation = **std::prev(after);
  return allocation.read_only && address - allocation.begin < allocation.bytes;
}
template <Space kSpace>
bool in_space(const Warp& warp, std::uint64_t address) {
  if constexpr (kSpace == Space::shared) return in_window(address, kSharedWindow);
  if constexpr (kSpace == Space::local) return in_window(address, kLocalWindow);
  if constexpr (kSpace == Space::param) return in_window(address, kParamWindow);
  if constexpr (kSpace == Space::constant) return address < kSharedWindow && in_constant(warp, address);
  // A kernel's parameters are within the global window, by the manual.
  return in_window(address, kParamWindow) || (address < kSharedWindow && !in_constant(warp, address));
}
template <Space kSpace>
const Op* isspacep(Warp& warp, const Op* op) {
  Mask result = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((warp.active >> lane & 1) == 0) continue;
    const std::uint64_t address = op->source_bytes == 8 ? row<std::uint64_t>(warp, op->operand[1])[lane]
                                                        : row<std::uint32_t>(warp, op->operand[1])[lane];
    if (in_space<kSpace>(warp, address)) result |= Mask{1} << lane;
  }
  write_predicate(warp, op->operand[0], result);
  return op + 1;
}
template <Space kSpace>
Handlers bind_isspacep(const Match&) {
  return {isspacep<kSpace>, isspacep<kSpace>};
}

constexpr std::string_view kElements =
    "Elements have the instruction's width divided by their number, 2 or 4.";
constexpr std::string_view kNarrow = "With .u32 an address stays as it is.";

constexpr OpcodeRow kRows[] = {
    {"mov(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.b128) d:t, a:t", OpClass::move, bind_move},
    {"mov.pred p, a:pred", OpClass::move,
     [](const Match&) {
       return Handlers{move_predicate, move_predicate};
     }},
    {"mov(.b16|.b32|.b64|.b128) d:t, V:x", OpClass::move, bind_pack, kElements},
    {"mov(.b16|.b32|.b64|.b128) V:x, a:t", OpClass::move, bind_unpack, kElements},
    {"cvta(.global|.const|.shared|.shared::cta|.shared::cluster|.local|.param|.param::entry)(.u32|.u64) "
     "d:t, a:t",
     OpClass::move, bind_cvta<false>, kNarrow},
    {"cvta.to(.global|.const|.shared|.shared::cta|.shared::cluster|.local|.param|.param::entry)(.u32|.u64) "
     "d:t, a:t",
     OpClass::move, bind_cvta<true>, kNarrow},
    {"isspacep.global p, a:x", OpClass::move, bind_isspacep<Space::global>},
    {"isspacep.const p, a:x", OpClass::move, bind_isspacep<Space::constant>},
    {"isspacep(.shared|.shared::cta|.shared::cluster) p, a:x", OpClass::move, bind_isspacep<Space::shared>},
    {"isspacep.local p, a:x", OpClass::move, bind_isspacep<Space::local>},
    {"isspacep(.param|.param::entry) p, a:x", OpClass::move, bind_isspacep<Space::param>},
};

}  // namespace

std::span<const OpcodeRow> move_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
