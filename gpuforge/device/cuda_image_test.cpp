#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "gpuforge/device/cuda_module.h"
#include "gpuforge/device/device_testing.h"

namespace gpuforge::device {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const start = reinterpret_cast<const std::byte*>(text.data());
  return {start, start + text.size()};
}

template <typename T>
void put(std::vector<std::byte>& image, std::size_t at, T value) {
  std::memcpy(image.data() + at, &value, sizeof(value));
}

// A 64-bit ELF with one section of 32 bytes after the header, and the section table at the end.
std::vector<std::byte> small_elf() {
  std::vector<std::byte> image(64 + 32 + 64);
  std::memcpy(image.data(),
              "\x7f"
              "ELF\x02\x01\x01",
              7);
  put<std::uint64_t>(image, 40, 96);  // section table
  put<std::uint16_t>(image, 58, 64);  // bytes per entry
  put<std::uint16_t>(image, 60, 1);   // entries
  put<std::uint64_t>(image, 96 + 24, 64);
  put<std::uint64_t>(image, 96 + 32, 32);
  return image;
}

TEST(ModuleImage, KnowsTextAndBinaries) {
  EXPECT_EQ(check_module_image(bytes_of("//\n.version 7.0\n.target sm_80\n"), "a", "cuda:0"),
            ImageKind::text);
  EXPECT_EQ(check_module_image(small_elf(), "a", "cuda:0"), ImageKind::binary);
  std::vector<std::byte> fatbin(16 + 8);
  put<std::uint32_t>(fatbin, 0, 0xBA55ED50);
  put<std::uint16_t>(fatbin, 6, 16);
  put<std::uint64_t>(fatbin, 8, 8);
  EXPECT_EQ(check_module_image(fatbin, "a", "cuda:0"), ImageKind::binary);
  fatbin.pop_back();
  expect_refused([&] { check_module_image(fatbin, "a", "cuda:0"); },
                 "cuda:0: module a: the fatbin of 23 bytes");
}

TEST(ModuleImage, RefusesWhatTheDriverWouldReadPast) {
  const std::vector<std::byte> whole = small_elf();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    expect_refused([&] { check_module_image(part, "k", "cuda:0"); }, "cuda:0: module k: ");
  }
  std::vector<std::byte> hostile = small_elf();
  put<std::uint64_t>(hostile, 40, ~std::uint64_t{0} - 8);  // the table's place wraps around
  expect_refused([&] { check_module_image(hostile, "k", "cuda:0"); }, "cuda:0: module k: the cubin");
  hostile = small_elf();
  put<std::uint64_t>(hostile, 96 + 32, ~std::uint64_t{0});
  expect_refused([&] { check_module_image(hostile, "k", "cuda:0"); }, "cuda:0: module k: the cubin");
  hostile = small_elf();
  put<std::uint16_t>(hostile, 54, 65535);  // program headers beyond the end
  put<std::uint16_t>(hostile, 56, 65535);
  expect_refused([&] { check_module_image(hostile, "k", "cuda:0"); }, "cuda:0: module k: the cubin");
}

TEST(ModuleImage, RefusesWhatIsNothingOfTheKind) {
  expect_refused([&] { check_module_image({}, "k", "cuda:0"); }, "cuda:0: module k: the image is empty");
  expect_refused([&] { check_module_image(bytes_of("__global__ void f() {}"), "k", "cuda:0"); },
                 "cuda:0: module k: the image is neither");
  expect_refused([&] { check_module_image(bytes_of(std::string(3, '\0')), "k", "cuda:0"); },
                 "cuda:0: module k: ");
}

}  // namespace
}  // namespace gpuforge::device
