// Rows that a cluster of blocks has in turn, one after another: while it works at one, the next comes. SM 90
// and newer, NVRTC alone. For rows of whole vectors of 16 bytes (kWholeRows), of which each thread of the
// cluster has up to kLoads, those of RowPlaces: round k is what the threads of a block have for their k-th.
//   RowTurns<kThreads, kCluster>   which rows, and which thread of them
//   TurnSum<kThreads, kCluster>    a sum over the threads of a row, for every row
//   RoundRing<..>                  a block's rounds of one array in shared memory, more of them than a row
//   has
#pragma once

#include "gpuforge/kernels/group_reduce.cuh"
#include "gpuforge/kernels/shared_row.cuh"

namespace gpuforge {

template <int kThreads, int kCluster>
struct RowTurns {
  static constexpr int kTeam = kThreads * kCluster;
  __device__ static int first() { return static_cast<int>(blockIdx.x / kCluster); }
  __device__ static int step() { return static_cast<int>(gridDim.x / kCluster); }
  __device__ static int thread() { return cluster::rank() * kThreads + static_cast<int>(threadIdx.x); }
};

// Two of everything: a block that is ahead leaves its value for the next row while others look at this one's.
// It cannot be two rows ahead, for that takes the values of all.
template <int kThreads, int kCluster>
struct TurnSum {
  static constexpr int kWarps = kThreads / kWarp;
  struct Slots {
    float of_warps[2][kWarps];
    float of_blocks[2][kCluster];
    cluster::Arrivals arrivals[2];
  };
  // By one thread, before the cluster begins.
  __device__ static void make(Slots& slots) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      cluster::make(&slots.arrivals[i]);
      cluster::expect(&slots.arrivals[i], sizeof(slots.of_blocks[i]));
    }
  }
  // All threads have the result. `turn` counts the rows.
  __device__ static float reduce(float value, unsigned turn, Slots& slots) {
    const unsigned thread = threadIdx.x, lane = thread % kWarp, half = turn % 2;
    value = warp_reduce<kWarp>(value, Sum{});
    if (lane == 0) slots.of_warps[half][thread / kWarp] = value;
    __syncthreads();
    if (thread < kWarp) {
      value = warp_reduce<kWarps>(slots.of_warps[half][lane % kWarps], Sum{});
      if (lane < kCluster)
        cluster::send(&slots.of_blocks[half][cluster::rank()], &slots.arrivals[half], static_cast<int>(lane),
                      value);
    }
    cluster::wait_for(&slots.arrivals[half], turn / 2 % 2);
    value = warp_reduce<kCluster>(slots.of_blocks[half][lane % kCluster], Sum{});
    // Nobody sends for the row after the next before this thread has sent for the next.
    if (thread == 0) cluster::expect(&slots.arrivals[half], sizeof(slots.of_blocks[half]));
    return value;
  }
};

// Rounds are copied long before they are wanted: when every thread has left one, its room goes to the one
// that comes kRounds later. Nobody waits for that but one warp, for each round another one.
template <typename T, int kVector, int kLoads, int kThreads, int kCluster, int kRounds>
struct RoundRing {
  static_assert(kVector * sizeof(T) == 16 && kRounds >= kLoads, "a row, in vectors");
  static_assert(kLoads <= kThreads / kWarp && kLoads < 16, "a warp and a barrier for each round");
  using Turns = RowTurns<kThreads, kCluster>;
  using Vector = typename Moved<16>::Type;
  static constexpr int kRoundElements = kThreads * kVector;
  struct Slots {
    cluster::Arrivals arrivals[kRounds];
  };
  __device__ static unsigned next_room(unsigned room) { return room == kRounds - 1 ? 0 : room + 1; }
  __device__ static unsigned rooms_before(unsigned room, unsigned rounds) {
    return room >= rounds ? room - rounds : room + kRounds - rounds;
  }
  // For who waits for one round after another: the next one's room, and which time it is used.
  struct Place {
    unsigned room = 0, parity = 0;
    __device__ void advance() {
      parity = room == kRounds - 1 ? parity ^ 1 : parity;
      room = next_room(room);
    }
  };
  Vector* rooms;
  Slots& slots;
  const T* array;
  long long stride;  // from a row to the next
  int length, count;

  template <int kArrays>
  __device__ RoundRing(Vector* rooms, Slots& slots, const T* array, const UnitRows<kArrays>& rows, int which)
      : rooms(rooms),
        slots(slots),
        array(array),
        stride(rows.strides[which]),
        length(static_cast<int>(rows.length)),
        count(static_cast<int>(rows.count)) {}

  // By one thread, before anybody waits.
  __device__ void make() const {
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) cluster::make(&slots.arrivals[i]);
  }
  // By one thread: the first of them.
  __device__ void begin() const {
#pragma unroll 1
    for (int k = 0; k < kRounds; ++k)
      bring(Turns::first() + k / kLoads * Turns::step(), k % kLoads, static_cast<unsigned>(k));
  }
  __device__ void wait(const Place& place) const {
    cluster::wait_for_copy(&slots.arrivals[place.room], place.parity);
  }
  // Of a thread that has nothing in this round: anything.
  __device__ void read(float (&values)[kVector], unsigned room) const {
    read_shared<T>(values, cluster::shared_address(rooms + room * kThreads + threadIdx.x));
  }
  // Round `k` of a row, in `room`, is not read again by this thread; whole warps call it. `next`: the row
  // that this block has after it.
  __device__ void leave(int k, unsigned room, int next) const {
    if (threadIdx.x / kWarp != static_cast<unsigned>(k)) {
      asm volatile("barrier.cta.arrive %0, %1;" : : "r"(k + 1), "n"(kThreads) : "memory");
      return;
    }
    asm volatile("barrier.cta.sync %0, %1;" : : "r"(k + 1), "n"(kThreads) : "memory");
    constexpr int kAhead = kRounds - kLoads;
    if (threadIdx.x % kWarp == 0)
      bring(k + kAhead < kLoads ? next : next + Turns::step(), (k + kAhead) % kLoads, room);
  }

 private:
  // Nothing where there is no such row.
  __device__ void bring(int row, int round, unsigned room) const {
    if (row >= count) return;
    const int at = (round * kCluster + cluster::rank()) * kRoundElements;
    const int left = length - at;
    const int elements = left < 0 ? 0 : left < kRoundElements ? left : kRoundElements;
    const unsigned bytes = static_cast<unsigned>(elements) * static_cast<unsigned>(sizeof(T));
    cluster::expect(&slots.arrivals[room], bytes);
    if (bytes > 0)
      cluster::copy(cluster::shared_address(rooms + room * kThreads), array + row * stride + at, bytes,
                    &slots.arrivals[room]);
  }
};

}  // namespace gpuforge
