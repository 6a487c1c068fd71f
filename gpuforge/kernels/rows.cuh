// Rows of arrays of any rank and strides, for kernels that do something along one axis; NVRTC needs no CUDA
// header for it. The host's side, which makes a Rows and chooses widths, is gpuforge/ops/rows.h.
//   row_offsets(rows, r)                         where row r begins in each array
//   visit_row<kVector, kFlight>(row, length, thread, threads, visit)     a row of neighbours
//   visit_strided<kFlight>(row, stride, length, thread, threads, visit)  any row
//     call visit(at, values) for the elements the thread has, as `float values[1]` or `float values[kVector]`
//     that begin at element `at`; kFlight loads are under way at once. NVRTC takes no generic lambda, so
//     visit is a struct with: template <int kCount> __device__ void operator()(long long at, float
//     (&values)[kCount])
//   load_vector, store_vector                    neighbours as floats, an instruction of up to 16 bytes each
#pragma once

#include "gpuforge/kernels/half.cuh"
#include "gpuforge/kernels/moved.cuh"

namespace gpuforge {

constexpr int kMaxOuterRank = 15;
constexpr int kWarp = 32;

// The axis of `length` elements, and every other axis, merged where all arrays allow it: outermost first.
// Strides count elements. Pass it as `const __grid_constant__ Rows<k>`, so that it is not copied.
template <int kArrays>
struct Rows {
  long long length;
  long long count;  // rows: the product of the extents
  long long extents[kMaxOuterRank];
  long long strides[kArrays][kMaxOuterRank];
  long long axis_strides[kArrays];
  int rank;
};

template <int kArrays>
struct RowOffsets {
  long long at[kArrays];
};

namespace rows {

// Dividing 64-bit numbers takes some four times as long as 32-bit ones.
template <typename Index, int kArrays>
__device__ inline RowOffsets<kArrays> offsets(const Rows<kArrays>& all, Index row) {
  RowOffsets<kArrays> result;
#pragma unroll
  for (int a = 0; a < kArrays; ++a) result.at[a] = 0;
  for (int d = all.rank - 1; d > 0; --d) {
    const Index extent = static_cast<Index>(all.extents[d]);
    const Index outer = row / extent;
    const long long at = static_cast<long long>(row - outer * extent);
#pragma unroll
    for (int a = 0; a < kArrays; ++a) result.at[a] += at * all.strides[a][d];
    row = outer;
  }
  if (all.rank > 0) {
#pragma unroll
    for (int a = 0; a < kArrays; ++a) result.at[a] += static_cast<long long>(row) * all.strides[a][0];
  }
  return result;
}

// Several words in one instruction, to global memory. Written out: from `if (whole) store a vector; else
// store its first element`, compilers make a store of that element for both and two more of what is left.
__device__ inline void store_words(unsigned* to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ inline void store_words(unsigned* to, unsigned a, unsigned b) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(a), "r"(b)
               : "memory");
}

__device__ inline void unpack(half_t& low, half_t& high, unsigned word) {
  low.bits = static_cast<unsigned short>(word);
  high.bits = static_cast<unsigned short>(word >> 16);
}
__device__ inline void unpack(bfloat16_t& low, bfloat16_t& high, unsigned word) {
  low.bits = static_cast<unsigned short>(word);
  high.bits = static_cast<unsigned short>(word >> 16);
}
__device__ inline unsigned pack(half_t, float low, float high) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ inline unsigned pack(bfloat16_t, float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

}  // namespace rows

template <int kArrays>
__device__ inline RowOffsets<kArrays> row_offsets(const Rows<kArrays>& all, long long row) {
  if (all.count <= 0xffffffffll) return rows::offsets(all, static_cast<unsigned>(row));
  return rows::offsets(all, static_cast<unsigned long long>(row));
}

// kCount neighbours (a power of two) as they lie in memory, in words: what is loaded before it is used.
template <typename T, int kCount>
struct Packed {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  unsigned words[kWords];

  // `from` is aligned to kBytes, or to 16 where that is less.
  __device__ static Packed load(const T* from) {
    Packed result;
    if constexpr (kBytes >= 16) {
      const auto* const source = reinterpret_cast<const typename Moved<16>::Type*>(from);
#pragma unroll
      for (int i = 0; i < kWords / 4; ++i) {
        const auto moved = source[i];
        result.words[4 * i] = moved.x;
        result.words[4 * i + 1] = moved.y;
        result.words[4 * i + 2] = moved.z;
        result.words[4 * i + 3] = moved.w;
      }
    } else if constexpr (kBytes == 8) {
      const auto moved = *reinterpret_cast<const typename Moved<8>::Type*>(from);
      result.words[0] = moved.x;
      result.words[1] = moved.y;
    } else if constexpr (kBytes == 4) {
      result.words[0] = *reinterpret_cast<const typename Moved<4>::Type*>(from);
    } else {
      result.words[0] = from->bits;
    }
    return result;
  }

  // In global memory.
  __device__ void store(T* to) const {
    if constexpr (kBytes >= 16) {
#pragma unroll
      for (int i = 0; i < kWords / 4; ++i) {
        rows::store_words(reinterpret_cast<unsigned*>(to) + 4 * i, words[4 * i], words[4 * i + 1],
                          words[4 * i + 2], words[4 * i + 3]);
      }
    } else if constexpr (kBytes == 8) {
      rows::store_words(reinterpret_cast<unsigned*>(to), words[0], words[1]);
    } else if constexpr (kBytes == 4) {
      *reinterpret_cast<typename Moved<4>::Type*>(to) = words[0];
    } else {
      to->bits = static_cast<unsigned short>(words[0]);
    }
  }

  __device__ void to_floats(float (&values)[kCount]) const {
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = narrow::float_of(words[i]);
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        T low, high;
        rows::unpack(low, high, words[i]);
        values[2 * i] = static_cast<float>(low);
        if constexpr (kCount > 1) values[2 * i + 1] = static_cast<float>(high);
      }
    }
  }

  __device__ static Packed from_floats(const float (&values)[kCount]) {
    Packed result;
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) result.words[i] = narrow::bits_of(values[i]);
    } else if constexpr (kCount == 1) {
      result.words[0] = T(values[0]).bits;
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) result.words[i] = rows::pack(T{}, values[2 * i], values[2 * i + 1]);
    }
    return result;
  }
};

// The pointers are aligned to kCount elements, or to 16 bytes where that is less.
template <int kCount, typename T>
__device__ inline void load_vector(float (&to)[kCount], const T* from) {
  Packed<T, kCount>::load(from).to_floats(to);
}
template <int kCount, typename T>
__device__ inline void store_vector(T* to, const float (&from)[kCount]) {
  Packed<T, kCount>::from_floats(from).store(to);
}

// A row of neighbours as vectors: `head` elements alone, so that the first vector is aligned, `vectors` times
// kVector elements, and what is left from `tail` to the end.
struct RowSplit {
  long long head;
  long long vectors;
  long long tail;
};
template <int kVector, typename T>
__device__ inline RowSplit split_row(const T* row, long long length) {
  const long long past =
      static_cast<long long>(reinterpret_cast<unsigned long long>(row) / sizeof(T) % kVector);
  long long head = past == 0 ? 0 : kVector - past;
  head = head < length ? head : length;
  const long long vectors = (length - head) / kVector;
  return {head, vectors, head + vectors * kVector};
}

// Thread `thread` of `threads` takes elements thread, thread + threads, ... .
template <int kFlight, typename T, typename Visit>
__device__ inline void visit_strided(const T* row, long long stride, long long length, int thread,
                                     int threads, Visit& visit) {
  const long long step = threads;
  long long at = thread;
  for (; at + (kFlight - 1) * step < length; at += kFlight * step) {
    T loaded[kFlight];
#pragma unroll
    for (int k = 0; k < kFlight; ++k) loaded[k] = row[(at + k * step) * stride];
#pragma unroll
    for (int k = 0; k < kFlight; ++k) {
      float value[1] = {static_cast<float>(loaded[k])};
      visit(at + k * step, value);
    }
  }
  for (; at < length; at += step) {
    float value[1] = {static_cast<float>(row[at * stride])};
    visit(at, value);
  }
}

// Head and tail go element by element, what is between them in vectors. Loops of a turn or two stay loops:
// compilers that unroll them need registers for what never happens, and spill (SM 86).
template <int kVector, int kFlight, typename T, typename Visit>
__device__ inline void visit_row(const T* row, long long length, int thread, int threads, Visit& visit) {
  if constexpr (kVector == 1) {
    visit_strided<kFlight>(row, 1, length, thread, threads, visit);
  } else {
    const RowSplit split = split_row<kVector>(row, length);
    const T* const middle = row + split.head;
    const long long step = threads;
#pragma unroll 1
    for (long long at = thread; at < split.head; at += step) {
      float value[1] = {static_cast<float>(row[at])};
      visit(at, value);
    }
    long long i = thread;
    for (; i + (kFlight - 1) * step < split.vectors; i += kFlight * step) {
      Packed<T, kVector> loaded[kFlight];
#pragma unroll
      for (int k = 0; k < kFlight; ++k)
        loaded[k] = Packed<T, kVector>::load(middle + (i + k * step) * kVector);
#pragma unroll
      for (int k = 0; k < kFlight; ++k) {
        float values[kVector];
        loaded[k].to_floats(values);
        visit(split.head + (i + k * step) * kVector, values);
      }
    }
#pragma unroll 1
    for (; i < split.vectors; i += step) {
      float values[kVector];
      load_vector(values, middle + i * kVector);
      visit(split.head + i * kVector, values);
    }
#pragma unroll 1
    for (long long at = split.tail + thread; at < length; at += step) {
      float value[1] = {static_cast<float>(row[at])};
      visit(at, value);
    }
  }
}

}  // namespace gpuforge
