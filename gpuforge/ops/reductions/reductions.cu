// out[r] = x[r, 0] op x[r, 1] op ..: reductions of any dtype over one axis of views, and the places of the
// largest and smallest. Reads every element once. One block takes a part of a row (grid.y parts), a second
// kernel what the parts found; everything in a fixed order.
#include "gpuforge/kernels/element.cuh"
#include "gpuforge/kernels/rows.cuh"
#include "gpuforge/kernels/stream_order.cuh"

namespace gpuforge {

// A running result, and which element it came from; below zero: there was none yet.
template <typename A>
struct Found {
  A value;
  long long index;
};

struct AddUp {
  template <typename A>
  __device__ static Found<A> both(Found<A> a, Found<A> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return {a.value + b.value, a.index};
  }
  __device__ static Found<long long> both(Found<long long> a, Found<long long> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    const auto sum = static_cast<unsigned long long>(a.value) + static_cast<unsigned long long>(b.value);
    return {static_cast<long long>(sum), a.index};
  }
};
struct Multiply {
  template <typename A>
  __device__ static Found<A> both(Found<A> a, Found<A> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return {a.value * b.value, a.index};
  }
  __device__ static Found<long long> both(Found<long long> a, Found<long long> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    const auto product = static_cast<unsigned long long>(a.value) * static_cast<unsigned long long>(b.value);
    return {static_cast<long long>(product), a.index};
  }
};
// NaN before everything, then the larger (smaller), then the first.
template <bool kLargest>
struct Best {
  template <typename A>
  __device__ static Found<A> both(Found<A> a, Found<A> b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return (kLargest ? a.value > b.value : a.value < b.value) ? a : b;
    return a.index < b.index ? a : b;
  }
};

struct AsNumber {
  template <typename A, typename T>
  __device__ static A of(T element) {
    return static_cast<A>(number(element));
  }
};
struct AsTruth {
  template <typename A, typename T>
  __device__ static A of(T element) {
    return number(element) != 0;
  }
};

template <typename Op, typename A, int kThreads>
__device__ inline Found<A> block_result(Found<A> mine) {
  __shared__ Found<A> slots[kThreads];
  slots[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) slots[threadIdx.x] = Op::both(slots[threadIdx.x], slots[threadIdx.x + half]);
    __syncthreads();
  }
  const Found<A> result = slots[0];
  __syncthreads();
  return result;
}

// kPlace: the index is the result.
template <typename Out, typename A, bool kPlace>
__device__ inline void write(Out* out, Found<A> found, A divisor) {
  if constexpr (kPlace) {
    *out = found.index;
  } else {
    *out = store_as<Out>(found.value / divisor);
  }
}

template <typename T, typename Out, typename A, typename Op, typename Read, bool kPlace, int kThreads>
__global__ void __launch_bounds__(kThreads)
    reduce_elements(Out* out, Found<A>* parts, const T* x, const __grid_constant__ Rows<2> rows,
                    long long per_part, A divisor) {
  begin_after_previous_kernel();
  for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const RowOffsets<2> begin = row_offsets(rows, row);
    const long long first = blockIdx.y * per_part;
    const long long end = first + per_part < rows.length ? first + per_part : rows.length;
    Found<A> found{A(0), -1};
    for (long long at = first + threadIdx.x; at < end; at += kThreads) {
      const A value = Read::template of<A>(x[begin.at[0] + at * rows.axis_strides[0]]);
      found = Op::both(found, Found<A>{value, at});
    }
    found = block_result<Op, A, kThreads>(found);
    if (threadIdx.x != 0) continue;
    if (parts != nullptr) {
      parts[row * gridDim.y + blockIdx.y] = found;
    } else {
      write<Out, A, kPlace>(out + begin.at[1], found, divisor);
    }
  }
}

template <typename Out, typename A, typename Op, bool kPlace, int kThreads>
__global__ void __launch_bounds__(kThreads) reduce_found(Out* out, const Found<A>* parts, int part_count,
                                                         const __grid_constant__ Rows<2> rows, A divisor) {
  begin_after_previous_kernel();
  for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
    Found<A> found{A(0), -1};
    for (int part = threadIdx.x; part < part_count; part += kThreads) {
      found = Op::both(found, parts[row * part_count + part]);
    }
    found = block_result<Op, A, kThreads>(found);
    if (threadIdx.x == 0) {
      write<Out, A, kPlace>(out + row_offsets(rows, row).at[1], found, divisor);
    }
  }
}

}  // namespace gpuforge
