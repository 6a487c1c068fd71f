// What NVRTC has built in, for clang: read before the first line of a kernel file when clang compiles it.
// Nothing here is needed or read by NVRTC.
//   prelude      attributes, threadIdx and its relatives, barriers, fences, clocks, printf, assert
//   vectors      float4 and its relatives, dim3
//   integers     __clz, __byte_perm, __dp4a, ...       floats    __fmaf_rn, __float2int_rz, __expf, ...
//   warp         shuffles, votes, matches, reductions  atomics   atomicAdd and its relatives
//   math         sqrtf, expf, sin, pow, ...            simd      __vadd2, __viaddmax_s32, ...
//   elementary, circular, errors, exact, gamma   what the functions of math are computed by
//   headers/     what <cuda_fp16.h>, <cooperative_groups.h> and others are here
// Functions carry no line information, so that an instruction belongs to the line that called for it.
#pragma once

#define __CUDACC_RTC__ 1
#define __CUDACC__ 1
// The release whose names these are.
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) \
  _Pragma("GCC error \"the clang front end has no clusters of blocks: compile with NVRTC\"")
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __restrict__ __restrict
// CUDA's compilers take alignas behind __shared__ too, where C++ has it first: as an attribute it may stand
// anywhere. Its argument is a number or a type.
namespace gpuforge_clang {
template <unsigned long kBytes>
constexpr unsigned long alignment() {
  return kBytes;
}
template <typename T>
constexpr unsigned long alignment() {
  return alignof(T);
}
}  // namespace gpuforge_clang
#define alignas(...) __attribute__((aligned(gpuforge_clang::alignment<__VA_ARGS__>())))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

typedef decltype(sizeof(0)) size_t;
typedef decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr)) ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
typedef long long clock_t;
namespace std {
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
template <typename T>
struct gpuforge_referred {
  using type = T;
};
template <typename T>
struct gpuforge_referred<T&> {
  using type = T;
};
template <typename T>
struct gpuforge_referred<T&&> {
  using type = T;
};
template <typename T>
__attribute__((device, always_inline, nodebug)) constexpr typename gpuforge_referred<T>::type&& move(
    T&& value) {
  return static_cast<typename gpuforge_referred<T>::type&&>(value);
}
template <typename T>
__attribute__((device, always_inline, nodebug)) constexpr T&& forward(
    typename gpuforge_referred<T>::type& value) {
  return static_cast<T&&>(value);
}
// What a list in braces is, as the compiler lays it out.
template <typename T>
class initializer_list {
 public:
  using value_type = T;
  using const_iterator = const T*;
  constexpr initializer_list() = default;
  __attribute__((device)) constexpr size_t size() const { return size_; }
  __attribute__((device)) constexpr const T* begin() const { return first_; }
  __attribute__((device)) constexpr const T* end() const { return first_ + size_; }

 private:
  const T* first_ = nullptr;
  size_t size_ = 0;
};
}  // namespace std

#define NULL 0

// nodebug: an instruction of an inlined function belongs to the line of the call.
#define GPUFORGE_INTRINSIC __attribute__((device, always_inline, nodebug)) inline
#define GPUFORGE_CORE __attribute__((device, nodebug)) inline

#include "gpuforge/kernels/clang/vectors.cuh"

// threadIdx.x reads %tid.x: members are properties, so no object exists.
#define GPUFORGE_PLACE(type, register, vector)                                                   \
  struct type {                                                                                  \
    __declspec(property(get = get_x)) unsigned x;                                                \
    __declspec(property(get = get_y)) unsigned y;                                                \
    __declspec(property(get = get_z)) unsigned z;                                                \
    static GPUFORGE_INTRINSIC unsigned get_x() { return __nvvm_read_ptx_sreg_##register##_x(); } \
    static GPUFORGE_INTRINSIC unsigned get_y() { return __nvvm_read_ptx_sreg_##register##_y(); } \
    static GPUFORGE_INTRINSIC unsigned get_z() { return __nvvm_read_ptx_sreg_##register##_z(); } \
    GPUFORGE_INTRINSIC operator dim3() const { return dim3(get_x(), get_y(), get_z()); }         \
    GPUFORGE_INTRINSIC operator uint3() const { return make_uint3(get_x(), get_y(), get_z()); }  \
  }
GPUFORGE_PLACE(gpuforge_thread_index, tid, uint3);
GPUFORGE_PLACE(gpuforge_block_index, ctaid, uint3);
GPUFORGE_PLACE(gpuforge_block_extent, ntid, dim3);
GPUFORGE_PLACE(gpuforge_grid_extent, nctaid, dim3);
#undef GPUFORGE_PLACE
extern const __device__ __attribute__((weak)) gpuforge_thread_index threadIdx;
extern const __device__ __attribute__((weak)) gpuforge_block_index blockIdx;
extern const __device__ __attribute__((weak)) gpuforge_block_extent blockDim;
extern const __device__ __attribute__((weak)) gpuforge_grid_extent gridDim;
inline constexpr int warpSize = 32;

extern "C" {
__device__ int printf(const char* format, ...);
__device__ int vprintf(const char* format, void* arguments);
__device__ __attribute__((noreturn)) void __assertfail(const char* expression, const char* file,
                                                       unsigned line, const char* function,
                                                       size_t char_bytes);
__device__ void* malloc(size_t bytes);
__device__ void free(void* memory);
__device__ void* memcpy(void* to, const void* from, size_t bytes);
__device__ void* memset(void* to, int value, size_t bytes);
}
#ifdef NDEBUG
#define assert(expression) static_cast<void>(0)
#else
#define assert(expression)             \
  ((expression) ? static_cast<void>(0) \
                : __assertfail(#expression, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif

// __syncthreads itself is clang's.
GPUFORGE_INTRINSIC int __syncthreads_count(int predicate) {
  return __nvvm_bar0_popc(predicate);
}
GPUFORGE_INTRINSIC int __syncthreads_and(int predicate) {
  return __nvvm_bar0_and(predicate);
}
GPUFORGE_INTRINSIC int __syncthreads_or(int predicate) {
  return __nvvm_bar0_or(predicate);
}
GPUFORGE_INTRINSIC void __syncwarp(unsigned mask = 0xffffffffu) {
  __nvvm_bar_warp_sync(mask);
}
GPUFORGE_INTRINSIC void __threadfence_block() {
  __nvvm_membar_cta();
}
GPUFORGE_INTRINSIC void __threadfence() {
  __nvvm_membar_gl();
}
GPUFORGE_INTRINSIC void __threadfence_system() {
  __nvvm_membar_sys();
}
GPUFORGE_INTRINSIC void __barrier_sync(unsigned id) {
  asm volatile("barrier.sync %0;" ::"r"(id) : "memory");
}
GPUFORGE_INTRINSIC void __barrier_sync_count(unsigned id, unsigned threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
GPUFORGE_INTRINSIC void __trap() {
  asm volatile("trap;");
}
GPUFORGE_INTRINSIC void __brkpt() {
  asm volatile("brkpt;");
}
GPUFORGE_INTRINSIC void __nanosleep(unsigned ns) {
  asm volatile("nanosleep.u32 %0;" ::"r"(ns));
}
GPUFORGE_INTRINSIC long long clock64() {
  long long ticks;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks)::"memory");
  return ticks;
}
GPUFORGE_INTRINSIC clock_t clock() {
  unsigned ticks;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks)::"memory");
  return static_cast<int>(ticks);
}
GPUFORGE_INTRINSIC unsigned long long __globaltimer() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}
GPUFORGE_INTRINSIC bool __isGlobal(const void* pointer) {
  return __nvvm_isspacep_global(pointer);
}
GPUFORGE_INTRINSIC bool __isShared(const void* pointer) {
  return __nvvm_isspacep_shared(pointer);
}
GPUFORGE_INTRINSIC bool __isConstant(const void* pointer) {
  return __nvvm_isspacep_const(pointer);
}
GPUFORGE_INTRINSIC bool __isLocal(const void* pointer) {
  return __nvvm_isspacep_local(pointer);
}
#define GPUFORGE_SPACE(space, ptx)                                           \
  GPUFORGE_INTRINSIC size_t __cvta_generic_to_##space(const void* pointer) { \
    size_t address;                                                          \
    asm("cvta.to." ptx ".u64 %0, %1;" : "=l"(address) : "l"(pointer));       \
    return address;                                                          \
  }                                                                          \
  GPUFORGE_INTRINSIC void* __cvta_##space##_to_generic(size_t address) {     \
    void* pointer;                                                           \
    asm("cvta." ptx ".u64 %0, %1;" : "=l"(pointer) : "l"(address));          \
    return pointer;                                                          \
  }
GPUFORGE_SPACE(shared, "shared")
GPUFORGE_SPACE(global, "global")
GPUFORGE_SPACE(local, "local")
GPUFORGE_SPACE(constant, "const")
#undef GPUFORGE_SPACE
GPUFORGE_INTRINSIC void* operator new(size_t, void* at) noexcept {
  return at;
}
GPUFORGE_INTRINSIC void* operator new[](size_t, void* at) noexcept {
  return at;
}

#include "gpuforge/kernels/clang/atomics.cuh"
#include "gpuforge/kernels/clang/floats.cuh"
#include "gpuforge/kernels/clang/integers.cuh"
#include "gpuforge/kernels/clang/math.cuh"
#include "gpuforge/kernels/clang/simd.cuh"
#include "gpuforge/kernels/clang/warp.cuh"

#undef GPUFORGE_INTRINSIC
#undef GPUFORGE_CORE
