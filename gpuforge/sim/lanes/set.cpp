// set: a comparison whose result is a number, all ones or 1.0 where it holds, 0 elsewhere.
#include "gpuforge/sim/lanes/comparison.h"

namespace gpuforge::sim {
namespace {

// Comparisons are few, the forms built on them many: each comparison stays one function.
template <class Source, Relation kRelation>
[[gnu::noinline]] Mask comparison_mask(const Warp& warp, const Op* op) {
  return compared<Source, kRelation>(warp, op, 1);
}

// `one` in the lanes of a mask, for the low half and the high one; inactive lanes are kept.
[[gnu::noinline]] const Op* write_numbers(const Warp& warp, const Op* op, Mask low, Mask high,
                                          std::uint32_t one, std::uint32_t one_high) {
  auto* d = row<std::uint32_t>(warp, op->operand[0]);
  const Mask active = warp.active;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const Mask bit = kLaneBits<std::uint32_t>.bit[lane];
    const std::uint32_t value = ((low & bit) != 0 ? one : 0) | ((high & bit) != 0 ? one_high : 0);
    d[lane] = (active & bit) != 0 ? value : d[lane];
  }
  return op + 1;
}

template <class Source, Relation kRelation, bool kNegated, Combine kCombine, std::uint32_t kOne>
const Op* set(Warp& warp, const Op* op) {
  const Mask c = kCombine == Combine::none ? 0 : predicate(warp, op->operand[3]);
  const auto result = [&]<class Part>() {
    const Mask mask = comparison_mask<Part, kRelation>(warp, op);
    return combined<kCombine>(kNegated ? ~mask : mask, c);
  };
  if constexpr (IsPair<Source>)
    return write_numbers(warp, op, result.template operator()<typename Source::Low>(),
                         result.template operator()<typename Source::High>(), kOne, kOne << 16);
  else
    return write_numbers(warp, op, result.template operator()<Source>(), 0, kOne, 0);
}

constexpr std::uint32_t kOnes32 = 0xffffffffu;
constexpr std::uint32_t kOnes16 = 0xffffu;
constexpr std::uint32_t kOneF32 = 0x3f800000u;
constexpr std::uint32_t kOneF16 = 0x3c00u;
constexpr std::uint32_t kOneBf16 = 0x3f80u;

template <class Source, std::uint32_t kOne>
Handlers set_of(const ComparisonForm& form) {
  return for_comparison<Source>(form.comparison, [&]<Relation kRelation, bool kNegated>() {
    return for_combine(form.combine, []<Combine kCombine>() -> Handlers {
      constexpr Handler handler = set<Source, kRelation, kNegated, kCombine, kOne>;
      return {handler, handler};
    });
  });
}

template <class Source>
constexpr bool kIsHalf = false;
template <bool kHigh>
constexpr bool kIsHalf<Bf16Source<kHigh>> = true;
template <bool kHigh, bool kFlush>
constexpr bool kIsHalf<F16Source<kHigh, kFlush>> = true;

}  // namespace

Handlers bind_set(const Match& match) {
  const ComparisonForm form = comparison_form(match);
  if (!form.valid) return {};
  const Type result = match.other_type;
  const Type source = match.type;
  return for_source(source, form.flush, [&]<class Source>() -> Handlers {
    if constexpr (IsPair<Source>) {
      if (result == Type::u32 || result == Type::s32) return set_of<Source, kOnes16>(form);
      if (result != source) return {};
      if (result == Type::f16x2) return set_of<Source, kOneF16>(form);
      return set_of<Source, kOneBf16>(form);
    } else {
      if (result == Type::u32 || result == Type::s32) return set_of<Source, kOnes32>(form);
      if (result == Type::bf16) return set_of<Source, kOneBf16>(form);
      if (result == Type::f16 && source != Type::bf16) return set_of<Source, kOneF16>(form);
      if constexpr (kIsHalf<Source>) {
        if (result == Type::u16 || result == Type::s16) return set_of<Source, kOnes16>(form);
      } else {
        if (result == Type::f32) return set_of<Source, kOneF32>(form);
      }
      return {};
    }
  });
}

}  // namespace gpuforge::sim
