// Speed of the simulator on one host thread: thread instructions per second of four kernels, with every check
// and without, and how fast PTX is parsed and decoded. Kernels are compiled by NVRTC, or come from the disk
// cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/format.h"
#include "gpuforge/context/context.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/ptx/parser.h"
#include "gpuforge/sim/program.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge {
std::span<const EmbeddedFile> sim_bench_files();  // made from the .cu files when this is built
}

namespace gpuforge::sim {
namespace {

const std::string& ptx_of(const std::string& file) {
  static std::map<std::string, std::string> known;
  const auto [at, is_new] = known.try_emplace(file);
  if (!is_new) return at->second;
  for (const EmbeddedFile& one : sim_bench_files()) {
    if (!one.path.ends_with("/" + file)) continue;
    jit::Jit jit(jit_options(read_environment()), nullptr);
    const jit::KernelSource source{.name = file, .text = std::string(one.text)};
    return at->second = jit.compile(source, jit::Arch::parse("compute_90a"))->ptx;
  }
  throw Error(ErrorCode::invalid_argument, format_text("sim_bench has no file {}", file));
}

// Two buffers of the device, one of them written.
class Buffers {
 public:
  Buffers(Memory& memory, std::size_t out_words, std::size_t in_words) : out_(out_words), in_(in_words) {
    for (std::size_t i = 0; i < in_words; ++i) in_.words[i] = static_cast<float>(i % 1000) * 0.25f;
    memory.add(out(), out_words * 4, "out", false);
    memory.add(in(), in_words * 4, "in", true);
  }
  std::uint64_t out() const { return reinterpret_cast<std::uint64_t>(out_.words); }
  std::uint64_t in() const { return reinterpret_cast<std::uint64_t>(in_.words); }

 private:
  struct Words {
    explicit Words(std::size_t count) : words(static_cast<float*>(::operator new(count * 4, kAlignment))) {}
    ~Words() { ::operator delete(words, kAlignment); }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    static constexpr auto kAlignment = std::align_val_t{256};  // what a GPU's allocations have
    float* words;
  };
  Words out_, in_;
};

struct Workload {
  std::string file;
  std::string kernel;
  Geometry geometry;
  std::size_t out_words = 0;
  std::size_t in_words = 0;                // 0: the kernel takes no `in`
  std::vector<std::int32_t> numbers = {};  // arguments after the buffers
};

void run(benchmark::State& state, const Workload& work, bool checks) {
  const auto memory = std::make_shared<Memory>();
  const Buffers buffers(*memory, work.out_words, std::max<std::size_t>(1, work.in_words));
  const auto program = load_program(memory, ptx_of(work.file), work.file);
  static_cast<void>(image_of(*program, work.kernel));  // decoded before the clock starts
  const std::uint64_t addresses[] = {buffers.out(), buffers.in()};
  std::vector<const void*> arguments{&addresses[0]};
  if (work.in_words != 0) arguments.push_back(&addresses[1]);
  for (const std::int32_t& number : work.numbers) arguments.push_back(&number);
  Options options;
  options.races = options.initialized = options.counters = checks;
  options.host_threads = 1;
  double instructions = 0;
  for (auto _ : state) {
    const LaunchReport report = launch(*program, work.kernel, work.geometry, arguments, options);
    if (!report.clean()) return state.SkipWithError(report.findings_text(200).c_str());
    instructions = static_cast<double>(report.thread_instructions());
  }
  state.counters["thread_instructions"] = instructions;
  state.counters["per_second"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr std::size_t kMega = 1u << 20;

void arithmetic(benchmark::State& state, bool checks) {
  run(state, {"speed.cu", "arithmetic", {{64, 1, 1}, {256, 1, 1}}, 64 * 256, 0, {1000}}, checks);
}
void tiled_transpose(benchmark::State& state, bool checks) {
  run(state, {"tiled_transpose.cu", "tiled_transpose", {{32, 32, 1}, {32, 8, 1}}, kMega, kMega, {1024, 1024}},
      checks);
}
void row_sum(benchmark::State& state, bool checks) {
  run(state, {"row_sum.cu", "row_sum", {{128, 1, 1}, {32, 8, 1}}, 1024, kMega, {1024, 1024}}, checks);
}
void scattered(benchmark::State& state, bool checks) {
  run(state, {"speed.cu", "scattered", {{64, 1, 1}, {256, 1, 1}}, 64 * 256, kMega, {kMega, 50}}, checks);
}

BENCHMARK_CAPTURE(arithmetic, checks, true);
BENCHMARK_CAPTURE(arithmetic, plain, false);
BENCHMARK_CAPTURE(tiled_transpose, checks, true);
BENCHMARK_CAPTURE(tiled_transpose, plain, false);
BENCHMARK_CAPTURE(row_sum, checks, true);
BENCHMARK_CAPTURE(row_sum, plain, false);
BENCHMARK_CAPTURE(scattered, checks, true);
BENCHMARK_CAPTURE(scattered, plain, false);

// A module with at least `bytes` of text: the same kernel under many names.
std::string long_module(std::size_t bytes) {
  const std::string& one = ptx_of("tiled_transpose.cu");
  const std::size_t entry = one.find(".visible .entry");
  const std::string header = one.substr(0, entry), body = one.substr(entry);
  std::string text = header;
  for (int copy = 0; text.size() < bytes; ++copy) {
    std::string next = body;
    const std::string name = "tiled_transpose";
    for (std::size_t at = 0; (at = next.find(name, at)) != std::string::npos; at += name.size() + 8)
      next.insert(at + name.size(), format_text("_{:07d}", copy));
    text += next;
  }
  return text;
}

void parse(benchmark::State& state) {
  const std::string text = long_module(std::size_t{8} << 20);
  for (auto _ : state) benchmark::DoNotOptimize(ptx::parse(text, "long.ptx"));
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}
BENCHMARK(parse)->Unit(benchmark::kMillisecond);

// A kernel of a thousand instructions, from parsed PTX to what runs.
void decode(benchmark::State& state) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .b32 %r<64>;\n.reg .b64 %a;\n.reg .f32 %f<64>;\n.reg .pred %p;\n"
      "ld.param.u64 %a, [p];\n";
  int count = 1;
  for (int group = 0; count < 1000; ++group, count += 5) {
    const int i = group % 60;
    text += format_text(
        "ld.global.u32 %r{0}, [%a+{3}];\nmad.lo.s32 %r{1}, %r{0}, %r{2}, %r{1};\nsetp.lt.s32 %p, %r{1}, 7;\n"
        "@%p fma.rn.f32 %f{1}, %f{0}, %f{2}, %f{1};\nst.global.f32 [%a+{3}], %f{1};\n",
        i, i + 1, i + 2, 4 * group);
  }
  text += "ret;\n}\n";
  const auto program = load_program(std::make_shared<Memory>(), text, "thousand.ptx");
  for (auto _ : state) benchmark::DoNotOptimize(decode_image(*program, program->module.functions.front()));
  state.counters["instructions"] = count + 1;
}
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpuforge::sim
