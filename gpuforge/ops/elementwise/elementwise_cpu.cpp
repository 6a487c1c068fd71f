// Blocks of elements that stay in the cache: inputs become the type they are computed in, every step is one
// loop over the block, and the last result is stored. Threads take ranges of the walk.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/parallel.h"
#include "gpuforge/ops/elementwise/host_functions.h"
#include "gpuforge/ops/elementwise/program.h"

namespace gpuforge::ops {
namespace {

constexpr std::size_t kBlock = 512;                // elements
constexpr std::int64_t kGrain = 1 << 14;           // elements worth a thread
using Buffer = std::array<std::uint64_t, kBlock>;  // of any computed type

template <typename Bits>
void move_strided(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                  std::size_t count) {
  auto* const out = reinterpret_cast<Bits*>(to);
  const auto* const in = reinterpret_cast<const Bits*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    out[at * to_stride] = in[at * from_stride];
  }
}

void move_elements(std::size_t bytes, std::byte* to, std::int64_t to_stride, const std::byte* from,
                   std::int64_t from_stride, std::size_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, count * bytes);
  } else if (bytes == 1) {
    move_strided<std::uint8_t>(to, to_stride, from, from_stride, count);
  } else if (bytes == 2) {
    move_strided<std::uint16_t>(to, to_stride, from, from_stride, count);
  } else if (bytes == 4) {
    move_strided<std::uint32_t>(to, to_stride, from, from_stride, count);
  } else {
    move_strided<std::uint64_t>(to, to_stride, from, from_stride, count);
  }
}

// Rows of one array of the walk, from the element of number `begin` on.
template <typename F>
void for_rows_of(const ElementWalk& walk, const WalkedArray& array, std::int64_t begin, std::size_t count,
                 const F& f) {
  const std::size_t rank = walk.extents.size();
  auto* const first = reinterpret_cast<std::byte*>(array.address);
  const auto bytes = static_cast<std::int64_t>(element_bytes(array.dtype));
  if (rank == 0) return f(first, std::int64_t{1}, std::size_t{0}, count);
  Dims at = Dims::filled(rank, 0);
  std::int64_t rest = begin, offset = 0;
  for (std::size_t d = rank; d-- > 0;) {
    at[d] = rest % walk.extents[d];
    rest /= walk.extents[d];
    offset += at[d] * array.strides[d];
  }
  const std::size_t inner = rank - 1;
  for (std::size_t done = 0; done < count;) {
    const auto row = static_cast<std::size_t>(walk.extents[inner] - at[inner]);
    const std::size_t n = std::min(row, count - done);
    f(first + offset * bytes, array.strides[inner], done, n);
    done += n;
    offset -= at[inner] * array.strides[inner];
    at[inner] = 0;
    for (std::size_t d = inner; d-- > 0;) {
      offset += array.strides[d];
      if (++at[d] < walk.extents[d]) break;
      offset -= at[d] * array.strides[d];
      at[d] = 0;
    }
  }
}

template <typename To, typename From>
void convert_loop(Buffer& to, const void* from, std::size_t count) {
  auto* __restrict out = reinterpret_cast<To*>(to.data());
  const auto* __restrict in = static_cast<const From*>(from);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(in[i]);
}
template <typename From>
void truth_loop(Buffer& to, const void* from, std::size_t count) {
  auto* __restrict out = reinterpret_cast<std::int32_t*>(to.data());
  const auto* __restrict in = static_cast<const From*>(from);
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i] != From(0);
}

// Calls f with the type of a computed dtype.
template <typename F>
void with_computed(DType compute, const F& f) {
  switch (compute) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i64:
      return f(std::int64_t{});
    default:
      return f(std::int32_t{});
  }
}

template <typename T>
void wrap_loop(void* to, const void* from, std::size_t count) {
  auto* __restrict out = static_cast<T*>(to);
  const auto* __restrict in = static_cast<const std::int32_t*>(from);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
}

// A computed block as elements: floats round, integers wrap.
void to_elements(void* to, DType dtype, const void* from, std::size_t count) {
  const DType compute = compute_dtype(dtype);
  if (compute == dtype) {
    std::memcpy(to, from, count * element_bytes(dtype));
  } else if (dtype == DType::i16) {
    wrap_loop<std::int16_t>(to, from, count);
  } else if (dtype == DType::i8) {
    wrap_loop<std::int8_t>(to, from, count);
  } else if (dtype == DType::u8) {
    wrap_loop<std::uint8_t>(to, from, count);
  } else {
    convert_elements(to, dtype, from, compute, count);
  }
}

// What one thread works with.
class Worker {
 public:
  Worker(const Program& program, const ElementWalk& walk)
      : program_(program), walk_(walk), inputs_(program.inputs.size()), results_(program.steps.size()) {
    for (const ConstantBits& constant : program.constants) {
      Buffer& values = constants_.emplace_back();
      with_computed(constant.compute, [&](auto type) {
        using T = decltype(type);
        T value;
        std::memcpy(&value, &constant.bits, sizeof(value));
        std::fill_n(reinterpret_cast<T*>(values.data()), kBlock, value);
      });
    }
  }

  void run(std::int64_t begin, std::size_t count) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) load(i, begin, count);
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const Step& step = program_.steps[s];
      const DType compute = step_compute(step);
      const void* arguments[3] = {};
      for (std::size_t k = 0; k < step.sources.size(); ++k) {
        arguments[k] = argument(step.sources[k], step.how.truth[k], compute, k, count);
      }
      loop_for(*step.how.function->host, compute)(results_[s].data(), arguments[0], arguments[1],
                                                  arguments[2], count);
      if (s + 1 < program_.steps.size()) wrap(s, count);
    }
    store(begin, count);
  }

  static DType step_compute(const Step& step) { return compute_dtype(step.how.operation); }

 private:
  void load(std::size_t i, std::int64_t begin, std::size_t count) {
    const WalkedArray& array = walk_.arrays[i + 1];
    const std::size_t bytes = element_bytes(array.dtype);
    const DType compute = compute_dtype(array.dtype);
    Buffer& values = inputs_[i].values;
    inputs_[i].at = values.data();
    std::byte* const gathered = reinterpret_cast<std::byte*>(scratch_.data());
    bool in_place = false;
    for_rows_of(walk_, array, begin, count,
                [&](const std::byte* from, std::int64_t stride, std::size_t done, std::size_t n) {
                  if (n == count && stride == 1) {
                    // Read where it lies.
                    in_place = true;
                    if (compute == array.dtype) {
                      inputs_[i].at = from;
                    } else {
                      convert_elements(values.data(), compute, from, array.dtype, count);
                    }
                    return;
                  }
                  move_elements(bytes, gathered + done * bytes, 1, from, stride, n);
                });
    if (!in_place) convert_elements(values.data(), compute, gathered, array.dtype, count);
  }

  const void* argument(const Source& source, bool truth, DType compute, std::size_t slot, std::size_t count) {
    const void* values = nullptr;
    DType held = compute;
    switch (source.kind) {
      case Source::Kind::input:
        values = inputs_[source.index].at;
        held = compute_dtype(program_.inputs[source.index]);
        break;
      case Source::Kind::constant:
        return constants_[source.index].data();
      case Source::Kind::step:
        values = results_[source.index].data();
        held = compute_dtype(program_.steps[source.index].how.result);
        break;
    }
    if (truth) {
      with_computed(held, [&](auto type) { truth_loop<decltype(type)>(converted_[slot], values, count); });
      return converted_[slot].data();
    }
    if (held == compute) return values;
    with_computed(held, [&](auto from) {
      with_computed(compute, [&](auto to) {
        convert_loop<decltype(to), decltype(from)>(converted_[slot], values, count);
      });
    });
    return converted_[slot].data();
  }

  // What a step keeps of its result between steps: integers narrower than they are computed wrap.
  void wrap(std::size_t s, std::size_t count) {
    const DType result = program_.steps[s].how.result;
    if (is_floating(result) || compute_dtype(result) == result) return;
    to_elements(scratch_.data(), result, results_[s].data(), count);
    convert_elements(results_[s].data(), DType::i32, scratch_.data(), result, count);
  }

  void store(std::int64_t begin, std::size_t count) {
    const WalkedArray& out = walk_.arrays[0];
    const std::size_t bytes = element_bytes(out.dtype);
    const void* const result = results_.back().data();
    const std::byte* elements = nullptr;
    for_rows_of(walk_, out, begin, count,
                [&](std::byte* to, std::int64_t stride, std::size_t done, std::size_t n) {
                  if (n == count && stride == 1) return to_elements(to, out.dtype, result, count);
                  if (elements == nullptr) {
                    to_elements(scratch_.data(), out.dtype, result, count);
                    elements = reinterpret_cast<const std::byte*>(scratch_.data());
                  }
                  move_elements(bytes, to, stride, elements + done * bytes, 1, n);
                });
  }

  struct Input {
    const void* at = nullptr;
    Buffer values;
  };
  const Program& program_;
  const ElementWalk& walk_;
  std::vector<Input> inputs_;
  std::vector<Buffer> results_;
  std::vector<Buffer> constants_;
  std::array<Buffer, 3> converted_;
  Buffer scratch_;
};

}  // namespace

void run_on_host(const Program& program, const ElementWalk& walk) {
  const std::int64_t count = walk.count();
  parallel_ranges(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto worker = std::make_unique<Worker>(program, walk);
    for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(kBlock)) {
      worker->run(at, static_cast<std::size_t>(std::min<std::int64_t>(kBlock, end - at)));
    }
  });
}

}  // namespace gpuforge::ops
