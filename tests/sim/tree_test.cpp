// Every kernel of the tree that runs by itself: right, and nothing found, under several schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/format.h"
#include "gpuforge/jit/jit.h"
#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

using Floats = std::vector<float>;

Floats floats(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 97) - 40.0f;
  return values;
}

class SimBugsTree : public testing::TestWithParam<std::tuple<std::uint64_t, jit::CompilerChoice>> {
 protected:
  void SetUp() override {
    const auto present = front_ends();
    if (std::find(present.begin(), present.end(), std::get<1>(GetParam())) == present.end())
      GTEST_SKIP() << "no clang 16 or newer with NVPTX on PATH: neither is it tried by the other tests here";
  }
  void load(const jit::Compiled& compiled, std::string_view kernel) {
    program_ = sim::load_program(memory_, compiled.ptx, compiled.source_name);
    entry_ = compiled.entry(kernel).name;
  }
  void load(const std::string& file) {
    const auto compiled = compile(file, text_of(file), {}, std::get<1>(GetParam()));
    ASSERT_EQ(compiled->entries.size(), 1u);
    load(*compiled, compiled->entries[0].name);
  }
  // Addresses and scalars, in order.
  template <class... Arguments>
  void launch(const sim::Geometry& geometry, const Arguments&... arguments) {
    const std::array<const void*, sizeof...(Arguments)> pointers{&arguments...};
    sim::Options options;
    options.schedule_seed = std::get<0>(GetParam());
    const sim::LaunchReport report = sim::launch(*program_, entry_, geometry, pointers, options);
    EXPECT_EQ(report.findings_text(), "");
    EXPECT_GT(report.thread_instructions(), 0u);
  }
  Buffer buffer(const Floats& values, bool initialized = true) {
    return {*memory_, values, "buffer", initialized};
  }

  std::shared_ptr<sim::Memory> memory_ = std::make_shared<sim::Memory>();
  std::shared_ptr<const sim::Program> program_;
  std::string entry_;
};
INSTANTIATE_TEST_SUITE_P(Schedules, SimBugsTree,
                         testing::Combine(testing::ValuesIn(kSeeds),
                                          testing::Values(jit::CompilerChoice::nvrtc,
                                                          jit::CompilerChoice::clang)),
                         [](const auto& param) {
                           return format_text("{}_{}", front_end_name(std::get<1>(param.param)),
                                              std::get<0>(param.param));
                         });

TEST_P(SimBugsTree, Saxpy) {
  load("saxpy.cu");
  const Floats x = floats(100), y = floats(101);
  const Buffer there_x = buffer(x), there_y = buffer(y);
  launch({.grid = {4, 1, 1}, .block = {32, 1, 1}}, 3.0f, there_x.address(), there_y.address(), 100);
  Floats expected = y;
  for (std::size_t i = 0; i < 100; ++i) expected[i] = 3.0f * x[i] + y[i];
  EXPECT_EQ(there_y.read<float>(), expected);
}

TEST_P(SimBugsTree, RowSum) {
  load("row_sum.cu");
  for (const auto& [rows, columns] : {std::pair{5, 70}, {16, 1}, {9, 31}, {1, 128}}) {
    const auto count = static_cast<std::size_t>(rows * columns);
    const Floats in = floats(count);
    const Buffer there = buffer(in), sums = buffer(Floats(static_cast<std::size_t>(rows)), false);
    launch({.grid = {static_cast<std::uint32_t>(rows + 7) / 8, 1, 1}, .block = {32, 8, 1}}, sums.address(),
           there.address(), rows, columns);
    Floats expected(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < count; ++i) expected[i / static_cast<std::size_t>(columns)] += in[i];
    EXPECT_EQ(sums.read<float>(), expected) << "whole numbers: the order does not matter";
  }
}

TEST_P(SimBugsTree, Transpose) {
  for (const char* const file : {"tiled_transpose.cu", "doctor_transpose.cu"}) {
    SCOPED_TRACE(file);
    load(file);
    for (const auto& [rows, columns] : {std::pair{33, 70}, {32, 32}, {1, 40}, {5, 3}}) {
      const auto count = static_cast<std::size_t>(rows * columns);
      const Floats in = floats(count);
      const Buffer there = buffer(in), out = buffer(Floats(count), false);
      const auto tiles = [](int extent) { return static_cast<std::uint32_t>(extent + 31) / 32; };
      launch({.grid = {tiles(columns), tiles(rows), 1}, .block = {32, 8, 1}}, out.address(), there.address(),
             rows, columns);
      Floats expected(count);
      for (std::size_t i = 0; i < count; ++i)
        expected[i % static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows) +
                 i / static_cast<std::size_t>(columns)] = in[i];
      EXPECT_EQ(out.read<float>(), expected);
    }
  }
}

// array.cu's kernels over all types are run by the array room's own tests; here each once, with every
// schedule.
TEST_P(SimBugsTree, Array) {
  jit::JitOptions options;
  options.search = cuda::search_options(read_environment());
  options.program_path = read_environment().path;
  options.compiler = std::get<1>(GetParam());
  jit::Jit jit(options, nullptr);
  jit::KernelSource source = jit.embedded_source("gpuforge/array/array.cu");
  const std::array<std::string, 4> kernels{
      "gpuforge::convert_run<int, float>", "gpuforge::copy_strided<float, float>",
      "gpuforge::fill_strided<unsigned int>", "gpuforge::fill_range<float>"};
  source.instantiations.assign(kernels.begin(), kernels.end());
  const auto compiled = jit.compile(source, jit::Arch::parse("compute_90"));
  struct {
    long long extents[16]{5, 7}, to_strides[16]{7, 1}, from_strides[16]{1, 5};
    int rank = 2;
  } walk;
  const sim::Geometry geometry{.grid = {2, 1, 1}, .block = {256, 1, 1}};
  const Floats in = floats(1030);
  const Buffer from = buffer(in);

  load(*compiled, kernels[0]);
  for (const int packed : {0, 1}) {
    const Buffer to = buffer(Floats(1030), false);
    launch(geometry, to.address(), from.address(), 1030ll, packed);
    EXPECT_EQ(to.read<int>(), std::vector<int>(in.begin(), in.end()));
  }
  load(*compiled, kernels[1]);
  const Buffer turned = buffer(Floats(35), false);
  launch(geometry, turned.address(), from.address(), 35ll, walk);
  Floats expected(35);
  for (std::size_t i = 0; i < 35; ++i) expected[i] = in[i / 7 + i % 7 * 5];
  EXPECT_EQ(turned.read<float>(), expected);
  load(*compiled, kernels[2]);
  launch(geometry, turned.address(), 77ull, 35ll, walk);
  EXPECT_EQ(turned.read<std::uint32_t>(), filled(35, 77));
  load(*compiled, kernels[3]);
  launch(geometry, turned.address(), 35ll, 1.0, 0.5);
  for (std::size_t i = 0; i < 35; ++i) expected[i] = 1.0f + 0.5f * static_cast<float>(i);
  EXPECT_EQ(turned.read<float>(), expected);
}

}  // namespace
}  // namespace gpuforge::sim_bugs
