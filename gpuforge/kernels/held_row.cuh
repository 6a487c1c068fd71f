// A row that threads go over several times; on top of rows.cuh.
//   RowPiece<kVector>                       some elements of a row as floats: a vector, or a single one
//   HeldRow<T, kVector, kItems, kThreads, kForm>   a row that is read from memory once, kItems elements into
//     the registers of each thread; with kItems 0, one that is read again for every visit. visit(f) calls f
//     with each RowPiece that the thread has; read(piece) gives the same elements of another row.
// NVRTC takes no generic lambdas, so a piece says with a number, known when f is inlined, how much it has.
#pragma once

#include "gpuforge/kernels/read_ahead.cuh"
#include "gpuforge/kernels/unit_rows.cuh"

namespace gpuforge {

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
  __device__ void load_passing(const T* from) {
    if constexpr (kLoadsInPassing && sizeof(value) == 16) {
      load_in_passing(value.words, from);
    } else {
      load(from);
    }
  }
  __device__ void get(float (&values)[kVector]) const { value.to_floats(values); }
  __device__ void set(const float (&values)[kVector]) { value = Packed<T, kVector>::from_floats(values); }
};
template <typename T, int kVector>
struct HeldPiece<T, kVector, false> {
  T value;
  __device__ void load(const T* from) { value = *from; }
  __device__ void load_passing(const T* from) { load(from); }
  __device__ void get(float (&values)[1]) const { values[0] = static_cast<float>(value); }
  __device__ void set(const float (&values)[1]) { value = T(values[0]); }
};

// Which elements of a row one of kThreads threads has: pieces of kVector neighbours, and of the fewer than
// 2 * kVector elements that stand before the first and behind the last of them at most one, a piece that is
// called the edge.
template <int kVector, int kThreads, int kForm>
struct RowPlaces {
  static constexpr bool kHasEdges = kVector > 1 && kForm != kWholeRows;
  static_assert(kVector == 1 || 2 * kVector <= kThreads, "as row_config.h has it");
  int first;  // of the first piece
  int pieces_end;
  int edge_at;  // -1: none

  template <typename T>
  __device__ RowPlaces(const T* row, long long length, int thread) {
    const int end = static_cast<int>(length);
    if constexpr (!kHasEdges) {
      first = thread * kVector;
      pieces_end = end;
      edge_at = -1;
    } else {
      // split_row() in 32 bits: a row that is held has not so many elements.
      const unsigned past = static_cast<unsigned>(reinterpret_cast<unsigned long long>(row)) / sizeof(T);
      const int to_vector = static_cast<int>(0u - past) & (kVector - 1);
      const int head = to_vector < end ? to_vector : end;
      pieces_end = head + ((end - head) & -kVector);
      first = head + thread * kVector;
      edge_at = thread < head ? thread : pieces_end + thread - head;
      if (edge_at >= end) edge_at = -1;
    }
  }
  // Of this thread's pieces, where it has any.
  __device__ int first_vector() const { return first; }
  __device__ int last_vector() const {
    const int behind = pieces_end - 1 - first;
    return behind < 0 ? first : first + behind / (kThreads * kVector) * (kThreads * kVector);
  }
  __device__ int at(int slot) const { return first + slot * (kThreads * kVector); }
  __device__ bool has(int slot) const { return at(slot) < pieces_end; }
};

// A row of up to kThreads * kItems elements. kInPassing: whole vectors are load_in_passing().
template <typename T, int kVector, int kItems, int kThreads, int kForm, int kFlight = 4,
          bool kInPassing = false>
struct HeldRow {
  static constexpr int kItemsHeld = kItems;
  // For RowGroup::read_ahead. A kernel of one load a thread is over the sooner the shorter it is, or has so
  // many threads that memory is busy.
  static constexpr bool kReadsAhead = kItems > kVector;
  static constexpr int kLoads = kItems / kVector;
  static_assert(kLoads * kVector == kItems, "as row_config.h has it");
  using Places = RowPlaces<kVector, kThreads, kForm>;
  Places places;
  HeldPiece<T, kVector> pieces[kLoads];
  T edge;

  __device__ HeldRow(const T* row, long long stride, long long length, int thread)
      : HeldRow(row, stride, Places(row, length, thread)) {}
  // `places`: those of this row, or of one in another array that is as far from a vector's begin.
  __device__ HeldRow(const T* row, long long stride, const Places& places) : places(places) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (!places.has(k)) continue;
      if constexpr (kVector == 1) {
        pieces[k].load(row + places.at(k) * stride);
      } else if constexpr (kInPassing) {
        pieces[k].load_passing(row + places.at(k));
      } else {
        pieces[k].load(row + places.at(k));
      }
    }
    if (Places::kHasEdges && places.edge_at >= 0) edge = row[places.edge_at];
  }

  template <typename Visit>
  __device__ void visit(Visit visit) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (places.has(k)) {
        RowPiece<kVector> piece(places.at(k), k, kVector);
        pieces[k].get(piece.values);
        visit(piece);
      }
    }
    if constexpr (Places::kHasEdges) {
      if (places.edge_at >= 0) {
        RowPiece<kVector> piece(places.edge_at, 0, 1);
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
template <typename T, int kVector, int kThreads, int kForm, int kFlight, bool kInPassing>
struct HeldRow<T, kVector, 0, kThreads, kForm, kFlight, kInPassing> {
  static constexpr int kItemsHeld = 0;
  static constexpr bool kReadsAhead = false;
  struct Places {
    long long length;
    int thread;
    RowSplit split;
    __device__ Places(const T* row, long long length, int thread)
        : length(length), thread(thread), split(split_row<kVector>(row, length)) {}
    // Of all pieces of the row.
    __device__ long long first_vector() const { return split.head; }
    __device__ long long last_vector() const { return split.tail - kVector; }
  };
  const T* row;
  long long stride;
  Places places;

  __device__ HeldRow(const T* row, long long stride, long long length, int thread)
      : HeldRow(row, stride, Places(row, length, thread)) {}
  __device__ HeldRow(const T* row, long long stride, const Places& places)
      : row(row), stride(stride), places(places) {}

  template <typename Visit>
  __device__ void visit(Visit visit) {
    rows::PieceVisitor<kVector, Visit> each{visit};
    if constexpr (kVector == 1) {
      visit_strided<kFlight>(row, stride, places.length, places.thread, kThreads, each);
    } else {
      visit_row<kVector, kFlight>(row, places.length, places.thread, kThreads, each);
    }
  }
  __device__ void read(float (&values)[kVector], const RowPiece<kVector>& piece) const {
    read_row(values, piece, row, stride);
  }
  __device__ void keep(const RowPiece<kVector>&) {}  // it is where it was written to
};

}  // namespace gpuforge
