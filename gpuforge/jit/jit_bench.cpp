// Figures of the JIT. A process has one first compile, so those start this program again as a child, which
// measures itself; the launch is compared with a bare cuLaunchKernel in the same run where there is a GPU.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/cuda/driver.h"
#include "gpuforge/device/cuda_device.h"
#include "gpuforge/jit/fake_device_for_tests.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kSaxpy =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

KernelSource saxpy() {
  KernelSource source;
  source.name = "saxpy.cu";
  source.text = kSaxpy;
  return source;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class BenchFolder {
 public:
  BenchFolder() {
    std::string pattern = (fs::temp_directory_path() / "gpuforge_jit_bench_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorCode::unavailable, "jit_bench: no temporary folder");
    path_ = pattern;
  }
  ~BenchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

JitOptions options(const fs::path& cache_dir) {
  JitOptions result;
  result.search = cuda::search_options(read_environment());
  if (!cache_dir.empty()) result.cache_dir = cache_dir;
  return result;
}

struct Spent {
  double seconds = -1;
  double cpu_seconds = 0;  // what it would take on a machine that does nothing else
};

// From an idle process to compiled code, everything included.
Spent compile_once(const fs::path& cache_dir) {
  const auto start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  Jit jit(options(cache_dir), nullptr);
  benchmark::DoNotOptimize(jit.compile(saxpy(), Arch{9, 0, 'a', false}));
  return {seconds_since(start), static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC};
}

Spent compile_in_child(const fs::path& cache_dir) {
  const std::string command = "'" + executable_path().string() + "' --child '" + cache_dir.string() + "'";
  Spent spent;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return spent;
  if (std::fscanf(pipe, "%lf %lf", &spent.seconds, &spent.cpu_seconds) != 2) spent.seconds = -1;
  ::pclose(pipe);
  return spent;
}

void run_children(benchmark::State& state, const fs::path& cache_dir, const fs::path& remove_first) {
  if (compile_in_child(cache_dir).seconds < 0) {
    state.SkipWithError("no NVRTC here");
    return;
  }
  double cpu_seconds = 0;
  for (auto _ : state) {
    std::error_code ignored;
    if (!remove_first.empty()) fs::remove_all(remove_first, ignored);
    const Spent spent = compile_in_child(cache_dir);
    state.SetIterationTime(spent.seconds);
    cpu_seconds += spent.cpu_seconds;
  }
  state.counters["child_cpu_ms"] = benchmark::Counter(cpu_seconds * 1e3, benchmark::Counter::kAvgIterations);
}

// Target 150 ms. The library is in the page cache after the untimed first child.
void first_compile_without_cache(benchmark::State& state) {
  run_children(state, {}, {});
}
void first_compile_on_a_new_machine(benchmark::State& state) {
  const BenchFolder folder;
  run_children(state, folder.path() / "cache", folder.path() / "cache");
}
void first_compile_with_known_compiler(benchmark::State& state) {
  const BenchFolder folder;
  run_children(state, folder.path(), folder.path() / "kernels");
}
// Target 2 ms.
void disk_hit_in_a_new_process(benchmark::State& state) {
  const BenchFolder folder;
  run_children(state, folder.path(), {});
}
BENCHMARK(first_compile_without_cache)->UseManualTime()->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK(first_compile_on_a_new_machine)->UseManualTime()->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK(first_compile_with_known_compiler)->UseManualTime()->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK(disk_hit_in_a_new_process)->UseManualTime()->Iterations(50)->Unit(benchmark::kMillisecond);

void disk_hit_with_a_new_jit(benchmark::State& state) {
  const BenchFolder folder;
  compile_once(folder.path());
  for (auto _ : state) compile_once(folder.path());
}
BENCHMARK(disk_hit_with_a_new_jit)->Unit(benchmark::kMillisecond);

// The launch path up to the device's door.
struct LaunchPath {
  Jit jit{options({}), nullptr};
  SourceHandle source{saxpy()};
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  FakeStream stream{*device};
  std::shared_ptr<const Kernel> kernel = jit.kernel(source, "saxpy", *device);
  LaunchPath() { stream.keep = false; }
};

constexpr device::Address kAddress = 4096;

// Target 300 ns.
void lookup_and_pack(benchmark::State& state) {
  LaunchPath path;
  const device::LaunchConfig config;
  for (auto _ : state) {
    const auto kernel = path.jit.kernel(path.source, "saxpy", *path.device);
    (*kernel)(config, path.stream, 2.0f, kAddress, kAddress, 1024);
  }
}
void lookup_and_pack_hashing_the_text(benchmark::State& state) {
  LaunchPath path;
  const KernelSource source = saxpy();
  const device::LaunchConfig config;
  for (auto _ : state) {
    const auto kernel = path.jit.kernel(source, "saxpy", *path.device);
    (*kernel)(config, path.stream, 2.0f, kAddress, kAddress, 1024);
  }
}
void pack_alone(benchmark::State& state) {
  LaunchPath path;
  const device::LaunchConfig config;
  for (auto _ : state) (*path.kernel)(config, path.stream, 2.0f, kAddress, kAddress, 1024);
}
BENCHMARK(lookup_and_pack);
BENCHMARK(lookup_and_pack_hashing_the_text);
BENCHMARK(pack_alone);

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Host time of one launch: bare cuLaunchKernel, ours with the kernel in hand, ours with the lookup. The three
// take turns in batches short enough for the driver's queue, which is drained between them. Target: at most
// 0.4 us above.
void launch_on_a_gpu(benchmark::State& state) {
  std::string why;
  const auto driver = cuda::Driver::try_load(cuda::search_options(read_environment()), &why);
  if (driver == nullptr) {
    state.SkipWithError(why.c_str());
    return;
  }
  const auto device = device::make_cuda_device(driver, 0);
  const auto stream = device->make_stream();
  Jit jit(options({}), nullptr);
  const SourceHandle source(saxpy());
  const auto kernel = jit.kernel(source, "saxpy", *device);

  cuda::RawDevice raw_device{};
  cuda::RawContext context = nullptr;
  driver->device_get("cuda:0", &raw_device, 0);
  driver->device_primary_ctx_retain("cuda:0", &context, raw_device);
  driver->ctx_set_current("cuda:0", context);
  cuda::RawModule module = nullptr;
  driver->module_load_data("saxpy", &module, kernel->compiled().cubin.data());
  cuda::RawFunction function = nullptr;
  driver->module_get_function("saxpy", &function, module, "saxpy");
  cuda::RawStream raw_stream = nullptr;
  driver->stream_create_with_priority("bare", &raw_stream, cuda::StreamFlags::non_blocking, 0);

  constexpr int kBatch = 200;
  float a = 2.0f;
  device::Address x = 0;
  device::Address y = 0;
  int n = 0;  // touches no memory
  const device::LaunchConfig config{.grid = {1, 1, 1}, .block = {32, 1, 1}};
  std::vector<double> bare, ours, looked_up;
  const auto timed = [](std::vector<double>& into, const auto& launch) {
    const auto start = Clock::now();
    for (int i = 0; i < kBatch; ++i) launch();
    into.push_back(seconds_since(start) / kBatch);
  };
  for (auto _ : state) {
    timed(bare, [&] {
      void* parameters[] = {&a, &x, &y, &n};
      driver->launch_kernel.raw(function, 1, 1, 1, 32, 1, 1, 0, raw_stream, parameters, nullptr);
    });
    driver->stream_synchronize("bare", raw_stream);
    timed(ours, [&] { (*kernel)(config, *stream, a, x, y, n); });
    stream->synchronize();
    timed(looked_up, [&] { (*jit.kernel(source, "saxpy", *device))(config, *stream, a, x, y, n); });
    stream->synchronize();
    state.SetIterationTime(ours.back());
  }
  state.counters["bare_us"] = median(bare) * 1e6;
  state.counters["ours_us"] = median(ours) * 1e6;
  state.counters["with_lookup_us"] = median(looked_up) * 1e6;
  state.counters["above_bare_us"] = (median(ours) - median(bare)) * 1e6;
  driver->stream_destroy("bare", raw_stream);
  driver->module_unload("saxpy", module);
  driver->device_primary_ctx_release("cuda:0", raw_device);
}
BENCHMARK(launch_on_a_gpu)->UseManualTime()->Iterations(300)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuforge::jit

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) {
    try {
      const auto spent = gpuforge::jit::compile_once(argv[2]);
      std::printf("%.9f %.9f\n", spent.seconds, spent.cpu_seconds);
      return 0;
    } catch (const gpuforge::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 3;
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
