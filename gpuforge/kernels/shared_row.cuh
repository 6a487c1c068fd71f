// A block's part of a row in shared memory: for a second row beside one that fills the registers. SM 90 and
// newer, NVRTC alone.
#pragma once

#include "gpuforge/kernels/cluster.cuh"
#include "gpuforge/kernels/held_row.cuh"

namespace gpuforge {

// 16 bytes of shared memory as floats, not before the program comes here: registers are scarce.
template <typename T, int kVector>
__device__ inline void read_shared(float (&values)[kVector], unsigned address) {
  Packed<T, kVector> loaded;
  static_assert(loaded.kBytes == 16);
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded.words[0]), "=r"(loaded.words[1]), "=r"(loaded.words[2]), "=r"(loaded.words[3])
               : "r"(address));
  loaded.to_floats(values);
}

// What HeldRow is for the kThreads of kTeam threads that are in this block, of vectors of 16 bytes. One
// thread asks for all of it, so that the others need neither registers nor instructions for that. One in a
// kernel, which is launched with kBytes of dynamic shared memory. Every thread calls make() before its first
// load, for it ends with a fence, which waits for loads; then bring(); and wait() before the first read().
template <typename T, int kVector, int kItems, int kTeam, int kThreads, int kForm>
struct SharedRow {
  using Places = RowPlaces<kVector, kTeam, kForm>;
  static constexpr int kLoads = kItems / kVector;
  static constexpr int kBytes = kThreads * kItems * static_cast<int>(sizeof(T));
  static_assert(kVector * sizeof(T) == 16 && kLoads * kVector == kItems, "as row_config.h has it");
  unsigned first;   // this thread's first piece, in shared memory
  T edge_register;  // see edge()

  __device__ static void make() {
    if (threadIdx.x == 0) cluster::make(arrivals());
  }
  // Pieces of one round of the threads are neighbours: a copy for each round.
  __device__ static void bring(const T* row, const Places& places) {
    if (threadIdx.x != 0) return;
    unsigned bytes = 0;
#pragma unroll 1
    for (int k = 0; k < kLoads; ++k) bytes += bytes_of_round(places, k);
    cluster::expect(arrivals(), bytes);
#pragma unroll 1
    for (int k = 0; k < kLoads; ++k) {
      const unsigned count = bytes_of_round(places, k);
      if (count > 0) cluster::copy(room() + k * (kThreads * 16), row + places.at(k), count, arrivals());
    }
  }
  __device__ SharedRow(const T* row, long long, const Places& places) : first(room() + threadIdx.x * 16) {
    if (Places::kHasEdges && places.edge_at >= 0) edge() = row[places.edge_at];
  }
  __device__ void wait() const {
    __syncthreads();
    cluster::wait_for_copy(arrivals());
  }

  __device__ void read(float (&values)[kVector], const RowPiece<kVector>& piece) {
    if (piece.count == kVector) {
      read_shared<T>(values, first + piece.slot * (kThreads * 16));
    } else {
      values[0] = static_cast<float>(edge());
    }
  }

 private:
  // In 16 bits, whose pieces take more registers, it lies in shared memory: the first threads have all edges.
  __device__ T& edge() {
    if constexpr (sizeof(T) == 2) {
      __shared__ T of_row[2 * kVector];
      return of_row[threadIdx.x];
    } else {
      return edge_register;
    }
  }
  __device__ static cluster::Arrivals* arrivals() {
    __shared__ cluster::Arrivals of_row;
    return &of_row;
  }
  __device__ static unsigned room() {
    extern __shared__ typename Moved<16>::Type shared_row[];
    return cluster::shared_address(shared_row);
  }
  __device__ static unsigned bytes_of_round(const Places& places, int k) {
    const int left = places.pieces_end - places.at(k);
    const int count = left < kThreads * kVector ? left : kThreads * kVector;
    return count < 0 ? 0 : static_cast<unsigned>(count) * static_cast<unsigned>(sizeof(T));
  }
};

}  // namespace gpuforge
