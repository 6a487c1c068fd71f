#include "gpuforge/jit/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpuforge/base/error.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Source, ReadsAFile) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("saxpy.cu", "__global__ void f() {}\n");
  const KernelSource source = source_from_file(file);
  EXPECT_EQ(source.name, file.string());
  EXPECT_EQ(source.text, "__global__ void f() {}\n");
  EXPECT_EQ(source.directory, folder.path());
  EXPECT_EQ(source_from_file(folder.write("empty.cu", "")).text, "");
}

TEST(Source, DropsTheMarkSomeEditorsWrite) {
  const TemporaryFolder folder;
  EXPECT_EQ(source_from_file(folder.write("k.cu", "\xEF\xBB\xBFint x;")).text, "int x;");
}

TEST(Source, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  for (const fs::path& path : {folder / "absent.cu", folder.path(), folder / "a/b.cu", fs::path()}) {
    try {
      source_from_file(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io) << path;
      EXPECT_THAT(error.message(), HasSubstr(path.string()));
    }
  }
}

TEST(Source, RefusesWhatIsNotText) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("k.cubin", std::string_view("\x7f"
                                                                 "ELF\0\0",
                                                                 6));
  try {
    source_from_file(file);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("expected text, found a zero byte at offset 4"));
  }
}

TEST(Source, FingerprintCoversEveryField) {
  KernelSource base;
  base.name = "k.cu";
  base.text = "text";
  base.directory = "/a";
  base.instantiations = {"f<int>", "g"};
  base.defines = {"A=1", "B"};
  base.include_dirs = {"/i", "/j"};
  base.options = {"--use_fast_math", "-x"};
  const Hash128 expected = fingerprint(base);
  EXPECT_EQ(fingerprint(KernelSource(base)), expected);
  const std::vector<std::function<void(KernelSource&)>> changes = {
      [](KernelSource& s) { s.name = "l.cu"; },
      [](KernelSource& s) { s.text += " "; },
      [](KernelSource& s) { s.directory = "/b"; },
      [](KernelSource& s) { s.instantiations = {"f<int>"}; },
      [](KernelSource& s) {
        s.instantiations = {"g", "f<int>"};
      },
      [](KernelSource& s) {
        s.defines = {"B", "A=1"};
      },
      [](KernelSource& s) { s.defines = {"A=1B"}; },
      [](KernelSource& s) {
        s.include_dirs = {"/j", "/i"};
      },
      [](KernelSource& s) { s.options.clear(); },
      // A text that moves from one list to the next.
      [](KernelSource& s) {
        s.instantiations = {"f<int>"};
        s.defines = {"g", "A=1", "B"};
      },
      [](KernelSource& s) {
        s.include_dirs = {"/i"};
        s.options = {"/j", "--use_fast_math", "-x"};
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    KernelSource changed = base;
    changes[i](changed);
    EXPECT_NE(fingerprint(changed), expected) << "change " << i;
  }
}

TEST(Source, FindsEmbeddedFiles) {
  const EmbeddedFile files[] = {{"gpuforge/kernels/half.cuh", "half"}, {"gpuforge/array/array.cu", "array"}};
  HeaderPaths paths;
  paths.embedded = files;
  EXPECT_EQ(find_embedded(paths, "gpuforge/array/array.cu"), "array");
  EXPECT_EQ(find_embedded(paths, "half.cuh"), std::nullopt);
  EXPECT_EQ(find_embedded(paths, ""), std::nullopt);
}

TEST(Source, KernelDirReplacesTheEmbeddedFiles) {
  const TemporaryFolder folder;
  folder.write("tree/gpuforge/kernels/half.cuh", "edited");
  folder.write("secret", "secret");
  const EmbeddedFile files[] = {{"gpuforge/kernels/half.cuh", "half"}, {"gpuforge/array/array.cu", "array"}};
  HeaderPaths paths;
  paths.embedded = files;
  paths.kernel_dir = folder / "tree";
  EXPECT_EQ(find_embedded(paths, "gpuforge/kernels/half.cuh"), "edited");
  EXPECT_EQ(find_embedded(paths, "gpuforge/array/array.cu"), std::nullopt);
  EXPECT_EQ(find_embedded(paths, "gpuforge/kernels"), std::nullopt);
  EXPECT_EQ(find_embedded(paths, "../secret"), std::nullopt);
  EXPECT_EQ(find_embedded(paths, "gpuforge/../../secret"), std::nullopt);
  EXPECT_EQ(find_embedded(paths, (folder / "secret").string()), std::nullopt);
  EXPECT_EQ(find_embedded(paths, ""), std::nullopt);
}

}  // namespace
}  // namespace gpuforge::jit
