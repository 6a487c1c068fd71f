#include "gpuforge/jit/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/fake_device_for_tests.h"

namespace gpuforge::jit {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSaxpyPtx =
    ".version 9.0\n.entry saxpy(.param .f32 saxpy_param_0, .param .u64 saxpy_param_1, .param .u64 "
    "saxpy_param_2,"
    " .param .u32 saxpy_param_3) { ret; }";

std::shared_ptr<const Compiled> compiled_of(std::string_view ptx, std::string_view source) {
  auto compiled = std::make_shared<Compiled>();
  compiled->ptx = ptx;
  compiled->entries = entries_from_ptx(ptx, "k.cu");
  add_declared_types(compiled->entries, source);
  return compiled;
}

Kernel kernel_of(std::string_view ptx, std::string_view source, device::FunctionFacts facts = {}) {
  const auto compiled = compiled_of(ptx, source);
  return Kernel(compiled, compiled->entries.front(), std::make_shared<FakeFunction>(std::move(facts)));
}

Kernel saxpy() {
  return kernel_of(kSaxpyPtx, "__global__ void saxpy(float a, const float* x, float* y, int n) {}");
}

template <typename... Args>
std::string launch(const Kernel& kernel, const Args&... args) {
  FakeDevice device;
  FakeStream stream(device);
  try {
    kernel({}, stream, args...);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(stream.launches, 0) << "a wrong call reached the device";
    return error.message();
  }
  EXPECT_EQ(stream.launches, 1);
  return "launched";
}

// A struct that only kernels have a type for.
TEST(KernelLaunch, TakesTheBytesOfAStruct) {
  const Kernel kernel = kernel_of(".version 9.0\n.entry k(.param .align 8 .b8 k_param_0[16]) { ret; }",
                                  "__global__ void k(Matrix layout) {}");
  const std::array<std::int64_t, 2> values = {3, 4};
  EXPECT_EQ(launch(kernel, std::as_bytes(std::span(values))), "launched");
  EXPECT_THAT(launch(kernel, std::as_bytes(std::span(values).first(1))),
              HasSubstr("parameter 0 'layout' is Matrix (16 bytes), got struct (8 bytes)"));
}

float* const kPointer = nullptr;
constexpr device::Address kAddress = 64;

TEST(KernelLaunch, PassesTheValues) {
  FakeDevice device;
  FakeStream stream(device);
  const float a = 1.5f;
  const device::Address x = 0x1000;
  const int n = 7;
  device::LaunchConfig config;
  config.grid.x = 3;
  saxpy()(config, stream, a, x, kPointer, n);
  ASSERT_EQ(stream.parameters.size(), 4u);
  EXPECT_EQ(stream.config.grid.x, 3u);
  EXPECT_EQ(stream.value<float>(0), 1.5f);
  EXPECT_EQ(stream.value<device::Address>(1), 0x1000u);
  EXPECT_EQ(stream.value<float*>(2), nullptr);
  EXPECT_EQ(stream.value<int>(3), 7);
}

TEST(KernelLaunch, RefusesAWrongNumber) {
  EXPECT_EQ(launch(saxpy(), 1.0f, kPointer, kPointer),
            "saxpy takes 4 arguments (float a, const float* x, float* y, int n), got 3");
  EXPECT_EQ(launch(saxpy()), "saxpy takes 4 arguments (float a, const float* x, float* y, int n), got 0");
  EXPECT_EQ(launch(saxpy(), 1.0f, kPointer, kPointer, 1, 2),
            "saxpy takes 4 arguments (float a, const float* x, float* y, int n), got 5");
  const Kernel none = kernel_of(".version 9.0\n.entry none() {}", "");
  EXPECT_EQ(launch(none), "launched");
  EXPECT_EQ(launch(none, 1), "none takes 0 arguments, got 1");
  const Kernel one = kernel_of(".version 9.0\n.entry one(.param .u32 one_param_0) {}", "");
  EXPECT_EQ(launch(one), "one takes 1 argument (u32), got 0");
}

TEST(KernelLaunch, RefusesAWrongSize) {
  EXPECT_EQ(launch(saxpy(), 1.0f, kPointer, kPointer, 1.0),
            "saxpy: parameter 3 'n' is int (4 bytes), got f64 (8 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0, kPointer, kPointer, 1),
            "saxpy: parameter 0 'a' is float (4 bytes), got f64 (8 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, 4, kPointer, 1),
            "saxpy: parameter 1 'x' is const float* (8 bytes), got i32 (4 bytes)");
  struct Big {
    std::array<char, 24> bytes;
  };
  EXPECT_EQ(launch(saxpy(), 1.0f, Big{}, kPointer, 1),
            "saxpy: parameter 1 'x' is const float* (8 bytes), got struct (24 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, kPointer, kPointer, true),
            "saxpy: parameter 3 'n' is int (4 bytes), got 8-bit integer (1 bytes)");
}

TEST(KernelLaunch, RefusesAnotherKindOfTheSameSize) {
  EXPECT_EQ(launch(saxpy(), 1, kPointer, kPointer, 1),
            "saxpy: parameter 0 'a' is float (4 bytes), got i32 (4 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, kPointer, kPointer, 1.0f),
            "saxpy: parameter 3 'n' is int (4 bytes), got f32 (4 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, 1.0, kPointer, 1),
            "saxpy: parameter 1 'x' is const float* (8 bytes), got f64 (8 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, std::int64_t{1}, kPointer, 1),
            "saxpy: parameter 1 'x' is const float* (8 bytes), got i64 (8 bytes)");
  EXPECT_EQ(launch(saxpy(), 1.0f, kAddress, kAddress, 1u),
            "launched");  // u32 for int is fine, addresses are u64

  const Kernel wide = kernel_of(".version 9.0\n.entry k(.param .u64 k_param_0, .param .f64 k_param_1) {}",
                                "__global__ void k(long long n, double d) {}");
  EXPECT_EQ(launch(wide, kPointer, 1.0), "k: parameter 0 'n' is long long (8 bytes), got pointer (8 bytes)");
  EXPECT_EQ(launch(wide, std::uint64_t{1}, kPointer),
            "k: parameter 1 'd' is double (8 bytes), got pointer (8 bytes)");
  EXPECT_EQ(launch(wide, std::uint64_t{1}, 1.0), "launched");

  const Kernel half = kernel_of(".version 9.0\n.entry k(.param .align 2 .b8 k_param_0[2]) {}",
                                "__global__ void k(gpuforge::half_t h) {}");
  EXPECT_EQ(launch(half, Half{}), "launched");
  EXPECT_EQ(launch(half, std::int16_t{1}),
            "k: parameter 0 'h' is gpuforge::half_t (2 bytes), got i16 (2 bytes)");
}

TEST(KernelLaunch, PtxTypesServeWhereNothingIsDeclared) {
  const Kernel kernel = kernel_of(
      ".version 9.0\n.entry k(.param .f32 a, .param .u32 n, .param .b32 bits, .param .u64 either) {}", "");
  EXPECT_EQ(launch(kernel, 1.0f, 2, 3.0f, kPointer), "launched");
  EXPECT_EQ(launch(kernel, 1.0f, 2u, 3, std::int64_t{4}), "launched");
  EXPECT_EQ(launch(kernel, 1, 2, 3, kPointer), "k: parameter 0 'a' is f32 (4 bytes), got i32 (4 bytes)");
  EXPECT_EQ(launch(kernel, 1.0f, 2.0f, 3, kPointer),
            "k: parameter 1 'n' is u32 (4 bytes), got f32 (4 bytes)");
}

TEST(KernelLaunch, UnknownTypesAreComparedBySize) {
  const Kernel kernel =
      kernel_of(".version 9.0\n.entry k(.param .u32 k_param_0, .param .align 8 .b8 k_param_1[8]) {}",
                "__global__ void k(Mode m, Pair p) {}");
  struct Pair {
    int a, b;
  };
  EXPECT_EQ(launch(kernel, 1, Pair{1, 2}), "launched");
  EXPECT_EQ(launch(kernel, 1, 2.0), "launched");
  EXPECT_EQ(launch(kernel, 1, 2), "k: parameter 1 'p' is Pair (8 bytes), got i32 (4 bytes)");
}

TEST(KernelLaunch, HandMadeArguments) {
  const Entry entry =
      compiled_of(kSaxpyPtx, "__global__ void saxpy(float a, const float* x, float* y, int n) {}")
          ->entries[0];
  const std::array<char, 8> bytes{};
  const auto check = [&](Argument last) {
    const std::array<Argument, 4> list = {Argument{bytes.data(), 4, "f32"},
                                          Argument{bytes.data(), 8, "pointer"}, Argument{bytes.data(), 8, {}},
                                          last};
    try {
      check_arguments(entry, list);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("good");
  };
  EXPECT_EQ(check({bytes.data(), 4, "i32"}), "good");
  EXPECT_EQ(check({bytes.data(), 4, "mystery"}), "good");
  EXPECT_EQ(check({bytes.data(), 0, {}}), "saxpy: parameter 3 'n' is int (4 bytes), got 0 bytes");
  EXPECT_EQ(check({nullptr, 4, "i32"}), "saxpy: parameter 3 'n' was given no data");
  EXPECT_EQ(check({bytes.data(), 2, "bf16"}), "saxpy: parameter 3 'n' is int (4 bytes), got bf16 (2 bytes)");
}

TEST(KernelLaunch, TheDriverKnowsBest) {
  device::FunctionFacts facts;
  facts.parameters_known = true;
  facts.parameters = {{0, 4}, {8, 8}};
  // The PTX told nothing.
  auto compiled = std::make_shared<Compiled>();
  Entry entry;
  entry.name = "k";
  compiled->cubin = "code";
  compiled->entries = {entry};
  const Kernel told(compiled, entry, std::make_shared<FakeFunction>(facts));
  EXPECT_EQ(launch(told, 1.0f, kPointer), "launched");
  EXPECT_EQ(launch(told, 1.0f, 2), "k: parameter 1 has 8 bytes, got i32 (4 bytes)");
  EXPECT_EQ(launch(told, 1.0f), "k takes 2 arguments (4 bytes, 8 bytes), got 1");
  // The PTX told something else.
  EXPECT_EQ(launch(kernel_of(kSaxpyPtx, "", facts), 1.0f, kPointer), "launched");
  // Nobody knows: launched as given.
  const Kernel unknown(compiled, entry, std::make_shared<FakeFunction>(device::FunctionFacts{}));
  EXPECT_EQ(launch(unknown, 1, 2, 3), "launched");
}

TEST(KernelLaunch, BeginsEarlyWhereItsOwnCodeSaysSo) {
  const auto compiled = compiled_of(
      ".version 9.0\n.visible .entry first() { ret; }\n.visible .entry second() { // "
      "begin_after_previous_kernel\n"
      "griddepcontrol.wait; ret; }\n.entry last() { griddepcontrol.wait; ret; }",
      "");
  ASSERT_EQ(compiled->entries.size(), 3u);
  for (const Entry& entry : compiled->entries) {
    const Kernel kernel(compiled, entry, std::make_shared<FakeFunction>(device::FunctionFacts{}));
    EXPECT_EQ(kernel.begins_early(), entry.name == "second") << entry.name;
    FakeDevice device;
    FakeStream stream(device);
    kernel({}, stream);
    EXPECT_EQ(stream.config.programmatic, kernel.begins_early());
    kernel({.programmatic = true}, stream);
    EXPECT_TRUE(stream.config.programmatic);
  }
}

TEST(KernelLaunch, MoreParametersThanTheStackHolds) {
  std::string ptx = ".version 9.0\n.entry k(";
  for (int i = 0; i < 100; ++i) ptx += (i > 0 ? ", " : "") + std::string(".param .u32 p") + std::to_string(i);
  const Kernel kernel = kernel_of(ptx + ") {}", "");
  std::array<int, 100> values{};
  std::vector<Argument> list;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int>(i * i);
    list.push_back(argument(values[i]));
  }
  FakeDevice device;
  FakeStream stream(device);
  kernel.launch({}, list, stream);
  ASSERT_EQ(stream.parameters.size(), 100u);
  EXPECT_EQ(stream.value<int>(99), 99 * 99);
}

}  // namespace
}  // namespace gpuforge::jit
