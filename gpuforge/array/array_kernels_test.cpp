#include "gpuforge/array/array_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

// Every kernel that any call can ask for.
std::vector<std::string> all_expressions() {
  std::set<std::string> expressions;
  for (const DType to : kAllDTypes) {
    for (const DType from : kAllDTypes) {
      expressions.insert(copy_kernel_id(to, from, true).expression());
      if (to != from) expressions.insert(copy_kernel_id(to, from, false).expression());
    }
    expressions.insert(range_kernel_id(to).expression());
    expressions.insert(fill_kernel_id(element_bytes(to)).expression());
  }
  return {expressions.begin(), expressions.end()};
}

TEST(ArrayKernels, DtypesOfOneSizeShareTheirCopies) {
  EXPECT_TRUE(copy_kernel_id(DType::f16, DType::f16, true) == copy_kernel_id(DType::i16, DType::i16, true));
  EXPECT_FALSE(copy_kernel_id(DType::f16, DType::i16, true) == copy_kernel_id(DType::i16, DType::f16, true));
  // 132 conversions, dense and strided; 4 sizes moved; 4 sizes filled; 12 ranges.
  EXPECT_EQ(all_expressions().size(), 132u * 2 + 4 + 4 + 12);
}

// The launches pass these sizes; a struct that the two compilers lay out differently would show here.
TEST(ArrayKernels, ParametersAreWhatTheLaunchesPass) {
  jit::JitOptions options = jit_options(read_environment());
  options.cache_dir.reset();
  const auto context = Context::make(device::make_cpu_device(), {.jit = options});
  jit::Jit& jit = context->jit();
  try {
    jit.compiler().version();
  } catch (const Error& error) {
    GTEST_SKIP() << "no compiler here: " << error.what();
  }
  constexpr std::size_t kWalk = 3 * kMaxRank * 8 + 8;
  const std::pair<std::string, std::vector<std::size_t>> kernels[] = {
      {copy_kernel_id(DType::f16, DType::f32, false).expression(), {8, 8, 8, 4}},
      {copy_kernel_id(DType::f16, DType::boolean, true).expression(), {8, 8, 8, kWalk}},
      {fill_kernel_id(8).expression(), {8, 8, 8, kWalk}},
      {range_kernel_id(DType::f8e4m3).expression(), {8, 8, 8, 8}},
  };
  for (const auto& [expression, bytes] : kernels) {
    const auto compiled = jit.compile(array_kernel_source(jit, expression), jit::Arch::parse("sm_90a"));
    std::vector<std::size_t> found;
    for (const jit::Parameter& parameter : compiled->entry(expression).parameters)
      found.push_back(parameter.bytes);
    EXPECT_EQ(found, bytes) << expression;
  }
}

// The second front end compiles every kernel too, for every chip it knows.
TEST(ArrayKernels, ClangCompilesAllOfThem) {
  jit::JitOptions options = jit_options(read_environment());
  options.cache_dir.reset();
  options.compiler = jit::CompilerChoice::clang;
  const auto context = Context::make(device::make_cpu_device(), {.jit = options});
  jit::Jit& jit = context->jit();
  jit::KernelSource source = array_kernel_source(jit, "");
  source.instantiations = all_expressions();
  for (const char* arch : {"compute_80", "compute_90"}) {
    try {
      const auto compiled = jit.compile(source, jit::Arch::parse(arch));
      EXPECT_EQ(compiled->log, "");
      for (const std::string& expression : source.instantiations)
        EXPECT_EQ(compiled->entry(expression).expression, expression);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      GTEST_SKIP() << "no clang here: " << error.what();
    }
  }
}

std::vector<std::byte> bytes_of(const Array& array, device::Stream& stream) {
  std::vector<std::byte> bytes(array.bytes());
  array.to_host(bytes, stream);
  return bytes;
}

// Bytes of every conversion of awkward values, on the simulator, through the compiler chosen.
std::vector<std::vector<std::byte>> conversions_on_sim(jit::CompilerChoice compiler) {
  ContextOptions options;
  options.jit = jit_options(read_environment());
  options.jit.cache_dir.reset();
  options.jit.compiler = compiler;
  const auto context = Context::make(device::make_sim_device(), std::move(options));
  const auto stream = context->make_stream();
  const std::vector<double> values = {0.0,   -0.0,     1.0,       -1.5,         3.25, 100.7,       -300.0,
                                      1e-3,  1e-8,     448.0,     57344.0,      7e4,  -1e10,       3e38,
                                      1e300, HUGE_VAL, -HUGE_VAL, std::nan(""), 0.1,  2147483647.5};
  const auto count = static_cast<std::int64_t>(values.size());
  const Array doubles = from_vector<double>(context, std::span<const double>(values), {count}, *stream);
  std::vector<std::vector<std::byte>> results;
  for (const DType dtype : kAllDTypes) {
    results.push_back(bytes_of(arange(context, -3.0, 40.0, 0.7, dtype, *stream), *stream));
    results.push_back(bytes_of(full(context, {3, 5}, 2.0, dtype, *stream), *stream));
  }
  for (const DType from : {DType::f64, DType::f8e4m3, DType::i64}) {
    const Array source = doubles.astype(from, *stream);
    for (const DType to : kAllDTypes) {
      results.push_back(bytes_of(source.astype(to, *stream), *stream));
      if (from == DType::f64)
        results.push_back(bytes_of(source.reshape({4, 5}).transpose().astype(to, *stream), *stream));
    }
  }
  return results;
}

TEST(ArrayKernels, BothFrontEndsGiveTheSameBytesOnTheSimulator) {
  try {
    const auto with_clang = conversions_on_sim(jit::CompilerChoice::clang);
    EXPECT_EQ(with_clang, conversions_on_sim(jit::CompilerChoice::nvrtc));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    GTEST_SKIP() << "one of the compilers is missing: " << error.what();
  }
}

class ArrayKernelsCompileEveryArch : public testing::TestWithParam<std::string> {};

TEST_P(ArrayKernelsCompileEveryArch, WithoutSpills) {
  jit::JitOptions options = jit_options(read_environment());
  options.cache_dir.reset();
  const auto context = Context::make(device::make_cpu_device(), {.jit = options});
  jit::Jit& jit = context->jit();
  try {
    jit.compiler().version();
  } catch (const Error& error) {
    GTEST_SKIP() << "no compiler here: " << error.what();
  }
  jit::KernelSource source = array_kernel_source(jit, "");
  source.instantiations = all_expressions();
  const auto compiled = jit.compile(source, jit::Arch::parse(GetParam()));
  EXPECT_THAT(jit::performance_warnings(*compiled), testing::IsEmpty());
  EXPECT_GE(compiled->entries.size(), source.instantiations.size());
  for (const jit::Entry& entry : compiled->entries) {
    EXPECT_EQ(entry.spill_store_bytes + entry.spill_load_bytes + entry.stack_bytes, 0u) << entry.expression;
    EXPECT_GT(entry.registers, 0) << entry.expression;
    EXPECT_LE(entry.registers, 64)
        << entry.expression;  // four blocks of 256 threads on a multiprocessor at least
  }
}

std::vector<std::string> arch_names() {
  std::vector<std::string> names;
  for (const jit::Arch& arch : jit::listed_archs()) names.push_back(arch.name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Listed, ArrayKernelsCompileEveryArch, testing::ValuesIn(arch_names()),
                         [](const auto& arch_info) { return arch_info.param; });

}  // namespace
}  // namespace gpuforge
