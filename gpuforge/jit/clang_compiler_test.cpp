// The second front end. What needs a clang skips with a sentence where there is none of version 16 or newer.
#include "gpuforge/jit/clang_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(ClangProgram, ReadsWhatClangAnswers) {
  const auto found = read_clang_answer(
      "Debian clang version 19.1.7 (3~deb12u1)\nTarget: nvptx64\nAvailable CPUs for this target:\n\n"
      "\tsm_100a\n\tsm_52\n\tsm_80\n\tsm_90\n\tsm_90a\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, "19.1.7");
  EXPECT_EQ(found->major, 19);
  EXPECT_THAT(found->arch_numbers(), ElementsAre(80, 90, 100));
  EXPECT_TRUE(found->knows(Arch::parse("compute_90a")));
  EXPECT_TRUE(found->knows(Arch::parse("sm_80")));
  EXPECT_FALSE(found->knows(Arch::parse("compute_100")));
}

TEST(ClangProgram, PassesOverOldOnesAndThoseWithoutTheTarget) {
  EXPECT_FALSE(read_clang_answer("Debian clang version 14.0.6\n sm_80 sm_86\n"));
  EXPECT_FALSE(read_clang_answer("clang version 19.1.7\nerror: unable to create target\n"));
  EXPECT_FALSE(read_clang_answer("gcc (Debian 12.2.0) sm_80"));
  const TemporaryFolder folder;
  const auto tool = folder.write("clang++-19", "#!/bin/sh\necho clang version 14.0.6 sm_80\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  EXPECT_FALSE(find_clang(folder.path().string() + ":relative:/nonexistent"));
}

TEST(ClangCompiler, WithoutClangItSaysWhatToInstall) {
  ClangCompiler compiler("/nonexistent", std::nullopt);
  EXPECT_FALSE(compiler.program());
  try {
    compiler.version();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("clang not available"), HasSubstr("clang-19")));
  }
}

class WithClang : public testing::Test {
 protected:
  void SetUp() override {
    if (!ClangCompiler(read_environment().path, std::nullopt).program())
      GTEST_SKIP() << "no clang 16 or newer with NVPTX on PATH";
  }
  JitOptions options(CompilerChoice choice) const {
    JitOptions result;
    result.search = cuda::search_options(read_environment());
    result.program_path = read_environment().path;
    result.cache_dir = folder_ / "cache";
    result.compiler = choice;
    return result;
  }
  static bool has_nvrtc(Jit& jit) {
    try {
      jit.compiler().version();
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  std::string failure(const KernelSource& source, ErrorCode code = ErrorCode::compile,
                      std::string_view arch = "compute_90") {
    try {
      jit_.compile(source, Arch::parse(arch));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "it compiled";
    return {};
  }

  TemporaryFolder folder_;
  Jit jit_{options(CompilerChoice::clang), nullptr};
};

TEST_F(WithClang, CompilesToPtxWithEntriesAndLines) {
  const KernelSource source{.name = "two.cu",
                            .text =
                                "template <class T, int N> __global__ void scale(T* x) {\n"
                                "  x[threadIdx.x] *= N;\n"
                                "}\n"
                                "__global__ void plain(const float4* in, float* out) { *out = in->w; }\n",
                            .instantiations = {"scale<float, 3>", "scale<short,4>"}};
  const auto compiled = jit_.compile(source, Arch::parse("compute_80"));
  EXPECT_THAT(compiled->compiler_version, StartsWith("clang "));
  EXPECT_EQ(compiled->log, "");
  EXPECT_THAT(compiled->cubin, IsEmpty());
  EXPECT_EQ(compiled->entries.size(), 3u);
  EXPECT_EQ(compiled->entry("scale<float, 3>").parameters.at(0).declared_type, "float*");
  EXPECT_EQ(compiled->entry("scale<short, 4>").expression, "scale<short,4>");
  EXPECT_EQ(compiled->entry("plain").parameters.at(0).declared_type, "const float4*");
  EXPECT_THAT(compiled->ptx,
              AllOf(HasSubstr(".loc"), HasSubstr("two.cu\""), Not(HasSubstr("prelude.cuh")),
                    Not(HasSubstr("gpuforge_instantiations")), Not(HasSubstr(folder_.path().string()))));
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/kernels"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".tmp-")) << entry.path();
}

TEST_F(WithClang, WrongProgramsHaveFileAndLine) {
  EXPECT_THAT(failure({.name = "wrong.cu", .text = "__global__ void k(int* x) {\n  x[0] = nothing;\n}\n"}),
              AllOf(StartsWith("wrong.cu:2: error: use of undeclared identifier 'nothing'"),
                    HasSubstr("\n      x[0] = nothing;\n             ^")));
  EXPECT_THAT(failure({.name = "two.cu", .text = "__global__ void k() { a; }\n__global__ void l() { b; }\n"}),
              HasSubstr("(and 1 more error)"));
  EXPECT_THAT(failure({.name = "t.cu",
                       .text = "template <class T> __global__ void f(T* x) {}\n",
                       .instantiations = {"f<int>", "g<int>"}}),
              StartsWith("t.cu: error: instantiation 'g<int>': use of undeclared identifier 'g'"));
  EXPECT_THAT(failure({.name = "h.cu", .text = "\n#include <cuda_fp8.h>\n"}),
              AllOf(StartsWith("h.cu:2: error: header \"cuda_fp8.h\" not found"), HasSubstr("use NVRTC")));
  EXPECT_THAT(failure({.name = "j.cu", .text = "__global__ void k(double* x) {\n  x[0] = j0(x[1]);\n}\n"}),
              StartsWith("j.cu:2: error: 'j0' is unavailable: the clang front end has no Bessel functions"));
  EXPECT_THAT(failure({.name = "c.cu", .text = "\n__global__ void __cluster_dims__(2) k() {}\n"}),
              StartsWith("c.cu:2: error: the clang front end has no clusters of blocks: compile with NVRTC"));
  folder_.write("src/own.h", "int broken(;\n");
  KernelSource with_header{.name = "src/k.cu", .text = "#include \"own.h\"\n"};
  with_header.directory = folder_ / "src";
  EXPECT_THAT(failure(with_header), AllOf(HasSubstr("own.h:1: error: ")));
}

TEST_F(WithClang, RefusesWhatItCannotDo) {
  const KernelSource good{.name = "k.cu", .text = "__global__ void k() {}\n"};
  EXPECT_THAT(failure(good, ErrorCode::unsupported, "sm_90"),
              HasSubstr("compile for compute_90, or install NVRTC"));
  EXPECT_THAT(failure(good, ErrorCode::unsupported, "compute_999"),
              HasSubstr("cannot compile for compute_999"));
  KernelSource option = good;
  option.options = {"--device-debug"};
  EXPECT_THAT(failure(option, ErrorCode::invalid_argument), HasSubstr("--device-debug"));
}

TEST_F(WithClang, OptionsOfNvrtcAreTranslated) {
  KernelSource source{.name = "k.cu",
                      .text =
                          "#if VALUE != 3 || __cplusplus != 201703L\n#error\n#endif\n"
                          "__global__ void k(float* x) { x[0] = x[1] * x[2] + x[3]; }\n"};
  source.defines = {"VALUE=3"};
  source.options = {"--std=c++17", "--fmad=false", "-lineinfo"};
  const std::string separate = jit_.compile(source, Arch::parse("compute_90"))->ptx;
  EXPECT_THAT(separate, AllOf(HasSubstr("mul.rn.f32"), Not(HasSubstr("fma.rn.f32"))));
  source.options = {"--std=c++17"};
  EXPECT_THAT(jit_.compile(source, Arch::parse("compute_90"))->ptx, HasSubstr("fma.rn.f32"));
}

TEST_F(WithClang, TakesNvrtcsPlaceWithOneWarning) {
  std::vector<std::string> said;
  const auto log = std::make_shared<Log>(LogLevel::warning,
                                         [&](LogLevel, std::string_view text) { said.emplace_back(text); });
  JitOptions without = options(CompilerChoice::automatic);
  without.search = {};
  without.search.system = false;
  Jit jit(without, log);
  const KernelSource source{.name = "k.cu", .text = "__global__ void k() {}\n"};
  EXPECT_THAT(jit.compile(source, Arch::parse("compute_90"))->compiler_version, StartsWith("clang "));
  jit.compile(source, Arch::parse("compute_80"));
  EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("NVRTC is not available"), HasSubstr("install NVRTC"))));
  EXPECT_TRUE(jit.compiles_with_clang());
  try {
    jit.compile(source, Arch::parse("sm_90"));
    FAIL() << "clang makes no machine code";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), StartsWith("NVRTC JIT compiler not available"));
  }
  without.program_path.reset();
  Jit neither(without, log);
  try {
    neither.compile(source, Arch::parse("compute_90"));
    FAIL() << "there is nothing to compile with";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.message(),
                AllOf(StartsWith("NVRTC JIT compiler not available"), HasSubstr("clang 16")));
  }
}

TEST_F(WithClang, TheKeyCoversTheCompiler) {
  Jit nvrtc(options(CompilerChoice::nvrtc), nullptr);
  if (!has_nvrtc(nvrtc)) GTEST_SKIP() << "no NVRTC to compare with";
  const KernelSource source{.name = "k.cu", .text = "__global__ void k() {}\n"};
  const auto first = nvrtc.compile(source, Arch::parse("compute_90"));
  const auto second = jit_.compile(source, Arch::parse("compute_90"));
  EXPECT_NE(first->key, second->key);
  EXPECT_FALSE(second->from_cache);
  EXPECT_TRUE(
      Jit(options(CompilerChoice::clang), nullptr).compile(source, Arch::parse("compute_90"))->from_cache);
}

// A clang that counts its starts in the file `starts`, in a folder that is a search path by itself.
std::string counted_clang(const TemporaryFolder& folder) {
  const auto program = find_clang(read_environment().path.value_or(""))->path;
  const auto tool =
      folder.write("bin/clang++-19", "#!/bin/sh\necho started >> \"" + (folder / "starts").string() +
                                         "\"\nexec \"" + program.string() + "\" \"$@\"\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  return tool.parent_path().string();
}

TEST_F(WithClang, AHitOfTheDiskCacheStartsNoProcess) {
  JitOptions counted = options(CompilerChoice::clang);
  counted.program_path = counted_clang(folder_);
  const auto starts = [&] {
    const std::string text = read_file(folder_ / "starts");
    return std::count(text.begin(), text.end(), '\n');
  };
  const KernelSource source{.name = "k.cu", .text = "__global__ void k() {}\n"};
  const auto first = Jit(counted, nullptr).compile(source, Arch::parse("compute_90"));
  EXPECT_EQ(starts(), 2) << "one for the version, one to compile";
  const auto second = Jit(counted, nullptr).compile(source, Arch::parse("compute_90"));
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(second->compiler_version, first->compiler_version);
  EXPECT_EQ(starts(), 2);
  // Another file under that name is asked again; so is a memo that cannot be read.
  std::filesystem::last_write_time(folder_ / "bin/clang++-19",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(Jit(counted, nullptr).compile(source, Arch::parse("compute_90"))->from_cache);
  EXPECT_EQ(starts(), 3);
  folder_.write("cache/clang.json", "{\"identity\": 3");
  EXPECT_TRUE(Jit(counted, nullptr).compile(source, Arch::parse("compute_90"))->from_cache);
  EXPECT_EQ(starts(), 4);
}

// One launch of an example's kernel: `in` to `out`, then what follows.
struct Launch {
  std::string file;
  device::LaunchConfig geometry;
  int rows;
  int columns;
  std::size_t outputs;
};

// A row-major layout's run-time integers: both sizes and the stride of rows.
std::array<std::int64_t, 3> row_major(int rows, int columns) {
  return {rows, columns, columns};
}

std::vector<float> launch(Jit& jit, const Launch& launch) {
  const auto device = device::make_sim_device();
  const auto stream = device->make_stream();
  const auto kernel = jit.kernel(source_from_file(std::filesystem::path(GPUFORGE_EXAMPLES_DIR) / launch.file),
                                 launch.file == "scale_add.cu" ? "scale_add" : "", *device);
  std::vector<float> in(static_cast<std::size_t>(launch.rows * launch.columns));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1013) * 0.37f - 11.0f;
  std::vector<float> out(launch.outputs, 0.5f);
  const device::Address from = device->allocate(in.size() * sizeof(float), *stream);
  const device::Address to = device->allocate(out.size() * sizeof(float), *stream);
  stream->copy_to_device(from, in.data(), in.size() * sizeof(float));
  stream->copy_to_device(to, out.data(), out.size() * sizeof(float));
  if (launch.file == "saxpy.cu")
    (*kernel)(launch.geometry, *stream, 2.5f, from, to, launch.rows * launch.columns);
  else if (launch.file == "scale_add.cu")
    (*kernel)(launch.geometry, *stream, to, from, from, static_cast<long long>(launch.columns));
  else if (launch.file == "row_sum_layout.cu")
    (*kernel)(launch.geometry, *stream, to, from, row_major(launch.rows, launch.columns));
  else if (launch.file == "transpose_layout.cu")
    (*kernel)(launch.geometry, *stream, to, from, row_major(launch.columns, launch.rows),
              row_major(launch.rows, launch.columns));
  else
    (*kernel)(launch.geometry, *stream, to, from, launch.rows, launch.columns);
  stream->copy_to_host(out.data(), to, out.size() * sizeof(float));
  stream->synchronize();
  for (const sim::LaunchReport& report : device->take_reports()) EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

TEST_F(WithClang, ExamplesGiveOnTheSimulatorWhatNvrtcsGive) {
  Jit nvrtc(options(CompilerChoice::nvrtc), nullptr);
  if (!has_nvrtc(nvrtc)) GTEST_SKIP() << "no NVRTC to compare with";
  const Launch launches[] = {
      {"saxpy.cu", {.grid = {4}, .block = {256}}, 1, 1000, 1000},
      {"scale_add.cu", {.grid = {4}, .block = {256}}, 1, 1000, 1000},
      {"row_sum.cu", {.grid = {3}, .block = {32, 8}}, 20, 333, 20},
      {"tiled_transpose.cu", {.grid = {3, 2}, .block = {32, 8}}, 50, 70, 3500},
      {"row_sum_layout.cu", {.grid = {3}, .block = {256}}, 20, 333, 20},
      {"transpose_layout.cu", {.grid = {3, 2}, .block = {256}}, 50, 70, 3500},
  };
  std::size_t examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUFORGE_EXAMPLES_DIR))
    examples += entry.path().extension() == ".cu";
  EXPECT_EQ(examples, std::size(launches)) << "an example without a line here";
  for (const Launch& one : launches) {
    SCOPED_TRACE(one.file);
    EXPECT_EQ(launch(jit_, one), launch(nvrtc, one));
  }
}

TEST_F(WithClang, FindingsHaveSourceLines) {
  const auto device = device::make_sim_device();
  const auto stream = device->make_stream();
  const KernelSource source{.name = "late.cu",
                            .text =
                                "#include \"gpuforge/kernels/half.cuh\"\n"
                                "extern \"C\" __global__ void late(float* x, int n) {\n"
                                "  __syncthreads();\n"
                                "  if (threadIdx.x < n)\n"
                                "    atomicAdd(&x[threadIdx.x], 1.0f);\n"
                                "}\n"};
  const auto kernel = jit_.kernel(source, "late", *device);
  const device::Address there = device->allocate(4 * sizeof(float), *stream);
  try {
    (*kernel)({.grid = {1}, .block = {32}}, *stream, there, 5);
    stream->synchronize();
    FAIL() << "an access out of bounds was not found";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("late.cu:5"));
  }
}

}  // namespace
}  // namespace gpuforge::jit
