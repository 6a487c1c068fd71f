// Groups of threads that go over a row several times; on top of rows.cuh.
//   RowGroup<kThreads, kRows, kColumns, kCluster>   which row and which part of it a thread has, and
//     reductions over the threads of a row. kColumns: threads side by side have rows side by side, for arrays
//     whose rows are columns in memory. kCluster: blocks, a cluster, that have a row together.
//   RowPiece<kVector>                       some elements of a row as floats: a vector, or a single one
//   HeldRow<T, kVector, kItems, kThreads, kForm>   a row that is read from memory once, kItems elements into
//     the registers of each thread; with kItems 0, one that is read again for every visit. visit(f) calls f
//     with each RowPiece that the thread has; read(piece) gives the same elements of another row.
// NVRTC takes no generic lambdas, so a piece says with a number, known when f is inlined, how much it has.
#pragma once

#include "gpuforge/kernels/cluster.cuh"
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
    if constexpr (sizeof(value) == 16) {
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
  // For RowGroup::read_ahead. A kernel of one load a thread is for few rows, and over the sooner the shorter
  // it is.
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
