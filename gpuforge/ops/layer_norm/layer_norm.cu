// out = (x - mean) / sqrt(variance + eps) * weight + bias along the rows of views of any strides, x being x +
// residual where there is one. Rows that are held are read once and written once, 2 * sizeof(T) bytes an
// element (4 with a residual) and weight and bias once for all; streamed ones are read twice. 8 operations an
// element, in float.
#include "gpuforge/kernels/norm_rows.cuh"

namespace gpuforge {

// A thread a row, three times over it.
template <typename T>
__global__ void __launch_bounds__(128)
    layer_norm_naive(T* out, const T* x, const T* weight, const T* bias, const T* residual, T* residual_out,
                     float eps, const __grid_constant__ Rows<kNormArrays> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<kNormArrays> begin = row_offsets(rows, row);
  const float length = static_cast<float>(rows.length);
  float sum = 0;
  for (long long i = 0; i < rows.length; ++i) sum += norm_element(x, residual, rows, begin, i);
  const float mean = sum / length;
  float squares = 0;
  for (long long i = 0; i < rows.length; ++i) {
    const float centred = norm_element(x, residual, rows, begin, i) - mean;
    squares += centred * centred;
  }
  const float scale = 1.0f / sqrtf(squares / length + eps);
  for (long long i = 0; i < rows.length; ++i) {
    const float value = norm_element(x, residual, rows, begin, i);
    if (residual != nullptr)
      residual_out[begin.at[kResidualOut] + i * rows.axis_strides[kResidualOut]] = T(value);
    const float factor =
        weight == nullptr ? 1.0f : static_cast<float>(weight[i * rows.axis_strides[kWeight]]);
    const float shift = bias == nullptr ? 0.0f : static_cast<float>(bias[i * rows.axis_strides[kBias]]);
    out[begin.at[kOut] + i * rows.axis_strides[kOut]] = T((value - mean) * scale * factor + shift);
  }
}

// Of some values: how many there are, their mean, and the sum of (value - mean)^2. Several such are made one
// without going back to the values, and without the loss of digits that sums of squares have: everything is
// counted from one of the values or one of the means, so that equal ones have no variance at all.
struct alignas(16) Moments {
  float count;
  float mean;
  float squares;

  // Of `count` values, from the sums of (value - pivot) and of its squares, the pivot being one of them: what
  // is subtracted is less than 2 * `count` times the result. The same with means and how many values each is
  // of: as many times as there are means.
  __device__ static Moments around(float pivot, float count, float sum, float squares) {
    const float mean = sum * reciprocal(fmaxf(count, 1.0f));
    return {count, pivot + mean, squares - sum * mean};
  }
};

struct JoinMoments {
  __device__ static Moments identity() { return {0.0f, 0.0f, 0.0f}; }
  // For whom all threads go the same way: (a, b) differs from (b, a).
  __device__ Moments operator()(const Moments& a, const Moments& b) const {
    const float count = a.count + b.count;
    const float apart = b.mean - a.mean;
    const float step = apart * b.count * reciprocal(fmaxf(count, 1.0f));
    return {count, a.mean + step, a.squares + b.squares + step * apart * a.count};
  }
};

// What reductions call for those of neighbouring lanes: three sums at once, around the mean of one of them.
template <int kWidth>
__device__ inline Moments warp_reduce(const Moments& own, JoinMoments) {
  const float pivot = __shfl_sync(0xffffffffu, own.mean, 0, kWidth);
  const float apart = own.mean - pivot;
  const float sum = own.count * apart;
  return Moments::around(pivot, warp_reduce<kWidth>(own.count, Sum{}), warp_reduce<kWidth>(sum, Sum{}),
                         warp_reduce<kWidth>(own.squares + sum * apart, Sum{}));
}

template <int kVector>
__device__ inline void add_around(float pivot, const RowPiece<kVector>& piece, float& sum, float& squares) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i < piece.count) {
      const float value = piece.values[i] - pivot;
      sum += value;
      squares += value * value;
    }
  }
}

// Of the elements that this thread has.
template <int kVector, typename Row>
__device__ inline Moments moments_of(Row& row) {
  if constexpr (Row::kItemsHeld > 0) {
    float pivot = 0, count = 0, sum = 0, squares = 0;
    row.visit([&](const RowPiece<kVector>& piece) {
      const bool first = piece.count == kVector ? piece.slot == 0 : count == 0.0f;
      if (first) pivot = piece.values[0];
      count += static_cast<float>(piece.count);
      add_around(pivot, piece, sum, squares);
    });
    return Moments::around(pivot, count, sum, squares);
  } else {
    Moments result = JoinMoments::identity();
    row.visit([&](const RowPiece<kVector>& piece) {
      float sum = 0, squares = 0;
      add_around(piece.values[0], piece, sum, squares);
      result = JoinMoments{}(result,
                             Moments::around(piece.values[0], static_cast<float>(piece.count), sum, squares));
    });
    return result;
  }
}

struct MeanAndSquares {
  float mean;
  float squares;  // the sum of (value - mean)^2
};
struct alignas(8) TwoSums {
  float sum;
  float squares;
};
struct AddBoth {
  __device__ static TwoSums identity() { return {0.0f, 0.0f}; }
  __device__ TwoSums operator()(const TwoSums& a, const TwoSums& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};
template <int kWidth>
__device__ inline TwoSums warp_reduce(const TwoSums& own, AddBoth) {
  return {warp_reduce<kWidth>(own.sum, Sum{}), warp_reduce<kWidth>(own.squares, Sum{})};
}

// For the shortest rows, whose time is instructions, of which moments of a few values take many. `pivot`: one
// of the values, so that equal ones have no variance here either.
// In 16 bits: around the pivot alone. If it is as far from all others as a value can be, that costs as many
// of float's digits as the row is long: 2^13 elements leave the eleven that f16 has.
template <typename Group, int kVector, typename Row>
__device__ inline MeanAndSquares sums_around(Row& row, float pivot, float inverse_length) {
  __shared__ typename Group::template Slots<TwoSums> slots;
  TwoSums own = AddBoth::identity();
  row.visit([&](const RowPiece<kVector>& piece) { add_around(pivot, piece, own.sum, own.squares); });
  const TwoSums all = Group::reduce(own, AddBoth{}, slots);
  const float mean = all.sum * inverse_length;
  return {pivot + mean, all.squares - all.sum * mean};
}
// In f32: around the mean itself, for which threads meet twice.
template <typename Group, int kVector, typename Row>
__device__ inline MeanAndSquares sums_in_turn(Row& row, float pivot, float inverse_length) {
  __shared__ typename Group::template Slots<float> sums, all_squares;
  float sum = 0, squares = 0;
  row.visit([&](const RowPiece<kVector>& piece) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) sum += piece.values[i] - pivot;
    }
  });
  const float mean = pivot + Group::reduce(sum, Sum{}, sums) * inverse_length;
  row.visit([&](const RowPiece<kVector>& piece) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) squares += (piece.values[i] - mean) * (piece.values[i] - mean);
    }
  });
  return {mean, Group::reduce(squares, Sum{}, all_squares)};
}

// Of both, or of the one that is there.
template <typename Factors, typename Biases>
__device__ inline int common_shift(const Factors& factors, const Biases& biases) {
  if constexpr (Biases::kShifts == 0) return factors.shift();
  if constexpr (Factors::kShifts == 0) return biases.shift();
  return factors.shift() == biases.shift() ? biases.shift() : kAnyShift;
}

// The last visit of a row, with weight and bias that begin kShift elements past the begin of an access, or
// the next smaller kShift that is theirs.
template <int kShift, int kVector, typename Row, typename T, typename Factors, typename Biases>
__device__ inline void write_normalised(Row& row, T* to, long long stride, float mean, float scale,
                                        Factors& factors, Biases& biases, int shift) {
  if (kShift == kAnyShift || shift == kShift) {
    row.visit([&](RowPiece<kVector>& piece) {
      float factor[kVector], bias[kVector];
      factors.template get<kShift>(factor, piece, row.places);
      biases.template get<kShift>(bias, piece, row.places);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] = (piece.values[i] - mean) * scale * factor[i] + bias[i];
      }
      write_row(to, stride, piece);
    });
  } else if constexpr (kShift != kAnyShift) {
    write_normalised<kShift - 1, kVector>(row, to, stride, mean, scale, factors, biases, shift);
  }
}

// When weight and bias are asked for. With the row where it is short: two of them would let a longer one come
// later. A piece ahead in f32 rows that clusters have: a thread of those waits more than it computes.
template <typename T, int kVector, int kItems, int kForm, bool kAdds, int kCluster>
constexpr int kWhenWeights = kFewBytes<T, kItems, kForm, 16> ? kWithRow
                             : kCluster > 1 && kForm == kWholeRows && sizeof(T) == 4 && kItems > kVector &&
                                     !kAdds
                                 ? kPieceAhead
                                 : kWhenWanted;
// For __launch_bounds__: rows of which a block has several, and those of a cluster, would spill with as few
// registers as kNormBlocks leaves to those that hold 64 bytes. 1280 threads of a multiprocessor have 48, 1024
// have 64 for rows with edges.
template <typename T, int kVector, int kItems, int kThreads, int kRows, int kForm, bool kAdds, int kCluster>
constexpr int kLayerNormBlocks =
    kItems * sizeof(T) == 64 && kVector * sizeof(T) == 16 && kForm != kAnyRows && !kAdds &&
            (kRows > 1 || kCluster > 1) && __CUDA_ARCH__ == 900
        ? (kForm == kWholeRows ? 1280 : 1024) / (kThreads * kRows)
        : kNormBlocks<T, kVector, kItems, kThreads * kRows, kForm, kAdds, kCluster>;

// kThreads threads a row, of each of kCluster blocks.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm, int kHas,
          int kCluster = 1>
__global__ void __launch_bounds__(
    kThreads* kRows,
    kLayerNormBlocks<T, kVector, kItems, kThreads, kRows, kForm, (kHas & kHasResidual) != 0, kCluster>)
    layer_norm(T* out, const T* x, const T* weight, const T* bias, const T* residual, T* residual_out,
               float eps, const __grid_constant__ typename RowsOf<kNormArrays, kForm>::Type rows) {
  constexpr bool kAdds = (kHas & kHasResidual) != 0;
  using Group = RowGroup<kThreads, kRows, kColumns, kCluster>;
  __shared__ typename Group::template Slots<Moments> slots;
  Group::begin(slots);
  const bool present = Group::present(rows.count);
  begin_after_previous_kernel();
  const RowOffsets<kNormArrays> begin = row_offsets(rows, present ? Group::row() : 0);
  constexpr int kWhen = kWhenWeights<T, kVector, kItems, kForm, kAdds, kCluster>;
  constexpr int kFlight = kAdds && kThreads > 512 ? 2 : 4;  // no spills
  using Row = HeldRow<T, kVector, kItems, Group::kTeam, kForm, kFlight>;
  const typename Row::Places places(x + begin.at[kX], present ? rows.length : 0, Group::thread());
  WeightRow<T, kVector, kForm, kItems, (kHas & kHasWeight) != 0 ? kWhen : kAbsent> factors(
      weight, axis_stride(rows, kWeight), rows.length, 1.0f, places);
  WeightRow<T, kVector, kForm, kItems, (kHas & kHasBias) != 0 ? kWhen : kAbsent> biases(
      bias, axis_stride(rows, kBias), rows.length, 0.0f, places);
  Row row = norm_row<kAdds, Row, Group, kVector>(x, residual, residual_out, rows, begin, places);
  factors.begin(places);
  biases.begin(places);
  const float inverse_length = reciprocal(static_cast<float>(rows.length));
  MeanAndSquares found;
  if constexpr (kItems == kVector && !kAdds && kCluster == 1) {
    const float pivot = static_cast<float>(x[begin.at[kX]]);
    found = sizeof(T) == 2 ? sums_around<Group, kVector>(row, pivot, inverse_length)
                           : sums_in_turn<Group, kVector>(row, pivot, inverse_length);
  } else {
    Moments moments = moments_of<kVector>(row);
    Group::meet();
    moments = Group::reduce(moments, JoinMoments{}, slots);
    found = {moments.mean, moments.squares};
  }
  const float scale = inverse_root(found.squares * inverse_length + eps);
  // Compilers would find the weights before the sums, and keep where they are in registers all the while.
  if constexpr (kItems > 0 && kForm == kWholeRows) asm volatile("" : "+r"(row.places.first));
  constexpr int kShifts = factors.kShifts > biases.kShifts ? factors.kShifts : biases.kShifts;
  write_normalised<kShifts - 1, kVector>(row, out + begin.at[kOut], axis_stride(rows, kOut), found.mean,
                                         scale, factors, biases, common_shift(factors, biases));
}

}  // namespace gpuforge
