// Shuffles, votes, matches and reductions of a warp. Part of the prelude for clang.
#pragma once

// Values of 4 bytes move at once, 8 bytes as two halves. `c` packs the width and the clamp as PTX wants it.
#define GPUFORGE_SHUFFLE(name, builtin, clamp, lane_type)                                              \
  GPUFORGE_INTRINSIC int name(unsigned mask, int value, lane_type lane, int width = 32) {              \
    return builtin(mask, value, static_cast<int>(lane), ((32 - width) << 8) | clamp);                  \
  }                                                                                                    \
  GPUFORGE_INTRINSIC unsigned name(unsigned mask, unsigned value, lane_type lane, int width = 32) {    \
    return static_cast<unsigned>(name(mask, static_cast<int>(value), lane, width));                    \
  }                                                                                                    \
  GPUFORGE_INTRINSIC float name(unsigned mask, float value, lane_type lane, int width = 32) {          \
    return __builtin_bit_cast(float, name(mask, __builtin_bit_cast(int, value), lane, width));         \
  }                                                                                                    \
  GPUFORGE_INTRINSIC unsigned long long name(unsigned mask, unsigned long long value, lane_type lane,  \
                                             int width = 32) {                                         \
    const unsigned low = name(mask, static_cast<unsigned>(value), lane, width);                        \
    const unsigned high = name(mask, static_cast<unsigned>(value >> 32), lane, width);                 \
    return (static_cast<unsigned long long>(high) << 32) | low;                                        \
  }                                                                                                    \
  GPUFORGE_INTRINSIC long long name(unsigned mask, long long value, lane_type lane, int width = 32) {  \
    return static_cast<long long>(name(mask, static_cast<unsigned long long>(value), lane, width));    \
  }                                                                                                    \
  GPUFORGE_INTRINSIC unsigned long name(unsigned mask, unsigned long value, lane_type lane,            \
                                        int width = 32) {                                              \
    return name(mask, static_cast<unsigned long long>(value), lane, width);                            \
  }                                                                                                    \
  GPUFORGE_INTRINSIC long name(unsigned mask, long value, lane_type lane, int width = 32) {            \
    return static_cast<long>(name(mask, static_cast<unsigned long long>(value), lane, width));         \
  }                                                                                                    \
  GPUFORGE_INTRINSIC double name(unsigned mask, double value, lane_type lane, int width = 32) {        \
    return __builtin_bit_cast(double,                                                                  \
                              name(mask, __builtin_bit_cast(unsigned long long, value), lane, width)); \
  }
GPUFORGE_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 0x1f, int)
GPUFORGE_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0, unsigned)
GPUFORGE_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 0x1f, unsigned)
GPUFORGE_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 0x1f, int)
#undef GPUFORGE_SHUFFLE

GPUFORGE_INTRINSIC int __all_sync(unsigned mask, int predicate) {
  return __nvvm_vote_all_sync(mask, predicate != 0);
}
GPUFORGE_INTRINSIC int __any_sync(unsigned mask, int predicate) {
  return __nvvm_vote_any_sync(mask, predicate != 0);
}
GPUFORGE_INTRINSIC int __uni_sync(unsigned mask, int predicate) {
  return __nvvm_vote_uni_sync(mask, predicate != 0);
}
GPUFORGE_INTRINSIC unsigned __ballot_sync(unsigned mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
GPUFORGE_INTRINSIC unsigned __activemask() {
  unsigned mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
GPUFORGE_INTRINSIC unsigned __fns(unsigned mask, unsigned base, int offset) {
  unsigned result;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(mask), "r"(base), "r"(offset));
  return result;
}
GPUFORGE_INTRINSIC unsigned __lanemask_lt() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

#define GPUFORGE_MATCH(type, word, suffix)                                                      \
  GPUFORGE_INTRINSIC unsigned __match_any_sync(unsigned mask, type value) {                     \
    return __nvvm_match_any_sync_##suffix(mask, __builtin_bit_cast(word, value));               \
  }                                                                                             \
  GPUFORGE_INTRINSIC unsigned __match_all_sync(unsigned mask, type value, int* predicate) {     \
    return __nvvm_match_all_sync_##suffix##p(mask, __builtin_bit_cast(word, value), predicate); \
  }
GPUFORGE_MATCH(int, unsigned, i32)
GPUFORGE_MATCH(unsigned, unsigned, i32)
GPUFORGE_MATCH(float, unsigned, i32)
GPUFORGE_MATCH(long, unsigned long, i64)
GPUFORGE_MATCH(unsigned long, unsigned long, i64)
GPUFORGE_MATCH(long long, unsigned long, i64)
GPUFORGE_MATCH(unsigned long long, unsigned long, i64)
GPUFORGE_MATCH(double, unsigned long, i64)
#undef GPUFORGE_MATCH

#define GPUFORGE_REDUCE(name, instruction, type)                                                   \
  GPUFORGE_INTRINSIC type name(unsigned mask, type value) {                                        \
    type result;                                                                                   \
    asm volatile("redux.sync." instruction " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask)); \
    return result;                                                                                 \
  }
GPUFORGE_REDUCE(__reduce_add_sync, "add.s32", int)
GPUFORGE_REDUCE(__reduce_add_sync, "add.u32", unsigned)
GPUFORGE_REDUCE(__reduce_min_sync, "min.s32", int)
GPUFORGE_REDUCE(__reduce_min_sync, "min.u32", unsigned)
GPUFORGE_REDUCE(__reduce_max_sync, "max.s32", int)
GPUFORGE_REDUCE(__reduce_max_sync, "max.u32", unsigned)
GPUFORGE_REDUCE(__reduce_and_sync, "and.b32", unsigned)
GPUFORGE_REDUCE(__reduce_or_sync, "or.b32", unsigned)
GPUFORGE_REDUCE(__reduce_xor_sync, "xor.b32", unsigned)
#undef GPUFORGE_REDUCE
