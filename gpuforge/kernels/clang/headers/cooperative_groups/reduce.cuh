// What clang gets for <cooperative_groups/reduce.h>.
#pragma once

#include "gpuforge/kernels/clang/headers/cooperative_groups.cuh"

namespace cooperative_groups {

#define GPUFORGE_GROUP __attribute__((device, always_inline, nodebug)) inline
#define GPUFORGE_OPERATOR(name, result)                            \
  template <typename T>                                            \
  struct name {                                                    \
    GPUFORGE_GROUP T operator()(T a, T b) const { return result; } \
  };
GPUFORGE_OPERATOR(plus, a + b)
GPUFORGE_OPERATOR(less, b < a ? b : a)
GPUFORGE_OPERATOR(greater, a < b ? b : a)
GPUFORGE_OPERATOR(bit_and, a& b)
GPUFORGE_OPERATOR(bit_or, a | b)
GPUFORGE_OPERATOR(bit_xor, a ^ b)
#undef GPUFORGE_OPERATOR

// Every thread gets the result.
template <unsigned kSize, typename Parent, typename T, typename Operator>
GPUFORGE_GROUP T reduce(const thread_block_tile<kSize, Parent>& group, T value, Operator&& apply) {
  for (unsigned step = kSize / 2; step > 0; step /= 2) value = apply(value, group.shfl_xor(value, step));
  return value;
}
template <typename T, typename Operator>
GPUFORGE_GROUP T reduce(const coalesced_group& group, T value, Operator&& apply) {
  T all = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) all = apply(all, group.shfl(value, rank));
  return all;
}
#undef GPUFORGE_GROUP

}  // namespace cooperative_groups
