#include "gpuforge/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/cuda/cublas_lt.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/fake_driver/temporary_tree.h"

namespace gpuforge::cuda {
namespace {

using fake_driver::FakeDriver;
using fake_driver::TemporaryTree;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SearchOptions only(const std::string& path) {
  SearchOptions options;
  options.explicit_path = path;
  options.system = false;
  return options;
}

std::optional<Error> load_error(const SearchOptions& options) {
  try {
    static_cast<void>(Nvrtc::load(options));
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

TEST(Nvrtc, NoLibraryIsASentenceWithAdvice) {
  TemporaryTree tree;
  const auto error = load_error(only(tree.root().string()));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unavailable);
  EXPECT_THAT(error->message(), AllOf(StartsWith("NVRTC JIT compiler not available"), HasSubstr("make demo"),
                                      HasSubstr("nvidia-cuda-nvrtc"), Not(HasSubstr("cuda-python"))));
  EXPECT_THAT(error->detail(), HasSubstr(tree.root().string()));
  std::string why;
  EXPECT_EQ(Nvrtc::try_load(only(tree.root().string()), &why), nullptr);
  EXPECT_EQ(why, error->message());
}

TEST(Nvrtc, BrokenCopiesArePassedOverWithTheirReasons) {
  FakeDriver variables({{"FAKE_NVRTC_VERSION", "12.4"}});
  TemporaryTree tree;
  tree.write("text/libnvrtc.so.13");
  tree.copy(GPUFORGE_FAKE_DRIVER_DIR "/libcuda.so.1",
            "other/libnvrtc.so.13");                       // opens, but has other functions
  tree.copy(GPUFORGE_FAKE_NVRTC, "alone/libnvrtc.so.12");  // no builtins beside it
  tree.copy(GPUFORGE_FAKE_NVRTC, "whole/libnvrtc.so.12");
  tree.copy(GPUFORGE_FAKE_NVRTC, "whole/libnvrtc-builtins.so.12.4");
  const std::string broken =
      (tree / "text").string() + ":" + (tree / "other").string() + ":" + (tree / "alone").string();
  const auto error = load_error(only(broken));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->detail(),
              AllOf(HasSubstr((tree / "text/libnvrtc.so.13").string()), HasSubstr("has no nvrtcVersion"),
                    HasSubstr("libnvrtc-builtins.so.12.4 is missing")));
  const auto nvrtc = Nvrtc::load(only(broken + ":" + (tree / "whole").string()));
  EXPECT_EQ(nvrtc->path(), tree / "whole/libnvrtc.so.12");
  EXPECT_EQ(nvrtc->rule(), "explicit");
  EXPECT_EQ(nvrtc->major(), 12);
  EXPECT_EQ(nvrtc->minor(), 4);
  EXPECT_THAT(nvrtc->passed_over(),
              AllOf(HasSubstr("alone"), HasSubstr("is missing"), Not(HasSubstr("whole/"))));
}

TEST(Nvrtc, ACopyThatDoesNotTellItsVersionIsPassedOver) {
  TemporaryTree tree;
  tree.copy(GPUFORGE_FAKE_NVRTC, "libnvrtc.so.12");
  const auto error = load_error(only(tree.root().string()));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->detail(), HasSubstr("does not tell its version"));
}

TEST(Nvrtc, TheBuiltinsBesideTheLibraryAreTheOnesOpened) {
  FakeDriver variables({{"FAKE_NVRTC_VERSION", "12.9"}});
  TemporaryTree tree;
  tree.copy(GPUFORGE_FAKE_NVRTC, "libnvrtc.so.12");
  const auto builtins = tree.copy(GPUFORGE_FAKE_NVRTC, "libnvrtc-builtins.so.12.9");
  static_cast<void>(Nvrtc::load(only(tree.root().string())));
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(maps, HasSubstr(builtins.string()));
}

// Compiles with whatever NVRTC the machine has: the build's set-up brings one.
class RealNvrtc : public ::testing::Test {
 protected:
  const std::unique_ptr<Nvrtc> nvrtc_ = Nvrtc::load(search_options(read_environment()));
};

TEST_F(RealNvrtc, CompilesPtxAndCubin) {
  EXPECT_GE(nvrtc_->major(), 11);
  EXPECT_TRUE(nvrtc_->path().is_absolute());
  NvrtcProgram program(*nvrtc_,
                       "#include \"one.h\"\ntemplate <typename T> __global__ void f(T* x) { x[0] = kOne; }\n",
                       "f.cu", 1, std::vector{"constexpr int kOne = 1;"}.data(), std::vector{"one.h"}.data());
  program.add_name_expression("f<float>");
  const char* options[] = {"--gpu-architecture=sm_80"};
  ASSERT_EQ(program.compile(1, options), NvrtcResult::success) << program.log();
  EXPECT_EQ(program.lowered_name("f<float>"), "_Z1fIfEvPT_");
  EXPECT_THAT(program.ptx(), HasSubstr(".entry _Z1fIfEvPT_("));
  EXPECT_EQ(program.ptx().find('\0'), std::string::npos);
  EXPECT_THAT(program.cubin(), StartsWith("\x7f"
                                          "ELF"));
}

TEST_F(RealNvrtc, ACompileErrorIsAnAnswerWithALog) {
  NvrtcProgram program(*nvrtc_, "__global__ void f() { nonsense; }", "f.cu", 0, nullptr, nullptr);
  EXPECT_EQ(program.compile(0, nullptr), NvrtcResult::compilation);
  EXPECT_THAT(program.log(), HasSubstr("nonsense"));
}

TEST_F(RealNvrtc, OtherFailuresAreErrorsThatNameCallAndProgram) {
  NvrtcProgram program(*nvrtc_, "__global__ void f() {}", "f.cu", 0, nullptr, nullptr);
  const char* options[] = {"--no-such-option"};
  try {
    program.compile(1, options);
    FAIL() << "an unknown option was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile);
    EXPECT_EQ(error.message(), "nvrtcCompileProgram: NVRTC_ERROR_INVALID_OPTION [f.cu]");
    EXPECT_THAT(error.detail(), HasSubstr("no-such-option"));
  }
  try {
    static_cast<void>(program.lowered_name("f"));
    FAIL() << "a name that was never asked for was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cuda);
    EXPECT_THAT(error.message(),
                AllOf(StartsWith("nvrtcGetLoweredName: NVRTC_ERROR_"), HasSubstr("['f' in f.cu]")));
  }
}

TEST_F(RealNvrtc, TellsTheArchsItKnows) {
  int count = 0;
  nvrtc_->get_num_supported_archs("count", &count);
  ASSERT_GT(count, 0);
  std::vector<int> archs(static_cast<std::size_t>(count));
  nvrtc_->get_supported_archs("list", archs.data());
  EXPECT_THAT(archs, ::testing::Contains(80));
}

TEST(CublasLt, AbsenceAndBrokenCopiesAreReported) {
  TemporaryTree tree;
  std::string why;
  EXPECT_FALSE(CublasLt::try_load(only(tree.root().string()), &why));
  EXPECT_THAT(why, HasSubstr(tree.root().string()));
  tree.copy(GPUFORGE_FAKE_NVRTC, "libcublasLt.so.13");
  EXPECT_FALSE(CublasLt::try_load(only(tree.root().string()), &why));
  EXPECT_THAT(why, HasSubstr("has no cublasLtGetVersion"));
  EXPECT_FALSE(CublasLt::try_load(only(tree.root().string())));
}

}  // namespace
}  // namespace gpuforge::cuda
