// out[i] = Body(inputs[0][i], inputs[1][i], ..) over views of any strides; what Body computes is a function
// of functions.cuh, or generated (fuse). Reads every element once and writes every element once; an input
// that is broadcast along the rows is read once a vector. kFlight vectors of kVector elements are under way
// in each thread. A thread reads all its elements before it writes the first, so out may be one of the
// inputs.
#pragma once

#include "gpuforge/kernels/element.cuh"
#include "gpuforge/kernels/moved.cuh"
#include "gpuforge/kernels/stream_order.cuh"
#include "gpuforge/ops/elementwise/functions.cuh"

namespace gpuforge {

constexpr int kWalkRank = 16;

// How an input reaches a thread: neighbours in memory (any stride when kVector is 1), one element for all of
// a vector, or a number that came with the launch.
template <typename T>
struct Elements {};
template <typename T>
struct Repeated {};
template <typename T>
struct Constant {};

// What a function is given: a truth (any number but 0), or a T.
struct Truth {};

// Addresses, and the bits of constants.
template <int kInputs>
struct Inputs {
  unsigned long long at[kInputs];
};

// The dimensions, outermost first; the innermost is counted in vectors. Strides count elements; array 0 is
// the output.
template <int kInputs>
struct ElementWalk {
  long long extents[kWalkRank];
  long long strides[kInputs + 1][kWalkRank];
  int rank;
};

template <typename T, int kVector>
union Vector {
  static constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
  T values[kVector];
  unsigned words[kBytes < 4 ? 1 : kBytes / 4];

  __device__ static Vector load(const T* from) {
    Vector result;
    if constexpr (kVector == 1) {
      result.values[0] = *from;
    } else if constexpr (kBytes == 16) {
      const auto moved = *reinterpret_cast<const typename Moved<16>::Type*>(from);
      result.words[0] = moved.x;
      result.words[1] = moved.y;
      result.words[2] = moved.z;
      result.words[3] = moved.w;
    } else if constexpr (kBytes == 8) {
      const auto moved = *reinterpret_cast<const typename Moved<8>::Type*>(from);
      result.words[0] = moved.x;
      result.words[1] = moved.y;
    } else if constexpr (kBytes == 4) {
      result.words[0] = *reinterpret_cast<const typename Moved<4>::Type*>(from);
    } else {
      result.words[0] = *reinterpret_cast<const typename Moved<2>::Type*>(from);
    }
    return result;
  }

  __device__ void store(T* to) const {
    if constexpr (kVector == 1) {
      *to = values[0];
    } else if constexpr (kBytes == 16) {
      typename Moved<16>::Type moved;
      moved.x = words[0];
      moved.y = words[1];
      moved.z = words[2];
      moved.w = words[3];
      *reinterpret_cast<typename Moved<16>::Type*>(to) = moved;
    } else if constexpr (kBytes == 8) {
      typename Moved<8>::Type moved;
      moved.x = words[0];
      moved.y = words[1];
      *reinterpret_cast<typename Moved<8>::Type*>(to) = moved;
    } else if constexpr (kBytes == 4) {
      *reinterpret_cast<typename Moved<4>::Type*>(to) = words[0];
    } else {
      *reinterpret_cast<typename Moved<2>::Type*>(to) = static_cast<unsigned short>(words[0]);
    }
  }
};

template <typename In, int kVector>
struct Loaded;
template <typename T, int kVector>
struct Loaded<Elements<T>, kVector> {
  Vector<T, kVector> vector;
  __device__ void load(unsigned long long at, long long offset) {
    vector = Vector<T, kVector>::load(reinterpret_cast<const T*>(at) + offset);
  }
  __device__ auto at(int lane) const { return number(vector.values[lane]); }
};
template <typename T, int kVector>
struct Loaded<Repeated<T>, kVector> {
  T value;
  __device__ void load(unsigned long long at, long long offset) {
    value = reinterpret_cast<const T*>(at)[offset];
  }
  __device__ auto at(int) const { return number(value); }
};
template <int kVector>
struct Loaded<Constant<float>, kVector> {
  float value;
  __device__ void load(unsigned long long bits, long long) {
    value = narrow::float_of(static_cast<unsigned>(bits));
  }
  __device__ float at(int) const { return value; }
};
template <int kVector>
struct Loaded<Constant<double>, kVector> {
  double value;
  __device__ void load(unsigned long long bits, long long) {
    asm("mov.b64 %0, %1;" : "=d"(value) : "l"(bits));
  }
  __device__ double at(int) const { return value; }
};
template <int kVector>
struct Loaded<Constant<int>, kVector> {
  int value;
  __device__ void load(unsigned long long bits, long long) { value = static_cast<int>(bits); }
  __device__ int at(int) const { return value; }
};
template <int kVector>
struct Loaded<Constant<long long>, kVector> {
  long long value;
  __device__ void load(unsigned long long bits, long long) { value = static_cast<long long>(bits); }
  __device__ long long at(int) const { return value; }
};

// What a thread has loaded of every input.
template <int kIndex, int kVector, typename... In>
struct LanesFrom {
  template <typename Offset>
  __device__ void load(const unsigned long long*, const Offset&) {}
};
template <int kIndex, int kVector, typename First, typename... Rest>
struct LanesFrom<kIndex, kVector, First, Rest...> {
  Loaded<First, kVector> first;
  LanesFrom<kIndex + 1, kVector, Rest...> rest;
  template <typename Offset>
  __device__ void load(const unsigned long long* at, const Offset& offset) {
    first.load(at[kIndex], offset.template of<First>(kIndex));
    rest.load(at, offset);
  }
  template <int kWanted>
  __device__ auto get(int lane) const {
    if constexpr (kWanted == kIndex) {
      return first.at(lane);
    } else {
      return rest.template get<kWanted>(lane);
    }
  }
};

template <typename T>
constexpr bool kIsRepeated = false;
template <typename T>
constexpr bool kIsRepeated<Repeated<T>> = true;

// Every array at the same place; what is repeated stays where it is.
struct SameOffset {
  long long at;
  template <typename In>
  __device__ long long of(int) const {
    return kIsRepeated<In> ? 0 : at;
  }
};
template <int kInputs>
struct OwnOffsets {
  long long at[kInputs + 1];
  template <typename In>
  __device__ long long of(int input) const {
    return at[input + 1];
  }
};

template <typename Wanted>
struct Given {
  template <typename Value>
  __device__ static Wanted as(Value value) {
    return static_cast<Wanted>(value);
  }
};
template <>
struct Given<Truth> {
  template <typename Value>
  __device__ static int as(Value value) {
    return value != 0;
  }
};

// One function, given its inputs as these types.
template <typename Function, typename... Types>
struct Call;
template <typename Function, typename A>
struct Call<Function, A> {
  template <typename Lanes>
  __device__ static auto of(const Lanes& lanes, int lane) {
    return Function::of(Given<A>::as(lanes.template get<0>(lane)));
  }
};
template <typename Function, typename A, typename B>
struct Call<Function, A, B> {
  template <typename Lanes>
  __device__ static auto of(const Lanes& lanes, int lane) {
    return Function::of(Given<A>::as(lanes.template get<0>(lane)), Given<B>::as(lanes.template get<1>(lane)));
  }
};
template <typename Function, typename A, typename B, typename C>
struct Call<Function, A, B, C> {
  template <typename Lanes>
  __device__ static auto of(const Lanes& lanes, int lane) {
    return Function::of(Given<A>::as(lanes.template get<0>(lane)), Given<B>::as(lanes.template get<1>(lane)),
                        Given<C>::as(lanes.template get<2>(lane)));
  }
};

template <typename Body, typename Out, int kVector, typename Lanes>
__device__ inline void compute_and_store(Out* to, const Lanes& lanes) {
  Vector<Out, kVector> result;
#pragma unroll
  for (int lane = 0; lane < kVector; ++lane) result.values[lane] = store_as<Out>(Body::of(lanes, lane));
  result.store(to);
}

// Everything lies as the output does, without gaps, or is repeated.
template <typename Body, typename Out, typename Index, int kThreads, int kVector, int kFlight, typename... In>
__global__ void __launch_bounds__(kThreads)
    elementwise_run(Out* out, Inputs<sizeof...(In)> inputs, Index count) {
  begin_after_previous_kernel();
  const Index vectors = count / kVector;
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kFlight) + threadIdx.x;
  LanesFrom<0, kVector, In...> lanes[kFlight];
#pragma unroll
  for (int k = 0; k < kFlight; ++k) {
    const Index at = first + k * kThreads;
    if (at < vectors) lanes[k].load(inputs.at, SameOffset{static_cast<long long>(at) * kVector});
  }
#pragma unroll
  for (int k = 0; k < kFlight; ++k) {
    const Index at = first + k * kThreads;
    if (at < vectors) {
      compute_and_store<Body, Out, kVector>(out + static_cast<long long>(at) * kVector, lanes[k]);
    }
  }
  if constexpr (kVector > 1) {
    const Index rest = count - vectors * kVector;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < rest) {
      const long long at = static_cast<long long>(vectors) * kVector + threadIdx.x;
      LanesFrom<0, 1, In...> lane;
      lane.load(inputs.at, SameOffset{at});
      compute_and_store<Body, Out, 1>(out + at, lane);
    }
  }
}

template <typename Index, int kInputs>
__device__ inline OwnOffsets<kInputs> walk_offsets(const ElementWalk<kInputs>& walk, Index index,
                                                   int vector) {
  OwnOffsets<kInputs> offsets;
#pragma unroll
  for (int a = 0; a <= kInputs; ++a) offsets.at[a] = 0;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const Index extent = static_cast<Index>(walk.extents[d]);
    const Index outer = d > 0 ? index / extent : 0;
    const long long at = static_cast<long long>(index - outer * extent) * (d == walk.rank - 1 ? vector : 1);
#pragma unroll
    for (int a = 0; a <= kInputs; ++a) offsets.at[a] += at * walk.strides[a][d];
    index = outer;
  }
  return offsets;
}

// Any strides; kVector above 1 where the innermost dimension is of neighbours, or repeated. `count`: vectors.
template <typename Body, typename Out, typename Index, int kThreads, int kVector, int kFlight, typename... In>
__global__ void __launch_bounds__(kThreads)
    elementwise_walk(Out* out, Inputs<sizeof...(In)> inputs, Index count,
                     const __grid_constant__ ElementWalk<sizeof...(In)> walk) {
  begin_after_previous_kernel();
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kFlight) + threadIdx.x;
  LanesFrom<0, kVector, In...> lanes[kFlight];
  long long to[kFlight];
#pragma unroll
  for (int k = 0; k < kFlight; ++k) {
    const Index at = first + k * kThreads;
    if (at < count) {
      const auto offsets = walk_offsets(walk, at, kVector);
      to[k] = offsets.at[0];
      lanes[k].load(inputs.at, offsets);
    }
  }
#pragma unroll
  for (int k = 0; k < kFlight; ++k) {
    const Index at = first + k * kThreads;
    if (at < count) compute_and_store<Body, Out, kVector>(out + to[k], lanes[k]);
  }
}

}  // namespace gpuforge
