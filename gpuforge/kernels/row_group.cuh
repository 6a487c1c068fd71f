// Groups of threads that go over a row several times; on top of rows.cuh.
//   RowGroup<kThreads, kRows, kColumns>   which row and which part of it a thread has, and reductions over
//     the threads of a row. kColumns: threads side by side have rows side by side, for arrays whose rows are
//     columns in memory.
//   RowPiece<kVector>                       some elements of a row as floats: a vector, or a single one
//   HeldRow<T, kVector, kItems, kThreads>   a row that is read from memory once, kItems elements into the
//     registers of each thread; with kItems 0, one that is read again for every visit. visit(f) calls f
//     with each RowPiece that the thread has; read(piece) gives the same elements of another row.
// NVRTC takes no generic lambdas, so a piece says with a number, known when f is inlined, how much it has.
#pragma once

#include "gpuforge/kernels/rows.cuh"

namespace gpuforge {

template <int kThreads, int kRows, bool kColumns>
struct RowGroup {
  static constexpr int kBlock = kThreads * kRows;
  static_assert(kBlock % kWarp == 0, "whole warps");
  static constexpr int kSlots = kColumns ? kBlock : kBlock / kWarp;

  __device__ static int thread() {
    return static_cast<int>(kColumns ? threadIdx.x / kRows : threadIdx.x % kThreads);
  }
  __device__ static long long row() {
    return static_cast<long long>(blockIdx.x) * kRows +
           (kColumns ? threadIdx.x % kRows : threadIdx.x / kThreads);
  }
  // Every thread of the block must come here. The slots may be used again at once.
  template <typename T, typename Op>
  __device__ static T reduce(T value, Op op, T (&slots)[kSlots]) {
    if constexpr (!kColumns) {
      return group_reduce<kThreads>(value, op, slots);
    } else if constexpr (kThreads == 1) {
      return value;
    } else {
      slots[threadIdx.x] = value;
      __syncthreads();
      value = slots[threadIdx.x % kRows];
      for (int i = 1; i < kThreads; ++i) value = op(value, slots[i * kRows + threadIdx.x % kRows]);
      __syncthreads();
      return value;
    }
  }
};

// `count` elements from `at` on: kVector neighbours, or one.
template <int kVector>
struct RowPiece {
  long long at;
  int slot;  // which of the thread's
  int count;
  float values[kVector];

  __device__ RowPiece(long long at, int slot, int count) : at(at), slot(slot), count(count) {}
};

template <int kVector, typename T>
__device__ inline void read_row(float (&values)[kVector], const RowPiece<kVector>& piece, const T* row,
                                long long stride) {
  if (kVector > 1 && piece.count == kVector) {
    load_vector(values, row + piece.at);
  } else {
    values[0] = static_cast<float>(row[piece.at * stride]);
  }
}
// The piece's values go to the same place of another row.
template <int kVector, typename T>
__device__ inline void write_row(T* row, long long stride, const RowPiece<kVector>& piece) {
  if (kVector > 1 && piece.count == kVector) {
    store_vector(row + piece.at, piece.values);
  } else {
    row[piece.at * stride] = T(piece.values[0]);
  }
}

// What one load brings.
template <typename T, int kVector, bool kPacked = (kVector * sizeof(T) >= 4)>
struct HeldPiece {
  Packed<T, kVector> value;
  __device__ void load(const T* from) { value = Packed<T, kVector>::load(from); }
  __device__ void get(float (&values)[kVector]) const { value.to_floats(values); }
  __device__ void set(const float (&values)[kVector]) { value = Packed<T, kVector>::from_floats(values); }
};
template <typename T, int kVector>
struct HeldPiece<T, kVector, false> {
  T value;
  __device__ void load(const T* from) { value = *from; }
  __device__ void get(float (&values)[1]) const { values[0] = static_cast<float>(value); }
  __device__ void set(const float (&values)[1]) { value = T(values[0]); }
};

// A row of up to kThreads * kItems elements. With vectors, what stands before the first and behind the last
// of them is fewer than 2 * kVector elements: at most one for each thread.
template <typename T, int kVector, int kItems, int kThreads, int kFlight = 4>
struct HeldRow {
  static constexpr int kLoads = kItems / kVector;
  static_assert(kLoads * kVector == kItems && (kVector == 1 || 2 * kVector <= kThreads),
                "as row_config.h has it");
  HeldPiece<T, kVector> pieces[kLoads];
  T edge;
  int first;  // of the first piece
  int pieces_end;
  int edge_at;  // -1: none

  __device__ HeldRow(const T* row, long long stride, long long length, int thread) {
    if constexpr (kVector == 1) {
      first = thread;
      pieces_end = static_cast<int>(length);
      edge_at = -1;
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        if (at(k) < pieces_end) pieces[k].load(row + at(k) * stride);
      }
    } else {
      const RowSplit split = split_row<kVector>(row, length);
      const int head = static_cast<int>(split.head), tail = static_cast<int>(split.tail);
      first = head + thread * kVector;
      pieces_end = tail;
      edge_at = thread < head ? thread : tail + thread - head;
      if (edge_at >= length) edge_at = -1;
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        if (at(k) < pieces_end) pieces[k].load(row + at(k));
      }
      if (edge_at >= 0) edge = row[edge_at];
    }
  }

  __device__ int at(int slot) const {
    return first + slot * (kThreads * kVector);
  }

  template <typename Visit>
  __device__ void visit(Visit visit) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (at(k) < pieces_end) {
        RowPiece<kVector> piece(at(k), k, kVector);
        pieces[k].get(piece.values);
        visit(piece);
      }
    }
    if constexpr (kVector > 1) {
      if (edge_at >= 0) {
        RowPiece<kVector> piece(edge_at, 0, 1);
        piece.values[0] = static_cast<float>(edge);
        visit(piece);
      }
    }
  }

  __device__ void read(float (&values)[kVector], const RowPiece<kVector>& piece) const {
    if (kVector == 1 || piece.count == kVector) {
      pieces[piece.slot].get(values);
    } else {
      values[0] = static_cast<float>(edge);
    }
  }
  // The piece's values, rounded to T: later visits have them.
  __device__ void keep(const RowPiece<kVector>& piece) {
    if (kVector == 1 || piece.count == kVector) {
      pieces[piece.slot].set(piece.values);
    } else {
      edge = T(piece.values[0]);
    }
  }
};

namespace rows {
// What visit_row calls, for what HeldRow::visit is given.
template <int kVector, typename Visit>
struct PieceVisitor {
  Visit& visit;
  template <int kCount>
  __device__ void operator()(long long at, float (&values)[kCount]) {
    RowPiece<kVector> piece(at, 0, kCount);
#pragma unroll
    for (int i = 0; i < kCount; ++i) piece.values[i] = values[i];
    visit(piece);
  }
};
}  // namespace rows

// Of any length: read from memory at every visit, kFlight loads at once: 4 are 64 KB for 1024 threads.
template <typename T, int kVector, int kThreads, int kFlight>
struct HeldRow<T, kVector, 0, kThreads, kFlight> {
  const T* row;
  long long stride;
  long long length;
  int thread;

  __device__ HeldRow(const T* row, long long stride, long long length, int thread)
      : row(row), stride(stride), length(length), thread(thread) {}

  template <typename Visit>
  __device__ void visit(Visit visit) {
    rows::PieceVisitor<kVector, Visit> each{visit};
    if constexpr (kVector == 1) {
      visit_strided<kFlight>(row, stride, length, thread, kThreads, each);
    } else {
      visit_row<kVector, kFlight>(row, length, thread, kThreads, each);
    }
  }
  __device__ void read(float (&values)[kVector], const RowPiece<kVector>& piece) const {
    read_row(values, piece, row, stride);
  }
  __device__ void keep(const RowPiece<kVector>&) {}  // it is where it was written to
};

}  // namespace gpuforge
