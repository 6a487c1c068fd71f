// What a range costs: a call alone, the same call in a range of no profiler, and in one of a profiler that is
// on. For instruction counts, which repeat: valgrind --tool=callgrind --toggle-collect='*call_in_a_range*' ..
#include <benchmark/benchmark.h>

#include <memory>

#include "gpuforge/context/profiler.h"
#include "gpuforge/device/cpu_device.h"

namespace gpuforge {

// Not inlined, so that each is what a library's function would be.
[[gnu::noinline]] void call_alone(device::Stream& stream, std::uint64_t& counter) {
  benchmark::DoNotOptimize(&stream);
  benchmark::DoNotOptimize(++counter);
}

[[gnu::noinline]] void call_in_a_range(Profiler* profiler, device::Stream& stream, std::uint64_t& counter) {
  const ProfileRange range(profiler, stream, "call", 1e6, 1e6);
  benchmark::DoNotOptimize(&stream);
  benchmark::DoNotOptimize(++counter);
}

namespace {

void alone(benchmark::State& state) {
  const auto device = device::make_cpu_device();
  const auto stream = device->make_stream();
  std::uint64_t counter = 0;
  for (auto _ : state) call_alone(*stream, counter);
}

void range_off(benchmark::State& state) {
  const auto device = device::make_cpu_device();
  const auto stream = device->make_stream();
  Profiler* profiler = nullptr;
  std::uint64_t counter = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(profiler);
    call_in_a_range(profiler, *stream, counter);
  }
}

void range_on(benchmark::State& state) {
  const auto device = device::make_cpu_device();
  const auto stream = device->make_stream();
  Profiler profiler(device);
  std::uint64_t counter = 0;
  for (auto _ : state) call_in_a_range(&profiler, *stream, counter);
}

BENCHMARK(alone);
BENCHMARK(range_off);
BENCHMARK(range_on);

}  // namespace
}  // namespace gpuforge
