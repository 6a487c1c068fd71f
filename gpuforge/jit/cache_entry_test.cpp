#include "gpuforge/jit/cache_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/file.h"
#include "gpuforge/base/json.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/jit/compiled_for_tests.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) names.push_back(file.path().filename().string());
  return names;
}

TEST(CacheEntry, NamesAreReadableAndBounded) {
  const Hash128 key = key_for_tests(1);
  EXPECT_EQ(entry_name(key, "examples/saxpy.cu"), "saxpy-" + key.hex());
  EXPECT_EQ(entry_name(key, ""), "kernel-" + key.hex());
  EXPECT_EQ(entry_name(key, ".."), "_.-" + key.hex());
  EXPECT_EQ(entry_name(key, ".hidden"), "_hidden-" + key.hex());
  EXPECT_EQ(entry_name(key, "a b\n\xff/../c d$.cu"), "c_d_-" + key.hex());
  EXPECT_LE(entry_name(key, std::string(5000, 'x') + ".cu").size(), 100u);
  const std::string long_name(5000, 'y');
  for (const std::string_view name : {"saxpy.cu", "", "..", ".hidden", "-x", "x y", long_name.c_str()}) {
    const std::string made = entry_name(key, name);
    ASSERT_TRUE(parse_entry_name(made).has_value()) << made;
    EXPECT_EQ(parse_entry_name(made)->key, key.hex());
  }
}

TEST(CacheEntry, KnowsTheNamesOfOthers) {
  const std::string hex(32, 'a');
  EXPECT_TRUE(parse_entry_name("k-" + hex).has_value());
  for (const std::string& name :
       {std::string(), hex, "-" + hex, "k" + hex, "k-" + hex + "0", "k-" + hex.substr(1),
        "k-" + std::string(32, 'A'), "k-" + std::string(32, 'g'), ".k-" + hex, "a b-" + hex,
        std::string(49, 'k') + "-" + hex, std::string("README.md"), std::string(".locks")}) {
    EXPECT_FALSE(parse_entry_name(name).has_value()) << name;
  }
}

TEST(CacheEntry, GivesBackEveryField) {
  for (const int seed : {0, 1}) {  // machine code, and PTX alone
    const TemporaryFolder folder;
    const Compiled compiled = compiled_for_tests(seed);
    write_entry(folder.path(), compiled.key, compiled, "source text");
    const EntryContent content = read_entry(folder.path(), compiled.key);
    ASSERT_TRUE(content.compiled.has_value()) << content.problem;
    EXPECT_TRUE(same_for_tests(*content.compiled, compiled));
    EXPECT_EQ(content.compiled->source_name, compiled.source_name);
    EXPECT_TRUE(content.compiled->from_cache);
    EXPECT_EQ(read_file(folder / "kernel.cu"), "source text");
    EXPECT_EQ(read_file(folder / "kernel.ptx"), compiled.ptx);
    EXPECT_EQ(entry_arch(folder.path()), compiled.arch.name());
    if (seed == 0) {
      EXPECT_THAT(files_in(folder.path()),
                  UnorderedElementsAre("kernel.cu", "kernel.ptx", "kernel.cubin", "log.txt", "meta.json"));
    } else {
      EXPECT_THAT(files_in(folder.path()),
                  UnorderedElementsAre("kernel.cu", "kernel.ptx", "log.txt", "meta.json"));
    }
    // A person and other programs can read it.
    const Json meta = Json::parse(read_file(folder / "meta.json"));
    EXPECT_EQ(meta.at("arch").as_string(), compiled.arch.name());
    EXPECT_EQ(meta.at("entries").as_array().size(), 2u);
  }
}

TEST(CacheEntry, EmptyTextsAreFine) {
  const TemporaryFolder folder;
  Compiled compiled;
  compiled.arch = Arch::parse("sm_80");
  write_entry(folder.path(), "k", compiled, "");
  ASSERT_TRUE(read_entry(folder.path(), "k").compiled.has_value());
  EXPECT_TRUE(read_entry(folder.path(), "k").compiled->entries.empty());
}

// Every byte of every file: cut there, or changed there, it is never taken for whole.
TEST(CacheEntry, DamageAtAnyPlaceShows) {
  const TemporaryFolder folder;
  const Compiled compiled = compiled_for_tests(2);
  write_entry(folder.path(), compiled.key, compiled, "some source");
  for (const std::string& name : files_in(folder.path())) {
    const fs::path file = folder / name;
    const std::string whole = read_file(file);
    const auto poke = [&](std::size_t at, char value) {  // in place: rewriting a file is slow on some disks
      std::fstream(file, std::ios::binary | std::ios::in | std::ios::out)
              .seekp(static_cast<std::streamoff>(at))
          << value;
    };
    for (std::size_t at = 0; at < whole.size(); ++at) {
      poke(at, static_cast<char>(whole[at] ^ 1));
      const EntryContent changed = read_entry(folder.path(), compiled.key);
      ASSERT_TRUE(!changed.compiled && changed.broken && !changed.problem.empty())
          << name << " changed at " << at;
      poke(at, whole[at]);
    }
    ASSERT_TRUE(read_entry(folder.path(), compiled.key).compiled.has_value()) << name << " restored";
    poke(whole.size(), ' ');
    EXPECT_TRUE(read_entry(folder.path(), compiled.key).broken) << name << " longer";
    for (std::size_t bytes = whole.size(); bytes-- > 0;) {
      fs::resize_file(file, bytes);
      const EntryContent cut = read_entry(folder.path(), compiled.key);
      ASSERT_TRUE(!cut.compiled && cut.broken) << name << " cut at " << bytes;
    }
    fs::remove(file);
    EXPECT_TRUE(read_entry(folder.path(), compiled.key).broken) << name << " missing";
    fs::create_directory(file);
    EXPECT_TRUE(read_entry(folder.path(), compiled.key).broken) << name << " a folder";
    fs::remove(file);
    folder.write(name, whole);
    ASSERT_TRUE(read_entry(folder.path(), compiled.key).compiled.has_value()) << name << " restored";
  }
}

TEST(CacheEntry, MixedEntriesShow) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  const Compiled first = compiled_for_tests(2);
  const Compiled second = compiled_for_tests(4);
  write_entry(one.path(), first.key, first, "s");
  write_entry(two.path(), second.key, second, "s");
  EXPECT_TRUE(read_entry(two.path(), first.key).broken) << "whole, but of another key";
  for (const char* name : {"kernel.ptx", "kernel.cubin", "log.txt", "meta.json"}) {
    const std::string own = read_file(one / name);
    one.write(name, read_file(two / name));
    EXPECT_TRUE(read_entry(one.path(), first.key).broken) << name;
    one.write(name, own);
  }
  EXPECT_TRUE(read_entry(one.path(), first.key).compiled.has_value());
}

TEST(CacheEntry, NotAFolder) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_entry(folder / "absent", "k").broken);
  EXPECT_TRUE(read_entry(folder.write("file", "x"), "k").broken);
  EXPECT_EQ(entry_bytes(folder / "absent"), 0u);
  EXPECT_EQ(entry_bytes(folder.path()), 1u);
  EXPECT_EQ(entry_arch(folder.path()), "");
}

}  // namespace
}  // namespace gpuforge::jit
