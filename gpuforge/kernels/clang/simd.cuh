// Two halfwords or four bytes of a word at once, and the minima and maxima of sums ("DPX"). Part of the
// prelude for clang.
#pragma once

namespace gpuforge_clang {

// `apply` to each lane of a and b as int; the low bits of its results make a word again.
template <int kLanes, bool kSigned, typename Apply>
GPUFORGE_INTRINSIC unsigned per_lane(unsigned a, unsigned b, Apply apply) {
  constexpr int kBits = 32 / kLanes;
  constexpr unsigned kMask = (1u << kBits) - 1;
  unsigned result = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int up = 32 - kBits - lane * kBits;
    const int x =
        kSigned ? static_cast<int>(a << up) >> (32 - kBits) : static_cast<int>((a << up) >> (32 - kBits));
    const int y =
        kSigned ? static_cast<int>(b << up) >> (32 - kBits) : static_cast<int>((b << up) >> (32 - kBits));
    result |= (static_cast<unsigned>(apply(x, y)) & kMask) << (lane * kBits);
  }
  return result;
}
GPUFORGE_INTRINSIC unsigned sum_of_lanes(unsigned word, int lanes) {
  unsigned sum = 0;
  for (int lane = 0; lane < lanes; ++lane)
    sum += (word >> (lane * 32 / lanes)) & (0xffffffffu >> (32 - 32 / lanes));
  return sum;
}

}  // namespace gpuforge_clang

// In `result`: lanes x and y, and the largest value of a lane, signed and unsigned.
#define GPUFORGE_LANES(name, lanes, sign, result)                                \
  GPUFORGE_INTRINSIC unsigned name##lanes(unsigned a, unsigned b) {              \
    return gpuforge_clang::per_lane<lanes, sign>(a, b, [](int x, int y) -> int { \
      [[maybe_unused]] constexpr int kMost = (1 << (32 / lanes - 1)) - 1;        \
      [[maybe_unused]] constexpr int kAll = 2 * kMost + 1;                       \
      return result;                                                             \
    });                                                                          \
  }
#define GPUFORGE_LANES_OF_ONE(name, lanes, result)                             \
  GPUFORGE_INTRINSIC unsigned name##lanes(unsigned a) {                        \
    return gpuforge_clang::per_lane<lanes, true>(a, 0, [](int x, int) -> int { \
      [[maybe_unused]] constexpr int kMost = (1 << (32 / lanes - 1)) - 1;      \
      return result;                                                           \
    });                                                                        \
  }
#define GPUFORGE_SIMD(name, sign, result) \
  GPUFORGE_LANES(name, 2, sign, result)   \
  GPUFORGE_LANES(name, 4, sign, result)
#define GPUFORGE_SIMD_OF_ONE(name, result) \
  GPUFORGE_LANES_OF_ONE(name, 2, result)   \
  GPUFORGE_LANES_OF_ONE(name, 4, result)
GPUFORGE_SIMD_OF_ONE(__vabs, x < 0 ? -x : x)
GPUFORGE_SIMD_OF_ONE(__vabsss, min(x < 0 ? -x : x, kMost))
GPUFORGE_SIMD_OF_ONE(__vneg, -x)
GPUFORGE_SIMD_OF_ONE(__vnegss, min(-x, kMost))
GPUFORGE_SIMD(__vadd, false, x + y)
GPUFORGE_SIMD(__vaddss, true, max(min(x + y, kMost), -kMost - 1))
GPUFORGE_SIMD(__vaddus, false, min(x + y, kAll))
GPUFORGE_SIMD(__vsub, false, x - y)
GPUFORGE_SIMD(__vsubss, true, max(min(x - y, kMost), -kMost - 1))
GPUFORGE_SIMD(__vsubus, false, max(x - y, 0))
GPUFORGE_SIMD(__vabsdiffs, true, x < y ? y - x : x - y)
GPUFORGE_SIMD(__vabsdiffu, false, x < y ? y - x : x - y)
GPUFORGE_SIMD(__vavgs, true, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)
GPUFORGE_SIMD(__vavgu, false, (x + y + 1) >> 1)
GPUFORGE_SIMD(__vhaddu, false, (x + y) >> 1)
GPUFORGE_SIMD(__vmaxs, true, max(x, y))
GPUFORGE_SIMD(__vmaxu, false, max(x, y))
GPUFORGE_SIMD(__vmins, true, min(x, y))
GPUFORGE_SIMD(__vminu, false, min(x, y))
#define GPUFORGE_COMPARE(name, sign, comparison)             \
  GPUFORGE_SIMD(__vcmp##name, sign, x comparison y ? -1 : 0) \
  GPUFORGE_SIMD(__vset##name, sign, x comparison y ? 1 : 0)
GPUFORGE_COMPARE(eq, false, ==)
GPUFORGE_COMPARE(ne, false, !=)
GPUFORGE_COMPARE(lts, true, <)
GPUFORGE_COMPARE(ltu, false, <)
GPUFORGE_COMPARE(les, true, <=)
GPUFORGE_COMPARE(leu, false, <=)
GPUFORGE_COMPARE(gts, true, >)
GPUFORGE_COMPARE(gtu, false, >)
GPUFORGE_COMPARE(ges, true, >=)
GPUFORGE_COMPARE(geu, false, >=)
#undef GPUFORGE_COMPARE
#undef GPUFORGE_SIMD
#undef GPUFORGE_SIMD_OF_ONE
#undef GPUFORGE_LANES_OF_ONE
#undef GPUFORGE_LANES
#define GPUFORGE_SADS(lanes)                                              \
  GPUFORGE_INTRINSIC unsigned __vsads##lanes(unsigned a, unsigned b) {    \
    return gpuforge_clang::sum_of_lanes(__vabsdiffs##lanes(a, b), lanes); \
  }                                                                       \
  GPUFORGE_INTRINSIC unsigned __vsadu##lanes(unsigned a, unsigned b) {    \
    return gpuforge_clang::sum_of_lanes(__vabsdiffu##lanes(a, b), lanes); \
  }
GPUFORGE_SADS(2)
GPUFORGE_SADS(4)
#undef GPUFORGE_SADS

// relu: not below zero. Sums wrap.
#define GPUFORGE_DPX_WORD(best, word, type, extra, finish)                                          \
  GPUFORGE_INTRINSIC type __viadd##best##_##word##extra(type a, type b, type c) {                   \
    return finish(best(static_cast<type>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c)); \
  }                                                                                                 \
  GPUFORGE_INTRINSIC type __vi##best##3_##word##extra(type a, type b, type c) {                     \
    return finish(best(best(a, b), c));                                                             \
  }
#define GPUFORGE_DPX_PAIR(best, word, lanes, extra, finish)                                       \
  GPUFORGE_INTRINSIC unsigned __viadd##best##_##word##extra(unsigned a, unsigned b, unsigned c) { \
    return finish(lanes(__vadd2(a, b), c));                                                       \
  }                                                                                               \
  GPUFORGE_INTRINSIC unsigned __vi##best##3_##word##extra(unsigned a, unsigned b, unsigned c) {   \
    return finish(lanes(lanes(a, b), c));                                                         \
  }
namespace gpuforge_clang {
GPUFORGE_INTRINSIC int relu(int x) {
  return max(x, 0);
}
GPUFORGE_INTRINSIC unsigned relu_2(unsigned x) {
  return __vmaxs2(x, 0);
}
}  // namespace gpuforge_clang
#define GPUFORGE_DPX(best)                                                      \
  GPUFORGE_DPX_WORD(best, s32, int, , )                                         \
  GPUFORGE_DPX_WORD(best, s32, int, _relu, gpuforge_clang::relu)                \
  GPUFORGE_DPX_WORD(best, u32, unsigned, , )                                    \
  GPUFORGE_DPX_PAIR(best, s16x2, __v##best##s2, , )                             \
  GPUFORGE_DPX_PAIR(best, s16x2, __v##best##s2, _relu, gpuforge_clang::relu_2)  \
  GPUFORGE_DPX_PAIR(best, u16x2, __v##best##u2, , )                             \
  GPUFORGE_INTRINSIC int __vi##best##_s32_relu(int a, int b) {                  \
    return gpuforge_clang::relu(best(a, b));                                    \
  }                                                                             \
  GPUFORGE_INTRINSIC unsigned __vi##best##_s16x2_relu(unsigned a, unsigned b) { \
    return gpuforge_clang::relu_2(__v##best##s2(a, b));                         \
  }
GPUFORGE_DPX(max)
GPUFORGE_DPX(min)
#undef GPUFORGE_DPX
#undef GPUFORGE_DPX_PAIR
#undef GPUFORGE_DPX_WORD

// And whether the first was taken.
#define GPUFORGE_DPX_WHICH(best, lanes, comparison)                                                \
  GPUFORGE_INTRINSIC int __vib##best##_s32(int a, int b, bool* first) {                            \
    *first = a comparison b;                                                                       \
    return best(a, b);                                                                             \
  }                                                                                                \
  GPUFORGE_INTRINSIC unsigned __vib##best##_u32(unsigned a, unsigned b, bool* first) {             \
    *first = a comparison b;                                                                       \
    return best(a, b);                                                                             \
  }                                                                                                \
  GPUFORGE_INTRINSIC unsigned __vib##best##_s16x2(unsigned a, unsigned b, bool* high, bool* low) { \
    *high = static_cast<short>(a >> 16) comparison static_cast<short>(b >> 16);                    \
    *low = static_cast<short>(a) comparison static_cast<short>(b);                                 \
    return lanes##s2(a, b);                                                                        \
  }                                                                                                \
  GPUFORGE_INTRINSIC unsigned __vib##best##_u16x2(unsigned a, unsigned b, bool* high, bool* low) { \
    *high = (a >> 16) comparison(b >> 16);                                                         \
    *low = (a & 0xffffu) comparison(b & 0xffffu);                                                  \
    return lanes##u2(a, b);                                                                        \
  }
GPUFORGE_DPX_WHICH(max, __vmax, >=)
GPUFORGE_DPX_WHICH(min, __vmin, <=)
#undef GPUFORGE_DPX_WHICH
