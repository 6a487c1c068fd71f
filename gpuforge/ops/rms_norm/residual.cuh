// What rms_norm and layer_norm begin with.
#pragma once

#include "gpuforge/kernels/approximate.cuh"
#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/row_group.cuh"
#include "gpuforge/kernels/unaligned.cuh"

namespace gpuforge {

// The arrays of a norm in its Rows, as ops/norm_rows.h has them.
constexpr int kX = 0, kOut = 1, kResidual = 2, kResidualOut = 3, kWeight = 4, kBias = 5, kNormArrays = 6;

// For __launch_bounds__: 1536 threads of a multiprocessor, with 40 registers each, have 96 KB of rows under
// way or in work; 1024 leave memory idle while they wait for their sums. 1280 with 48 for f32 rows with
// edges. 0, not a word about it, for kernels that need more registers: those that hold a residual for a
// while, or more bytes, or such rows in 16 bits; for blocks of a warp, of which there are never so many; and
// for other chips than SM 90, whose compilers need more. 1 for the largest that hold nothing: unasked, they
// would spill to be two on a multiprocessor. Clusters have their own rule.
template <typename T, int kVector, int kItems, int kBlock, int kForm, bool kAdds, int kCluster>
constexpr int kNormBlocks =
    kCluster > 1
        ? cluster::kBlocksBeside<kBlock, kCluster, (kAdds ? 2 : 1) * kItems * sizeof(T), kForm == kWholeRows>
    : kItems == 0 ? (kBlock == 1024 ? 1 : 0)
    : kVector * sizeof(T) != 16 || kItems * sizeof(T) > 64 || kBlock < 64 || kAdds || __CUDA_ARCH__ != 900 ? 0
    : kBlock <= 512 && kForm == kWholeRows                  ? 1536 / kBlock
    : kBlock <= 256 && kForm == kUnitRows && sizeof(T) == 4 ? 1280 / kBlock
                                                            : 0;

// A weight or a bias, or `otherwise` where there is none, for the threads of a row. Few elements of it come
// with the row itself (kEarly), so that nobody waits for them behind the sums; more would take the registers
// of other rows, and come from the cache when they are asked for. Rows may begin at other multiples of 16
// bytes than it does, but for whole ones.
// get<kShift>(): what belongs to a piece of the row. kShift from 0 to kShifts - 1 is for threads all of whose
// pieces may be read in vectors that are shifted by so much, as shift() says; kAnyShift for all others, by
// whom single elements are read unless rows are whole. An array that is not there has every shift.
constexpr int kAnyShift = -1;
template <typename T, int kVector, int kForm, int kItems, bool kEarly>
struct WeightRow {
  static constexpr bool kLoadsUnaligned = kForm != kWholeRows && kVector * sizeof(T) == 16;
  static constexpr int kShifts = kLoadsUnaligned ? UnalignedArray<T, kVector>::kShifts : 0;
  const T* weight;
  long long stride;
  float otherwise;
  UnalignedArray<T, kVector> neighbours;
  bool allows;

  template <typename Places>
  __device__ WeightRow(const T* weight, long long stride, long long length, float otherwise,
                       const Places& places)
      : weight(weight),
        stride(stride),
        otherwise(otherwise),
        neighbours(weight, length, places.first_vector()),
        allows(kLoadsUnaligned && weight != nullptr && stride == 1 &&
               neighbours.allows(places.first_vector()) && neighbours.allows(places.last_vector())) {}
  __device__ bool absent() const { return weight == nullptr; }
  __device__ int shift() const { return allows ? neighbours.shift() : kAnyShift; }
  template <int kShift>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>& piece) const {
    if constexpr (kForm == kWholeRows) return get_whole(values, piece);
    if (weight == nullptr) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) values[i] = otherwise;
      return;
    }
    if constexpr (kShift != kAnyShift) {
      if (piece.count == kVector) return neighbours.template load<kShift>(values, piece.at);
    }
    if (kVector == 1 || piece.count < kVector) {
      read_row(values, piece, weight, stride);
    } else {
#pragma unroll
      for (int i = 0; i < kVector; ++i) values[i] = static_cast<float>(weight[(piece.at + i) * stride]);
    }
  }

 private:
  // Filled as it would lie in memory: half as many moves in 16 bits, and none behind the load.
  __device__ void get_whole(float (&values)[kVector], const RowPiece<kVector>& piece) const {
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[i] = otherwise;
    HeldPiece<T, kVector> held;
    held.set(values);
    if (weight != nullptr) held.load(weight + piece.at);
    held.get(values);
  }
};
template <typename T, int kVector, int kItems>
struct WeightRow<T, kVector, kWholeRows, kItems, true> {
  static constexpr int kLoads = kItems / kVector;
  HeldPiece<T, kVector> pieces[kLoads];

  template <typename Places>
  __device__ WeightRow(const T* weight, long long, long long, float otherwise, const Places& places) {
    float values[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[i] = otherwise;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) pieces[k].set(values);
    if (weight == nullptr) return;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (places.has(k)) pieces[k].load(weight + places.at(k));
    }
  }
  static constexpr int kShifts = 0;
  __device__ static bool absent() {
    return false;
  }
  __device__ static int shift() {
    return kAnyShift;
  }
  template <int kShift>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>& piece) const {
    pieces[piece.slot].get(values);
  }
};

// kEarlyBytes: of the row, a thread, up to which it comes with the row.
template <typename T, int kVector, int kForm, int kItems, int kEarlyBytes>
using NormWeights =
    WeightRow<T, kVector, kForm, kItems,
              (kForm == kWholeRows && kItems > 0 && kItems * static_cast<int>(sizeof(T)) <= kEarlyBytes)>;

// The row that is normalised: x, or with kAdds what x + residual is rounded to, which is written to
// residual_out as well.
template <bool kAdds, typename Row, typename Group, int kVector, typename T, typename AllRows>
__device__ inline Row norm_row(const T* x, const T* residual, T* residual_out, const AllRows& rows,
                               const RowOffsets<kNormArrays>& begin, const typename Row::Places& places) {
  Row row(x + begin.at[kX], axis_stride(rows, kX), places);
  if constexpr (!kAdds) {
    if constexpr (Row::kReadsAhead) Group::read_ahead(rows, x, kX);
  } else {
    const Row added(residual + begin.at[kResidual], axis_stride(rows, kResidual), places);
    if constexpr (Row::kReadsAhead) {
      Group::read_ahead(rows, x, kX);
      Group::read_ahead(rows, residual, kResidual);
    }
    T* const sums = residual_out + begin.at[kResidualOut];
    row.visit([&](RowPiece<kVector>& piece) {
      float other[kVector];
      added.read(other, piece);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (i < piece.count) piece.values[i] += other[i];
      }
      write_row(sums, axis_stride(rows, kResidualOut), piece);
      row.keep(piece);
    });
    if constexpr (Row::kItemsHeld == 0) return Row(sums, axis_stride(rows, kResidualOut), places);
  }
  return row;
}

// For the naive kernels: one element of that row.
template <typename T>
__device__ inline float norm_element(const T* x, const T* residual, const Rows<kNormArrays>& rows,
                                     const RowOffsets<kNormArrays>& begin, long long at) {
  const float value = static_cast<float>(x[begin.at[kX] + at * rows.axis_strides[kX]]);
  if (residual == nullptr) return value;
  return static_cast<float>(
      T(value + static_cast<float>(residual[begin.at[kResidual] + at * rows.axis_strides[kResidual]])));
}

}  // namespace gpuforge
