#include "gpuforge/context/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

namespace fs = std::filesystem;

TEST(Context, KnowsWhatItWasMadeOf) {
  const auto device = device::make_cpu_device();
  const auto allocator = memory::make_device_allocator(device);
  std::vector<std::string> lines;
  const auto log = std::make_shared<Log>(LogLevel::info,
                                         [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto context = Context::make(device, {.jit = {}, .allocator = allocator, .log = log});
  EXPECT_EQ(&context->device(), device.get());
  EXPECT_EQ(context->allocator(), allocator);
  context->log().info("hello {}", 1);
  EXPECT_THAT(lines, testing::ElementsAre("hello 1"));
  EXPECT_EQ(&context->make_stream()->device(), device.get());
}

TEST(Context, DefaultsAreTheDevicesMemoryAndSilence) {
  const auto device = device::make_cpu_device();
  const auto context = Context::make(device);
  ASSERT_NE(context->allocator(), nullptr);
  EXPECT_EQ(&context->allocator()->device(), device.get());
  EXPECT_FALSE(context->log().enabled(LogLevel::error));
  context->log().warning("nobody hears this");
  EXPECT_EQ(context->jit().disk_cache(), nullptr);
  EXPECT_EQ(context->jit().counters().compiles, 0u);
}

TEST(Context, TheEnvironmentMaySayNoPool) {
  const auto device = device::make_cpu_device();
  EXPECT_EQ(allocator_for({}, device), nullptr);
  Environment environment;
  environment.pool = "on";
  EXPECT_EQ(allocator_for(environment, device), nullptr);
  environment.pool = "off";
  const auto context = Context::make(device, {.jit = {}, .allocator = allocator_for(environment, device)});
  EXPECT_EQ(context->pool(), nullptr);
  EXPECT_NE(Context::make(device)->pool(), nullptr);
  environment.pool = "small";
  try {
    allocator_for(environment, device);
    FAIL() << "small is no pool";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "GPUFORGE_POOL: it is on or off; found small");
  }
}

TEST(Context, PrintfOfSimulatedKernelsIsLogged) {
  std::vector<std::string> lines;
  const auto log = std::make_shared<Log>(LogLevel::info,
                                         [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto device = device::make_sim_device();
  EXPECT_EQ(device->options().print, nullptr);
  Context::make(device, {.jit = {}, .allocator = nullptr, .log = log});
  ASSERT_NE(device->options().print, nullptr);
  device->options().print("x = 1\n");
  EXPECT_THAT(lines, testing::ElementsAre("x = 1"));

  std::string printed;
  device::SimOptions options;
  options.print = [&](std::string_view text) { printed += text; };
  const auto other = device::make_sim_device("sm_80", options);
  Context::make(other, {.jit = {}, .allocator = nullptr, .log = log});
  other->options().print("mine");
  EXPECT_EQ(printed, "mine");
  EXPECT_EQ(lines.size(), 1u);
}

TEST(Context, OwnsItsDevice) {
  auto device = device::make_cpu_device();
  const std::weak_ptr<device::Device> watched = device;
  auto context = Context::make(std::move(device));
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(context->device().facts().name, "cpu");
  context.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(Context, RefusesNoDeviceAndAForeignAllocator) {
  EXPECT_THROW(Context::make(nullptr), Error);
  const auto allocator = memory::make_device_allocator(device::make_cpu_device());
  try {
    Context::make(device::make_cpu_device(), {.jit = {}, .allocator = allocator, .log = nullptr});
    FAIL() << "an allocator of another device was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), testing::StartsWith("context: "));
  }
}

Environment nothing_set() {
  return {};
}

TEST(JitOptions, CacheFolderInOrderOfPreference) {
  Environment environment = nothing_set();
  EXPECT_EQ(jit_options(environment).cache_dir, std::nullopt);
  environment.home = "/home/somebody";
  EXPECT_EQ(jit_options(environment).cache_dir, fs::path("/home/somebody/.cache/gpuforge"));
  environment.xdg_cache = "/var/somebody/cache";
  EXPECT_EQ(jit_options(environment).cache_dir, fs::path("/var/somebody/cache/gpuforge"));
  environment.cache_dir = "/scratch/kernels";
  EXPECT_EQ(jit_options(environment).cache_dir, fs::path("/scratch/kernels"));
}

TEST(JitOptions, RelativeFoldersOfTheSystemAreIgnored) {
  Environment environment = nothing_set();
  environment.xdg_cache = "cache";
  EXPECT_EQ(jit_options(environment).cache_dir, std::nullopt);
  environment.home = "/home/somebody";
  EXPECT_EQ(jit_options(environment).cache_dir, fs::path("/home/somebody/.cache/gpuforge"));
  environment.home = "somebody";
  EXPECT_EQ(jit_options(environment).cache_dir, std::nullopt);
}

TEST(JitOptions, ARelativeChoiceIsMeantFromTheStart) {
  Environment environment = nothing_set();
  environment.cache_dir = "some/../kernels";
  const auto options = jit_options(environment);
  ASSERT_TRUE(options.cache_dir.has_value());
  EXPECT_EQ(*options.cache_dir, fs::current_path() / "kernels");
}

TEST(JitOptions, LibrarySearchComesFromTheEnvironment) {
  Environment environment = nothing_set();
  environment.library_path = "/opt/libs";
  environment.cuda_home = "/opt/cuda-13";
  const auto options = jit_options(environment);
  EXPECT_EQ(options.search.explicit_path, "/opt/libs");
  EXPECT_EQ(options.search.cuda_home, fs::path("/opt/cuda-13"));
}

}  // namespace
}  // namespace gpuforge
