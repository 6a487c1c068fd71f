#include "gpuforge/jit/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "gpuforge/base/error.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/jit/compiler_memo.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/kernels/kernels.h"

namespace gpuforge::jit {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Arch kHopper{9, 0, 'a', false};

constexpr const char* kSaxpy =
    "extern \"C\" __global__ void saxpy(float a, const float* __restrict__ x, float* y, int n) {\n"
    "  __shared__ float s[100];\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  s[threadIdx.x] = x[i];\n"
    "  __syncthreads();\n"
    "  if (i < n) y[i] = a * s[threadIdx.x ^ 1] + y[i];\n"
    "}\n";

cuda::SearchOptions search() {
  return cuda::search_options(read_environment());
}

class CompilerTest : public testing::Test {
 protected:
  HeaderPaths paths() const { return {embedded_kernels(), std::nullopt, toolkit_include_dirs(search())}; }
  Compiled compile(KernelSource source, const Arch& arch = kHopper) {
    return compiler_.compile(resolve(std::move(source), paths()), arch);
  }
  static KernelSource source(std::string text, std::string name = "saxpy.cu") {
    KernelSource result;
    result.name = std::move(name);
    result.text = std::move(text);
    return result;
  }
  Error failure(KernelSource kernel, const Arch& arch = kHopper) {
    try {
      compile(std::move(kernel), arch);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "it compiled";
    return Error(ErrorCode::internal, "it compiled");
  }
  Compiler compiler_{search(), std::nullopt};
};

TEST_F(CompilerTest, TellsWhatItIs) {
  EXPECT_THAT(compiler_.version(), testing::MatchesRegex("1[1-9]\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(compiler_.supported_archs(), testing::IsSupersetOf({80, 86, 89, 90}));
}

TEST_F(CompilerTest, MachineCodeWithItsReport) {
  const Compiled compiled = compile(source(kSaxpy));
  EXPECT_EQ(compiled.source_name, "saxpy.cu");
  EXPECT_EQ(compiled.compiler_version, compiler_.version());
  EXPECT_EQ(compiled.cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(compiled.image(), compiled.cubin);
  EXPECT_THAT(compiled.ptx, HasSubstr(".target sm_90a"));
  EXPECT_EQ(compiled.log, "");
  EXPECT_GT(compiled.compile_ms, 0);
  EXPECT_FALSE(compiled.from_cache);
  ASSERT_EQ(compiled.entries.size(), 1u);
  const Entry& entry = compiled.entries[0];
  EXPECT_EQ(entry.name, "saxpy");
  EXPECT_GT(entry.registers, 4);
  EXPECT_LT(entry.registers, 64);
  EXPECT_EQ(entry.static_shared_bytes, 400u);
  EXPECT_EQ(entry.stack_bytes, 0u);
  EXPECT_EQ(entry.spill_store_bytes, 0u);
  ASSERT_EQ(entry.parameters.size(), 4u);
  EXPECT_EQ(entry.parameters[1].declared_type, "const float*");
  EXPECT_EQ(entry.parameters[1].name, "x");
  EXPECT_THAT(performance_warnings(compiled), IsEmpty());
}

TEST_F(CompilerTest, PtxForVirtualArchs) {
  const Compiled compiled = compile(source(kSaxpy), {8, 0, 0, true});
  EXPECT_EQ(compiled.cubin, "");
  EXPECT_THAT(std::string(compiled.image()), HasSubstr(".target sm_80"));
  EXPECT_EQ(compiled.entries.at(0).parameters.size(), 4u);
  EXPECT_EQ(compiled.entries.at(0).registers, 0);
}

// The number of registers stands in the cubin too: bits 24 and up of the sh_info of section .text.<kernel>.
int registers_in_cubin(std::string_view cubin, const std::string& kernel) {
  const auto read = [&](std::size_t at, auto value) {
    if (at + sizeof(value) > cubin.size()) throw std::out_of_range("cubin");
    std::memcpy(&value, cubin.data() + at, sizeof(value));
    return value;
  };
  const auto sections = read(0x28, std::uint64_t{});
  const auto entry_bytes = read(0x3a, std::uint16_t{});
  const auto count = read(0x3c, std::uint16_t{});
  const auto names =
      read(sections + std::size_t{read(0x3e, std::uint16_t{})} * entry_bytes + 0x18, std::uint64_t{});
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t header = sections + i * entry_bytes;
    const char* const name = cubin.data() + names + read(header, std::uint32_t{});
    if (".text." + kernel == name) return static_cast<int>(read(header + 0x2c, std::uint32_t{}) >> 24);
  }
  return -1;
}

TEST_F(CompilerTest, RegistersAgreeWithTheCubin) {
  // Eight live sums, so that the number is not the smallest one possible.
  const Compiled compiled =
      compile(source("extern \"C\" __global__ void f(float* x) {\n"
                     "  float s[16];\n"
                     "  for (int i = 0; i < 16; ++i) s[i] = x[i * 32 + threadIdx.x];\n"
                     "  __syncthreads();\n"
                     "  for (int i = 0; i < 16; ++i) x[i * 64 + threadIdx.x] = s[i] * s[15 - i];\n"
                     "}\n"),
              {8, 0, 0, false});
  const int registers = compiled.entry("f").registers;
  EXPECT_GT(registers, 16);
  EXPECT_EQ(registers_in_cubin(compiled.cubin, "f"), registers);
}

TEST_F(CompilerTest, SpillsShowInTheReport) {
  KernelSource kernel = source(
      "extern \"C\" __global__ void __launch_bounds__(1024) f(float* x) {\n"
      "  float a[64];\n"
      "  for (int i = 0; i < 64; i++) a[i] = x[i * threadIdx.x];\n"
      "  for (int j = 0; j < 64; j++)\n"
      "    for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) % 64] + x[j];\n"
      "  for (int i = 0; i < 64; i++) x[i * threadIdx.x] = a[i];\n"
      "}\n");
  kernel.options = {"--maxrregcount=32"};
  const Compiled compiled = compile(kernel);
  EXPECT_GT(compiled.entries.at(0).spill_store_bytes, 0u);
  EXPECT_GT(compiled.entries.at(0).stack_bytes, 0u);
  ASSERT_FALSE(performance_warnings(compiled).empty());
  EXPECT_THAT(performance_warnings(compiled)[0], HasSubstr("f for sm_90a: registers spill"));
}

TEST_F(CompilerTest, AdviceOfPtxasIsKept) {
  const Compiled compiled =
      compile(source("extern \"C\" __global__ void f(int* x) { asm "
                     "volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\"); *x = 1; }"));
  ASSERT_EQ(performance_warnings(compiled).size(), 1u);
  EXPECT_THAT(performance_warnings(compiled)[0], HasSubstr("C7508"));
  EXPECT_THAT(compiled.log, Not(HasSubstr("registers,")));
}

TEST_F(CompilerTest, TemplatesByInstantiation) {
  KernelSource kernel = source(
      "namespace ns { template <class T, int N> __global__ void tile(T* data, int n) { data[n] = N; } }\n"
      "__global__ void plain(const double* d, double* e) { *e = *d; }\n");
  kernel.instantiations = {"ns::tile<float,3>", "&ns::tile<double, 4>"};
  const Compiled compiled = compile(kernel);
  ASSERT_EQ(compiled.entries.size(), 3u);
  const Entry& tile = compiled.entry("ns::tile<float, 3>");
  EXPECT_EQ(tile.name, "_ZN2ns4tileIfLi3EEEvPT_i");
  EXPECT_EQ(tile.expression, "ns::tile<float,3>");  // as asked for
  EXPECT_GT(tile.registers, 0);
  ASSERT_EQ(tile.parameters.size(), 2u);
  EXPECT_EQ(tile.parameters[0].declared_type, "float*");
  EXPECT_EQ(tile.parameters[0].name, "data");
  EXPECT_EQ(compiled.entry("plain").parameters[0].declared_type, "const double*");
  EXPECT_EQ(compiled.entry("_ZN2ns4tileIdLi4EEEvPT_i").parameters[0].declared_type, "double*");
}

TEST_F(CompilerTest, DefinesOptionsAndHeadersOfOurs) {
  KernelSource kernel = source(
      "#include \"gpuforge/kernels/half.cuh\"\n"
      "static_assert(TILE == 32 && FAST == 1 && __cplusplus == 201703L);\n"
      "extern \"C\" __global__ void f(gpuforge::half_t* h) { *h = gpuforge::half_t(TILE); }\n");
  kernel.defines = {"TILE=(16 + 16)", "FAST"};
  kernel.options = {"--std=c++17"};
  const Compiled compiled = compile(kernel);
  EXPECT_EQ(compiled.entries.at(0).parameters.at(0).declared_type, "gpuforge::half_t*");
  EXPECT_EQ(compiled.log, "");  // no complaint about two standards
}

TEST_F(CompilerTest, ErrorsShowThePlace) {
  const Error error =
      failure(source("extern \"C\" __global__ void f() {\n  int unused = 1;\n  int a = bb;\n  int c = dd;\n  "
                     "int e = ff;\n}\n"));
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_EQ(error.message(),
            "saxpy.cu:3: error: identifier \"bb\" is undefined\n"
            "      int a = bb;\n"
            "              ^\n"
            "(and 2 more errors)");
  EXPECT_THAT(error.detail(), AllOf(HasSubstr("saxpy.cu(5): error"), Not(HasSubstr("<memory>"))));
}

TEST_F(CompilerTest, NamesWithBlanksAndUmlauts) {
  const Error error =
      failure(source("extern \"C\" __global__ void f() {\n q; }\n", "my k\xc3\xa4rnel (2).cu"));
  EXPECT_THAT(error.message(), HasSubstr("my k\xc3\xa4rnel (2).cu:2: error: identifier \"q\" is undefined"));
  TemporaryFolder folder;
  folder.write("a b/\xc3\xbc.h", "#define VALUE 3\n");
  const auto file =
      folder.write("a b/k\xc3\xa4 (1).cu",
                   "#include \"\xc3\xbc.h\"\nextern \"C\" __global__ void f(int* x) { *x = VALUE; }\n");
  EXPECT_EQ(compile(source_from_file(file)).entries.size(), 1u);
  const auto broken =
      folder.write("a b/broken \xe2\x82\xac.cu", "extern \"C\" __global__ void f() { \xe2\x82\xac; }\n");
  EXPECT_THAT(failure(source_from_file(broken)).message(), HasSubstr("broken \xe2\x82\xac.cu:1: error: "));
}

TEST_F(CompilerTest, ErrorsInHeadersNameThem) {
  TemporaryFolder folder;
  folder.write("h.cuh", "\n__device__ inline void g() { int q = zz; }\n");
  const auto file = folder.write("k.cu", "#include \"h.cuh\"\nextern \"C\" __global__ void f() { g(); }\n");
  EXPECT_THAT(failure(source_from_file(file)).message(),
              HasSubstr("h.cuh:2: error: identifier \"zz\" is undefined"));
}

TEST_F(CompilerTest, MissingAndHostHeaders) {
  const Error mine = failure(source("#include \"no/such.cuh\"\nextern \"C\" __global__ void f() {}\n"));
  EXPECT_EQ(mine.code(), ErrorCode::compile);
  EXPECT_THAT(mine.message(), AllOf(HasSubstr("saxpy.cu:1: error: header \"no/such.cuh\" not found"),
                                    HasSubstr("searched: the headers inside gpuforge")));
  EXPECT_THAT(failure(source("#include <iostream>\nint main() {}\n")).message(),
              HasSubstr("header \"iostream\" not found: host headers do not exist in device code"));
  EXPECT_THAT(failure(source("#include <stdint.h>\nextern \"C\" __global__ void f() {}\n")).message(),
              HasSubstr("<cuda/std/cstdint>"));
}

TEST_F(CompilerTest, HostCode) {
  EXPECT_THAT(failure(source("__global__ void f() {}\nint main() { f<<<1, 1>>>(); }\n")).message(),
              HasSubstr("saxpy.cu:2: error: a function without __device__ or __global__ is host code"));
}

TEST_F(CompilerTest, InlinePtxErrorsShowTheSourceLine) {
  const Error error =
      failure(source("extern \"C\" __global__ void f(int* x) {\n  *x = 1;\n  asm(\"foo.bar;\");\n}\n"));
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("saxpy.cu:3: error: "), HasSubstr("(ptxas, for sm_90a)"),
                                     HasSubstr("\n    asm(\"foo.bar;\");")));
}

TEST_F(CompilerTest, TooMuchStaticSharedMemory) {
  EXPECT_THAT(failure(source("extern \"C\" __global__ void f(int* x) {\n  __shared__ int q[100000];\n"
                             "  q[threadIdx.x] = *x; __syncthreads(); *x = q[threadIdx.x ^ 1];\n}\n"))
                  .message(),
              HasSubstr("shared"));
}

TEST_F(CompilerTest, BadInstantiations) {
  KernelSource kernel = source("template <class T> __global__ void tile(T* x) { *x = 1; }\n");
  kernel.instantiations = {"tile<flo>"};
  EXPECT_EQ(
      failure(kernel).message(),
      "saxpy.cu: error: instantiation 'tile<flo>': identifier \"flo\" is undefined\n(and 1 more error)");
}

TEST_F(CompilerTest, UnknownArchs) {
  const Error error = failure(source(kSaxpy), {19, 0, 0, false});
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("NVRTC " + compiler_.version() + " cannot compile for sm_190"),
                                     HasSubstr(" 80 86 "), HasSubstr("install a newer NVRTC")));
  // Known by number, not in this form.
  const Error suffix = failure(source(kSaxpy), {8, 0, 'a', false});
  EXPECT_EQ(suffix.code(), ErrorCode::unsupported);
  EXPECT_THAT(suffix.message(), HasSubstr("cannot compile for sm_80a"));
}

TEST_F(CompilerTest, OptionsThatCannotBe) {
  KernelSource kernel = source(kSaxpy);
  for (const char* option : {"--gpu-architecture=sm_80", "-arch=sm_80", "-arch", "-dlto"}) {
    kernel.options = {option};
    const Error error = failure(kernel);
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr(format_text("saxpy.cu: option {} cannot be given", option)));
  }
  kernel.options = {"-O3"};
  const Error error = failure(kernel);
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("refuses an option: unrecognized option -O3 found"));
}

TEST_F(CompilerTest, AFileWithoutKernelsHasNoEntries) {
  EXPECT_THAT(compile(source("__device__ int f() { return 1; }\n")).entries, IsEmpty());
  EXPECT_THAT(compile(source("")).entries, IsEmpty());
}

TEST_F(CompilerTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> results(8);
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        KernelSource kernel = source("extern \"C\" __global__ void f(int* x) { *x = VALUE; }\n" +
                                     std::string(i == 5 ? "broken" : ""));
        kernel.defines = {"VALUE=" + std::to_string(1000 + i)};
        results[i] = compile(kernel).ptx;
      } catch (const Error& error) {
        results[i] = error.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_THAT(results[i], HasSubstr(i == 5 ? "error: " : std::to_string(1000 + i)));
  }
}

TEST_F(CompilerTest, HeadersOfTheToolkit) {
  if (paths().toolkit.empty()) GTEST_SKIP() << "no CUDA headers on this machine";
  const Compiled half = compile(source(
      "#include <cuda_fp16.h>\nextern \"C\" __global__ void f(__half* x) { *x = __float2half(2.0f); }\n"));
  EXPECT_EQ(half.entries.at(0).parameters.at(0).declared_type, "__half*");
}

TEST_F(CompilerTest, HeadersOfCccl) {
  bool has_cub = false;
  for (const auto& folder : paths().toolkit)
    has_cub = has_cub || std::filesystem::exists(folder / "cub/cub.cuh");
  if (!has_cub) GTEST_SKIP() << "no CCCL headers on this machine";
  const Compiled sum =
      compile(source("#include <cub/block/block_reduce.cuh>\n"
                     "extern \"C\" __global__ void f(int* x) {\n"
                     "  using Reduce = cub::BlockReduce<int, 128>;\n"
                     "  __shared__ typename Reduce::TempStorage temp;\n"
                     "  int s = Reduce(temp).Sum(x[threadIdx.x]);\n"
                     "  if (threadIdx.x == 0) *x = s;\n"
                     "}\n"));
  EXPECT_GT(sum.entries.at(0).static_shared_bytes, 0u);
}

TEST(CompilerAbsent, IsASentence) {
  cuda::SearchOptions nothing;
  nothing.system = false;
  Compiler compiler(nothing, std::nullopt);
  try {
    compiler.version();
    FAIL() << "found an NVRTC where there is none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("NVRTC JIT compiler not available"));
  }
}

TEST(CompilerMemo, VersionFromPtx) {
  EXPECT_EQ(version_in_ptx("//\n// Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM"),
            "13.0.88");
  EXPECT_EQ(version_in_ptx("// Cuda compilation tools, release 13.0"), "");
  EXPECT_EQ(version_in_ptx("// Cuda compilation tools, release 13.0, Vxyz"), "");
  EXPECT_EQ(version_in_ptx(""), "");
}

TEST(CompilerMemo, RemembersAFileByItsIdentity) {
  TemporaryFolder folder;
  const auto library = folder.write("lib/libnvrtc.so.13", "not really");
  cuda::SearchOptions options;
  options.system = false;
  options.explicit_path = library.string();
  const auto memo_dir = folder / "deep/memo";
  EXPECT_FALSE(recall_compiler(memo_dir, options));
  remember_compiler(memo_dir, options, library, {"13.0.88", {80, 90}});
  const auto found = recall_compiler(memo_dir, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, "13.0.88");
  EXPECT_THAT(found->archs, ElementsAre(80, 90));

  folder.write("lib/libnvrtc.so.13", "another build");
  EXPECT_FALSE(recall_compiler(memo_dir, options));
  remember_compiler(memo_dir, options, library, {"13.0.99", {80}});
  EXPECT_TRUE(recall_compiler(memo_dir, options));
  options.explicit_path = folder.write("other/libnvrtc.so.13", "x").string();
  EXPECT_FALSE(recall_compiler(memo_dir, options));
}

TEST(CompilerMemo, BrokenOnesAreIgnored) {
  TemporaryFolder folder;
  const auto library = folder.write("libnvrtc.so.13", "x");
  cuda::SearchOptions options;
  options.system = false;
  options.explicit_path = library.string();
  remember_compiler(folder.path(), options, library, {"13.0.88", {80}});
  const std::string good = read_file(folder / "nvrtc.json");
  for (std::size_t length = 0; length + 2 < good.size(); length += 7) {
    folder.write("nvrtc.json", good.substr(0, length));
    EXPECT_FALSE(recall_compiler(folder.path(), options)) << length;
  }
  for (const char* text : {"[]", "null", "{\"library\": 3}", "{\"version\": \"x\", \"archs\": [80]}"}) {
    folder.write("nvrtc.json", text);
    EXPECT_FALSE(recall_compiler(folder.path(), options)) << text;
  }
  // A folder that cannot be written costs nothing but time.
  remember_compiler("/proc/nowhere", options, library, {"13.0.88", {80}});
  EXPECT_FALSE(recall_compiler("/proc/nowhere", options));
}

TEST(CompilerMemo, SparesTheLibrary) {
  TemporaryFolder folder;
  const std::string version = Compiler(search(), folder.path()).version();
  EXPECT_TRUE(std::filesystem::exists(folder / "nvrtc.json"));
  // A changed memo shows that the second compiler believes it and asks nobody.
  std::string memo = read_file(folder / "nvrtc.json");
  const std::string altered = version.substr(0, version.rfind('.')) + ".7777";
  memo.replace(memo.find("\"" + version + "\""), version.size() + 2, "\"" + altered + "\"");
  folder.write("nvrtc.json", memo);
  Compiler compiler(search(), folder.path());
  EXPECT_EQ(compiler.version(), altered);
  // Compiling finds out, and corrects it.
  KernelSource kernel;
  kernel.name = "k.cu";
  kernel.text = "extern \"C\" __global__ void f() {}";
  EXPECT_EQ(compiler.compile(resolve(kernel, {}), kHopper).compiler_version, version);
  EXPECT_EQ(compiler.version(), version);
  EXPECT_EQ(Compiler(search(), folder.path()).version(), version);
}

}  // namespace
}  // namespace gpuforge::jit
