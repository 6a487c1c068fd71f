// What rms_norm and layer_norm begin with.
#pragma once

#include "gpuforge/kernels/approximate.cuh"
#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/row_group.cuh"
#include "gpuforge/kernels/weight_row.cuh"

namespace gpuforge {

// The arrays of a norm in its Rows, as ops/norm_rows.h has them.
constexpr int kX = 0, kOut = 1, kResidual = 2, kResidualOut = 3, kWeight = 4, kBias = 5, kNormArrays = 6;
// Which of those that a norm need not have there are, as bits: what a kernel is compiled for.
constexpr int kHasResidual = 1, kHasWeight = 2, kHasBias = 4;

// 1536 a multiprocessor: SM 86, 89, 120. Memory is slow enough there for fewer threads with more registers.
constexpr bool kHasFewThreads = (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200;

// For __launch_bounds__: 1536 threads of a multiprocessor, with 40 registers each, have 96 KB of rows under
// way or in work; 1024 leave memory idle while they wait for their sums. 1280 with 48 for f32 rows with
// edges. 0, not a word about it, for kernels that need more registers: those that hold a residual for a
// while, or more bytes, or such rows in 16 bits; for blocks of a warp, of which there are never so many; and
// for other chips than SM 90, whose compilers need more. 1 for the largest that hold nothing, and for rows
// with edges on chips of few threads: unasked, they would spill to be more on a multiprocessor. Clusters have
// their own rule.
template <typename T, int kVector, int kItems, int kBlock, int kForm, bool kAdds, int kCluster>
constexpr int kNormBlocks =
    kCluster > 1
        ? cluster::kBlocksBeside<kBlock, kCluster, (kAdds ? 2 : 1) * kItems * sizeof(T), kForm == kWholeRows>
    : kItems == 0    ? (kBlock == 1024 ? 1 : 0)
    : kHasFewThreads ? (kItems * sizeof(T) >= 64 && kForm == kUnitRows ? 1 : 0)
    : kVector * sizeof(T) != 16 || kItems * sizeof(T) > 64 || kBlock < 64 || kAdds || __CUDA_ARCH__ != 900 ? 0
    : kBlock <= 512 && kForm == kWholeRows                  ? 1536 / kBlock
    : kBlock <= 256 && kForm == kUnitRows && sizeof(T) == 4 ? 1280 / kBlock
                                                            : 0;

// The row that is normalised: x, or with kAdds what x + residual is rounded to, which is written to
// residual_out as well.
template <bool kAdds, typename Row, typename Group, int kVector, typename T, typename AllRows>
__device__ inline Row norm_row(const T* x, const T* residual, T* residual_out, const AllRows& rows,
                               const RowOffsets<kNormArrays>& begin, const typename Row::Places& places) {
  Row row(x + begin.at[kX], axis_stride(rows, kX), places);
  if constexpr (!kAdds) {
    if constexpr (Row::kReadsAhead) {
      __syncwarp();  // compilers would put the loads of the row behind this
      Group::read_ahead(rows, x, kX);
    }
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
