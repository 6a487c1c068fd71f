// What resolve finds is what NVRTC then reads: real compiles, no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/cuda/nvrtc.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/jit/translation_unit.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NvrtcSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    search_ = cuda::search_options(read_environment());
    search_.executable = executable_path();
    std::string why;
    nvrtc_ = cuda::Nvrtc::try_load(search_, &why);
    if (nvrtc_ == nullptr) GTEST_SKIP() << "needs NVRTC: " << why;
    paths_.embedded = kEmbedded;
  }

  KernelSource source(std::string text) const {
    KernelSource source;
    source.name = "k.cu";
    source.text = std::move(text);
    source.directory = folder_ / "src";
    return source;
  }

  // The PTX, or the log when it does not compile.
  std::string compile(const TranslationUnit& unit) const {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const Header& header : unit.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.include_name.c_str());
    }
    std::vector<std::string> options = {"--gpu-architecture=compute_80", "--std=c++17"};
    for (const fs::path& folder : unit.search_dirs) options.push_back("-I" + folder.string());
    options.insert(options.end(), unit.source.options.begin(), unit.source.options.end());
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    cuda::NvrtcProgram program(*nvrtc_, unit.source.text.c_str(), unit.program_name.c_str(),
                               static_cast<int>(texts.size()), texts.data(), names.data());
    const bool good =
        program.compile(static_cast<int>(pointers.size()), pointers.data()) == cuda::NvrtcResult::success;
    return good ? program.ptx() : program.log();
  }

  static constexpr EmbeddedFile kEmbedded[] = {
      {"gpuforge/kernels/half.cuh", "#pragma once\n#include \"gpuforge/kernels/bits.cuh\"\n"},
      {"gpuforge/kernels/bits.cuh", "#pragma once\n#define FROM_BITS 777\n"},
  };
  TemporaryFolder folder_;
  HeaderPaths paths_;
  cuda::SearchOptions search_;
  std::unique_ptr<cuda::Nvrtc> nvrtc_;
};

TEST_F(NvrtcSearchTest, HeadersOfOneNameInSeveralFolders) {
  folder_.write("src/x/x.h", "#include \"detail.h\"\n#include \"../shared.h\"\n");
  folder_.write("src/x/detail.h", "#define FROM_X 111\n");
  folder_.write("inc/y/y.h", "#include \"detail.h\"\n#include <shared.h>\n");
  folder_.write("inc/y/detail.h", "#define FROM_Y 222\n");
  folder_.write("src/shared.h", "#pragma once\n#define FROM_SHARED 333\n");
  folder_.write("inc/shared.h", "#define FROM_INC 444\n");
  KernelSource made = source(
      "#include \"x/x.h\"\n#include <y/y.h>\n#include \"gpuforge/kernels/half.cuh\"\n"
      "extern \"C\" __global__ void k(int* out) {\n"
      "  out[0] = FROM_X; out[1] = FROM_Y; out[2] = FROM_SHARED; out[3] = FROM_INC; out[4] = "
      "FROM_BITS;\n}\n");
  made.include_dirs = {folder_ / "inc"};
  const TranslationUnit unit = resolve(made, paths_);
  EXPECT_THAT(unit.missing, ::testing::IsEmpty());
  EXPECT_EQ(unit.files.size(), 6u);
  const std::string ptx = compile(unit);
  for (const char* value : {"111", "222", "333", "444", "777"}) EXPECT_THAT(ptx, HasSubstr(value));
}

// The current folder is no place headers come from, though NVRTC would look there for a program without a
// folder.
TEST_F(NvrtcSearchTest, NeverLooksInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  folder_.write("k_only_here.h", "#define HERE 1\n");
  fs::current_path(folder_.path());
  KernelSource made =
      source("#include \"k_only_here.h\"\nextern \"C\" __global__ void k(int* out) { *out = HERE; }\n");
  made.directory.clear();
  const TranslationUnit unit = resolve(made, paths_);
  const std::string log = compile(unit);
  fs::current_path(before);
  EXPECT_THAT(unit.missing, ::testing::ElementsAre("k_only_here.h"));
  EXPECT_THAT(log, HasSubstr("cannot open source file \"k_only_here.h\""));
}

// Every line the scanner must read as the compiler does: the file a directive names is found by both.
TEST_F(NvrtcSearchTest, ScannerAgreesWithTheCompiler) {
  folder_.write("inc/v.h", "#define V 12345\n");
  for (const std::string text : {
           "#include <v.h>\n",
           "  # /* c */ include /* d\n */ <v.h> // e\n",
           "#inc\\\nlude <v.h>\n",
           "#\\\r\ninclude \\\n<v\\\n.h>\n",
           "%:include <v.h>\n",
           "\f\v#include <v.h>\n",
           "#if 0\nit's\n#endif\n#include <v.h>\n",
           "// x \\\n#include <absent.h>\n#include <v.h>\n",
           "/* ' */ /**/ #include <v.h>\n",
           "__device__ const char* s = R\"z(\n#include <absent.h>\n)\")z\"; /*\n*/\n#include <v.h>\n",
           "__device__ int n = 1'000; /*\n#include <absent.h>\n*/\n#include <v.h>\n",
           "__device__ char c = '\"'; /*\n#include <absent.h>\n*/\n#include <v.h>\n",
           "__device__ const char* s = \"/*\";\n#include <v.h>\n",
       }) {
    KernelSource made = source(text + "extern \"C\" __global__ void k(int* out) { *out = V; }\n");
    made.include_dirs = {folder_ / "inc"};
    const TranslationUnit unit = resolve(made, paths_);
    EXPECT_THAT(unit.missing, ::testing::IsEmpty()) << text;
    ASSERT_EQ(unit.files.size(), 1u) << text;
    EXPECT_THAT(compile(unit), HasSubstr("12345")) << text;
  }
}

TEST_F(NvrtcSearchTest, CudaAndCcclHeadersCompile) {
  paths_.toolkit = toolkit_include_dirs(search_);
  if (paths_.toolkit.empty())
    GTEST_SKIP() << "needs CUDA's headers: no toolkit or wheel with them is installed";
  std::string absent;
  struct Case {
    const char* header;
    const char* body;
  };
  for (const Case& c : {
           Case{"cuda_fp16.h", "out[0] = __half2float(__float2half(1.5f));"},
           Case{"cuda_bf16.h", "out[0] = __bfloat162float(__float2bfloat16(1.5f));"},
           Case{"cuda/std/array", "cuda::std::array<float, 2> a{{1, 2}}; out[0] = a[threadIdx.x & 1];"},
           Case{"cub/block/block_reduce.cuh",
                "using R = cub::BlockReduce<float, 128>; __shared__ typename R::TempStorage t; "
                "float s = R(t).Sum(out[threadIdx.x]); if (threadIdx.x == 0) out[0] = s;"},
           Case{"cooperative_groups.h", "cooperative_groups::this_thread_block().sync(); out[0] = 1;"},
       }) {
    const TranslationUnit unit =
        resolve(source(format_text("#include <{}>\nextern \"C\" __global__ void k(float* out) {{ {} }}\n",
                                   c.header, c.body)),
                paths_);
    if (!unit.missing.empty()) {  // a wheel may bring CUDA's headers without CCCL's
      absent += std::string(" ") + c.header;
      continue;
    }
    EXPECT_TRUE(unit.uses_toolkit) << c.header;
    EXPECT_FALSE(unit.computed_include) << c.header;
    EXPECT_THAT(compile(unit), HasSubstr(".entry k")) << c.header;
  }
  if (!absent.empty()) GTEST_SKIP() << "all others compiled; not installed here:" << absent;
}

}  // namespace
}  // namespace gpuforge::jit
