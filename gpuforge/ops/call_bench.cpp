// What a call of an op costs its caller, from the arguments to the driver's launch: kernels compiled, outputs
// given. Needs a GPU, or a stand-in of its driver, which runs no kernels; says so where there is neither. For
// instruction counts, which repeat, GPUFORGE_LIBRARY_PATH names the stand-in's folder:
//   valgrind --tool=callgrind --toggle-collect='gpuforge::ops::call_op(*' --toggle-collect=cuLaunchKernel ..
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/ops/copy_transpose/copy_transpose.h"
#include "gpuforge/ops/elementwise/elementwise.h"
#include "gpuforge/ops/layer_norm/layer_norm.h"
#include "gpuforge/ops/matmul/matmul.h"
#include "gpuforge/ops/reduce_sum/reduce_sum.h"
#include "gpuforge/ops/reductions/reductions.h"
#include "gpuforge/ops/rms_norm/rms_norm.h"
#include "gpuforge/ops/softmax_online/softmax_online.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward.h"

namespace gpuforge::ops {

// Not inlined, so that a profile can begin and end here.
[[gnu::noinline]] void call_op(const std::function<void()>& op) {
  op();
}

namespace {

// The queue holds about a thousand launches; waiting now and then keeps its fullness out of the time.
constexpr int kBatch = 300;

struct Bench {
  std::shared_ptr<Context> context;
  std::shared_ptr<device::Stream> stream;
  Array array(const Shape& shape, DType dtype = DType::f16) const {
    return empty(context, shape, dtype, *stream);
  }
};

using MakeCall = std::function<std::function<void()>(const Bench&)>;

Bench open() {
  const Environment environment = read_environment();
  const auto device = device::open_device("cuda:0", cuda::search_options(environment));
  const auto context = Context::make(device, {.jit = jit_options(environment)});
  return {context, context->make_stream()};
}

void time_calls(benchmark::State& state, const MakeCall& make) {
  Bench bench;
  std::function<void()> call;
  try {
    bench = open();
    call = make(bench);
    for (int warm = 0; warm < 2; ++warm) call();  // kernels compiled and loaded, memory in the pool
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  bench.stream->synchronize();
  int queued = 0;
  for (auto _ : state) {
    call_op(call);
    if (++queued < kBatch) continue;
    state.PauseTiming();
    bench.stream->synchronize();
    queued = 0;
    state.ResumeTiming();
  }
  bench.stream->synchronize();
}

std::vector<std::pair<std::string, MakeCall>> calls() {
  const Shape matrix{4096, 1024};
  return {
      {"softmax_online",
       [=](const Bench& b) {
         return [b, out = b.array(matrix), x = b.array(matrix)]() mutable {
           softmax_online(out, x, {}, *b.stream);
         };
       }},
      {"softmax_online_of_others",  // memory as another library hands it over, made arrays for the call
       [=](const Bench& b) {
         return [b, out = b.array(matrix), x = b.array(matrix)]() mutable {
           const auto as_array = [&b](const Array& memory) {
             return from_memory(b.context, memory.address(), memory.shape(), memory.strides(), memory.dtype(),
                                *b.stream, nullptr);
           };
           Array to = as_array(out);
           softmax_online(to, as_array(x), {}, *b.stream);
         };
       }},
      {"softmax_online_backward",
       [=](const Bench& b) {
         return [b, dx = b.array(matrix), dy = b.array(matrix), y = b.array(matrix)]() mutable {
           softmax_online_backward(dx, dy, y, {}, *b.stream);
         };
       }},
      {"rms_norm",
       [=](const Bench& b) {
         return [b, out = b.array(matrix), x = b.array(matrix), weight = b.array({1024})]() mutable {
           rms_norm(out, x, &weight, {}, {}, *b.stream);
         };
       }},
      {"layer_norm",
       [=](const Bench& b) {
         return [b, out = b.array(matrix), x = b.array(matrix), weight = b.array({1024}),
                 bias = b.array({1024})]() mutable { layer_norm(out, x, &weight, &bias, {}, {}, *b.stream); };
       }},
      {"reduce_sum",
       [=](const Bench& b) {
         return [b, out = b.array({4096}), x = b.array(matrix)]() mutable {
           reduce_sum(out, x, -1, {}, *b.stream);
         };
       }},
      {"reduce_sum_split",
       [=](const Bench& b) {
         return [b, out = b.array({4}), x = b.array({4, 1 << 20})]() mutable {
           reduce_sum(out, x, -1, {}, *b.stream);
         };
       }},
      {"copy_transpose",
       [=](const Bench& b) {
         return [b, out = b.array({1024, 4096}), x = b.array(matrix)]() mutable {
           copy_transpose(out, x, {}, *b.stream);
         };
       }},
      {"matmul",
       [=](const Bench& b) {
         return [b, out = b.array({512, 512}), x = b.array({512, 512}), y = b.array({512, 512})]() mutable {
           matmul(x, y, {.out = &out}, *b.stream);
         };
       }},
      {"max_of_i32",
       [=](const Bench& b) {
         return [b, out = b.array({4096}, DType::i32), x = b.array(matrix, DType::i32)]() mutable {
           const std::int64_t axes[] = {1};
           reduce_axes(Reduction::max, x, axes, {.out = &out}, *b.stream);
         };
       }},
      {"add",
       [=](const Bench& b) {
         return [b, operands = std::vector<Operand>{b.array(matrix), b.array(matrix)},
                 out = b.array(matrix)]() mutable { apply("add", operands, {.out = &out}, *b.stream); };
       }},
      {"add_new",
       [=](const Bench& b) {
         return [b, x = b.array(matrix), y = b.array(matrix)] { apply("add", x, y, *b.stream); };
       }},
      {"mul_number",
       [=](const Bench& b) { return [b, x = b.array(matrix)] { apply("mul", x, 2.0, *b.stream); }; }},
      {"copy_strided",
       [=](const Bench& b) {
         return [b, out = b.array({1024, 4096}), x = b.array(matrix)]() mutable {
           out.assign(x.transpose(), *b.stream);
         };
       }},
  };
}

const bool registered = [] {
  for (const auto& [name, make] : calls()) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [make = make](benchmark::State& state) { time_calls(state, make); });
  }
  return true;
}();

}  // namespace
}  // namespace gpuforge::ops
