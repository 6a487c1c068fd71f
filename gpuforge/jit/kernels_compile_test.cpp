// Every kernel in the tree, for every arch we list: it compiles, has its entries, and loses no speed to
// spills or to anything ptxas warns of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "gpuforge/jit/jit.h"
#include "gpuforge/kernels/kernels.h"

namespace gpuforge::jit {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Templates compile only as instantiations; a file of templates without a line here fails the test. Room
// array compiles the rest of its pairs itself.
std::map<std::string, std::vector<std::string>> instantiations() {
  return {
      {"gpuforge/array/array.cu",
       {"gpuforge::convert_run<float, gpuforge::half_t>",
        "gpuforge::convert_run<gpuforge::float8_e4m3_t, double>",
        "gpuforge::convert_run<signed char, gpuforge::bfloat16_t>",
        "gpuforge::copy_strided<unsigned long long, unsigned long long>",
        "gpuforge::copy_strided<gpuforge::bool_t, long long>", "gpuforge::fill_strided<unsigned char>",
        "gpuforge::fill_range<gpuforge::float8_e5m2_t>"}},
      {"gpuforge/ops/copy_transpose/copy_transpose.cu",
       {"gpuforge::transpose_naive<unsigned short>",
        "gpuforge::transpose_tiled<unsigned int, 16, 8, int, gpuforge::GridOrder, gpuforge::PlaneSteps>",
        "gpuforge::transpose_tiled<unsigned short, 64, 4, long long, gpuforge::GroupOrder, "
        "gpuforge::Rows<2>>",
        "gpuforge::transpose_vectors<unsigned int, 64, 64, 16, 4, int, gpuforge::GridOrder, "
        "gpuforge::PlaneSteps>",
        "gpuforge::transpose_vectors<unsigned short, 64, 64, 16, 8, int, gpuforge::GridOrder, "
        "gpuforge::PlaneSteps>",
        "gpuforge::transpose_vectors<unsigned short, 128, 128, 16, 8, long long, gpuforge::GroupOrder, "
        "gpuforge::Rows<2>>",
        "gpuforge::transpose_vectors<unsigned short, 64, 64, 8, 4, long long, gpuforge::GroupOrder, "
        "gpuforge::Rows<2>>",
        "gpuforge::transpose_shifted<unsigned short, 64, 8, int, gpuforge::GridOrder, gpuforge::PlaneSteps>",
        "gpuforge::transpose_shifted<unsigned short, 64, 16, long long, gpuforge::GroupOrder, "
        "gpuforge::Rows<2>>",
        "gpuforge::transpose_shifted<unsigned int, 64, 8, int, gpuforge::GridOrder, gpuforge::PlaneSteps>",
        "gpuforge::transpose_shifted<unsigned int, 32, 4, long long, gpuforge::GroupOrder, "
        "gpuforge::Rows<2>>"}},
      {"gpuforge/ops/elementwise/elementwise.cu",
       {"gpuforge::elementwise_run<gpuforge::Call<gpuforge::fn::add, float, float>, float, unsigned int, "
        "256, 4, 4, gpuforge::Elements<float>, gpuforge::Elements<float>>",
        "gpuforge::elementwise_run<gpuforge::Call<gpuforge::fn::gelu, float>, gpuforge::half_t, unsigned "
        "int, 512, 8, 4, gpuforge::Elements<gpuforge::half_t>>",
        "gpuforge::elementwise_run<gpuforge::Call<gpuforge::fn::mod, float, float>, "
        "gpuforge::float8_e4m3_t, unsigned int, 256, 16, 4, gpuforge::Elements<gpuforge::float8_e4m3_t>, "
        "gpuforge::Constant<float>>",
        "gpuforge::elementwise_walk<gpuforge::Call<gpuforge::fn::where, gpuforge::Truth, double, double>, "
        "double, unsigned long long, 256, 2, 4, gpuforge::Elements<gpuforge::bool_t>, "
        "gpuforge::Repeated<double>, gpuforge::Constant<double>>",
        "gpuforge::elementwise_walk<gpuforge::Call<gpuforge::fn::pow, long long, long long>, long long, "
        "unsigned int, 256, 1, 4, gpuforge::Elements<long long>, gpuforge::Elements<int>>"}},
      {"gpuforge/ops/matmul/matmul.cu",
       {"gpuforge::matmul_naive<gpuforge::half_t, float>",
        "gpuforge::matmul_tiled<float, float, 128, 128, 8>",
        "gpuforge::matmul_tiled<gpuforge::bfloat16_t, float, 64, 64, 16>",
        "gpuforge::matmul_tiled<float, float, 128, 128, 16>",
        "gpuforge::matmul_tiled<double, double, 64, 64, 8>",
        "gpuforge::matmul_tiled<long long, long long, 128, 128, 16>"}},
      {"gpuforge/ops/reductions/reductions.cu",
       {"gpuforge::reduce_elements<double, double, double, gpuforge::AddUp, gpuforge::AsNumber, false, 256>",
        "gpuforge::reduce_elements<gpuforge::half_t, long long, float, gpuforge::Best<true>, "
        "gpuforge::AsNumber, true, 256>",
        "gpuforge::reduce_found<long long, float, gpuforge::Best<true>, true, 256>"}},
      {"gpuforge/ops/reduce/reduce.cu",
       {"gpuforge::reduce_short<gpuforge::half_t, gpuforge::Sum, 128, 4, 8, 4, 1>",
        "gpuforge::reduce_short<gpuforge::bfloat16_t, gpuforge::ScaledProduct, 128, 32, 8, 8, 1>",
        "gpuforge::reduce_short<float, gpuforge::Max, 128, 2, 4, 1, 8>",
        "gpuforge::reduce_rows<float, gpuforge::Sum, gpuforge::UnitRows<2>, 256, 256, 4, 8, true>",
        "gpuforge::reduce_rows<gpuforge::half_t, gpuforge::Sum, gpuforge::UnitRows<2>, 128, 32, 8, 8, "
        "false>",
        "gpuforge::reduce_rows<gpuforge::half_t, gpuforge::ScaledProduct, gpuforge::Rows<2>, 512, 512, 8, 8, "
        "false>",
        "gpuforge::reduce_strided<gpuforge::bfloat16_t, gpuforge::Min, 128, 1, 4>",
        "gpuforge::reduce_columns<gpuforge::bfloat16_t, gpuforge::Max, 256, 8, 8, 4>",
        "gpuforge::reduce_columns<gpuforge::half_t, gpuforge::ScaledProduct, 512, 16, 8, 8>",
        "gpuforge::reduce_columns<float, gpuforge::Sum, 256, 1, 1, 4>",
        "gpuforge::reduce_ragged_columns<gpuforge::half_t, gpuforge::Sum, 512, 64, 8, 8>",
        "gpuforge::reduce_ragged_columns<float, gpuforge::ScaledProduct, 256, 8, 4, 8>",
        "gpuforge::reduce_parts<gpuforge::half_t, gpuforge::ScaledProduct, 128>",
        "gpuforge::reduce_naive<gpuforge::half_t, gpuforge::ScaledProduct>",
        "gpuforge::reduce_naive<float, gpuforge::Max>"}},
      {"gpuforge/ops/reduce_sum/reduce_sum.cu",
       {"gpuforge::sum_naive<gpuforge::bfloat16_t>", "gpuforge::sum_improved<gpuforge::half_t, 1024>",
        "gpuforge::sum_shuffle<float, 32>", "gpuforge::sum_shuffle<gpuforge::half_t, 1024>"}},
      {"gpuforge/lab/ceilings.cu",
       {"gpuforge::move_bytes<1, 0, 8>", "gpuforge::move_bytes<1, 1, 8>", "gpuforge::move_bytes<2, 1, 4>",
        "gpuforge::move_bytes<0, 1, 1>", "gpuforge::move_bytes<0, 0, 1>", "gpuforge::move_bytes<4, 3, 8>"}},
      {"gpuforge/ops/layer_norm/layer_norm.cu",
       {"gpuforge::layer_norm<float, 4, 16, 1024, 1, false, 2, 6>",
        "gpuforge::layer_norm<float, 4, 32, 512, 1, false, 2, 6>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 64, 512, 1, false, 2, 6>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 16, 64, 2, false, 1, 6>",
        "gpuforge::layer_norm<float, 4, 16, 1024, 1, false, 2, 7>",
        "gpuforge::layer_norm<float, 4, 16, 1024, 1, false, 0, 7>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 512, 1, false, 2, 6>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 8, 32, 1, false, 2, 6>",
        "gpuforge::layer_norm<gpuforge::bfloat16_t, 8, 16, 16, 8, false, 2, 7>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 1024, 1, false, 2, 7>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 1024, 1, false, 0, 7>",
        "gpuforge::layer_norm<gpuforge::bfloat16_t, 1, 8, 32, 32, true, 0, 7>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 0, 1024, 1, false, 2, 7>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 256, 1, false, 1, 0>",
        "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 256, 1, false, 1, 2>",
        "gpuforge::layer_norm<float, 4, 16, 256, 1, false, 2, 4>",
        "gpuforge::layer_norm_naive<gpuforge::bfloat16_t>"}},
      {"gpuforge/ops/rms_norm/rms_norm.cu",
       {"gpuforge::rms_norm<float, 4, 16, 1024, 1, false, 2, 2>",
        "gpuforge::rms_norm<float, 4, 32, 512, 1, false, 2, 2>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 64, 512, 1, false, 2, 2>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 16, 64, 2, false, 1, 2>",
        "gpuforge::rms_norm<float, 4, 16, 1024, 1, false, 2, 3>",
        "gpuforge::rms_norm<float, 4, 16, 1024, 1, false, 0, 3>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 512, 1, false, 2, 2>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 8, 32, 1, false, 2, 2>",
        "gpuforge::rms_norm<gpuforge::bfloat16_t, 8, 16, 16, 8, false, 2, 3>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 1024, 1, false, 2, 3>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 1024, 1, false, 0, 3>",
        "gpuforge::rms_norm<gpuforge::bfloat16_t, 1, 8, 32, 32, true, 0, 3>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 0, 1024, 1, false, 2, 3>",
        "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 256, 1, false, 1, 0>",
        "gpuforge::rms_norm_naive<gpuforge::bfloat16_t>"}},
      {"gpuforge/ops/rms_norm_backward/rms_norm_backward.cu",
       {"gpuforge::rms_backward<float, 4, 16, 1024, 1, false, 1, true>",
        "gpuforge::rms_backward<float, 4, 16, 512, 1, false, 2, true>",
        "gpuforge::rms_backward<gpuforge::half_t, 8, 32, 1024, 1, false, 1, true>",
        "gpuforge::rms_backward<gpuforge::half_t, 8, 32, 1024, 1, false, 2, false>",
        "gpuforge::rms_backward<gpuforge::bfloat16_t, 1, 8, 32, 32, true, 0, true>",
        "gpuforge::rms_backward<gpuforge::half_t, 8, 0, 1024, 1, false, 1, true>",
        "gpuforge::rms_backward_naive<gpuforge::bfloat16_t>",
        "gpuforge::rms_backward_partials<gpuforge::half_t, 32, 8>",
        "gpuforge::rms_backward_weight<gpuforge::bfloat16_t>"}},
      {"gpuforge/ops/softmax_online/softmax_online.cu",
       {"gpuforge::softmax_online<float, 4, 32, 1024, 1, false>",
        "gpuforge::softmax_online<float, 4, 32, 1024, 1, false, 1>",
        "gpuforge::softmax_online<float, 4, 32, 512, 1, false, 2>",
        "gpuforge::softmax_online<float, 4, 16, 1024, 1, false, 2>",
        "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 1024, 1, false>",
        "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 1024, 1, false, 1>",
        "gpuforge::softmax_online<gpuforge::half_t, 8, 32, 1024, 1, false, 2>",
        "gpuforge::softmax_online<gpuforge::bfloat16_t, 1, 16, 32, 32, true>",
        "gpuforge::softmax_online<gpuforge::half_t, 8, 0, 1024, 1, false>",
        "gpuforge::softmax_online<gpuforge::half_t, 8, 0, 1024, 1, false, 2>",
        "gpuforge::softmax_safe<gpuforge::half_t, 8, 0, 1024, 1, false>",
        "gpuforge::softmax_naive<gpuforge::bfloat16_t>"}},
      {"gpuforge/ops/softmax_online_backward/softmax_online_backward.cu",
       {"gpuforge::softmax_backward<float, 4, 16, 1024, 1, false>",
        "gpuforge::softmax_backward<float, 4, 16, 1024, 1, false, 2>",
        "gpuforge::softmax_backward<gpuforge::half_t, 8, 32, 1024, 1, false>",
        "gpuforge::softmax_backward<gpuforge::half_t, 8, 32, 1024, 1, false, 2>",
        "gpuforge::softmax_backward<gpuforge::bfloat16_t, 1, 8, 32, 32, true>",
        "gpuforge::softmax_backward<gpuforge::half_t, 8, 0, 1024, 1, false>",
        "gpuforge::softmax_backward_naive<gpuforge::bfloat16_t>"}}};
}

// Those that are launched as clusters of blocks, which SM 90 and newer have.
std::map<std::string, std::vector<std::string>> cluster_instantiations() {
  return {{"gpuforge/ops/softmax_online/softmax_online.cu",
           {"gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false, 0, 8>",
            "gpuforge::softmax_online<gpuforge::half_t, 8, 64, 512, 1, false, 2, 8>",
            "gpuforge::softmax_online<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 0, 16>",
            "gpuforge::softmax_online<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 1, 16>",
            "gpuforge::softmax_online<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 2, 16>",
            "gpuforge::softmax_online<float, 4, 16, 256, 1, false, 2, 16>",
            "gpuforge::softmax_online<float, 4, 32, 512, 1, false, 2, 16>",
            "gpuforge::softmax_online<float, 4, 32, 1024, 1, false, 0, 8>"}},
          {"gpuforge/ops/layer_norm/layer_norm.cu",
           {"gpuforge::layer_norm<float, 4, 8, 256, 1, false, 0, 6, 4>",
            "gpuforge::layer_norm<float, 4, 8, 256, 1, false, 0, 7, 4>",
            "gpuforge::layer_norm<float, 4, 8, 256, 1, false, 1, 6, 4>",
            "gpuforge::layer_norm<float, 4, 8, 256, 1, false, 1, 7, 4>",
            "gpuforge::layer_norm<float, 4, 16, 256, 1, false, 2, 6, 4>",
            "gpuforge::layer_norm<float, 4, 16, 256, 1, false, 2, 7, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 16, 256, 1, false, 0, 6, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 16, 256, 1, false, 0, 7, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 16, 256, 1, false, 1, 6, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 16, 256, 1, false, 1, 7, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 256, 1, false, 2, 6, 4>",
            "gpuforge::layer_norm<gpuforge::half_t, 8, 32, 256, 1, false, 2, 7, 4>",
            "gpuforge::layer_norm<float, 4, 8, 1024, 1, false, 0, 7, 16>",
            "gpuforge::layer_norm<float, 4, 8, 1024, 1, false, 1, 7, 16>",
            "gpuforge::layer_norm<float, 4, 16, 1024, 1, false, 2, 7, 16>",
            "gpuforge::layer_norm<gpuforge::bfloat16_t, 8, 16, 512, 1, false, 0, 7, 16>",
            "gpuforge::layer_norm<gpuforge::bfloat16_t, 8, 16, 512, 1, false, 1, 7, 16>",
            "gpuforge::layer_norm<gpuforge::bfloat16_t, 8, 32, 512, 1, false, 2, 7, 16>"}},
          {"gpuforge/ops/rms_norm/rms_norm.cu",
           {"gpuforge::rms_norm<float, 4, 8, 256, 1, false, 0, 2, 4>",
            "gpuforge::rms_norm<float, 4, 8, 256, 1, false, 0, 3, 4>",
            "gpuforge::rms_norm<float, 4, 8, 256, 1, false, 1, 2, 4>",
            "gpuforge::rms_norm<float, 4, 8, 256, 1, false, 1, 3, 4>",
            "gpuforge::rms_norm<float, 4, 16, 256, 1, false, 2, 2, 4>",
            "gpuforge::rms_norm<float, 4, 16, 256, 1, false, 2, 3, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 16, 256, 1, false, 0, 2, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 16, 256, 1, false, 0, 3, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 16, 256, 1, false, 1, 2, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 16, 256, 1, false, 1, 3, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 256, 1, false, 2, 2, 4>",
            "gpuforge::rms_norm<gpuforge::half_t, 8, 32, 256, 1, false, 2, 3, 4>",
            "gpuforge::rms_norm<float, 4, 8, 1024, 1, false, 0, 3, 16>",
            "gpuforge::rms_norm<float, 4, 8, 1024, 1, false, 1, 3, 16>",
            "gpuforge::rms_norm<float, 4, 16, 1024, 1, false, 2, 3, 16>",
            "gpuforge::rms_norm<gpuforge::bfloat16_t, 8, 16, 512, 1, false, 0, 3, 16>",
            "gpuforge::rms_norm<gpuforge::bfloat16_t, 8, 16, 512, 1, false, 1, 3, 16>",
            "gpuforge::rms_norm<gpuforge::bfloat16_t, 8, 32, 512, 1, false, 2, 3, 16>"}},
          {"gpuforge/ops/softmax_online_backward/softmax_online_backward.cu",
           {"gpuforge::softmax_backward<gpuforge::half_t, 8, 64, 512, 1, false, 0, 8>",
            "gpuforge::softmax_backward<gpuforge::half_t, 8, 64, 512, 1, false, 2, 8>",
            "gpuforge::softmax_backward<gpuforge::half_t, 8, 64, 512, 1, false, 2, 16>",
            "gpuforge::softmax_backward<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 0, 16>",
            "gpuforge::softmax_backward<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 1, 16>",
            "gpuforge::softmax_backward<gpuforge::bfloat16_t, 8, 32, 256, 1, false, 2, 16>",
            "gpuforge::softmax_backward<float, 4, 16, 256, 1, false, 2, 16>",
            "gpuforge::softmax_backward_in_turn<float, 4, 32, 256, 16>",
            "gpuforge::softmax_backward_in_turn<float, 4, 32, 512, 16>",
            "gpuforge::softmax_backward<float, 4, 32, 1024, 1, false, 0, 8>"}}};
}

std::vector<Arch> archs() {
  std::vector<Arch> all(listed_archs().begin(), listed_archs().end());
  all.push_back(Arch::parse("compute_80"));
  return all;
}

std::vector<std::string> embedded_kernel_files() {
  std::vector<std::string> files;
  for (const EmbeddedFile& file : embedded_kernels()) {
    if (file.path.ends_with(".cu")) files.emplace_back(file.path);
  }
  return files;
}

std::vector<std::filesystem::path> example_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(GPUFORGE_EXAMPLES_DIR)) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class KernelsCompileEveryArch : public testing::TestWithParam<Arch> {
 protected:
  void expect_clean(const KernelSource& source) {
    SCOPED_TRACE(source.name);
    const auto compiled = jit_.compile(source, GetParam());
    EXPECT_FALSE(compiled->entries.empty());
    EXPECT_THAT(performance_warnings(*compiled), IsEmpty());
    EXPECT_EQ(compiled->log, "");
    for (const Entry& entry : compiled->entries) {
      SCOPED_TRACE(entry.expression);
      EXPECT_EQ(entry.registers > 0, !GetParam().is_virtual);
      for (const Parameter& parameter : entry.parameters) EXPECT_FALSE(parameter.declared_type.empty());
    }
  }
  Jit jit_{JitOptions{.search = cuda::search_options(read_environment()),
                      .cache_dir = {},
                      .cache_limit_bytes = 0,
                      .kernel_dir = {}},
           nullptr};
};

// Each with 64 registers at most: 1024 threads fit on a multiprocessor, of several blocks. SM 120 has no
// shared memory for that; those that have rows in turn would spill with as many on SM 100, and have more.
TEST_P(KernelsCompileEveryArch, Clusters) {
  if (GetParam().number() < 90) GTEST_SKIP() << GetParam().name() << " has no clusters";
  for (const auto& [path, list] : cluster_instantiations()) {
    KernelSource source = jit_.embedded_source(path);
    source.instantiations = list;
    expect_clean(source);
    const auto compiled = jit_.compile(source, GetParam());
    EXPECT_THAT(compiled->entries, SizeIs(list.size()));
    if (GetParam().number() >= 120) continue;
    for (const Entry& entry : compiled->entries) {
      const bool may_have_more =
          GetParam().number() > 90 && entry.expression.find("_in_turn") != std::string::npos;
      EXPECT_LE(entry.registers, may_have_more ? 128 : 64) << entry.expression;
    }
  }
}

TEST_P(KernelsCompileEveryArch, Embedded) {
  for (const std::string& path : embedded_kernel_files()) {
    KernelSource source = jit_.embedded_source(path);
    const auto table = instantiations();
    if (const auto listed = table.find(path); listed != table.end()) {
      source.instantiations = listed->second;
      EXPECT_THAT(jit_.compile(source, GetParam())->entries, SizeIs(source.instantiations.size()));
    }
    expect_clean(source);
  }
}

// The same list through the second compiler.
TEST(KernelsCompileWithClang, Embedded) {
  const Environment environment = read_environment();
  if (!ClangCompiler(environment.path, std::nullopt).program()) {
    GTEST_SKIP() << "no clang 16 or newer with NVPTX on PATH";
  }
  JitOptions options;
  options.search = cuda::search_options(environment);
  options.compiler = CompilerChoice::clang;
  options.program_path = environment.path;
  Jit jit(std::move(options), nullptr);
  const auto table = instantiations();
  for (const std::string& path : embedded_kernel_files()) {
    SCOPED_TRACE(path);
    KernelSource source = jit.embedded_source(path);
    if (const auto listed = table.find(path); listed != table.end()) source.instantiations = listed->second;
    const auto compiled = jit.compile(source, Arch::parse("compute_90"));
    EXPECT_THAT(compiled->entries, Not(IsEmpty()));
    if (!source.instantiations.empty()) {
      EXPECT_THAT(compiled->entries, SizeIs(source.instantiations.size()));
    }
  }
}

TEST_P(KernelsCompileEveryArch, Examples) {
  const auto files = example_files();
  EXPECT_GE(files.size(), 3u);
  for (const auto& file : files) expect_clean(source_from_file(file));
}

TEST_P(KernelsCompileEveryArch, EveryConversionOfHalf) {
  KernelSource source;
  source.name = "conversions.cu";
  source.text =
      "#include \"gpuforge/kernels/half.cuh\"\n"
      "using namespace gpuforge;\n"
      "template <class To, class From> __global__ void convert(To* to, const From* from, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) to[i] = To(from[i]);\n"
      "}\n";
  const std::string narrow[] = {"half_t", "bfloat16_t", "float8_e4m3_t", "float8_e5m2_t"};
  std::vector<std::string> sources = {
      "float",          "double", "bool",     "char", "signed char",   "unsigned char", "short",
      "unsigned short", "int",    "unsigned", "long", "unsigned long", "long long",     "unsigned long long"};
  sources.insert(sources.end(), std::begin(narrow), std::end(narrow));
  for (const std::string& to : narrow) {
    for (const std::string& from : sources)
      source.instantiations.push_back("convert<" + to + ", " + from + ">");
    source.instantiations.push_back("convert<float, " + to + ">");
    source.instantiations.push_back("convert<double, " + to + ">");
  }
  expect_clean(source);
  EXPECT_THAT(jit_.compile(source, GetParam())->entries, SizeIs(source.instantiations.size()));
  // NVRTC before 12 has C++17 alone.
  source.options = {"--std=c++17"};
  expect_clean(source);
}

INSTANTIATE_TEST_SUITE_P(Archs, KernelsCompileEveryArch, testing::ValuesIn(archs()),
                         [](const auto& param) { return param.param.name(); });

TEST(KernelFiles, EveryTemplateFileIsListed) {
  const auto files = embedded_kernel_files();
  EXPECT_FALSE(files.empty());
  for (const auto& [path, list] : instantiations()) EXPECT_THAT(files, testing::Contains(path));
}

}  // namespace
}  // namespace gpuforge::jit
