#include "gpuforge/jit/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/jit/compiled_for_tests.h"
#include "gpuforge/jit/file_lock.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uintmax_t kNoLimit = std::uintmax_t{1} << 40;

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    log_ = std::make_shared<Log>(LogLevel::warning,
                                 [this](LogLevel, std::string_view text) { lines_.emplace_back(text); });
  }
  DiskCache open(std::uintmax_t limit = kNoLimit) const { return DiskCache(folder_ / "cache", limit, log_); }
  static void store(DiskCache& cache, int seed, std::size_t bytes = 300) {
    cache.store(key_for_tests(seed), compiled_for_tests(seed, bytes), "source " + std::to_string(seed));
  }
  static bool has(DiskCache& cache, int seed, std::size_t bytes = 300) {
    const Compiled expected = compiled_for_tests(seed, bytes);
    const std::optional<Compiled> found = cache.find(key_for_tests(seed), expected.source_name);
    EXPECT_TRUE(!found || same_for_tests(*found, expected)) << seed;
    return found.has_value();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
      names.push_back(entry.path().filename().string());
    return names;
  }
  static fs::path folder_of(const DiskCache& cache, int seed) {
    return cache.folder() / ("kernel_" + std::to_string(seed) + "-" + key_for_tests(seed).hex());
  }
  static void set_age(const fs::path& path, std::chrono::minutes age) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }

  TemporaryFolder folder_;
  std::vector<std::string> lines_;
  std::shared_ptr<Log> log_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  DiskCache cache = open();
  EXPECT_FALSE(has(cache, 0));
  store(cache, 0);
  store(cache, 1);
  EXPECT_TRUE(has(cache, 0));
  EXPECT_TRUE(has(cache, 1));
  EXPECT_FALSE(has(cache, 2));
  DiskCache other = open();
  EXPECT_TRUE(has(other, 0));
  const auto found = other.find(key_for_tests(0), "elsewhere/kernel_0.cu");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->from_cache);
  EXPECT_EQ(found->source_name, "elsewhere/kernel_0.cu");  // as the caller knows it
  EXPECT_THAT(names(), UnorderedElementsAre(folder_of(cache, 0).filename(), folder_of(cache, 1).filename()));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DiskCacheTest, StoringTwiceKeepsTheFirst) {
  DiskCache cache = open();
  store(cache, 0);
  Compiled other = compiled_for_tests(0);
  other.compile_ms = 99;
  cache.store(key_for_tests(0), other, "again");
  EXPECT_TRUE(has(cache, 0));
  EXPECT_THAT(names(), SizeIs(1));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DiskCacheTest, BadEntriesAreMissesAndRebuilt) {
  DiskCache cache = open();
  const fs::path entry = folder_of(cache, 0);
  const std::vector<std::function<void(const fs::path&)>> damages = {
      [](const fs::path& file) { fs::remove(file); },
      [](const fs::path& file) { fs::resize_file(file, 0); },
      [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); },
      [](const fs::path& file) { std::ofstream(file, std::ios::in | std::ios::out).seekp(5) << '\x01'; },
      [](const fs::path& file) {
        fs::remove(file);
        fs::create_directories(file / "inside");
      },
      [](const fs::path& file) {
        fs::remove(file);
        fs::create_symlink("nowhere", file);
      },
  };
  for (const char* name : {"kernel.cu", "kernel.ptx", "kernel.cubin", "log.txt", "meta.json"}) {
    for (std::size_t i = 0; i < damages.size(); ++i) {
      store(cache, 0);
      ASSERT_TRUE(has(cache, 0));
      damages[i](entry / name);
      EXPECT_FALSE(has(cache, 0)) << name << " damage " << i;
      EXPECT_THAT(names(), IsEmpty()) << name << " damage " << i;
    }
  }
  fs::create_directories(entry);  // a folder without anything, a file in its place
  EXPECT_FALSE(has(cache, 0));
  folder_.write(entry, "a file");
  EXPECT_FALSE(has(cache, 0));
  store(cache, 0);
  EXPECT_TRUE(has(cache, 0));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DiskCacheTest, LeastRecentlyUsedGoesFirst) {
  {
    DiskCache cache = open();
    for (int seed = 0; seed < 4; ++seed) {
      store(cache, seed, 10000);
      set_age(folder_of(cache, seed), std::chrono::minutes(100 - seed));
    }
    EXPECT_TRUE(has(cache, 0, 10000));  // now the most recent
  }
  std::uintmax_t sum = 0;
  for (const CacheEntry& entry : open().list()) sum += entry.bytes;
  // Room for what is there, but not for one more of a PTX-only kernel: 1 and 2 must go, 0 was used.
  DiskCache cache = open(sum);
  store(cache, 5, 10000);
  EXPECT_FALSE(has(cache, 1, 10000));
  EXPECT_TRUE(has(cache, 5, 10000));
  EXPECT_TRUE(has(cache, 0, 10000));
  EXPECT_TRUE(has(cache, 3, 10000));
  std::uintmax_t after = 0;
  for (const CacheEntry& entry : cache.list()) after += entry.bytes;
  EXPECT_LE(after, sum);
  EXPECT_THAT(names(), ::testing::Each(::testing::StartsWith("kernel_")));
}

TEST_F(DiskCacheTest, StaysWithinTheLimit) {
  DiskCache cache = open(30000);
  for (int seed = 0; seed < 30; ++seed) {
    store(cache, seed, 3000);
    std::uintmax_t sum = 0;
    for (const CacheEntry& entry : cache.list()) sum += entry.bytes;
    EXPECT_LE(sum, 30000u) << seed;
    EXPECT_GT(sum, static_cast<std::uintmax_t>(std::min(seed * 3000, 15000)))
        << seed;  // and does not throw away more than it must
  }
}

TEST_F(DiskCacheTest, TheEntryJustWrittenStays) {
  DiskCache cache = open(0);
  store(cache, 0, 5000);
  EXPECT_TRUE(has(cache, 0, 5000));
  store(cache, 1, 5000);
  EXPECT_TRUE(has(cache, 1, 5000));
  EXPECT_FALSE(has(cache, 0, 5000));
}

TEST_F(DiskCacheTest, ListsAndVerifies) {
  DiskCache cache = open();
  store(cache, 0);
  store(cache, 1);
  set_age(folder_of(cache, 0), std::chrono::minutes(60));
  const std::vector<CacheEntry> list = cache.list();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].name, "kernel_1");  // most recent first
  EXPECT_EQ(list[1].name, "kernel_0");
  EXPECT_EQ(list[1].arch, "sm_90a");
  EXPECT_EQ(list[1].key, key_for_tests(0).hex());
  EXPECT_EQ(list[1].folder, folder_of(cache, 0));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  EXPECT_NEAR(static_cast<double>(now_s - list[1].used_unix_s), 3600, 60);
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder_of(cache, 0))) bytes += file.file_size();
  EXPECT_EQ(list[1].bytes, bytes);

  fs::resize_file(folder_of(cache, 0) / "kernel.ptx", 3);
  EXPECT_TRUE(cache.list()[1].valid);  // only verify opens the files
  const std::vector<CacheEntry> verified = cache.list(true);
  EXPECT_TRUE(verified[0].valid);
  EXPECT_FALSE(verified[1].valid);
  EXPECT_THAT(verified[1].problem, HasSubstr("kernel.ptx has 3 bytes, expected"));
  EXPECT_EQ(cache.remove_bad(), 1u);
  EXPECT_THAT(cache.list(true), SizeIs(1));
  EXPECT_EQ(cache.remove_bad(), 0u);
}

TEST_F(DiskCacheTest, LeavesFilesOfOthersAlone) {
  const std::string hex(32, 'a');
  const std::vector<std::string> foreign = {"README.md",
                                            "notes/x-" + hex + "/meta.json",
                                            "k-" + hex.substr(1) + "/meta.json",
                                            ".tmp-abc/file",
                                            ".tmp-12",
                                            ".tmpfile",
                                            ".locks/mine",
                                            "k-" + std::string(32, 'b')};
  for (const std::string& name : foreign) folder_.write("cache/" + name, "precious");
  folder_.write("outside/meta.json", "precious");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "cache" / ("link-" + hex));
  DiskCache cache = open(0);
  for (int seed = 0; seed < 3; ++seed) store(cache, seed);
  EXPECT_NE(cache.lock(key_for_tests(0)), nullptr);
  EXPECT_THAT(cache.list(true), SizeIs(1));
  EXPECT_EQ(cache.remove_bad(), 0u);
  EXPECT_EQ(cache.clear(), 1u);
  EXPECT_THAT(cache.list(), IsEmpty());
  for (const std::string& name : foreign) EXPECT_EQ(read_file(folder_ / "cache" / name), "precious") << name;
  EXPECT_EQ(read_file(folder_ / "cache" / ("link-" + hex) / "meta.json"), "precious");
  EXPECT_THAT(names(), SizeIs(foreign.size() + 1));
  fs::remove(folder_ / "cache/.locks/mine");
  cache.clear();
  EXPECT_FALSE(fs::exists(folder_ / "cache/.locks"));
}

TEST_F(DiskCacheTest, SweepsLeftoversOfDeadWriters) {
  const std::string own = std::to_string(current_process());
  folder_.write("cache/.tmp-999999999-1/kernel.ptx", "half");  // above the highest process number there is
  folder_.write("cache/.tmp-" + own + "-2/kernel.ptx", "being written");
  folder_.write("cache/.tmp-" + own + "-3/kernel.ptx", "forgotten");
  set_age(folder_ / ("cache/.tmp-" + own + "-3"), std::chrono::minutes(61));
  DiskCache cache = open();
  EXPECT_THAT(names(), ElementsAre(".tmp-" + own + "-2"));
  EXPECT_THAT(cache.list(), IsEmpty());
}

TEST_F(DiskCacheTest, AFolderThatIsAFileIsOneLine) {
  folder_.write("cache", "I am a file");
  DiskCache cache = open();
  store(cache, 0);
  EXPECT_FALSE(has(cache, 0));
  EXPECT_EQ(cache.lock(key_for_tests(0)), nullptr);
  EXPECT_THAT(cache.list(true), IsEmpty());
  EXPECT_EQ(cache.clear(), 0u);
  EXPECT_EQ(cache.remove_bad(), 0u);
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], ::testing::StartsWith("cache: cannot use '"));
  EXPECT_THAT(lines_[0], HasSubstr("it is a file, not a folder; kernels are compiled each time"));
  EXPECT_EQ(read_file(folder_ / "cache"), "I am a file");
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsOneLine) {
  folder_.write("file", "");
  for (const fs::path& place : {folder_ / "file/below", fs::path("/proc/gpuforge/cache"), fs::path()}) {
    lines_.clear();
    DiskCache cache(place, kNoLimit, log_);
    store(cache, 0);
    store(cache, 1);
    EXPECT_FALSE(has(cache, 0));
    EXPECT_THAT(lines_, SizeIs(1)) << place;
  }
  DiskCache silent(folder_ / "file/below", kNoLimit, nullptr);  // without a log it is silent
  store(silent, 0);
}

// A folder that nobody, not even root, can write to.
TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsOneLine) {
  DiskCache cache("/proc/self", kNoLimit, log_);
  store(cache, 0);
  store(cache, 1);
  EXPECT_FALSE(has(cache, 0));
  EXPECT_EQ(cache.lock(key_for_tests(0), 10), nullptr);
  EXPECT_EQ(cache.clear(), 0u);
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("cache: cannot write '/proc/self'"));
}

TEST_F(DiskCacheTest, AFolderRemovedWhileInUseIsMadeAgain) {
  DiskCache cache = open();
  store(cache, 0);
  fs::remove_all(folder_ / "cache");
  EXPECT_THAT(cache.list(true), IsEmpty());
  EXPECT_EQ(cache.clear(), 0u);
  EXPECT_FALSE(has(cache, 0));
  store(cache, 0);
  EXPECT_TRUE(has(cache, 0));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(DiskCacheTest, LockIsHeldByOne) {
  DiskCache one = open();
  DiskCache two = open();
  const Hash128 key{0, 5};
  std::shared_ptr<DiskCache::Lock> held = one.lock(key, 1000);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(two.lock(key, 30), nullptr);
  EXPECT_EQ(one.lock(key, 0), nullptr);
  EXPECT_NE(two.lock({0, 6}, 30), nullptr);
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    held.reset();
  });
  EXPECT_NE(two.lock(key, 20000), nullptr);  // waits until it is free
  releasing.join();
}

TEST_F(DiskCacheTest, ThreadsShareOneFolder) {
  DiskCache caches[] = {open(40000), open(40000)};
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      DiskCache& cache = caches[t % 2];
      for (int i = 0; i < 60; ++i) {
        const int seed = (i * 7 + t) % 9;
        const Compiled expected = compiled_for_tests(seed, 4000);
        const auto found = cache.find(key_for_tests(seed), expected.source_name);
        if (found && !same_for_tests(*found, expected)) ++wrong;
        if (!found) cache.store(key_for_tests(seed), expected, "s");
        if (i % 20 == t) cache.list(true);
        if (i == 30 && t == 0) cache.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(lines_, IsEmpty());
  for (const CacheEntry& entry : caches[0].list(true)) EXPECT_TRUE(entry.valid) << entry.problem;
  for (const std::string& name : names()) EXPECT_FALSE(name.starts_with(".tmp-")) << name;
}

}  // namespace
}  // namespace gpuforge::jit
