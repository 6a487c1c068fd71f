// Host time of one launch: the driver's own call, and ours around it. Needs a GPU; says so where there is
// none.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "gpuforge/base/environment.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/device/cuda_module.h"
#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {
namespace {

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .f32 c, .param .u32 d)
{ ret; }
)";

struct Bench {
  std::shared_ptr<Device> device;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Function> function;
};

Bench open(benchmark::State& state) {
  std::string why;
  const auto driver = cuda::Driver::try_load(cuda::search_options(read_environment()), &why);
  if (driver == nullptr) {
    state.SkipWithError(why.c_str());
    return {};
  }
  const auto device = make_cuda_device(driver, 0);
  const auto function = device->load_module(std::as_bytes(std::span(kPtx)), "bench")->function("nothing");
  return {device, device->make_stream(), function};
}

std::uint64_t a = 0, b = 0;
float c = 0;
std::uint32_t d = 0;
std::array<void*, 4> arguments = {&a, &b, &c, &d};
// The queue holds about a thousand launches; waiting now and then keeps its fullness out of the time.
constexpr int kBatch = 500;

template <typename Launch>
void time_launches(benchmark::State& state, Bench& bench, const Launch& launch) {
  int queued = 0;
  for (auto _ : state) {
    launch();
    if (++queued < kBatch) continue;
    state.PauseTiming();
    bench.stream->synchronize();
    queued = 0;
    state.ResumeTiming();
  }
  bench.stream->synchronize();
}

void bare_launch(benchmark::State& state) {
  Bench bench = open(state);
  if (bench.device == nullptr) return;
  const cuda::Driver& driver = dynamic_cast<CudaDevice&>(*bench.device).driver();
  const cuda::RawFunction function = dynamic_cast<CudaFunction&>(*bench.function).raw();
  const cuda::RawStream stream = dynamic_cast<CudaStream&>(*bench.stream).raw();
  time_launches(state, bench, [&] {
    static_cast<void>(
        driver.launch_kernel.raw(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments.data(), nullptr));
  });
}

void our_launch(benchmark::State& state) {
  Bench bench = open(state);
  if (bench.device == nullptr) return;
  time_launches(state, bench, [&] { bench.stream->launch(*bench.function, {.block = {32}}, arguments); });
}

void our_launch_with_cluster(benchmark::State& state) {
  Bench bench = open(state);
  if (bench.device == nullptr) return;
  if (!bench.device->facts().cluster_launch) return state.SkipWithError("this GPU has no clusters");
  time_launches(state, bench, [&] {
    bench.stream->launch(*bench.function, {.grid = {2}, .block = {32}, .cluster = {2}}, arguments);
  });
}

void our_checks_alone(benchmark::State& state) {
  FunctionFacts facts;
  facts.max_threads_per_block = 1024;
  LaunchLimits limits;
  limits.max_shared_per_block = 232448;
  LaunchConfig config{.block = {32}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(config);
    check_launch(config, facts, limits, "cuda:0");
  }
}

BENCHMARK(bare_launch);
BENCHMARK(our_launch);
BENCHMARK(our_launch_with_cluster);
BENCHMARK(our_checks_alone);

}  // namespace
}  // namespace gpuforge::device
