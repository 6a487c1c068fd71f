#include "gpuforge/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "gpuforge/base/error.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

namespace gpuforge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

template <typename F>
std::string failure(ErrorCode code, F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  return "no failure";
}

// Runs in a child process, for what would disturb the test program itself; the message it returns comes back.
template <typename F>
std::string in_child(F f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = f();
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "the child failed: " + text;
}

template <typename F>
std::string code_and_message(F f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(name(error.code())) + " " + error.message();
  }
  return "no failure";
}

TEST_F(FileTest, ReadsBackWhatWasWritten) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  for (const std::string& content : {std::string(), every_byte, std::string(3 << 20, 'x')}) {
    write_file(folder_ / "file", content);
    EXPECT_EQ(read_file(folder_ / "file"), content);
    EXPECT_EQ(as_text(MappedFile(folder_ / "file").bytes()), content);
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, ReadsFilesThatSayTheyAreEmpty) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("Pid:"));
}

TEST_F(FileTest, ReadingNamesThePathAndTheReason) {
  const fs::path missing = folder_ / "missing";
  EXPECT_EQ(failure(ErrorCode::io, [&] { read_file(missing); }),
            "file: cannot read '" + missing.string() + "': No such file or directory");
  EXPECT_THAT(failure(ErrorCode::io, [&] { read_file(folder_); }), HasSubstr("it is a folder"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { MappedFile mapped(folder_); }), HasSubstr("it is a folder"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { MappedFile mapped(missing); }), HasSubstr("No such file"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { read_file(""); }), HasSubstr("No such file"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { read_file(std::string(5000, 'a')); }), HasSubstr("too long"));
}

TEST_F(FileTest, ReadingNeverWaitsForAPipeOrADevice) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(failure(ErrorCode::io, [&] { read_file(pipe); }), HasSubstr("it is a pipe"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { MappedFile mapped(pipe); }), HasSubstr("it is a pipe"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { read_file("/dev/zero"); }), HasSubstr("it is a device"));
}

TEST_F(FileTest, PermissionIsAReason) {
  write_file(folder_ / "secret", "text");
  fs::permissions(folder_ / "secret", fs::perms::none);
  fs::permissions(folder_, static_cast<fs::perms>(0555));
  const auto as_nobody = [&](auto f) {
    return in_child([&] {
      if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return std::string("still root");
      return code_and_message(f);
    });
  };
  const std::string read = as_nobody([&] { read_file(folder_ / "secret"); });
  EXPECT_THAT(read, HasSubstr("io file: cannot read"));
  EXPECT_THAT(read, HasSubstr("Permission denied"));
  const std::string write = as_nobody([&] { write_file(folder_ / "new", "text"); });
  EXPECT_THAT(write, HasSubstr("unavailable file: cannot write"));
  EXPECT_THAT(write, HasSubstr("Permission denied"));
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AWrongPlaceIsAnIoError) {
  write_file(folder_ / "file", "old");
  fs::create_directory(folder_ / "sub");
  EXPECT_THAT(failure(ErrorCode::io, [&] { write_file(folder_ / "file" / "below", "x"); }),
              HasSubstr("Not a directory"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { write_file(folder_ / "none" / "below", "x"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { write_file(folder_ / "sub", "x"); }), HasSubstr("Is a directory"));
  EXPECT_THAT(failure(ErrorCode::io, [&] { write_file(folder_ / std::string(300, 'n'), "x"); }),
              HasSubstr("too long"));
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(read_file(folder_ / "file"), "old");
}

TEST_F(FileTest, AFullDiskIsUnavailable) {
  EXPECT_EQ(failure(ErrorCode::unavailable, [] { write_file("/dev/full", "x"); }),
            "file: cannot write '/dev/full': No space left on device");
}

TEST_F(FileTest, AWriteCutShortLeavesTheOldFileAndNoLitter) {
  write_file(folder_ / "file", "old");
  const std::string result = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return std::string("no limit");
    return code_and_message([&] { write_file(folder_ / "file", std::string(100000, 'x')); });
  });
  EXPECT_THAT(result, HasSubstr("unavailable file: cannot write"));
  EXPECT_THAT(result, HasSubstr("File too large"));
  EXPECT_EQ(read_file(folder_ / "file"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, DevicesAreWrittenNotReplaced) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, LinksAndPermissionsStay) {
  write_file(folder_ / "real", "old");
  fs::permissions(folder_ / "real", static_cast<fs::perms>(0640));
  fs::create_symlink("real", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "real"), "new");
  EXPECT_EQ(fs::status(folder_ / "real").permissions(), static_cast<fs::perms>(0640));
}

TEST_F(FileTest, TheLongestNameCanBeWritten) {
  const fs::path path = folder_ / std::string(255, 'n');
  write_file(path, "x");
  EXPECT_EQ(read_file(path), "x");
}

TEST_F(FileTest, StrayTemporariesAreNotInTheWay) {
  std::ofstream(folder_ / (".gpuforge-" + std::to_string(getpid()) + "-0.tmp")) << "left by a crash";
  write_file(folder_ / "file", "x");
  EXPECT_EQ(read_file(folder_ / "file"), "x");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(FileTest, ReadersSeeTheOldFileOrTheNewOne) {
  const fs::path path = folder_ / "shared";
  constexpr std::size_t kSize = 100000;
  write_file(path, std::string(kSize, 'a'));
  std::atomic<bool> done = false;
  std::thread first([&] {
    for (int i = 0; i < 100; ++i) write_file(path, std::string(kSize, 'b'));
    done = true;
  });
  std::thread second([&] {
    while (!done) write_file(path, std::string(kSize, 'c'));
  });
  bool whole = true;
  while (!done) {
    const std::string content = read_file(path);
    whole = whole && content.size() == kSize && content.find_first_not_of(content[0]) == std::string::npos;
  }
  first.join();
  second.join();
  EXPECT_TRUE(whole);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, MappingsMoveAndMayBeEmpty) {
  write_file(folder_ / "empty", "");
  write_file(folder_ / "full", "content");
  MappedFile empty(folder_ / "empty");
  EXPECT_TRUE(empty.bytes().empty());
  MappedFile full(folder_ / "full");
  MappedFile moved = std::move(full);
  EXPECT_EQ(as_text(moved.bytes()), "content");
  EXPECT_TRUE(full.bytes().empty());  // NOLINT: a moved-from mapping is an empty one
  empty = std::move(moved);
  EXPECT_EQ(as_text(empty.bytes()), "content");
  fs::remove(folder_ / "full");
  EXPECT_EQ(as_text(empty.bytes()), "content");
}

TEST(ExecutablePath, IsThisProgram) {
  const fs::path path = executable_path();
  EXPECT_TRUE(path.is_absolute());
  EXPECT_TRUE(fs::is_regular_file(path));
  EXPECT_THAT(path.filename().string(), HasSubstr("base_test"));
}

}  // namespace
}  // namespace gpuforge
