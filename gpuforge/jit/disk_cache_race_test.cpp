// The disk cache between processes: races, killed writers, and disks that give out.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "gpuforge/base/file.h"
#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/jit/compiled_for_tests.h"
#include "gpuforge/jit/disk_cache.h"
#include "gpuforge/jit/file_lock.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kNoLimit = std::uintmax_t{1} << 40;
constexpr std::size_t kBytes = 20000;

// What a child process does; its exit code is the number returned. Exceptions count as 99.
pid_t start(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 99;
  try {
    code = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
  }
  ::_exit(code);
}

int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void append_byte(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, "x", 1) != 1) ::_exit(98);
  ::close(file);
}

std::vector<std::string> temporaries(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".tmp-")) found.push_back(name);
  }
  return found;
}

struct RaceResult {
  std::vector<std::uintmax_t> compiles;  // per key
  int failures = 0;
};

// Eight processes want the same keys of an empty cache at the same moment.
RaceResult race(const TemporaryFolder& folder, bool locked) {
  constexpr int kProcesses = 8;
  constexpr int kKeys = 5;
  std::vector<pid_t> children;
  int gate[2] = {};
  if (::pipe(gate) != 0) return {.compiles = {}, .failures = -1};
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start([&]() -> int {
      char go = 0;
      ::close(gate[1]);
      [[maybe_unused]] const ssize_t ignored =
          ::read(gate[0], &go, 1);  // returns when the parent opens the gate
      DiskCache cache(folder / "cache", kNoLimit, nullptr);
      for (int i = 0; i < kKeys; ++i) {
        const int seed = (i + process % 2) % kKeys;
        const Compiled expected = compiled_for_tests(seed, kBytes);
        const auto held = locked ? cache.lock(key_for_tests(seed)) : nullptr;
        if (locked && held == nullptr) return 1;
        if (const auto found = cache.find(key_for_tests(seed), expected.source_name)) {
          if (!same_for_tests(*found, expected)) return 2;
          continue;
        }
        append_byte(folder / ("compiled_" + std::to_string(seed)));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        cache.store(key_for_tests(seed), expected, "source");
        const auto found = cache.find(key_for_tests(seed), expected.source_name);
        if (!found || !same_for_tests(*found, expected)) return 3;
      }
      return 0;
    }));
  }
  ::close(gate[0]);
  ::close(gate[1]);
  RaceResult result;
  for (const pid_t child : children) {
    const int code = exit_code(child);
    EXPECT_EQ(code, 0);
    if (code != 0) ++result.failures;
  }
  for (int seed = 0; seed < kKeys; ++seed) {
    result.compiles.push_back(fs::file_size(folder / ("compiled_" + std::to_string(seed))));
  }
  return result;
}

TEST(DiskCacheRace, EightProcessesCompileEachKeyOnce) {
  for (int round = 0; round < 3; ++round) {
    const TemporaryFolder folder;
    const RaceResult result = race(folder, true);
    EXPECT_EQ(result.failures, 0);
    EXPECT_THAT(result.compiles, ::testing::Each(1u));
    DiskCache cache(folder / "cache", kNoLimit, nullptr);
    const std::vector<CacheEntry> entries = cache.list(true);
    EXPECT_EQ(entries.size(), 5u);
    for (const CacheEntry& entry : entries) EXPECT_TRUE(entry.valid) << entry.problem;
    EXPECT_THAT(temporaries(cache.folder()), ::testing::IsEmpty());
  }
}

// Where locking does not work nobody waits, several compile, and still nobody reads half an entry.
TEST(DiskCacheRace, WithoutLocksNobodyReadsHalfAnEntry) {
  for (int round = 0; round < 3; ++round) {
    const TemporaryFolder folder;
    const RaceResult result = race(folder, false);
    EXPECT_EQ(result.failures, 0);
    for (const std::uintmax_t count : result.compiles) EXPECT_GE(count, 1u);
    DiskCache cache(folder / "cache", kNoLimit, nullptr);
    for (const CacheEntry& entry : cache.list(true)) EXPECT_TRUE(entry.valid) << entry.problem;
    EXPECT_THAT(temporaries(cache.folder()), ::testing::IsEmpty());
  }
}

TEST(DiskCacheRace, LockOfAKilledProcessIsFree) {
  const TemporaryFolder folder;
  const Hash128 key{0, 3};
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = start([&]() -> int {
    DiskCache cache(folder / "cache", kNoLimit, nullptr);
    const auto held = cache.lock(key);
    const char answer = held != nullptr ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) return 1;
    ::pause();
    return 0;
  });
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  DiskCache cache(folder / "cache", kNoLimit, nullptr);
  EXPECT_EQ(cache.lock(key, 30), nullptr);
  ::kill(child, SIGKILL);
  EXPECT_EQ(exit_code(child), 128 + SIGKILL);
  EXPECT_NE(cache.lock(key, 5000), nullptr);
  ::close(ready[0]);
  ::close(ready[1]);
}

// A writer that stores, reads, evicts and clears is killed at a random moment; every entry to be seen is
// whole.
TEST(DiskCacheRace, SurvivesKillAtAnyPoint) {
  const TemporaryFolder folder;
  std::mt19937 random(20260102);
  int interrupted = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t child = start([&]() -> int {
      DiskCache cache(folder / "cache", 6 * kBytes, nullptr);
      for (int i = 0;; ++i) {
        const int seed = (round + i) % 8;
        const Compiled expected = compiled_for_tests(seed, kBytes);
        const auto found = cache.find(key_for_tests(seed), expected.source_name);
        if (found && !same_for_tests(*found, expected)) return 1;
        if (!found) cache.store(key_for_tests(seed), expected, "source");
        if (i % 11 == 10) cache.clear();
      }
    });
    const int pause_us = std::uniform_int_distribution<int>(0, 12000)(random);
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    ::kill(child, SIGKILL);
    ASSERT_EQ(exit_code(child), 128 + SIGKILL) << "the child found a wrong entry";
    if (!fs::exists(folder / "cache")) continue;  // killed before it began
    if (!temporaries(folder / "cache").empty()) ++interrupted;

    DiskCache cache(folder / "cache", kNoLimit, nullptr);
    EXPECT_THAT(temporaries(cache.folder()), ::testing::IsEmpty()) << "leftovers of the killed writer";
    for (const CacheEntry& entry : cache.list(true)) EXPECT_TRUE(entry.valid) << entry.problem;
    const int seed = 1000 + round;
    const Compiled fresh = compiled_for_tests(seed, 100);
    cache.store(key_for_tests(seed), fresh, "source");
    const auto found = cache.find(key_for_tests(seed), fresh.source_name);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(same_for_tests(*found, fresh));
    if (round % 8 == 7) cache.clear();
  }
  EXPECT_GT(interrupted, 0) << "no kill hit a writer: the pauses are wrong for this machine";
}

enum class SmallDisk { full, read_only };

// In a child: 0 when the cache behaved on a disk of 64 KiB, 50 when no such disk can be made here.
int use_small_disk(const fs::path& place, SmallDisk kind) {
  if (::unshare(CLONE_NEWNS) != 0) return 50;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 50;
  if (::mount("none", place.c_str(), "tmpfs", 0, "size=64k") != 0) return 50;
  std::vector<std::string> lines;
  const auto log = std::make_shared<Log>(LogLevel::warning,
                                         [&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  DiskCache cache(place / "cache", kNoLimit, log);
  const Compiled small = compiled_for_tests(0, 100);
  cache.store(key_for_tests(0), small, "s");
  if (!cache.find(key_for_tests(0), small.source_name) || !lines.empty()) return 1;
  if (kind == SmallDisk::read_only &&
      ::mount("none", place.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    return 50;
  }
  const Compiled large = compiled_for_tests(2, 100000);
  cache.store(key_for_tests(2), large, "s");
  cache.store(key_for_tests(2), large, "s");
  if (cache.find(key_for_tests(2), large.source_name)) return 2;
  if (!cache.find(key_for_tests(0), small.source_name)) return 3;  // what was there still serves
  if (!temporaries(cache.folder()).empty()) return 4;
  const char* reason = kind == SmallDisk::full ? "No space left on device" : "Read-only file system";
  if (lines.size() != 1 || lines[0].find(reason) == std::string::npos) return 5;
  if (lines[0].find("kernels are compiled each time") == std::string::npos) return 6;
  if (kind == SmallDisk::read_only) {
    if (cache.clear() != 0 || cache.lock(key_for_tests(0), 10) != nullptr) return 7;
    return cache.list(true).size() == 1 ? 0 : 8;
  }
  cache.store(key_for_tests(4), compiled_for_tests(4, 100), "s");  // a small one still fits
  return cache.find(key_for_tests(4), "kernel_4.cu") ? 0 : 9;
}

TEST(DiskCacheRace, AFullDiskIsOneLine) {
  const TemporaryFolder folder;
  const int code = exit_code(start([&] { return use_small_disk(folder.path(), SmallDisk::full); }));
  if (code == 50)
    GTEST_SKIP() << "needs the right to mount a small disk; FilesThatCannotGrow covers failing writes";
  EXPECT_EQ(code, 0);
}

TEST(DiskCacheRace, AReadOnlyDiskIsOneLineAndStillServes) {
  const TemporaryFolder folder;
  const int code = exit_code(start([&] { return use_small_disk(folder.path(), SmallDisk::read_only); }));
  if (code == 50)
    GTEST_SKIP() << "needs the right to mount a small disk; FilesThatCannotGrow covers failing writes";
  EXPECT_EQ(code, 0);
}

// Writes that fail half way, without any right: a limit on the size of files.
TEST(DiskCacheRace, FilesThatCannotGrow) {
  const TemporaryFolder folder;
  const int code = exit_code(start([&]() -> int {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10000, 10000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    std::vector<std::string> lines;
    const auto log = std::make_shared<Log>(
        LogLevel::warning, [&](LogLevel, std::string_view text) { lines.emplace_back(text); });
    DiskCache cache(folder / "cache", kNoLimit, log);
    for (int i = 0; i < 3; ++i) cache.store(key_for_tests(0), compiled_for_tests(0, 50000), "s");
    if (lines.size() != 1 || lines[0].find("cache: cannot write '") != 0) return 2;
    if (!fs::is_empty(folder / "cache")) return 3;
    cache.store(key_for_tests(2), compiled_for_tests(2, 100), "s");
    return cache.find(key_for_tests(2), "kernel_2.cu") ? 0 : 4;
  }));
  EXPECT_EQ(code, 0);
}

TEST(DiskCacheRace, ProcessesAreKnownToRun) {
  EXPECT_TRUE(process_runs(current_process()));
  const pid_t child = start([] { return 0; });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_FALSE(process_runs(child));
  EXPECT_FALSE(process_runs(0));
  EXPECT_FALSE(process_runs(-1));
  EXPECT_FALSE(process_runs(std::int64_t{1} << 40));
}

}  // namespace
}  // namespace gpuforge::jit
