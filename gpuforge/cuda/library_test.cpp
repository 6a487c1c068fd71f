#include "gpuforge/cuda/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_driver/fake_driver.h"
#include "tests/fake_driver/temporary_tree.h"

namespace gpuforge::cuda {
namespace {

namespace fs = std::filesystem;
using fake_driver::TemporaryTree;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "rule:path within the tree" for each copy found.
std::vector<std::string> found(const TemporaryTree& tree, LibraryKind kind, const SearchOptions& options) {
  std::vector<std::string> result;
  for (const Candidate& candidate : find_library(kind, options)) {
    result.push_back(std::string(candidate.rule) + ":" +
                     candidate.path.lexically_relative(tree.root()).string());
  }
  return result;
}

SearchOptions nothing() {
  SearchOptions options;
  options.system = false;
  return options;
}

void make_executable(const fs::path& file) {
  fs::permissions(file, fs::perms::owner_all);
}

TEST(Library, KindsHaveNames) {
  EXPECT_EQ(name(LibraryKind::driver), "CUDA driver");
  EXPECT_EQ(name(LibraryKind::nvrtc), "NVRTC");
  EXPECT_EQ(name(LibraryKind::cublas_lt), "cuBLASLt");
}

TEST(FindLibrary, FollowsTheRulesInOrder) {
  TemporaryTree tree;
  tree.write("explicit/libnvrtc.so.11.2");
  tree.write("project/.deps/nvidia/cu13/lib/libnvrtc.so.13");
  tree.write("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  make_executable(tree.write("venv/bin/python3"));
  tree.write("home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  tree.write("toolkit/lib64/libnvrtc.so.13");
  SearchOptions options = nothing();
  EXPECT_THAT(find_library(LibraryKind::nvrtc, options), IsEmpty());
  options.cuda_home = tree / "toolkit";
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options), ElementsAre("toolkit:toolkit/lib64/libnvrtc.so.13"));
  options.path = (tree / "venv/bin").string();
  options.home = tree / "home";
  options.executable = tree / "project/build/release/bin/gpuforge";
  options.explicit_path = (tree / "explicit").string();
  EXPECT_THAT(
      found(tree, LibraryKind::nvrtc, options),
      ElementsAre("explicit:explicit/libnvrtc.so.11.2", "deps:project/.deps/nvidia/cu13/lib/libnvrtc.so.13",
                  "wheel:home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                  "wheel:venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                  "toolkit:toolkit/lib64/libnvrtc.so.13"));
}

TEST(FindLibrary, TheLoaderIsAskedBetweenWheelsAndToolkits) {
  TemporaryTree tree;
  tree.write("toolkit/lib64/libnvrtc.so.13");
  SearchOptions options;
  options.cuda_home = tree / "toolkit";
  std::vector<std::string> loader;
  bool seen_toolkit = false;
  for (const Candidate& candidate : find_library(LibraryKind::nvrtc, options)) {
    seen_toolkit = seen_toolkit || candidate.rule == "toolkit";
    if (candidate.rule != "loader") continue;
    EXPECT_FALSE(seen_toolkit);
    loader.push_back(candidate.path.string());
  }
  EXPECT_TRUE(seen_toolkit);
  EXPECT_THAT(loader, ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"));
}

TEST(FindLibrary, TheNewestMajorComesFirstWithinARule) {
  TemporaryTree tree;
  tree.write(".deps/nvidia/a/lib/libcublasLt.so.11");
  tree.write(".deps/nvidia/b/lib/libcublasLt.so.12");
  tree.write(".deps/nvidia/c/lib/libcublasLt.so.13");
  SearchOptions options = nothing();
  options.executable = tree / "bin/gpuforge";
  EXPECT_THAT(
      found(tree, LibraryKind::cublas_lt, options),
      ElementsAre("deps:.deps/nvidia/c/lib/libcublasLt.so.13", "deps:.deps/nvidia/b/lib/libcublasLt.so.12",
                  "deps:.deps/nvidia/a/lib/libcublasLt.so.11"));
}

TEST(FindLibrary, ExplicitEntriesAreFilesOrFoldersInTheCallersOrder) {
  TemporaryTree tree;
  tree.write("a/libnvrtc.so.12");
  tree.write("b/libnvrtc.so.13.0.88");
  tree.write("b/libnvrtc-builtins.so.13.0");
  tree.write("c/lib64/libnvrtc.so.13");
  SearchOptions options = nothing();
  options.explicit_path = (tree / "b/libnvrtc-builtins.so.13.0").string() + ":" + (tree / "a").string() +
                          "::" + (tree / "b/libnvrtc.so.13.0.88").string() + ":" +
                          (tree / "absent").string() + ":" + (tree / "c").string() + ":" +
                          (tree / "a").string();
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("explicit:a/libnvrtc.so.12", "explicit:b/libnvrtc.so.13.0.88",
                          "explicit:c/lib64/libnvrtc.so.13"));
  EXPECT_THAT(found(tree, LibraryKind::driver, options), IsEmpty());
}

TEST(FindLibrary, DepsIsFoundFromTheExecutableUpwards) {
  TemporaryTree tree;
  tree.write(".deps/nvidia/cu13/lib/libnvrtc.so.13");
  tree.write("inner/.deps/libnvrtc.so.13");
  tree.write("inner/.deps/nvidia/cu13/include/deep/libnvrtc.so.12");  // headers are not searched
  tree.write("inner/.deps/1/2/3/4/5/6/7/libnvrtc.so.12");             // too deep
  tree.link(tree / ".deps", "inner/.deps/ring");                      // links are not followed
  tree.folder("other");
  SearchOptions options = nothing();
  options.executable = tree / "inner/build/bin/gpuforge";
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("deps:inner/.deps/libnvrtc.so.13", "deps:.deps/nvidia/cu13/lib/libnvrtc.so.13"));
  options.executable = tree / "other/gpuforge";
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("deps:.deps/nvidia/cu13/lib/libnvrtc.so.13"));
}

TEST(FindLibrary, TheCurrentFolderNeverMatters) {
  TemporaryTree tree;
  tree.write(".deps/nvidia/cu13/lib/libnvrtc.so.13");
  tree.write("libnvrtc.so.13");
  tree.write("lib64/libnvrtc.so.13");
  tree.write("lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  make_executable(tree.write("bin/python3"));
  SearchOptions options = nothing();
  options.explicit_path = ".:lib64:libnvrtc.so.13";
  options.path = "bin::.";
  options.home = ".";
  options.cuda_home = ".";
  options.executable = "bin/gpuforge";
  const fs::path before = fs::current_path();
  fs::current_path(tree.root());
  const std::vector<Candidate> candidates = find_library(LibraryKind::nvrtc, options);
  std::string why;
  const bool opened = SharedLibrary::open_first(LibraryKind::nvrtc, options, &why).has_value();
  fs::current_path(before);
  EXPECT_THAT(candidates, IsEmpty());
  EXPECT_FALSE(opened);
  EXPECT_THAT(why, HasSubstr("'lib64' is not an absolute path"));
}

TEST(FindLibrary, APythonOfAVirtualEnvironmentStaysInIt) {
  TemporaryTree tree;
  const fs::path base = tree.write("base/bin/python3");
  make_executable(base);
  tree.write("base/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  tree.link(base, "venv/bin/python3");
  tree.write("venv/pyvenv.cfg", "include-system = false\nhome = " + (tree / "base/bin").string() + "\n");
  SearchOptions options = nothing();
  options.path = (tree / "absent").string() + ":" + (tree / "venv/bin").string();
  // With no nvidia packages of its own, those of the python it was made from serve.
  tree.folder("venv/lib/python3.11/site-packages");
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("wheel:base/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
  tree.write("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("wheel:venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
}

TEST(FindLibrary, ALinkedPythonOutsideAVirtualEnvironmentIsFollowed) {
  TemporaryTree tree;
  const fs::path real = tree.write("opt/python/bin/python3.12");
  make_executable(real);
  tree.write("opt/python/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  tree.link(real, "usr/bin/python3");
  SearchOptions options = nothing();
  options.path = (tree / "usr/bin").string();
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("wheel:opt/python/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
}

TEST(FindLibrary, DebiansPythonFoldersAreKnown) {
  TemporaryTree tree;
  make_executable(tree.write("usr/bin/python3"));
  tree.write("usr/lib/python3/dist-packages/nvidia/a/lib/libnvrtc.so.13");
  tree.write("usr/local/lib/python3.11/dist-packages/nvidia/b/lib/libnvrtc.so.13");
  SearchOptions options = nothing();
  options.path = (tree / "usr/bin").string();
  EXPECT_THAT(found(tree, LibraryKind::nvrtc, options),
              ElementsAre("wheel:usr/lib/python3/dist-packages/nvidia/a/lib/libnvrtc.so.13",
                          "wheel:usr/local/lib/python3.11/dist-packages/nvidia/b/lib/libnvrtc.so.13"));
}

TEST(FindLibrary, TheDriverNeverComesFromAWheel) {
  TemporaryTree tree;
  make_executable(tree.write("usr/bin/python3"));
  tree.write("usr/lib/python3.11/site-packages/nvidia/a/lib/libcuda.so.1");
  SearchOptions options = nothing();
  options.path = (tree / "usr/bin").string();
  EXPECT_THAT(find_library(LibraryKind::driver, options), IsEmpty());
}

TEST(FindLibrary, FoldersWithTheLibrarysNameAndUnreadableOnesAreNoCopies) {
  TemporaryTree tree;
  tree.folder("a/libnvrtc.so.13");
  tree.link(tree / "nowhere", "b/libnvrtc.so.13");
  SearchOptions options = nothing();
  options.explicit_path = (tree / "a").string() + ":" + (tree / "b").string();
  EXPECT_THAT(find_library(LibraryKind::nvrtc, options), IsEmpty());
}

TEST(FindLibrary, AFolderReachedTwiceCountsOnce) {
  TemporaryTree tree;
  tree.write("toolkit/lib/libnvrtc.so.13");
  tree.link("lib", "toolkit/lib64");
  SearchOptions options = nothing();
  options.cuda_home = tree / "toolkit";
  EXPECT_EQ(find_library(LibraryKind::nvrtc, options).size(), 1u);
}

TEST(SearchOptions, ComeFromTheEnvironmentsTable) {
  Environment environment;
  environment.library_path = "/a:/b";
  environment.path = "/bin";
  environment.home = "/home/someone";
  environment.cuda_home = "/cuda";
  const SearchOptions options = search_options(environment);
  EXPECT_EQ(options.explicit_path, "/a:/b");
  EXPECT_EQ(options.path, "/bin");
  EXPECT_EQ(options.home, fs::path("/home/someone"));
  EXPECT_EQ(options.cuda_home, fs::path("/cuda"));
  EXPECT_TRUE(options.system);
  ASSERT_TRUE(options.executable);
  EXPECT_EQ(options.executable->filename(), "cuda_test");
}

TEST(SearchOptions, NoneLooksNowhereAtAll) {
  Environment environment;
  environment.library_path = "none";
  environment.path = "/usr/bin";
  environment.home = "/home/user";
  environment.cuda_home = "/usr/local/cuda";
  const SearchOptions options = search_options(environment);
  for (const LibraryKind kind : {LibraryKind::driver, LibraryKind::nvrtc, LibraryKind::cublas_lt})
    EXPECT_TRUE(find_library(kind, options).empty()) << name(kind);
}

TEST(SharedLibrary, OpensPathsWithSpacesAndOtherAlphabets) {
  TemporaryTree tree;
  // "Zsuzsa's Ordner" in three scripts, as UTF-8 bytes.
  const fs::path copy = tree.copy(
      GPUFORGE_FAKE_NVRTC, "my folder \xd0\xbf\xd0\xb0\xd0\xbf\xd0\xba\xd0\xb0 \xe6\x97\xa5/libnvrtc.so.13");
  SearchOptions options = nothing();
  options.explicit_path = copy.parent_path().string();
  std::string why = "untouched";
  const auto library = SharedLibrary::open_first(LibraryKind::nvrtc, options, &why);
  ASSERT_TRUE(library) << why;
  EXPECT_EQ(library->path(), copy);
  EXPECT_EQ(library->rule(), "explicit");
  EXPECT_NE(library->symbol("nvrtcVersion"), nullptr);
  EXPECT_EQ(library->symbol("nvrtcNoSuchThing"), nullptr);
  EXPECT_THAT(why, IsEmpty());
}

TEST(SharedLibrary, TheLoadersOwnSearchTellsTheRealPath) {
  const auto library = SharedLibrary::open("libc.so.6");
  ASSERT_TRUE(library);
  EXPECT_TRUE(library->path().is_absolute()) << library->path();
}

TEST(SharedLibrary, AFailureCarriesTheLoadersSentence) {
  std::string why;
  EXPECT_FALSE(SharedLibrary::open("/no/such/library.so", &why));
  EXPECT_THAT(why, HasSubstr("/no/such/library.so"));
  EXPECT_FALSE(SharedLibrary::open("/no/such/library.so"));
}

TEST(SharedLibrary, PassesOverBadCopiesAndKeepsTheReasons) {
  TemporaryTree tree;
  tree.write("a/libnvrtc.so.13");
  tree.copy(GPUFORGE_FAKE_NVRTC, "b/libnvrtc.so.13");
  tree.copy(GPUFORGE_FAKE_NVRTC, "c/libnvrtc.so.13");
  SearchOptions options = nothing();
  options.explicit_path = (tree / "a").string() + ":" + (tree / "b").string() + ":" + (tree / "c").string();
  std::string why;
  const auto picky = [&](const SharedLibrary& library, std::string* reason) {
    *reason = "not to my taste";
    return library.path() == tree / "c/libnvrtc.so.13";
  };
  const auto library = SharedLibrary::open_first(LibraryKind::nvrtc, options, &why, picky);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->path(), tree / "c/libnvrtc.so.13");
  EXPECT_THAT(why, AllOf(HasSubstr((tree / "a/libnvrtc.so.13").string()), HasSubstr("not to my taste"),
                         Not(HasSubstr((tree / "c").string()))));
}

TEST(SharedLibrary, NothingFoundTellsEveryRule) {
  TemporaryTree tree;
  SearchOptions options = nothing();
  options.executable = tree / "bin/gpuforge";
  std::string why;
  EXPECT_FALSE(SharedLibrary::open_first(LibraryKind::nvrtc, options, &why));
  for (const char* rule : {"explicit: ", "deps: ", "wheel: ", "loader: ", "toolkit: "}) {
    EXPECT_THAT(why, HasSubstr(rule));
  }
}

}  // namespace
}  // namespace gpuforge::cuda
