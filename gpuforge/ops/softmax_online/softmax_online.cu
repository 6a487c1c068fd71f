// out = exp(x - m) / sum(exp(x - m)) with m the maximum, along the rows of views of any strides. A row that
// is held is read once and written once: 2 * sizeof(T) bytes an element; a streamed one is read twice. One or
// two exponentials and some ten other operations an element, in float.
#include "gpuforge/kernels/approximate.cuh"
#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/row_group.cuh"

namespace gpuforge {

// The maximum of some values, and the sum of exp(value - maximum) over them: enough to add more values, or
// two such pairs, without going back to the values.
struct alignas(8) SoftmaxState {
  float maximum;
  float sum;
};

__device__ inline bool is_infinite(float value) {
  return fabsf(value) == narrow::float_of(0x7f800000u);
}

// What is subtracted before exp(). An infinite maximum would make NaNs of -infinity and of no values at all;
// what such a row is, is decided at its end.
__device__ inline float exp_base(float maximum) {
  return is_infinite(maximum) ? 0.0f : maximum;
}

// exp(value) for value <= 0, times a constant that a softmax divides by again. For results of 16 bits it is
// within 2^-17 of itself, and 2 instructions where expf has 8: with two exponentials an element, those would
// take longer than memory does. The constant keeps everything that bf16 can hold away from where small
// numbers are flushed to zero.
template <typename T>
__device__ inline float scaled_exp(float value) {
  if constexpr (sizeof(T) == 4) {
    return expf(value);
  } else {
    constexpr float kLog2E = 1.44269504f, kScaleBits = 24.0f;
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(value, kLog2E, kScaleBits)));
    return result;
  }
}
// The same without the constant.
template <typename T>
__device__ inline float exp_of(float value) {
  return sizeof(T) == 4 ? expf(value) : scaled_exp<T>(value) * 0x1p-24f;
}
// Without a branch, in which lanes would part.
template <typename T>
__device__ inline float rescale(float from, float to) {
  const float factor = exp_of<T>(from - to);
  return from == to ? 1.0f : factor;  // also when both are infinite
}

template <typename T>
struct JoinSoftmax {
  __device__ static SoftmaxState identity() { return {narrow::float_of(0xff800000u), 0.0f}; }
  // Without a fused multiply-add, which would make (a, b) differ from (b, a).
  __device__ SoftmaxState operator()(SoftmaxState a, SoftmaxState b) const {
    const float maximum = fmaxf(a.maximum, b.maximum);
    return {maximum, __fadd_rn(__fmul_rn(a.sum, rescale<T>(a.maximum, maximum)),
                               __fmul_rn(b.sum, rescale<T>(b.maximum, maximum)))};
  }
};

__device__ inline SoftmaxState shuffle_xor(SoftmaxState value, int distance) {
  return {shuffle_xor(value.maximum, distance), shuffle_xor(value.sum, distance)};
}

// What reductions call for the states of neighbouring lanes. The maximum first: an exponential a lane, where
// joining two and two would take two at every step.
template <int kWidth, typename T>
__device__ inline SoftmaxState warp_reduce(SoftmaxState state, JoinSoftmax<T>) {
  const float maximum = warp_reduce<kWidth>(state.maximum, Max{});
  return {maximum, warp_reduce<kWidth>(state.sum * rescale<T>(state.maximum, maximum), Sum{})};
}

// fmaxf drops NaNs, and the sum keeps them.
template <int kVector>
__device__ inline float maximum_of(float start, const RowPiece<kVector>& piece) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i < piece.count) start = fmaxf(start, piece.values[i]);
  }
  return start;
}
template <typename T, int kVector>
__device__ inline float sum_of_exp(const RowPiece<kVector>& piece, float base) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i < piece.count) sum += scaled_exp<T>(piece.values[i] - base);
  }
  return sum;
}

// What scaled_exp(x - maximum) is multiplied with: NaN when the row has an infinite maximum.
__device__ inline float softmax_factor(SoftmaxState state) {
  return is_infinite(state.maximum) ? narrow::float_of(0x7fffffffu) : reciprocal(state.sum);
}

template <typename T, int kVector>
__device__ inline void to_softmax(RowPiece<kVector>& piece, float maximum, float factor) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i < piece.count) piece.values[i] = scaled_exp<T>(piece.values[i] - maximum) * factor;
  }
}

// A thread a row, three times over it: the maximum, the sum, the results.
template <typename T>
__global__ void __launch_bounds__(128)
    softmax_naive(T* out, const T* x, const __grid_constant__ Rows<2> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<2> begin = row_offsets(rows, row);
  const T* const from = x + begin.at[0];
  T* const to = out + begin.at[1];
  const long long step = rows.axis_strides[0], out_step = rows.axis_strides[1];
  float maximum = narrow::float_of(0xff800000u);
  for (long long i = 0; i < rows.length; ++i) maximum = fmaxf(maximum, static_cast<float>(from[i * step]));
  float sum = 0;
  for (long long i = 0; i < rows.length; ++i) sum += expf(static_cast<float>(from[i * step]) - maximum);
  for (long long i = 0; i < rows.length; ++i) {
    to[i * out_step] = T(expf(static_cast<float>(from[i * step]) - maximum) / sum);
  }
}

// kThreads threads a row, three times over memory.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm = kAnyRows>
__global__ void __launch_bounds__(kThreads* kRows)
    softmax_safe(T* out, const T* x, const __grid_constant__ typename RowsOf<2, kForm>::Type rows) {
  static_assert(kItems == 0, "this one holds nothing");
  using Group = RowGroup<kThreads, kRows, kColumns>;
  __shared__ typename Group::template Slots<float> maximum_slots, sum_slots;
  const bool present = Group::present(rows.count);
  const RowOffsets<2> begin = row_offsets(rows, present ? Group::row() : 0);
  HeldRow<T, kVector, 0, kThreads, kForm> row(x + begin.at[0], axis_stride(rows, 0),
                                              present ? rows.length : 0, Group::thread());
  float maximum = narrow::float_of(0xff800000u);
  row.visit([&](const RowPiece<kVector>& piece) { maximum = maximum_of(maximum, piece); });
  maximum = Group::reduce(maximum, Max{}, maximum_slots);
  float sum = 0;
  row.visit([&](const RowPiece<kVector>& piece) { sum += sum_of_exp<T>(piece, maximum); });
  sum = Group::reduce(sum, Sum{}, sum_slots);
  const float factor = softmax_factor({maximum, sum});
  T* const to = out + begin.at[1];
  row.visit([&](RowPiece<kVector>& piece) {
    to_softmax<T>(piece, maximum, factor);
    write_row(to, axis_stride(rows, 1), piece);
  });
}

// exp(x - maximum) of a thread's elements, in floats, the maximum being their own. Many would take more
// registers than there are; where it does not keep them, they are made again.
template <typename T, int kVector, int kItems, int kThreads>
struct HeldExps {
  static constexpr bool kKeeps = kItems > 0 && (kItems <= 16 || (sizeof(T) == 4 && kThreads <= 512));
  float values[kKeeps ? kItems : 1];
  float edge;
  float maximum;

  __device__ float sum_of(const RowPiece<kVector>& piece) {
    const float base = exp_base(maximum);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) {
        const float value = exp_of<T>(piece.values[i] - base);
        sum += value;
        (piece.count == kVector ? values[piece.slot * kVector + i] : edge) = value;
      }
    }
    return sum;
  }
  __device__ void get(RowPiece<kVector>& piece, float factor) const {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count)
        piece.values[i] = factor * (piece.count == kVector ? values[piece.slot * kVector + i] : edge);
    }
  }
};

// kThreads threads a row, of each of kCluster blocks: maximum and sum in one go, then the results, from
// registers or from memory again.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm = kAnyRows,
          int kCluster = 1>
__global__ void __launch_bounds__(
    kThreads* kRows, cluster::kBlocksBeside<kThreads, kCluster, kItems * sizeof(T), kForm == kWholeRows>)
    softmax_online(T* out, const T* x, const __grid_constant__ typename RowsOf<2, kForm>::Type rows) {
  using Group = RowGroup<kThreads, kRows, kColumns, kCluster>;
  __shared__ typename Group::template Slots<SoftmaxState> slots;
  Group::begin(slots);
  const bool present = Group::present(rows.count);
  begin_after_previous_kernel();
  const RowOffsets<2> begin = row_offsets(rows, present ? Group::row() : 0);
  using Row = HeldRow<T, kVector, kItems, Group::kTeam, kForm>;
  Row row(x + begin.at[0], axis_stride(rows, 0), present ? rows.length : 0, Group::thread());
  if constexpr (Row::kReadsAhead) Group::read_ahead(rows, x, 0);
  SoftmaxState state = JoinSoftmax<T>::identity();
  using Exps = HeldExps<T, kVector, kItems, kThreads>;
  Exps exps;
  if constexpr (kItems > 0) {
    row.visit([&](const RowPiece<kVector>& piece) { state.maximum = maximum_of(state.maximum, piece); });
    exps.maximum = state.maximum;
    row.visit([&](const RowPiece<kVector>& piece) {
      if constexpr (Exps::kKeeps) {
        state.sum += exps.sum_of(piece);
      } else {
        state.sum += sum_of_exp<T>(piece, exp_base(exps.maximum));
      }
    });
  } else {
    row.visit([&](const RowPiece<kVector>& piece) {
      const float maximum = maximum_of(state.maximum, piece);
      state.sum = state.sum * rescale<T>(state.maximum, maximum) + sum_of_exp<T>(piece, exp_base(maximum));
      state.maximum = maximum;
    });
  }
  Group::meet();
  state = Group::reduce(state, JoinSoftmax<T>{}, slots);
  float factor = softmax_factor(state);
  if constexpr (Exps::kKeeps) factor *= rescale<T>(exps.maximum, state.maximum);
  T* const to = out + begin.at[1];
  row.visit([&](RowPiece<kVector>& piece) {
    if constexpr (Exps::kKeeps) {
      exps.get(piece, factor);
    } else {
      to_softmax<T>(piece, state.maximum, factor);
    }
    write_row(to, axis_stride(rows, 1), piece);
  });
}

}  // namespace gpuforge
