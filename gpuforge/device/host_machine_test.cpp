#include "gpuforge/device/host_machine.h"
#include "gpuforge/base/temporary_folder_for_tests.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gpuforge::device {
namespace {

constexpr std::size_t kMega = 1 << 20;

// A root folder with its own proc/ and sys/.
class HostMachine : public testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo", "MemTotal:       1048576 kB\nMemFree:  1 kB\nMemAvailable:    524288 kB\n");
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
};

TEST_F(HostMachine, ReadsMeminfo) {
  const MemoryInfo info = read_host_memory(root_);
  EXPECT_EQ(info.total_bytes, 1024 * kMega);
  EXPECT_EQ(info.free_bytes, 512 * kMega);
}

TEST_F(HostMachine, AControlGroupLimitsIt) {
  write("proc/self/cgroup", "0::/service/worker\n");
  write("sys/fs/cgroup/service/worker/memory.max", "max\n");
  write("sys/fs/cgroup/service/memory.max", std::to_string(256 * kMega) + "\n");
  write("sys/fs/cgroup/service/memory.current", std::to_string(100 * kMega) + "\n");
  write("sys/fs/cgroup/service/memory.stat", "anon 1\ninactive_file " + std::to_string(30 * kMega) + "\n");
  const MemoryInfo info = read_host_memory(root_);
  EXPECT_EQ(info.total_bytes, 256 * kMega);
  EXPECT_EQ(info.free_bytes, (256 - 100 + 30) * kMega);
}

TEST_F(HostMachine, AnOldControlGroupLimitsItToo) {
  write("proc/self/cgroup", "5:cpu:/\n4:memory:/box\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(64 * kMega));
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(80 * kMega));
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const MemoryInfo info = read_host_memory(root_);
  EXPECT_EQ(info.total_bytes, 64 * kMega);
  EXPECT_EQ(info.free_bytes, 0u);
}

TEST_F(HostMachine, MissingAndDamagedFilesAreNoLimit) {
  write("proc/self/cgroup", "0::/gone\nnonsense\n::::\n0::");
  write("sys/fs/cgroup/memory.max", "not a number");
  EXPECT_EQ(read_host_memory(root_).free_bytes, 512 * kMega);
  const MemoryInfo nothing = read_host_memory(root_ / "nowhere");
  EXPECT_EQ(nothing.total_bytes, 0u);
  EXPECT_EQ(nothing.free_bytes, 0u);
}

TEST_F(HostMachine, ReadsTheProcessor) {
  write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU @ 2.1GHz\ncpu MHz\t\t: 2100.123\n");
  write("sys/devices/system/cpu/cpu0/cache/index2/size", "2048K\n");
  const HostProcessor processor = read_host_processor(root_);
  EXPECT_EQ(processor.product, "Test CPU @ 2.1GHz");
  EXPECT_EQ(processor.clock_khz, 2'100'000);
  EXPECT_EQ(processor.l2_bytes, 2 * kMega);
  EXPECT_GE(processor.threads, 1);
  EXPECT_EQ(read_host_processor(root_ / "nowhere").product, "CPU");
}

TEST(ThisMachine, HasMemory) {
  const MemoryInfo info = read_host_memory();
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.total_bytes);
}

}  // namespace
}  // namespace gpuforge::device
