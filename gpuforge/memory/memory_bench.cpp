// What memory costs. Host time of a cached allocation with its free, by threads, beside the device's own
// (cuMemAllocAsync on a GPU); an LLM-like load, with the peaks; eviction of twice the quota, with the bytes
// checked. On cuda:0 where there is one, else cpu; GPUFORGE_DEVICE chooses.
//   memory_bench
//   memory_bench --benchmark_filter=Cached
//   memory_bench --trace=FILE     a recorded trace too (trace.h has the format; tools/record_torch_trace.py)
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/memory/adaptor.h"
#include "gpuforge/memory/pool.h"

namespace gpuforge::memory {
namespace {

constexpr std::size_t kThreadsAtMost = 8;

std::shared_ptr<device::Device> open() {
  const Environment environment = read_environment();
  const cuda::SearchOptions search = cuda::search_options(environment);
  if (environment.device) return device::open_device(*environment.device, search);
  try {
    return device::open_device("cuda:0", search);
  } catch (const Error&) {
    return device::make_cpu_device();
  }
}

struct Setup {
  std::shared_ptr<device::Device> device = open();
  std::shared_ptr<Pool> pool = make_pool(device);
  std::shared_ptr<Allocator> direct = make_device_allocator(device);
  std::vector<std::shared_ptr<device::Stream>> streams;
  Setup() {
    for (std::size_t i = 0; i < kThreadsAtMost; ++i) streams.push_back(device->make_stream());
  }
};
// Shared by the threads of a benchmark; made before they start.
Setup* setup = nullptr;
void start(const benchmark::State&) {
  setup = new Setup;
}
void stop(const benchmark::State&) {
  delete setup;
  setup = nullptr;
}

// A free and an allocation of what was freed; the time is of both.
void pairs(benchmark::State& state, Allocator& allocator, device::Stream& stream) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  allocator.free(allocator.allocate(bytes, stream), bytes, stream);
  for (auto _ : state) {
    const device::Address address = allocator.allocate(bytes, stream);
    benchmark::DoNotOptimize(address);
    allocator.free(address, bytes, stream);
  }
  state.SetLabel(setup->device->facts().name + ", allocate and free");
}

void BM_PoolCached(benchmark::State& state) {
  pairs(state, *setup->pool, *setup->streams[static_cast<std::size_t>(state.thread_index())]);
}
void BM_PoolCachedOneStream(benchmark::State& state) {
  pairs(state, *setup->pool, *setup->streams[0]);
}
void BM_DeviceCached(benchmark::State& state) {
  pairs(state, *setup->direct, *setup->streams[static_cast<std::size_t>(state.thread_index())]);
}
void sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t bytes : {1000, 100'000, 20 << 20}) b->Arg(bytes);
  b->Setup(start)->Teardown(stop)->UseRealTime()->ThreadRange(1, kThreadsAtMost);
}
BENCHMARK(BM_PoolCached)->Apply(sizes);
BENCHMARK(BM_PoolCachedOneStream)->Apply(sizes);
BENCHMARK(BM_DeviceCached)->Apply(sizes);

LlmTraceOptions llm_options(const device::Device& device) {
  LlmTraceOptions options;
  options.weight_bytes =
      device.facts().kind == device::DeviceKind::cuda ? std::size_t{16} << 30 : std::size_t{1} << 30;
  return options;
}

// Twice: the first time everything is new.
void run_trace(benchmark::State& state, const Setup& own, const Trace& trace, bool pooled) {
  const auto step_ns = [&](Allocator& allocator) {
    const auto begin = std::chrono::steady_clock::now();
    replay(trace, allocator, own.streams);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<double>(trace.size());
  };
  for (auto _ : state) {
    const auto pool = make_pool(own.device);
    Allocator& allocator = pooled ? static_cast<Allocator&>(*pool) : *own.direct;
    state.counters["ns_per_step_first"] = step_ns(allocator);
    state.counters["ns_per_step_again"] = step_ns(allocator);
    if (pooled) {
      state.counters["pages"] = static_cast<double>(pool->statistics().grown_pages);
      state.counters["blocks"] = static_cast<double>(pool->statistics().grown_blocks);
      state.counters["peak_reserved_over_requested"] =
          static_cast<double>(pool->statistics().peak_reserved_bytes) /
          static_cast<double>(peak_bytes(trace));
      state.counters["reuse_share"] = static_cast<double>(pool->statistics().reuses) /
                                      static_cast<double>(pool->statistics().allocations);
    }
  }
  state.counters["steps"] = static_cast<double>(trace.size());
}

void run_llm(benchmark::State& state, bool pooled) {
  const Setup own;
  run_trace(state, own, llm_trace(llm_options(*own.device)), pooled);
  state.SetLabel(own.device->facts().name + ", weights, KV cache, activations");
}
void BM_PoolLlmTrace(benchmark::State& state) {
  run_llm(state, true);
}
void BM_DeviceLlmTrace(benchmark::State& state) {
  run_llm(state, false);
}
BENCHMARK(BM_PoolLlmTrace)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DeviceLlmTrace)->Iterations(1)->Unit(benchmark::kMillisecond);

// Twice the quota in blocks, each used in turn, written and checked.
void BM_EvictTwiceTheQuota(benchmark::State& state) {
  const Setup own;
  const bool gpu = own.device->facts().kind == device::DeviceKind::cuda;
  const std::size_t block = gpu ? std::size_t{256} << 20 : std::size_t{16} << 20;
  constexpr std::size_t kBlocks = 16;
  PoolOptions options;
  options.quota_bytes = block * kBlocks / 2;
  const auto pool = make_pool(own.device, options);
  const auto weights = pool->tagged("weights", Use::evictable);
  device::Stream& stream = *own.streams[0];
  std::vector<device::Address> blocks;
  std::vector<std::uint32_t> marks;
  std::vector<std::uint32_t> host(block / 4);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(weights->allocate(block, stream));
    marks.push_back(i + 1);
    const Hold hold = weights->use(blocks.back(), stream);
    stream.fill(blocks.back(), marks.back(), 4, block / 4);
  }
  stream.synchronize();
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      const Hold hold = weights->use(blocks[i], stream);
      state.PauseTiming();
      stream.copy_to_host(host.data(), blocks[i], block);
      stream.synchronize();
      for (const std::uint32_t word : host) wrong += word == marks[i] ? 0 : 1;
      marks[i] += 100;
      stream.fill(blocks[i], marks[i], 4, block / 4);
      stream.synchronize();
      state.ResumeTiming();
    }
  }
  const PoolStatistics now = pool->statistics();
  if (wrong > 0) state.SkipWithError("bytes changed on the way");
  state.counters["wrong_words"] = static_cast<double>(wrong);
  state.counters["evictions"] = static_cast<double>(now.evictions);
  state.counters["rehydrations"] = static_cast<double>(now.rehydrations);
  state.counters["reserved_over_quota"] =
      static_cast<double>(now.peak_reserved_bytes) / static_cast<double>(options.quota_bytes);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(2 * kBlocks * block));
  state.SetLabel(own.device->facts().name + ", out and back; bytes per second both ways");
  for (const device::Address address : blocks) weights->free(address, block, stream);
}
BENCHMARK(BM_EvictTwiceTheQuota)->Iterations(3)->UseRealTime()->Unit(benchmark::kMillisecond);

void register_recorded(const std::string& path) {
  const Trace trace = parse_trace(read_file(path));
  for (const bool pooled : {true, false}) {
    benchmark::RegisterBenchmark(((pooled ? "BM_PoolRecorded/" : "BM_DeviceRecorded/") + path).c_str(),
                                 [trace, pooled](benchmark::State& state) {
                                   const Setup own;
                                   run_trace(state, own, trace, pooled);
                                   state.SetLabel(own.device->facts().name);
                                 })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

// Takes --trace=FILE out of the arguments; the rest is google-benchmark's.
int run(int count, char** arguments) {
  std::vector<char*> others;
  const std::string option = "--trace=";
  for (int i = 0; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument.starts_with(option)) {
      register_recorded(argument.substr(option.size()));
    } else {
      others.push_back(arguments[i]);
    }
  }
  int left = static_cast<int>(others.size());
  benchmark::Initialize(&left, others.data());
  if (benchmark::ReportUnrecognizedArguments(left, others.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace gpuforge::memory

int main(int count, char** arguments) {
  try {
    return gpuforge::memory::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory_bench: %s\n", error.what());
    return 2;
  }
}
