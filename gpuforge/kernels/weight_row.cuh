// The weight or the bias of a norm, for the threads of a row.
#pragma once

#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/unaligned.cuh"

namespace gpuforge {

// When a thread asks for the elements that belong to its pieces of the row.
//   kAbsent        never: there is no such array, and all of them are one number
//   kWhenWanted    when it has come to the piece
//   kPieceAhead    a piece earlier, of whole rows: those of the first when the row is on its way. Loads do
//                  not pass a store, so otherwise each piece waits for its own. Takes the registers of one.
//   kWithRow       all of them before the row, for whole rows of a few bytes a thread: nobody waits for them
//                  behind the sums. More would take the registers of other rows.
constexpr int kAbsent = 0, kWhenWanted = 1, kPieceAhead = 2, kWithRow = 3;
// For kWithRow: of whole rows, at most kMost bytes a thread.
template <typename T, int kItems, int kForm, int kMost>
constexpr bool kFewBytes = (kForm == kWholeRows && kItems > 0 &&
                            kItems * static_cast<int>(sizeof(T)) <= kMost);

// kShift of get(), from 0 to kShifts - 1, is for threads all of whose pieces may be read in vectors that are
// shifted by so much, as shift() says; kAnyShift for all others, by whom single elements are read unless rows
// are whole.
constexpr int kAnyShift = -1;

// Rows may begin at other multiples of 16 bytes than the array does, but for whole ones. Every thread calls
// begin() when its row is on its way, and get() for one piece after another, with the places of the row.
template <typename T, int kVector, int kForm, int kItems, int kWhen>
struct WeightRow {
  static_assert(kWhen == kWhenWanted);
  static constexpr bool kLoadsUnaligned = kForm != kWholeRows && kVector * sizeof(T) == 16;
  using Neighbours = UnalignedArray<T, kVector>;
  static constexpr int kShifts = kLoadsUnaligned ? Neighbours::kShifts : 0;
  const T* array;
  long long stride, length;
  Neighbours neighbours;
  bool allows;

  template <typename Places>
  __device__ WeightRow(const T* array, long long stride, long long length, float, const Places&)
      : array(array), stride(stride), length(length) {}
  template <typename Places>
  __device__ void begin(const Places& places) {
    neighbours = Neighbours(array, length, places.first_vector());
    allows = kLoadsUnaligned && stride == 1 && neighbours.allows(places.first_vector()) &&
             neighbours.allows(places.last_vector());
  }
  __device__ int shift() const { return allows ? neighbours.shift() : kAnyShift; }
  template <int kShift, typename Places>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>& piece, const Places&) const {
    if (kVector == 1 || kForm == kWholeRows || piece.count < kVector) {
      read_row(values, piece, array, stride);
    } else if constexpr (kShift == kAnyShift) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) values[i] = static_cast<float>(array[(piece.at + i) * stride]);
    } else {
      neighbours.template load<kShift>(values, piece.at);
    }
  }
};

template <typename T, int kVector, int kItems>
struct WeightRow<T, kVector, kWholeRows, kItems, kPieceAhead> {
  static constexpr int kShifts = 0;
  const T* array;
  HeldPiece<T, kVector> coming;

  template <typename Places>
  __device__ WeightRow(const T* array, long long, long long, float, const Places&) : array(array) {}
  __device__ static int shift() { return kAnyShift; }
  template <typename Places>
  __device__ void begin(const Places& places) {
    fetch(0, places);
  }
  template <int kShift, typename Places>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>& piece, const Places& places) {
    coming.get(values);
    fetch(piece.slot + 1, places);
  }

 private:
  template <typename Places>
  __device__ void fetch(int slot, const Places& places) {
    if (slot < kItems / kVector && places.has(slot)) coming.load(array + places.at(slot));
  }
};

template <typename T, int kVector, int kForm, int kItems>
struct WeightRow<T, kVector, kForm, kItems, kAbsent> {
  static constexpr int kShifts = 0;
  float otherwise;

  template <typename Places>
  __device__ WeightRow(const T*, long long, long long, float otherwise, const Places&)
      : otherwise(otherwise) {}
  __device__ static int shift() { return kAnyShift; }
  template <typename Places>
  __device__ static void begin(const Places&) {}
  template <int kShift, typename Places>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>&, const Places&) const {
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[i] = otherwise;
  }
};

template <typename T, int kVector, int kItems>
struct WeightRow<T, kVector, kWholeRows, kItems, kWithRow> {
  static constexpr int kShifts = 0;
  static constexpr int kLoads = kItems / kVector;
  HeldPiece<T, kVector> pieces[kLoads];

  template <typename Places>
  __device__ WeightRow(const T* array, long long, long long, float, const Places& places) {
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (places.has(k)) pieces[k].load(array + places.at(k));
    }
  }
  __device__ static int shift() {
    return kAnyShift;
  }
  template <typename Places>
  __device__ static void begin(const Places&) {}
  template <int kShift, typename Places>
  __device__ void get(float (&values)[kVector], const RowPiece<kVector>& piece, const Places&) const {
    pieces[piece.slot].get(values);
  }
};

}  // namespace gpuforge
