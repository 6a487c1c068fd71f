// Moving values between rows of registers and cells of memory. A lane's cell is what the instruction loads or
// stores for it: one element, or the elements of a vector one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpuforge/sim/lanes/reach.h"

namespace gpuforge::sim {

struct Wide {  // b128: its row is two, the low halves before the high ones
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

template <class E, unsigned kElements>
struct Form {
  using Element = E;
  static constexpr unsigned kCount = kElements;
  static constexpr unsigned kBytes = sizeof(E) * kElements;
};

template <class F>
struct Cells {
  alignas(64) std::byte byte[kLanes * F::kBytes];
};

// A register narrower than its row keeps the rest of it zero.
inline std::uint32_t register_mask(const Op* op) {
  return op->register_bytes == 2 ? 0xffffu : op->register_bytes == 1 ? 0xffu : 0xffffffffu;
}

template <class Register, class Element>
Register widened(Element value, [[maybe_unused]] std::uint32_t mask) {
  if constexpr (std::is_signed_v<Element>) {
    const auto wide = static_cast<Register>(static_cast<std::make_signed_t<Register>>(value));
    if constexpr (sizeof(Register) == 4)
      return wide & mask;
    else
      return wide;
  } else {
    return static_cast<Register>(value);
  }
}

template <class Element>
Element element_at(const std::byte* cells, unsigned index) {
  Element value;
  std::memcpy(&value, cells + index * sizeof(Element), sizeof value);
  return value;
}

// Four rows of four lanes and four cells of four elements are each other's transpose.
using Quad = std::uint32_t __attribute__((vector_size(16)));
struct Quads {
  Quad quad[4];
};
inline Quads transposed(const Quads& from) {
  const Quad a = __builtin_shufflevector(from.quad[0], from.quad[1], 0, 4, 1, 5);
  const Quad b = __builtin_shufflevector(from.quad[0], from.quad[1], 2, 6, 3, 7);
  const Quad c = __builtin_shufflevector(from.quad[2], from.quad[3], 0, 4, 1, 5);
  const Quad d = __builtin_shufflevector(from.quad[2], from.quad[3], 2, 6, 3, 7);
  return {{__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
           __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)}};
}
template <class F, class Register>
inline constexpr bool kIsQuad = F::kCount == 4 && sizeof(typename F::Element) == 4 && sizeof(Register) == 4;

inline void quads_to_rows(const Warp& warp, const Op* op, const std::byte* cells) {
  std::byte* d[4];
  for (unsigned element = 0; element < 4; ++element) d[element] = row<std::byte>(warp, op->operand[element]);
  for (unsigned lane = 0; lane < kLanes; lane += 4) {
    Quads four;
    std::memcpy(&four, cells + lane * 16, sizeof four);
    four = transposed(four);
    for (unsigned element = 0; element < 4; ++element)
      std::memcpy(d[element] + lane * 4, &four.quad[element], 16);
  }
}
inline void rows_to_quads(const Warp& warp, const Op* op, std::byte* cells) {
  const std::byte* a[4];
  for (unsigned element = 0; element < 4; ++element) a[element] = row<std::byte>(warp, op->operand[element]);
  for (unsigned lane = 0; lane < kLanes; lane += 4) {
    Quads four;
    for (unsigned element = 0; element < 4; ++element)
      std::memcpy(&four.quad[element], a[element] + lane * 4, 16);
    four = transposed(four);
    std::memcpy(cells + lane * 16, &four, sizeof four);
  }
}

// kStep 1: one cell per lane; 0: one cell for all of them.
template <class F, class Register, unsigned kStep>
void fill_rows(const Warp& warp, const Op* op, const std::byte* cells) {
  using Element = typename F::Element;
  const std::uint32_t mask = register_mask(op);
  const bool full = warp.active == kAllLanes;
  if constexpr (kIsQuad<F, Register> && kStep == 1) {
    if (full) {
      quads_to_rows(warp, op, cells);
      return;
    }
  }
  for (unsigned element = 0; element < F::kCount; ++element) {
    Register* d = row<Register>(warp, op->operand[element]);
    if (full) [[likely]] {
#pragma GCC ivdep
      for (unsigned lane = 0; lane < kLanes; ++lane)
        d[lane] = widened<Register>(element_at<Element>(cells, lane * kStep * F::kCount + element), mask);
    } else {
      const LaneMask<Register> lanes(warp.active);
#pragma GCC ivdep
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto value =
            widened<Register>(element_at<Element>(cells, lane * kStep * F::kCount + element), mask);
        d[lane] = (value & lanes.lane[lane]) | (d[lane] & ~lanes.lane[lane]);
      }
    }
  }
}

template <class F, unsigned kStep>
void cells_to_rows(const Warp& warp, const Op* op, const std::byte* cells) {
  if constexpr (std::is_same_v<typename F::Element, Wide>) {
    std::uint64_t* low = row<std::uint64_t>(warp, op->operand[0]);
    for (Mask left = warp.active; left != 0; left &= left - 1) {
      const int lane = first_lane(left);
      const Wide value = element_at<Wide>(cells, static_cast<unsigned>(lane) * kStep);
      low[lane] = value.low;
      low[kLanes + lane] = value.high;
    }
  } else if (op->register_bytes == 8) {
    fill_rows<F, std::uint64_t, kStep>(warp, op, cells);
  } else if constexpr (sizeof(typename F::Element) <= 4) {
    fill_rows<F, std::uint32_t, kStep>(warp, op, cells);
  }
}

template <class F, class Register>
void fill_cells(const Warp& warp, const Op* op, std::byte* cells) {
  using Element = typename F::Element;
  if constexpr (kIsQuad<F, Register>) {
    rows_to_quads(warp, op, cells);
    return;
  }
  for (unsigned element = 0; element < F::kCount; ++element) {
    const Register* a = row<Register>(warp, op->operand[element]);
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<Element>(a[lane]);
      std::memcpy(cells + (lane * F::kCount + element) * sizeof value, &value, sizeof value);
    }
  }
}

// The cells of a store: the row itself where that is what they look like.
template <class F>
const std::byte* rows_to_cells(const Warp& warp, const Op* op, Cells<F>& cells) {
  using Element = typename F::Element;
  if constexpr (std::is_same_v<Element, Wide>) {
    const std::uint64_t* low = row<std::uint64_t>(warp, op->operand[0]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Wide value{low[lane], low[kLanes + lane]};
      std::memcpy(cells.byte + lane * sizeof value, &value, sizeof value);
    }
  } else if (op->register_bytes == 8) {
    if constexpr (F::kCount == 1 && sizeof(Element) == 8) return row<std::byte>(warp, op->operand[0]);
    fill_cells<F, std::uint64_t>(warp, op, cells.byte);
  } else if constexpr (sizeof(Element) <= 4) {
    if constexpr (F::kCount == 1 && sizeof(Element) == 4) return row<std::byte>(warp, op->operand[0]);
    fill_cells<F, std::uint32_t>(warp, op, cells.byte);
  }
  return cells.byte;
}

inline const std::byte* host_bytes(std::uint64_t address) {
  return reinterpret_cast<const std::byte*>(address);
}
inline std::byte* host_bytes_to_write(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

template <class F>
void load_target(const Warp& warp, const Op* op, const Target& target) {
  if (target.pattern == Pattern::contiguous && warp.active == kAllLanes) [[likely]] {
    cells_to_rows<F, 1>(warp, op, host_bytes(target.first));
    return;
  }
  if (target.pattern == Pattern::uniform) {
    cells_to_rows<F, 0>(warp, op, host_bytes(target.first));
    return;
  }
  const auto skipped = static_cast<unsigned>(first_lane(warp.active)) * F::kBytes;
  if (target.pattern == Pattern::contiguous && target.around) {
    cells_to_rows<F, 1>(warp, op, host_bytes(target.first - skipped));
    return;
  }
  Cells<F> cells;
  if (target.pattern == Pattern::contiguous) {
    std::memset(cells.byte, 0, sizeof cells.byte);
    std::memcpy(cells.byte + skipped, host_bytes(target.first),
                static_cast<unsigned>(std::popcount(warp.active)) * F::kBytes);
  } else {
    // Straight to the row where a cell is a register: reading back what was just stored in pieces stalls.
    constexpr bool kPlain =
        F::kCount == 1 && std::is_unsigned_v<typename F::Element> && sizeof(typename F::Element) >= 4;
    const bool direct = kPlain && warp.active == kAllLanes && op->register_bytes == F::kBytes;
    std::byte* to = direct ? row<std::byte>(warp, op->operand[0]) : cells.byte;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      std::memcpy(to + lane * F::kBytes, host_bytes(target.host[lane]), F::kBytes);
    if (direct) return;
  }
  cells_to_rows<F, 1>(warp, op, cells.byte);
}

// Where several lanes store to one place, the highest one's value stays.
template <unsigned kBytes>
void store_target(const Warp& warp, const std::byte* cells, const Target& target) {
  const Mask lanes = warp.active;
  if (target.pattern == Pattern::contiguous) {
    if (lanes == kAllLanes) [[likely]]
      std::memcpy(host_bytes_to_write(target.first), cells, kLanes * kBytes);
    else
      std::memcpy(host_bytes_to_write(target.first),
                  cells + static_cast<unsigned>(first_lane(lanes)) * kBytes,
                  static_cast<unsigned>(std::popcount(lanes)) * kBytes);
  } else if (target.pattern == Pattern::uniform) {
    std::memcpy(host_bytes_to_write(target.first), cells + static_cast<unsigned>(last_lane(lanes)) * kBytes,
                kBytes);
  } else if (lanes == kAllLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      std::memcpy(host_bytes_to_write(target.host[lane]), cells + lane * kBytes, kBytes);
  } else {
    for (Mask left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(first_lane(left));
      std::memcpy(host_bytes_to_write(target.host[lane]), cells + lane * kBytes, kBytes);
    }
  }
}

}  // namespace gpuforge::sim
