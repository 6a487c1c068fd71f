#include "gpuforge/jit/translation_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <random>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr EmbeddedFile kEmbedded[] = {
    {"gpuforge/kernels/half.cuh", "#include \"gpuforge/kernels/bits.cuh\"\n"},
    {"gpuforge/kernels/bits.cuh", "#pragma once\n"},
};

class TranslationUnitTest : public ::testing::Test {
 protected:
  TranslationUnitTest() { paths_.embedded = kEmbedded; }

  KernelSource source(std::string text) const {
    KernelSource source;
    source.name = "k.cu";
    source.text = std::move(text);
    source.directory = folder_ / "src";
    return source;
  }
  TranslationUnit unit(std::string text, std::vector<std::string> include_dirs = {}) const {
    KernelSource made = source(std::move(text));
    for (const std::string& name : include_dirs) made.include_dirs.push_back(folder_ / name);
    return resolve(std::move(made), paths_);
  }
  // The files found, below the test's folder.
  std::vector<std::string> names(const TranslationUnit& unit) const {
    std::vector<std::string> names;
    for (const HeaderFile& file : unit.files)
      names.push_back(file.path.lexically_relative(folder_.path()).string());
    return names;
  }

  TemporaryFolder folder_;
  HeaderPaths paths_;
};

TEST_F(TranslationUnitTest, SearchesLikeACompiler) {
  folder_.write("src/a.h", "");
  folder_.write("one/a.h", "");
  folder_.write("two/a.h", "");
  folder_.write("two/b.h", "");
  EXPECT_THAT(names(unit("#include \"a.h\"\n", {"one", "two"})), ElementsAre("src/a.h"));
  EXPECT_THAT(names(unit("#include <a.h>\n", {"one", "two"})), ElementsAre("one/a.h"));
  EXPECT_THAT(names(unit("#include <a.h>\n", {"two", "one"})), ElementsAre("two/a.h"));
  EXPECT_THAT(names(unit("#include \"b.h\"\n", {"one", "two"})), ElementsAre("two/b.h"));
  EXPECT_THAT(names(unit("#include \"" + (folder_ / "two/b.h").string() + "\"\n")), ElementsAre("two/b.h"));
  EXPECT_THAT(unit("", {"one", "two"}).search_dirs, ElementsAre(folder_ / "one", folder_ / "two"));
}

TEST_F(TranslationUnitTest, QuotesLookBesideTheirOwnFile) {
  folder_.write("src/x/x.h", "#include \"detail.h\"\n#include \"sub/deep.h\"");
  folder_.write("src/x/detail.h", "");
  folder_.write("src/x/sub/deep.h", "#include \"../up.h\"\n#include \"only_in_src.h\"\n");
  folder_.write("src/x/up.h", "");
  folder_.write("src/only_in_src.h", "");
  folder_.write("src/y/y.h", "#include \"detail.h\"\n");
  folder_.write("src/y/detail.h", "");
  const TranslationUnit found = unit("#include \"x/x.h\"\n#include \"y/y.h\"\n");
  EXPECT_THAT(names(found), ElementsAre("src/x/x.h", "src/y/y.h", "src/x/detail.h", "src/x/sub/deep.h",
                                        "src/y/detail.h", "src/x/sub/../up.h"));
  EXPECT_THAT(found.missing, ElementsAre("only_in_src.h"));  // not beside its includer
}

TEST_F(TranslationUnitTest, FindsOurHeadersByTheirPathInTheRepository) {
  const TranslationUnit found =
      unit("#include \"gpuforge/kernels/half.cuh\"\n#include <gpuforge/kernels/half.cuh>\n");
  ASSERT_EQ(found.headers.size(), 2u);
  EXPECT_EQ(found.headers[0].include_name, "gpuforge/kernels/half.cuh");
  EXPECT_EQ(found.headers[0].text, kEmbedded[0].text);
  EXPECT_EQ(found.headers[0].found_in, "embedded");
  EXPECT_EQ(found.headers[1].include_name, "gpuforge/kernels/bits.cuh");
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(unit("#include \"half.cuh\"\n").missing, ElementsAre("half.cuh"));
}

TEST_F(TranslationUnitTest, KernelDirAndUserFoldersComeBeforeEmbeddedHeaders) {
  folder_.write("tree/gpuforge/kernels/half.cuh", "edited");
  paths_.kernel_dir = folder_ / "tree";
  const TranslationUnit edited = unit("#include \"gpuforge/kernels/half.cuh\"\n");
  ASSERT_EQ(edited.headers.size(), 1u);
  EXPECT_EQ(edited.headers[0].text, "edited");
  EXPECT_THAT(edited.headers[0].found_in, HasSubstr("tree/gpuforge/kernels/half.cuh"));

  folder_.write("mine/gpuforge/kernels/half.cuh", "mine");
  const TranslationUnit mine = unit("#include \"gpuforge/kernels/half.cuh\"\n", {"mine"});
  EXPECT_THAT(mine.headers, IsEmpty());
  EXPECT_THAT(names(mine), ElementsAre("mine/gpuforge/kernels/half.cuh"));
}

TEST_F(TranslationUnitTest, ListsWhatIsMissingOnceAndWhereItLooked) {
  paths_.toolkit = {folder_ / "cuda"};
  const TranslationUnit found =
      unit("#include <vector>\n#if 0\n#include \"gone.h\"\n#endif\n#include <vector>\n", {"inc"});
  EXPECT_THAT(found.missing, ElementsAre("vector", "gone.h"));
  EXPECT_THAT(found.searched, ElementsAre((folder_ / "src").string(), (folder_ / "inc").string(),
                                          "the headers inside gpuforge", (folder_ / "cuda").string()));
  EXPECT_FALSE(found.uses_toolkit);
  EXPECT_THAT(found.search_dirs, ElementsAre(folder_ / "inc"));  // the toolkit only where it is used
}

TEST_F(TranslationUnitTest, KnowsTheToolkit) {
  folder_.write("cuda/cuda_fp16.h", "#include \"fp16.hpp\"\n#include <cstdint>\n#include MACRO\n");
  folder_.write("cuda/fp16.hpp", "#include <cuda/std/array>\n");
  folder_.write("cuda/cccl/cuda/std/array", "");
  paths_.toolkit = {folder_ / "cuda", folder_ / "cuda/cccl"};
  const TranslationUnit found = unit("#include <cuda_fp16.h>\n");
  EXPECT_TRUE(found.uses_toolkit);
  EXPECT_FALSE(found.computed_include);   // the toolkit's own are covered by its version
  EXPECT_THAT(found.missing, IsEmpty());  // host headers that the toolkit names are no news
  EXPECT_THAT(names(found), ElementsAre("cuda/cuda_fp16.h", "cuda/fp16.hpp", "cuda/cccl/cuda/std/array"));
  EXPECT_TRUE(found.files[1].toolkit);
  EXPECT_THAT(found.search_dirs, ElementsAre(folder_ / "cuda", folder_ / "cuda/cccl"));
  // Given by the user as -I it is still the toolkit.
  EXPECT_TRUE(unit("#include <cuda_fp16.h>\n", {"cuda"}).uses_toolkit);
  EXPECT_FALSE(unit("#include <cuda_fp16.h>\n", {"cuda"}).computed_include);

  const Hash128 before = unit("#include <cuda_fp16.h>\n").reached;
  folder_.write("cuda/cuda.h", "#define CUDA_VERSION 13000\n");
  const Hash128 after = unit("#include <cuda_fp16.h>\n").reached;
  EXPECT_NE(after, before);
  folder_.write("cuda/cuda.h", "#define CUDA_VERSION 13010\n");
  EXPECT_NE(unit("#include <cuda_fp16.h>\n").reached, after);
}

TEST_F(TranslationUnitTest, MarksComputedIncludes) {
  EXPECT_FALSE(unit("#include <a.h>\n").computed_include);
  EXPECT_TRUE(unit("#define H <a.h>\n#include H\n").computed_include);
  folder_.write("src/a.h", "#include H\n");
  EXPECT_TRUE(unit("#include \"a.h\"\n").computed_include);
}

TEST_F(TranslationUnitTest, TakesIncludeFoldersFromOptions) {
  for (const char* name : {"a", "b", "c", "d", "e"}) folder_.write(std::string(name) + "/" + name + ".h", "");
  folder_.write("e/pre.h", "#include <a.h>\n");
  KernelSource made = source("#include <b.h>\n#include <c.h>\n#include <d.h>\n#include <e.h>\n");
  made.options = {"--use_fast_math",
                  "-I" + (folder_ / "a").string(),
                  "-I",
                  (folder_ / "b").string(),
                  "--include-path=" + (folder_ / "c").string(),
                  "--include-path",
                  (folder_ / "d").string(),
                  "-I=" + (folder_ / "e").string(),
                  "--pre-include=pre.h",
                  "-I"};
  const TranslationUnit found = resolve(made, paths_);
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(names(found), ElementsAre("e/pre.h", "b/b.h", "c/c.h", "d/d.h", "e/e.h", "a/a.h"));
  EXPECT_THAT(found.source.options, ElementsAre("--use_fast_math", "--pre-include=pre.h", "-I"));
  EXPECT_EQ(found.search_dirs.size(), 5u);
}

TEST_F(TranslationUnitTest, FollowsIncludeNext) {
  folder_.write("one/a.h", "#include_next <a.h>\n");
  folder_.write("two/a.h", "#include_next <a.h>\n");
  EXPECT_THAT(names(unit("#include <a.h>\n", {"one", "two"})), ElementsAre("one/a.h", "two/a.h"));
  EXPECT_THAT(unit("#include <a.h>\n", {"one", "two"}).missing, ElementsAre("a.h"));
}

TEST_F(TranslationUnitTest, NamesTheProgramByItsFolder) {
  EXPECT_EQ(unit("").program_name, (folder_ / "src/k.cu").string());
  KernelSource made;
  made.name = "gpuforge/array/copy.cu";
  EXPECT_EQ(resolve(made, paths_).program_name, "<memory>/copy.cu");
}

TEST_F(TranslationUnitTest, EndsOnCycles) {
  folder_.write("src/self.h", "#include \"self.h\"\n#include \"sub/../self.h\"\n#include \"./././self.h\"\n");
  folder_.write("src/sub/x.h", "#include \"../a.h\"\n");
  folder_.write("src/a.h", "#include \"b.h\"\n");
  folder_.write("src/b.h", "#include \"a.h\"\n#include \"k.cu\"\n#include \"sub/x.h\"\n");
  folder_.write("src/k.cu", "#include \"a.h\"\n");
  fs::create_directory_symlink(folder_ / "src", folder_ / "src/loop");
  folder_.write("src/through.h", "#include \"loop/through.h\"\n");
  EXPECT_THAT(names(unit("#include \"self.h\"\n")), ElementsAre("src/self.h"));
  EXPECT_THAT(names(unit("#include \"a.h\"\n")),
              ElementsAre("src/a.h", "src/b.h", "src/k.cu", "src/sub/x.h"));
  EXPECT_THAT(names(unit("#include \"through.h\"\n")), ElementsAre("src/through.h"));
}

TEST_F(TranslationUnitTest, FollowsDeepChains) {
  constexpr int kDepth = 1000;
  for (int i = 0; i < kDepth; ++i) {
    folder_.write("src/d" + std::to_string(i) + ".h", "#include \"d" + std::to_string(i + 1) + ".h\"\n");
  }
  const TranslationUnit found = unit("#include \"d0.h\"\n");
  EXPECT_EQ(found.files.size(), static_cast<std::size_t>(kDepth));
  EXPECT_THAT(found.missing, ElementsAre("d1000.h"));
}

TEST_F(TranslationUnitTest, PassesOverWhatIsNoFile) {
  fs::create_directories(folder_ / "src/folder.h");
  ASSERT_EQ(::mkfifo((folder_ / "src/pipe.h").c_str(), 0600), 0);
  fs::create_symlink("nowhere", folder_ / "src/dangling.h");
  fs::create_symlink("ring.h", folder_ / "src/ring.h");
  folder_.write("inc/folder.h", "");
  const TranslationUnit found = unit(
      "#include \"folder.h\"\n#include \"pipe.h\"\n#include \"dangling.h\"\n#include \"ring.h\"\n#include "
      "\"/dev/zero\"\n"
      "#include \"/\"\n#include \".\"\n#include \"" +
          std::string(100000, 'x') + "\"\n#include \"a\\b\"\n#include <\xff\xfe>\n",
      {"inc"});
  EXPECT_THAT(names(found), ElementsAre("inc/folder.h"));  // the compiler goes on to the next folder too
  EXPECT_EQ(found.missing.size(), 9u);
  EXPECT_FALSE(found.computed_include);
}

TEST_F(TranslationUnitTest, DoesNotTrustWhatItCannotRead) {
  // Plain to stat, but reading it fails for every user.
  const TranslationUnit unreadable = unit("#include \"/proc/self/mem\"\n");
  EXPECT_TRUE(unreadable.computed_include);
  folder_.write("src/big.h", "");
  fs::resize_file(folder_ / "src/big.h", std::uintmax_t{300} << 20);
  EXPECT_TRUE(unit("#include \"big.h\"\n").computed_include);
}

TEST_F(TranslationUnitTest, TakesBinaryAndLargeHeaders) {
  // A million zero bytes as code, then a hundred million in a comment.
  const fs::path file =
      folder_.write("src/large.h", "#include \"first.h\"\n" + std::string(1 << 20, '\0') + "\n/*");
  fs::resize_file(file, 100 << 20);
  std::ofstream(file, std::ios::binary | std::ios::app) << "*/\n#include \"last.h\"\n";
  const TranslationUnit found = unit("#include \"large.h\"\n");
  EXPECT_THAT(found.missing, ElementsAre("first.h", "last.h"));
  EXPECT_FALSE(found.computed_include);
}

TEST_F(TranslationUnitTest, SeesAHeaderThatChangedMeanwhile) {
  folder_.write("src/a.h", "1");
  const TranslationUnit found = unit("#include \"a.h\"\n#include \"b.h\"\n");
  EXPECT_TRUE(unchanged(found, paths_));
  folder_.write("src/a.h", "2");
  EXPECT_FALSE(unchanged(found, paths_));
  folder_.write("src/a.h", "1");
  EXPECT_TRUE(unchanged(found, paths_));
  folder_.write("src/b.h", "");  // missing before
  EXPECT_FALSE(unchanged(found, paths_));
}

class CacheKeyTest : public TranslationUnitTest {
 protected:
  Hash128 key(const KernelSource& source) const {
    return cache_key(resolve(source, paths_), Arch::parse("sm_90a"), "13.0.88");
  }
  KernelSource example() {
    folder_.write("src/a.h", "#include \"b.h\"\n");
    folder_.write("src/b.h", "int b;\n");
    KernelSource made = source("#include \"a.h\"\n#include <gpuforge/kernels/half.cuh>\n");
    made.instantiations = {"f<int>", "g"};
    made.defines = {"A=1", "B"};
    made.options = {"--use_fast_math", "-G"};
    made.include_dirs = {folder_ / "one", folder_ / "two"};
    return made;
  }
};

TEST_F(CacheKeyTest, ChangesWithEveryFieldOfTheSource) {
  const KernelSource base = example();
  const Hash128 expected = key(base);
  EXPECT_EQ(key(base), expected);
  const std::vector<std::function<void(KernelSource&)>> changes = {
      [](KernelSource& s) { s.text += "\n"; },
      [](KernelSource& s) { s.name = "other.cu"; },
      [](KernelSource& s) { s.text = "#include <gpuforge/kernels/half.cuh>\n#include \"a.h\"\n"; },
      [](KernelSource& s) { s.text = "#include \"./a.h\"\n#include <gpuforge/kernels/half.cuh>\n"; },
      [](KernelSource& s) { s.instantiations.pop_back(); },
      [](KernelSource& s) { std::swap(s.instantiations[0], s.instantiations[1]); },
      [](KernelSource& s) { s.defines[0] = "A=2"; },
      [](KernelSource& s) { std::swap(s.defines[0], s.defines[1]); },
      [](KernelSource& s) { s.defines.clear(); },
      [](KernelSource& s) { s.options.pop_back(); },
      [](KernelSource& s) { s.options = {"--use_fast_math-G"}; },
      [](KernelSource& s) {
        s.defines = {"A=1"};
        s.options = {"B", "--use_fast_math", "-G"};
      },
  };
  std::vector<Hash128> seen = {expected};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    KernelSource changed = base;
    changes[i](changed);
    const Hash128 other = key(changed);
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(other))) << "change " << i;
    seen.push_back(other);
  }
}

TEST_F(CacheKeyTest, ChangesWithEveryHeaderReached) {
  const KernelSource base = example();
  std::vector<Hash128> seen = {key(base)};
  const auto expect_new = [&](const char* what) {
    const Hash128 now = key(base);
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(now))) << what;
    seen.push_back(now);
  };
  folder_.write("src/b.h", "int b; \n");
  expect_new("the text of a header reached through another");
  const EmbeddedFile edited[] = {kEmbedded[0], {"gpuforge/kernels/bits.cuh", "#pragma once\nint x;\n"}};
  paths_.embedded = edited;
  expect_new("the text of an embedded header");
  folder_.write("one/gpuforge/kernels/half.cuh", kEmbedded[0].text);
  folder_.write("one/gpuforge/kernels/bits.cuh", "#pragma once\nint y;\n");
  expect_new("a header that now answers first");
}

TEST_F(CacheKeyTest, ChangesWithArchAndVersions) {
  const TranslationUnit made = resolve(example(), paths_);
  std::vector<Hash128> seen;
  for (const char* arch :
       {"sm_90a", "sm_90", "compute_90", "compute_90a", "sm_100a", "sm_100f", "sm_80", "sm_89"}) {
    seen.push_back(cache_key(made, Arch::parse(arch), "13.0.88"));
  }
  seen.push_back(cache_key(made, Arch::parse("sm_90a"), "13.0.89"));
  seen.push_back(cache_key(made, Arch::parse("sm_90a"), ""));
  seen.push_back(cache_key(made, Arch::parse("sm_90a"), "13.0.88", "0.0.0"));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(seen[i], seen[j]) << i << " " << j;
  }
}

// The same header set can mean two things: it depends on which file answers which #include.
TEST_F(CacheKeyTest, CoversWhichFileAnswersAnInclude) {
  folder_.write("src/x/x.h", "#include \"d.h\"\n");
  folder_.write("src/y/y.h", "#include \"d.h\"\n");
  folder_.write("inc/d.h", "#pragma once\nint d;\n");
  KernelSource made = source("#include \"x/x.h\"\n#include \"y/y.h\"\n");
  made.include_dirs = {folder_ / "inc"};
  const Hash128 shared = key(made);
  folder_.write("src/y/d.h", "#pragma once\nint d;\n");  // the same text, now twice
  EXPECT_NE(key(made), shared);
}

// No new header, only another one of those already there answers <r.h>, and so has the last word.
TEST_F(CacheKeyTest, CoversWhichKnownFileAnswersAnInclude) {
  folder_.write("src/p/r.h", "#undef R\n#define R 1\n");
  folder_.write("src/q/r.h", "#undef R\n#define R 2\n");
  KernelSource made = source("#include \"p/r.h\"\n#include \"q/r.h\"\n#include <r.h>\n");
  made.include_dirs = {folder_ / "src/p"};
  KernelSource other = made;
  other.include_dirs = {folder_ / "src/q"};
  EXPECT_NE(key(made), key(other));
}

TEST_F(CacheKeyTest, OrderOfIncludeFoldersCountsWhereItMatters) {
  folder_.write("one/n.h", "1");
  folder_.write("two/n.h", "2");
  KernelSource forward = example();
  forward.text += "#include <n.h>\n";
  KernelSource backward = forward;
  std::swap(backward.include_dirs[0], backward.include_dirs[1]);
  EXPECT_NE(key(forward), key(backward));
}

TEST_F(CacheKeyTest, TwoClonesShareEntries) {
  std::vector<Hash128> keys;
  for (const char* clone : {"clone", "elsewhere/deeper"}) {
    const fs::path root = folder_ / clone;
    folder_.write(root / "src/a.h", "#include \"../inc/b.h\"\n");
    folder_.write(root / "inc/b.h", "#include <c.h>\n");
    folder_.write(root / "inc/c.h", "int c;\n");
    KernelSource made;
    made.name = (root / "src/k.cu").string();
    made.text = "#include \"a.h\"\n";
    made.directory = root / "src";
    made.options = {"-I" + (root / "inc").string()};
    keys.push_back(key(made));
  }
  EXPECT_EQ(keys[0], keys[1]);
}

// Seeded random trees of headers with random includes: it ends, every file is listed once, and twice gives
// the same.
TEST_F(TranslationUnitTest, SurvivesRandomTrees) {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  const std::vector<std::string> folders = {"src", "src/a", "src/a/b", "inc", "inc/a"};
  for (int round = 0; round < 10; ++round) {
    for (int file = 0; file < 20; ++file) {
      std::string text;
      for (std::size_t line = 0, lines = pick(6); line < lines; ++line) {
        const std::string up[] = {"", "../", "a/", "./", "a/../", "b/", "../../"};
        const std::string name = up[pick(7)] + up[pick(7)] + "h" + std::to_string(pick(8)) + ".h";
        text += pick(2) == 0 ? "#include \"" + name + "\"\n" : "#include <" + name + ">\n";
        if (pick(10) == 0) text += "#include_next <" + name + ">\n";
      }
      folder_.write(folders[pick(folders.size())] + "/h" + std::to_string(pick(8)) + ".h", text);
    }
    const std::string text = "#include \"h0.h\"\n#include <h1.h>\n#include \"a/h2.h\"\n";
    const TranslationUnit first = unit(text, {"inc", "src/a"});
    std::vector<fs::path> real;
    for (const HeaderFile& file : first.files) real.push_back(fs::canonical(file.path));
    std::sort(real.begin(), real.end());
    EXPECT_EQ(std::unique(real.begin(), real.end()), real.end());
    EXPECT_TRUE(unchanged(first, paths_));
  }
}

}  // namespace
}  // namespace gpuforge::jit
