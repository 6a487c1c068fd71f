// Extended precision: add.cc addc sub.cc subc mad.cc madc. The carry flag is a mask like a predicate's, in
// the slot after the operands. A subtraction adds the complement: the flag is set when nothing was borrowed,
// as on the GPU. The manual calls it the borrow, but nvcc's 128-bit division reads it with addc.
#include "gpuforge/sim/lanes/integer_types.h"
#include "gpuforge/sim/lanes/lane_vector.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

enum class Product { none, low, high };  // what is added: an operand, or half of a product of two

template <class T, Product kProduct>
RowOf<T> addend(RowOf<T> a, RowOf<T> b) {
  if constexpr (kProduct == Product::low) return a * b;
  if constexpr (kProduct == Product::high)
    return to_row<T>(static_cast<T>((WiderOf<T>{from_row<T>(a)} * WiderOf<T>{from_row<T>(b)}) >> kBits<T>));
  return a;
}

template <class T, Product kProduct, bool kSubtract, bool kReads, bool kWrites>
struct CarryForm {
  using Row = RowOf<T>;
  template <bool kMasked>
  static const Op* run(Warp& warp, const Op* op) {
    constexpr int sources = kProduct == Product::none ? 2 : 3;
    auto* d = row<Row>(warp, op->operand[0]);
    const auto* a = row<Row>(warp, op->operand[1]);
    const auto* b = row<Row>(warp, op->operand[2]);
    const auto* c = row<Row>(warp, op->operand[sources]);  // the last source
    const std::uint32_t flag = op->operand[sources + 1];
    const Row carry_in = kReads ? predicate(warp, flag) : 0;
    alignas(64) std::int32_t carry[kLanes];
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const Row x = addend<T, kProduct>(a[lane], b[lane]);
      const Row y = c[lane];
      const Row in = kReads && ((carry_in & kLaneBits<Row>.bit[lane]) != 0) != kSubtract ? 1 : 0;
      const Row value = kSubtract ? x - y - in : x + y + in;
      if constexpr (kWrites) {
        const bool out =
            kSubtract ? (x < y) | ((x == y) & (in != 0)) : (value < x) | ((value == x) & (in != 0));
        carry[lane] = out != kSubtract ? -1 : 0;
      }
      d[lane] = !kMasked || warp.lane_mask[lane] != 0 ? value : d[lane];
    }
    if constexpr (kWrites) write_predicate(warp, flag, mask_of(carry));
    return op + 1;
  }
  static Handlers handlers() {
    return {run<false>, run<true>};
  }
};

template <Product kProduct, bool kSubtract, bool kReads>
Handlers bind(const Match& match) {
  // The flag is the unsigned carry whatever the type; only the high half of a product knows signs.
  const auto choose = [&]<class T>() -> Handlers {
    if constexpr (sizeof(T) == 2)
      return {};
    else if constexpr (kReads)
      return match.has("cc") ? CarryForm<T, kProduct, kSubtract, kReads, true>::handlers()
                             : CarryForm<T, kProduct, kSubtract, kReads, false>::handlers();
    else
      return CarryForm<T, kProduct, kSubtract, kReads, true>::handlers();
  };
  return kProduct == Product::high ? for_integer(match.type, choose) : for_width(match.type, choose);
}

constexpr OpcodeRow kRows[] = {
    {"add.cc(.u32|.s32|.u64|.s64) d:t, a:t, b:t, cc", OpClass::integer, bind<Product::none, false, false>},
    {"addc[.cc](.u32|.s32|.u64|.s64) d:t, a:t, b:t, cc", OpClass::integer, bind<Product::none, false, true>},
    {"sub.cc(.u32|.s32|.u64|.s64) d:t, a:t, b:t, cc", OpClass::integer, bind<Product::none, true, false>},
    {"subc[.cc](.u32|.s32|.u64|.s64) d:t, a:t, b:t, cc", OpClass::integer, bind<Product::none, true, true>},
    {"mad.lo.cc(.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t, cc", OpClass::integer,
     bind<Product::low, false, false>},
    {"mad.hi.cc(.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t, cc", OpClass::integer,
     bind<Product::high, false, false>},
    {"madc.lo[.cc](.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t, cc", OpClass::integer,
     bind<Product::low, false, true>},
    {"madc.hi[.cc](.u32|.s32|.u64|.s64) d:t, a:t, b:t, c:t, cc", OpClass::integer,
     bind<Product::high, false, true>},
};

}  // namespace

std::span<const OpcodeRow> carry_rows() {
  return kRows;
}

}  // namespace gpuforge::sim
