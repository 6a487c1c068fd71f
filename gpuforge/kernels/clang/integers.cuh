// Integer intrinsics and loads with cache hints. Part of the prelude for clang.
#pragma once

GPUFORGE_INTRINSIC int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
GPUFORGE_INTRINSIC int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
GPUFORGE_INTRINSIC int __popc(unsigned x) {
  return __builtin_popcount(x);
}
GPUFORGE_INTRINSIC int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
GPUFORGE_INTRINSIC int __ffs(int x) {
  return __builtin_ffs(x);
}
GPUFORGE_INTRINSIC int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
GPUFORGE_INTRINSIC unsigned __brev(unsigned x) {
  return __builtin_bitreverse32(x);
}
GPUFORGE_INTRINSIC unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
GPUFORGE_INTRINSIC unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector & 0x7777u));
  return result;
}
GPUFORGE_INTRINSIC int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
GPUFORGE_INTRINSIC unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
GPUFORGE_INTRINSIC long long __mul64hi(long long a, long long b) {
  long long result;
  asm("mul.hi.s64 %0, %1, %2;" : "=l"(result) : "l"(a), "l"(b));
  return result;
}
GPUFORGE_INTRINSIC unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  unsigned long long result;
  asm("mul.hi.u64 %0, %1, %2;" : "=l"(result) : "l"(a), "l"(b));
  return result;
}
GPUFORGE_INTRINSIC int __mul24(int a, int b) {
  int result;
  asm("mul24.lo.s32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
GPUFORGE_INTRINSIC unsigned __umul24(unsigned a, unsigned b) {
  unsigned result;
  asm("mul24.lo.u32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
GPUFORGE_INTRINSIC unsigned __sad(int a, int b, unsigned c) {
  unsigned result;
  asm("sad.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
GPUFORGE_INTRINSIC unsigned __usad(unsigned a, unsigned b, unsigned c) {
  unsigned result;
  asm("sad.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
// The mean, rounded down or up, without overflow.
GPUFORGE_INTRINSIC int __hadd(int a, int b) {
  return (a & b) + ((a ^ b) >> 1);
}
GPUFORGE_INTRINSIC int __rhadd(int a, int b) {
  return (a | b) - ((a ^ b) >> 1);
}
GPUFORGE_INTRINSIC unsigned __uhadd(unsigned a, unsigned b) {
  return (a & b) + ((a ^ b) >> 1);
}
GPUFORGE_INTRINSIC unsigned __urhadd(unsigned a, unsigned b) {
  return (a | b) - ((a ^ b) >> 1);
}

#define GPUFORGE_FUNNEL(name, instruction)                                                \
  GPUFORGE_INTRINSIC unsigned name(unsigned low, unsigned high, unsigned shift) {         \
    unsigned result;                                                                      \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift)); \
    return result;                                                                        \
  }
GPUFORGE_FUNNEL(__funnelshift_l, "shf.l.wrap.b32")
GPUFORGE_FUNNEL(__funnelshift_lc, "shf.l.clamp.b32")
GPUFORGE_FUNNEL(__funnelshift_r, "shf.r.wrap.b32")
GPUFORGE_FUNNEL(__funnelshift_rc, "shf.r.clamp.b32")
#undef GPUFORGE_FUNNEL

#define GPUFORGE_DOT(name, instruction, type)                                    \
  GPUFORGE_INTRINSIC type name(type a, type b, type c) {                         \
    type result;                                                                 \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c)); \
    return result;                                                               \
  }
GPUFORGE_DOT(__dp4a, "dp4a.s32.s32", int)
GPUFORGE_DOT(__dp4a, "dp4a.u32.u32", unsigned)
GPUFORGE_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int)
GPUFORGE_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned)
GPUFORGE_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int)
GPUFORGE_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned)
#undef GPUFORGE_DOT
#define GPUFORGE_DOT(name, left, right, type)                                 \
  GPUFORGE_INTRINSIC type name(left a, right b, type c) {                     \
    return name(__builtin_bit_cast(type, a), __builtin_bit_cast(type, b), c); \
  }
GPUFORGE_DOT(__dp4a, char4, char4, int)
GPUFORGE_DOT(__dp4a, uchar4, uchar4, unsigned)
GPUFORGE_DOT(__dp2a_lo, short2, char4, int)
GPUFORGE_DOT(__dp2a_lo, ushort2, uchar4, unsigned)
GPUFORGE_DOT(__dp2a_hi, short2, char4, int)
GPUFORGE_DOT(__dp2a_hi, ushort2, uchar4, unsigned)
#undef GPUFORGE_DOT

#define GPUFORGE_MINMAX(minimum, maximum, left, right, type)                                          \
  GPUFORGE_INTRINSIC type minimum(left a, right b) {                                                  \
    return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b); \
  }                                                                                                   \
  GPUFORGE_INTRINSIC type maximum(left a, right b) {                                                  \
    return static_cast<type>(a) > static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b); \
  }
// Of one width, signed with unsigned is unsigned.
#define GPUFORGE_MINMAX_WIDTH(type)                                      \
  GPUFORGE_MINMAX(min, max, type, type, type)                            \
  GPUFORGE_MINMAX(min, max, unsigned type, unsigned type, unsigned type) \
  GPUFORGE_MINMAX(min, max, type, unsigned type, unsigned type)          \
  GPUFORGE_MINMAX(min, max, unsigned type, type, unsigned type)
GPUFORGE_MINMAX_WIDTH(int)
GPUFORGE_MINMAX_WIDTH(long)
GPUFORGE_MINMAX_WIDTH(long long)
GPUFORGE_MINMAX(umin, umax, unsigned, unsigned, unsigned)
GPUFORGE_MINMAX(llmin, llmax, long long, long long, long long)
GPUFORGE_MINMAX(ullmin, ullmax, unsigned long long, unsigned long long, unsigned long long)
#undef GPUFORGE_MINMAX_WIDTH
#undef GPUFORGE_MINMAX
// The least number stays as it is, as on the GPU.
#define GPUFORGE_ABS(name, type)                                                                         \
  GPUFORGE_INTRINSIC type name(type x) {                                                                 \
    return static_cast<type>(x < 0 ? 0 - static_cast<unsigned type>(x) : static_cast<unsigned type>(x)); \
  }
GPUFORGE_ABS(abs, int)
GPUFORGE_ABS(abs, long)
GPUFORGE_ABS(labs, long)
GPUFORGE_ABS(abs, long long)
GPUFORGE_ABS(llabs, long long)
#undef GPUFORGE_ABS

// Loads with a cache hint. Written in PTX, a word of up to 16 bytes each.
#define GPUFORGE_LOAD_WORDS(name, order, ...)                                                      \
  GPUFORGE_INTRINSIC void name(unsigned char& to, const void* from) {                              \
    unsigned word;                                                                                 \
    asm volatile(order ".u8 %0, [%1];" : "=r"(word) : "l"(from)__VA_ARGS__);                       \
    to = static_cast<unsigned char>(word);                                                         \
  }                                                                                                \
  GPUFORGE_INTRINSIC void name(unsigned short& to, const void* from) {                             \
    asm volatile(order ".u16 %0, [%1];" : "=h"(to) : "l"(from)__VA_ARGS__);                        \
  }                                                                                                \
  GPUFORGE_INTRINSIC void name(unsigned& to, const void* from) {                                   \
    asm volatile(order ".u32 %0, [%1];" : "=r"(to) : "l"(from)__VA_ARGS__);                        \
  }                                                                                                \
  GPUFORGE_INTRINSIC void name(unsigned long long& to, const void* from) {                         \
    asm volatile(order ".u64 %0, [%1];" : "=l"(to) : "l"(from)__VA_ARGS__);                        \
  }                                                                                                \
  GPUFORGE_INTRINSIC void name(ulonglong2& to, const void* from) {                                 \
    asm volatile(order ".v2.u64 {%0, %1}, [%2];" : "=l"(to.x), "=l"(to.y) : "l"(from)__VA_ARGS__); \
  }

namespace gpuforge_clang {
template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned;
};
template <>
struct Word<8> {
  using type = unsigned long long;
};
template <>
struct Word<16> {
  using type = ulonglong2;
};
GPUFORGE_LOAD_WORDS(load_nc, "ld.global.nc")
GPUFORGE_LOAD_WORDS(load_ca, "ld.global.ca", : "memory")
GPUFORGE_LOAD_WORDS(load_cg, "ld.global.cg", : "memory")
GPUFORGE_LOAD_WORDS(load_cs, "ld.global.cs", : "memory")
GPUFORGE_LOAD_WORDS(load_lu, "ld.global.lu", : "memory")
GPUFORGE_LOAD_WORDS(load_cv, "ld.global.cv", : "memory")
}  // namespace gpuforge_clang
#undef GPUFORGE_LOAD_WORDS

#define GPUFORGE_LOAD(name, load)                        \
  template <typename T>                                  \
  GPUFORGE_INTRINSIC T name(const T* from) {             \
    typename gpuforge_clang::Word<sizeof(T)>::type word; \
    gpuforge_clang::load(word, from);                    \
    return __builtin_bit_cast(T, word);                  \
  }
GPUFORGE_LOAD(__ldg, load_nc)
GPUFORGE_LOAD(__ldca, load_ca)
GPUFORGE_LOAD(__ldcg, load_cg)
GPUFORGE_LOAD(__ldcs, load_cs)
GPUFORGE_LOAD(__ldlu, load_lu)
GPUFORGE_LOAD(__ldcv, load_cv)
#undef GPUFORGE_LOAD

#define GPUFORGE_STORE(name, order)                                                                 \
  template <typename T>                                                                             \
  GPUFORGE_INTRINSIC void name(T* to, T value) {                                                    \
    const auto word = __builtin_bit_cast(typename gpuforge_clang::Word<sizeof(T)>::type, value);    \
    if constexpr (sizeof(T) == 1)                                                                   \
      asm volatile(order ".u8 [%0], %1;" ::"l"(to), "r"(static_cast<unsigned>(word)) : "memory");   \
    else if constexpr (sizeof(T) == 2)                                                              \
      asm volatile(order ".u16 [%0], %1;" ::"l"(to), "h"(word) : "memory");                         \
    else if constexpr (sizeof(T) == 4)                                                              \
      asm volatile(order ".u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");                         \
    else if constexpr (sizeof(T) == 8)                                                              \
      asm volatile(order ".u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");                         \
    else                                                                                            \
      asm volatile(order ".v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(word.x), "l"(word.y) : "memory"); \
  }
GPUFORGE_STORE(__stwb, "st.global.wb")
GPUFORGE_STORE(__stcg, "st.global.cg")
GPUFORGE_STORE(__stcs, "st.global.cs")
GPUFORGE_STORE(__stwt, "st.global.wt")
#undef GPUFORGE_STORE
