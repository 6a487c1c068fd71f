// dx = y * (dy - sum(dy * y)), the sum along the rows of views of any strides. Rows that are held are read
// once: 3 * sizeof(T) bytes an element, 4 operations, in float; streamed ones are read twice.
#include "gpuforge/kernels/held_row.cuh"
#include "gpuforge/kernels/row_group.cuh"
#include "gpuforge/kernels/row_turns.cuh"

namespace gpuforge {

// A thread a row, twice over it.
template <typename T>
__global__ void __launch_bounds__(128)
    softmax_backward_naive(T* dx, const T* dy, const T* y, const __grid_constant__ Rows<3> rows) {
  const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows.count) return;
  const RowOffsets<3> begin = row_offsets(rows, row);
  const T* const y_row = y + begin.at[0];
  const T* const dy_row = dy + begin.at[1];
  T* const dx_row = dx + begin.at[2];
  float sum = 0;
  for (long long i = 0; i < rows.length; ++i) {
    sum += static_cast<float>(dy_row[i * rows.axis_strides[1]]) *
           static_cast<float>(y_row[i * rows.axis_strides[0]]);
  }
  for (long long i = 0; i < rows.length; ++i) {
    const float factor = static_cast<float>(y_row[i * rows.axis_strides[0]]);
    dx_row[i * rows.axis_strides[2]] =
        T(factor * (static_cast<float>(dy_row[i * rows.axis_strides[1]]) - sum));
  }
}

// Where dy is held: as y, which is a Row, or in shared memory, where the registers of a cluster are full of
// y.
template <typename Row, typename T, int kVector, int kItems, int kThreads, int kForm, int kCluster>
struct GradientRow {
  using Type = SharedRow<T, kVector, kItems, kThreads * kCluster, kThreads, kForm>;
};
template <typename Row, typename T, int kVector, int kItems, int kThreads, int kForm>
struct GradientRow<Row, T, kVector, kItems, kThreads, kForm, 1> {
  using Type = Row;
};

// For __launch_bounds__: as clusters need it. 1 for rows with edges elsewhere than on SM 90, where a compiler
// that is not asked spills.
template <typename T, int kItems, int kThreads, int kForm, int kCluster>
constexpr int kBackwardBlocks =
    __CUDA_ARCH__ != 900 && kCluster == 1 && kItems != 0 && kForm == kUnitRows
        ? 1
        : cluster::kBlocksBeside<kThreads, kCluster, kItems * sizeof(T), kForm == kWholeRows,
                                 kThreads * kItems * sizeof(T)>;

// Both arrays, where blocks wait for each other; for a block alone that would be too much at once.
template <typename Row, typename Group, typename T, typename AllRows>
__device__ inline void read_both_ahead(const AllRows& rows, const T* dy, const T* y) {
  if constexpr (Row::kReadsAhead) {
    Group::read_ahead(rows, dy, 1);
    if constexpr (Group::kTeam > Group::kBlock) Group::read_ahead(rows, y, 0);
  }
}

// kThreads threads a row, of each of kCluster blocks.
template <typename T, int kVector, int kItems, int kThreads, int kRows, bool kColumns, int kForm = kAnyRows,
          int kCluster = 1>
__global__ void __launch_bounds__(kThreads* kRows, kBackwardBlocks<T, kItems, kThreads, kForm, kCluster>)
    softmax_backward(T* dx, const T* dy, const T* y,
                     const __grid_constant__ typename RowsOf<3, kForm>::Type rows) {
  using Group = RowGroup<kThreads, kRows, kColumns, kCluster>;
  using Row = HeldRow<T, kVector, kItems, Group::kTeam, kForm, (kThreads > 512 ? 2 : 4)>;  // no spills
  using Gradients = typename GradientRow<Row, T, kVector, kItems, kThreads, kForm, kCluster>::Type;
  __shared__ typename Group::template Slots<float> slots;
  constexpr bool kCopies = kCluster > 1, kAsksFirst = kCopies && kForm != kWholeRows;
  if constexpr (kCopies) Gradients::make();
  Group::begin(slots);
  const bool present = Group::present(rows.count);
  const long long length = present ? rows.length : 0;
  begin_after_previous_kernel();
  const RowOffsets<3> begin = row_offsets(rows, present ? Group::row() : 0);
  const typename Row::Places places(y + begin.at[0], length, Group::thread());
  // y first, unless that takes registers that rows with edges do not have. Compilers would put its loads
  // behind the copies all the same.
  if constexpr (kAsksFirst) {
    Gradients::bring(dy + begin.at[1], places);
    read_both_ahead<Row, Group>(rows, dy, y);
  }
  Row y_row(y + begin.at[0], axis_stride(rows, 0), places);
  if constexpr (kCopies && !kAsksFirst) {
    __syncwarp();
    Gradients::bring(dy + begin.at[1], places);
  }
  Gradients dy_row(dy + begin.at[1], axis_stride(rows, 1), places);
  if constexpr (!kAsksFirst) read_both_ahead<Row, Group>(rows, dy, y);
  if constexpr (kCopies) dy_row.wait();

  float sum = 0;
  y_row.visit([&](const RowPiece<kVector>& piece) {
    float gradients[kVector];
    dy_row.read(gradients, piece);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) sum += gradients[i] * piece.values[i];
    }
  });
  Group::meet();
  sum = Group::reduce(sum, Sum{}, slots);
  T* const to = dx + begin.at[2];
  y_row.visit([&](RowPiece<kVector>& piece) {
    float gradients[kVector];
    dy_row.read(gradients, piece);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i < piece.count) piece.values[i] *= gradients[i] - sum;
    }
    write_row(to, axis_stride(rows, 2), piece);
  });
}

// For rows so long that two clusters are all that multiprocessors have room for, which leaves memory idle
// when both of them wait. Here they have the rows in turn: what is written leaves its registers to the next
// row's y, and a quarter of its dy comes before that, to shared memory that a kernel for one row does not
// need.
template <typename T, int kVector, int kItems, int kThreads, int kCluster>
__global__ void __launch_bounds__(kThreads, __CUDA_ARCH__ == 900 ? 1024 / kThreads : 1)
    softmax_backward_in_turn(T* dx, const T* dy, const T* y, const __grid_constant__ UnitRows<3> rows) {
  constexpr int kLoads = kItems / kVector, kRounds = kLoads + kLoads / 4;
  using Turns = RowTurns<kThreads, kCluster>;
  using Total = TurnSum<kThreads, kCluster>;
  using Ring = RoundRing<T, kVector, kLoads, kThreads, kCluster, kRounds>;
  extern __shared__ typename Ring::Vector rooms[];
  __shared__ typename Ring::Slots arriving;
  __shared__ typename Total::Slots slots;
  const Ring dy_rounds(rooms, arriving, dy, rows, 1);
  if (threadIdx.x == 0) {
    dy_rounds.make();
    Total::make(slots);
  }
  __syncthreads();
  cluster::begin();
  begin_after_previous_kernel();
  if (threadIdx.x == 0) dy_rounds.begin();
  const RowPlaces<kVector, Turns::kTeam, kWholeRows> places(y, rows.length, Turns::thread());
  constexpr int kStep = Turns::kTeam * kVector;  // from a thread's piece to the next
  const int count = static_cast<int>(rows.count);
  HeldPiece<T, kVector> pieces[kLoads] = {};  // of y
  int row = Turns::first();
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (places.has(k)) pieces[k].load(y + row * rows.strides[0] + places.at(k));
  }
  unsigned has = 0;  // the pieces that there are, a bit each: a register in place of eight
#pragma unroll
  for (int k = 0; k < kLoads; ++k) has |= places.has(k) ? 1u << k : 0u;
  asm volatile("" : "+r"(has));
  cluster::meet();
  typename Ring::Place place;
#pragma unroll 1
  for (unsigned turn = 0; row < count; ++turn) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      dy_rounds.wait(place);
      if ((has >> k & 1) != 0) {
        float values[kVector], gradients[kVector];
        pieces[k].get(values);
        dy_rounds.read(gradients, place.room);
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum += gradients[i] * values[i];
      }
      place.advance();
    }
    sum = Total::reduce(sum, turn, slots);
    const int next = row + Turns::step();
    T* const to = dx + row * rows.strides[2] + places.at(0);
    const T* const from = y + next * rows.strides[0] + places.at(0);
    unsigned room = Ring::rooms_before(place.room, kLoads);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      float values[kVector], gradients[kVector];
      pieces[k].get(values);
      dy_rounds.read(gradients, room);
#pragma unroll
      for (int i = 0; i < kVector; ++i) values[i] *= gradients[i] - sum;
      if ((has >> k & 1) != 0) store_vector(to + k * kStep, values);
      if ((has >> k & 1) != 0 && next < count) pieces[k].load(from + k * kStep);
      dy_rounds.leave(k, room, next);
      room = Ring::next_room(room);
    }
    row = next;
  }
}

}  // namespace gpuforge
