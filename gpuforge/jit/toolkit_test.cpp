#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

cuda::SearchOptions alone() {
  cuda::SearchOptions search;
  search.system = false;
  return search;
}

TEST(Toolkit, NothingGivesNothing) {
  EXPECT_THAT(toolkit_include_dirs(alone()), IsEmpty());
}

TEST(Toolkit, CudaHomeWithAndWithoutCccl) {
  const TemporaryFolder folder;
  cuda::SearchOptions search = alone();
  search.cuda_home = folder.path();
  EXPECT_THAT(toolkit_include_dirs(search), IsEmpty());
  fs::create_directories(folder / "include");
  EXPECT_THAT(toolkit_include_dirs(search), IsEmpty()) << "a folder without CUDA's headers is none of ours";
  folder.write("include/cuda_fp16.h", "");
  EXPECT_THAT(toolkit_include_dirs(search), ElementsAre(folder / "include"));
  folder.write("include/cccl/cuda/std/version", "");
  EXPECT_THAT(toolkit_include_dirs(search), ElementsAre(folder / "include", folder / "include/cccl"));
}

TEST(Toolkit, HeadersBesideNvrtcInDeps) {
  const TemporaryFolder folder;
  // A wheel of CUDA 13 unpacked in .deps, found from the executable.
  folder.write(".deps/nvidia/cu13/lib/libnvrtc.so.13", "");
  folder.write(".deps/nvidia/cu13/include/cuda_fp16.h", "");
  folder.write(".deps/nvidia/cu13/include/cccl/cuda/std/version", "");
  cuda::SearchOptions search = alone();
  search.executable = folder / "build/release/bin/gpuforge";
  const fs::path include = folder / ".deps/nvidia/cu13/include";
  EXPECT_THAT(toolkit_include_dirs(search), ElementsAre(include, include / "cccl"));
  // CUDA_HOME is the user's word and comes first.
  folder.write("home/include/cuda_fp16.h", "");
  search.cuda_home = folder / "home";
  EXPECT_THAT(toolkit_include_dirs(search), ElementsAre(folder / "home/include", include, include / "cccl"));
}

TEST(Toolkit, WheelsWithAFolderPerPackage) {
  const TemporaryFolder folder;
  const fs::path packages = folder / "venv/lib/python3.11/site-packages/nvidia";
  folder.write(packages / "cuda_nvrtc/lib/libnvrtc.so.12", "");
  folder.write(packages / "cuda_nvrtc/include/nvrtc.h", "");
  folder.write(packages / "cuda_runtime/include/cuda_fp16.h", "");
  folder.write(packages / "cuda_cccl/include/cuda/std/version", "");
  folder.write("venv/bin/python3", "");
  fs::permissions(folder / "venv/bin/python3", fs::perms::owner_all);
  cuda::SearchOptions search = alone();
  search.path = (folder / "venv/bin").string();
  EXPECT_THAT(toolkit_include_dirs(search),
              ElementsAre(packages / "cuda_runtime/include", packages / "cuda_cccl/include"));
}

TEST(Toolkit, EachFolderOnce) {
  const TemporaryFolder folder;
  folder.write("cuda-13/include/cuda_fp16.h", "");
  folder.write("cuda-13/lib64/libnvrtc.so.13", "");
  fs::create_directory_symlink(folder / "cuda-13", folder / "cuda");
  cuda::SearchOptions search = alone();
  search.cuda_home = folder / "cuda";
  search.explicit_path = (folder / "cuda-13").string();
  EXPECT_THAT(toolkit_include_dirs(search), ElementsAre(folder / "cuda/include"));
}

}  // namespace
}  // namespace gpuforge::jit
