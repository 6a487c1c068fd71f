// Groups of threads that go over a row several times; on top of rows.cuh.
//   RowGroup<kThreads, kRows, kColumns, kCluster>   which row and which part of it a thread has, and
//     reductions over the threads of a row. kColumns: threads side by side have rows side by side, for arrays
//     whose rows are columns in memory. kCluster: blocks, a cluster, that have a row together.
#pragma once

#include "gpuforge/kernels/cluster.cuh"
#include "gpuforge/kernels/group_reduce.cuh"
#include "gpuforge/kernels/read_ahead.cuh"
#include "gpuforge/kernels/stream_order.cuh"
#include "gpuforge/kernels/unit_rows.cuh"

namespace gpuforge {

// Of a cluster every thread calls begin() with all slots first, meet() before the first reduce(); of any
// block every thread comes to all reductions.
template <int kThreads, int kRows, bool kColumns, int kCluster = 1>
struct RowGroup {
  static constexpr int kBlock = kThreads * kRows;
  static constexpr int kTeam = kThreads * kCluster;  // threads of a row
  static_assert(kBlock % kWarp == 0, "whole warps");
  static_assert(kCluster == 1 || (kRows == 1 && !kColumns), "a cluster has one row of neighbours");
  static constexpr int kWarps = kBlock / kWarp;
  static constexpr int kSlots = kColumns ? kBlock : kWarps;

  __device__ static int thread() {
    const int in_block = static_cast<int>(kColumns ? threadIdx.x / kRows : threadIdx.x % kThreads);
    if constexpr (kCluster > 1) return cluster::rank() * kThreads + in_block;
    return in_block;
  }
  __device__ static long long row() {
    if constexpr (kRows == 1) return blockIdx.x / kCluster;
    return static_cast<long long>(blockIdx.x / kCluster) * kRows +
           (kColumns ? threadIdx.x % kRows : threadIdx.x / kThreads);
  }
  // The last block may have fewer rows than others.
  __device__ static bool present(long long count) {
    if constexpr (kRows == 1) return true;
    return row() < count;
  }
  // This block's part of the row that is rows.ahead rows further, in `array`, number `which` of the rows'
  // arrays, comes to the L2 cache: to be called when the own row is on its way. 0: nothing comes. Rows of any
  // strides stay where they are.
  template <typename T, int kArrays>
  __device__ static void read_ahead(const UnitRows<kArrays>& rows, const T* array, int which) {
    if constexpr (kThreads >= kWarp && !kColumns) {
      if (threadIdx.x % kThreads != 0 || rows.ahead == 0 || row() + rows.ahead >= rows.count) return;
      const long long part = rows.length / kCluster;
      const long long first = kCluster == 1 ? 0 : cluster::rank() * part;
      bring_to_l2(array + row_offsets(rows, row() + rows.ahead).at[which] + first,
                  part * static_cast<long long>(sizeof(T)));
    }
  }
  template <typename T, int kArrays>
  __device__ static void read_ahead(const Rows<kArrays>&, const T*, int) {}
  // Where the warps of a row leave their values, in shared memory: for one reduction.
  template <typename T>
  struct Slots {
    T values[kSlots];
    T of_blocks[kCluster];  // of a cluster
    cluster::Arrivals arrivals;
  };
  // Blocks send values into each other's slots, which are there once a block has begun: nobody waits for that
  // while its row is on the way.
  template <typename... AllSlots>
  __device__ static void begin(AllSlots&... all) {
    if constexpr (kCluster > 1) {
      if (threadIdx.x == 0) {
        (cluster::make(&all.arrivals), ...);
        (cluster::expect(&all.arrivals, sizeof(all.of_blocks)), ...);
      }
      __syncwarp();
      cluster::begin();
    }
  }
  __device__ static void meet() {
    if constexpr (kCluster > 1) {
      __syncwarp();
      cluster::meet();
    }
  }
  // All threads have the result.
  template <typename T, typename Op>
  __device__ static T reduce(T value, Op op, Slots<T>& slots) {
    const unsigned thread = threadIdx.x;
    if constexpr (kColumns && kThreads == 1) {
      return value;
    } else if constexpr (kColumns) {
      slots.values[thread] = value;
      __syncthreads();
      value = slots.values[thread % kRows];
#pragma unroll 1
      for (int i = 1; i < kThreads; ++i) value = op(value, slots.values[i * kRows + thread % kRows]);
      return value;
    } else if constexpr (kTeam <= kWarp) {
      return warp_reduce<kTeam>(value, op);
    } else {
      constexpr int kOfRow = kThreads / kWarp;  // warps of this block
      const unsigned lane = thread % kWarp;
      value = warp_reduce<kWarp>(value, op);
      if (lane == 0) slots.values[thread / kWarp] = value;
      __syncthreads();
      const T* const own = slots.values + (kRows == 1 ? 0 : thread / kThreads * kOfRow);
      if constexpr (kCluster == 1) {
        return warp_reduce<kOfRow>(own[lane % kOfRow], op);
      } else {
        if (thread < kWarp) {
          value = warp_reduce<kOfRow>(own[lane % kOfRow], op);
          // To every block, its own as well: one way, and nobody waits for more.
          if (lane < kCluster)
            cluster::send(&slots.of_blocks[cluster::rank()], &slots.arrivals, static_cast<int>(lane), value);
        }
        cluster::wait_for(&slots.arrivals);
        return warp_reduce<kCluster>(slots.of_blocks[lane % kCluster], op);
      }
    }
  }
};

}  // namespace gpuforge
