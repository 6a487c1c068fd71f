// Atomics: CUDA's names over clang's built-in functions, which find the memory space by themselves. Without a
// suffix they hold for the device, _block for the block, _system for everyone. Part of the prelude for clang.
#pragma once

// One operation in its three scopes; `word` is what the built-in function works on. The other scopes are PTX:
// for minima and maxima of unsigned words clang's built-in functions of a scope compare them as signed.
#define GPUFORGE_ATOMIC(name, type, word, operation, suffix, ptx, c)                                    \
  GPUFORGE_INTRINSIC type name(type* at, type value) {                                                  \
    return static_cast<type>(                                                                           \
        __nvvm_atom_##operation##_gen_##suffix(reinterpret_cast<word*>(at), static_cast<word>(value))); \
  }                                                                                                     \
  GPUFORGE_INTRINSIC type name##_block(type* at, type value) {                                          \
    type old;                                                                                           \
    asm volatile("atom.cta." ptx " %0, [%1], %2;" : "=" c(old) : "l"(at), c(value) : "memory");         \
    return old;                                                                                         \
  }                                                                                                     \
  GPUFORGE_INTRINSIC type name##_system(type* at, type value) {                                         \
    type old;                                                                                           \
    asm volatile("atom.sys." ptx " %0, [%1], %2;" : "=" c(old) : "l"(at), c(value) : "memory");         \
    return old;                                                                                         \
  }
#define GPUFORGE_ATOMIC_INTEGERS(name, operation)                                             \
  GPUFORGE_ATOMIC(name, int, int, operation, i, #operation ".b32", "r")                       \
  GPUFORGE_ATOMIC(name, unsigned, int, operation, i, #operation ".b32", "r")                  \
  GPUFORGE_ATOMIC(name, unsigned long long, long long, operation, ll, #operation ".b64", "l") \
  GPUFORGE_ATOMIC(name, long long, long long, operation, ll, #operation ".b64", "l")

GPUFORGE_ATOMIC(atomicAdd, int, int, add, i, "add.s32", "r")
GPUFORGE_ATOMIC(atomicAdd, unsigned, int, add, i, "add.u32", "r")
GPUFORGE_ATOMIC(atomicAdd, unsigned long long, long long, add, ll, "add.u64", "l")
GPUFORGE_ATOMIC(atomicAdd, float, float, add, f, "add.f32", "f")
GPUFORGE_ATOMIC(atomicAdd, double, double, add, d, "add.f64", "d")
GPUFORGE_ATOMIC_INTEGERS(atomicAnd, and)
GPUFORGE_ATOMIC_INTEGERS(atomicOr, or)
GPUFORGE_ATOMIC_INTEGERS(atomicXor, xor)
GPUFORGE_ATOMIC(atomicExch, int, int, xchg, i, "exch.b32", "r")
GPUFORGE_ATOMIC(atomicExch, unsigned, int, xchg, i, "exch.b32", "r")
GPUFORGE_ATOMIC(atomicExch, unsigned long long, long long, xchg, ll, "exch.b64", "l")
GPUFORGE_ATOMIC(atomicMin, int, int, min, i, "min.s32", "r")
GPUFORGE_ATOMIC(atomicMin, unsigned, unsigned, min, ui, "min.u32", "r")
GPUFORGE_ATOMIC(atomicMin, long long, long long, min, ll, "min.s64", "l")
GPUFORGE_ATOMIC(atomicMin, unsigned long long, unsigned long long, min, ull, "min.u64", "l")
GPUFORGE_ATOMIC(atomicMax, int, int, max, i, "max.s32", "r")
GPUFORGE_ATOMIC(atomicMax, unsigned, unsigned, max, ui, "max.u32", "r")
GPUFORGE_ATOMIC(atomicMax, long long, long long, max, ll, "max.s64", "l")
GPUFORGE_ATOMIC(atomicMax, unsigned long long, unsigned long long, max, ull, "max.u64", "l")
GPUFORGE_ATOMIC(atomicInc, unsigned, unsigned, inc, ui, "inc.u32", "r")
GPUFORGE_ATOMIC(atomicDec, unsigned, unsigned, dec, ui, "dec.u32", "r")
#undef GPUFORGE_ATOMIC
#undef GPUFORGE_ATOMIC_INTEGERS

#define GPUFORGE_ATOMIC_REST(scope)                                                                      \
  GPUFORGE_INTRINSIC int atomicSub##scope(int* at, int value) {                                          \
    return atomicAdd##scope(at, -value);                                                                 \
  }                                                                                                      \
  GPUFORGE_INTRINSIC unsigned atomicSub##scope(unsigned* at, unsigned value) {                           \
    return atomicAdd##scope(at, 0u - value);                                                             \
  }                                                                                                      \
  GPUFORGE_INTRINSIC float atomicExch##scope(float* at, float value) {                                   \
    return __builtin_bit_cast(                                                                           \
        float, atomicExch##scope(reinterpret_cast<unsigned*>(at), __builtin_bit_cast(unsigned, value))); \
  }
GPUFORGE_ATOMIC_REST()
GPUFORGE_ATOMIC_REST(_block)
GPUFORGE_ATOMIC_REST(_system)
#undef GPUFORGE_ATOMIC_REST

#define GPUFORGE_ATOMIC_CAS(name, scope, type, ptx, c)                \
  GPUFORGE_INTRINSIC type name(type* at, type expected, type value) { \
    type old;                                                         \
    asm volatile("atom" scope ".cas." ptx " %0, [%1], %2, %3;"        \
                 : "=" c(old)                                         \
                 : "l"(at), c(expected), c(value)                     \
                 : "memory");                                         \
    return old;                                                       \
  }
#define GPUFORGE_ATOMIC_CAS_TYPES(name, scope)                     \
  GPUFORGE_ATOMIC_CAS(name, scope, int, "b32", "r")                \
  GPUFORGE_ATOMIC_CAS(name, scope, unsigned, "b32", "r")           \
  GPUFORGE_ATOMIC_CAS(name, scope, unsigned long long, "b64", "l") \
  GPUFORGE_ATOMIC_CAS(name, scope, unsigned short, "b16", "h")
GPUFORGE_ATOMIC_CAS_TYPES(atomicCAS_block, ".cta")
GPUFORGE_ATOMIC_CAS_TYPES(atomicCAS_system, ".sys")
#undef GPUFORGE_ATOMIC_CAS
#undef GPUFORGE_ATOMIC_CAS_TYPES
GPUFORGE_INTRINSIC int atomicCAS(int* at, int expected, int value) {
  return __nvvm_atom_cas_gen_i(at, expected, value);
}
GPUFORGE_INTRINSIC unsigned atomicCAS(unsigned* at, unsigned expected, unsigned value) {
  return static_cast<unsigned>(
      atomicCAS(reinterpret_cast<int*>(at), static_cast<int>(expected), static_cast<int>(value)));
}
GPUFORGE_INTRINSIC unsigned long long atomicCAS(unsigned long long* at, unsigned long long expected,
                                                unsigned long long value) {
  return static_cast<unsigned long long>(__nvvm_atom_cas_gen_ll(
      reinterpret_cast<long long*>(at), static_cast<long long>(expected), static_cast<long long>(value)));
}
GPUFORGE_INTRINSIC unsigned short atomicCAS(unsigned short* at, unsigned short expected,
                                            unsigned short value) {
  unsigned short old;
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(at), "h"(expected), "h"(value) : "memory");
  return old;
}
