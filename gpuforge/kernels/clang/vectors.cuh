// Vector types with CUDA's names, alignment and make_ functions, and dim3. Part of the prelude for clang.
#pragma once

#define GPUFORGE_VECTORS(name, type, align2, align4)                                    \
  struct name##1 {                                                                      \
    type x;                                                                             \
  };                                                                                    \
  struct __attribute__((aligned(align2))) name##2 {                                     \
    type x, y;                                                                          \
  };                                                                                    \
  struct name##3 {                                                                      \
    type x, y, z;                                                                       \
  };                                                                                    \
  struct __attribute__((aligned(align4))) name##4 {                                     \
    type x, y, z, w;                                                                    \
  };                                                                                    \
  GPUFORGE_INTRINSIC constexpr name##1 make_##name##1(type x) {                         \
    return {x};                                                                         \
  }                                                                                     \
  GPUFORGE_INTRINSIC constexpr name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                                      \
  }                                                                                     \
  GPUFORGE_INTRINSIC constexpr name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                                                   \
  }                                                                                     \
  GPUFORGE_INTRINSIC constexpr name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                                                \
  }

GPUFORGE_VECTORS(char, signed char, 2, 4)
GPUFORGE_VECTORS(uchar, unsigned char, 2, 4)
GPUFORGE_VECTORS(short, short, 4, 8)
GPUFORGE_VECTORS(ushort, unsigned short, 4, 8)
GPUFORGE_VECTORS(int, int, 8, 16)
GPUFORGE_VECTORS(uint, unsigned, 8, 16)
GPUFORGE_VECTORS(long, long, 16, 16)
GPUFORGE_VECTORS(ulong, unsigned long, 16, 16)
GPUFORGE_VECTORS(longlong, long long, 16, 16)
GPUFORGE_VECTORS(ulonglong, unsigned long long, 16, 16)
GPUFORGE_VECTORS(float, float, 8, 16)
GPUFORGE_VECTORS(double, double, 16, 16)
#undef GPUFORGE_VECTORS

struct dim3 {
  unsigned x, y, z;
  GPUFORGE_INTRINSIC constexpr dim3(unsigned dx = 1, unsigned dy = 1, unsigned dz = 1)
      : x(dx), y(dy), z(dz) {}
  GPUFORGE_INTRINSIC constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  GPUFORGE_INTRINSIC constexpr operator uint3() const { return {x, y, z}; }
};
