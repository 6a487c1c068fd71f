// What the cpu device tells about its machine, read from Linux's /proc and /sys. Not installed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "gpuforge/device/device.h"

namespace gpuforge::device {

// Memory this process can have: the machine's, and no more than its control groups allow. `root` is where
// proc/ and sys/ lie; what cannot be read counts as no limit, and nothing at all gives zeros.
MemoryInfo read_host_memory(const std::filesystem::path& root = "/");

struct HostProcessor {
  std::string product;  // the model name
  int threads = 1;
  int clock_khz = 0;
  std::size_t l2_bytes = 0;
};
HostProcessor read_host_processor(const std::filesystem::path& root = "/");

}  // namespace gpuforge::device
