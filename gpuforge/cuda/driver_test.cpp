#include "gpuforge/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "gpuforge/base/error.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/fake_driver/temporary_tree.h"

namespace gpuforge::cuda {
namespace {

using fake_driver::FakeDriver;
using fake_driver::TemporaryTree;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <typename Body>
std::optional<Error> error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::optional<Error> load_error(const SearchOptions& options) {
  return error_of([&] { static_cast<void>(Driver::load(options)); });
}

SearchOptions only(const std::filesystem::path& path) {
  SearchOptions options;
  options.explicit_path = path.string();
  options.system = false;
  return options;
}

TEST(Driver, LoadsAndKnowsWhereItCameFrom) {
  FakeDriver fake({{"FAKE_CUDA_DEVICES", "3"}, {"FAKE_CUDA_VERSION", "12040"}});
  const auto driver = Driver::load(FakeDriver::search());
  EXPECT_EQ(driver->version(), 12040);
  EXPECT_EQ(version_text(driver->version()), "12.4");
  EXPECT_EQ(driver->device_count(), 3);
  EXPECT_EQ(driver->rule(), "explicit");
  EXPECT_EQ(driver->path(), std::filesystem::path(GPUFORGE_FAKE_DRIVER_DIR) / "libcuda.so.1");
}

TEST(Driver, TheFakeHasEveryFunctionOfTheTable) {
  FakeDriver fake;
  const auto driver = Driver::load(FakeDriver::search());
  for (const CallBase* call : driver->calls()) EXPECT_TRUE(call->available()) << call->symbol();
}

TEST(Driver, NoLibraryIsASentenceThatListsWhatWasTried) {
  TemporaryTree tree;
  const auto error = load_error(only(tree.root()));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unavailable);
  EXPECT_THAT(error->message(), StartsWith("CUDA driver not detected"));
  EXPECT_THAT(error->message(), AllOf(HasSubstr("nvidia-driver"), Not(HasSubstr("python"))));
  EXPECT_THAT(error->detail(),
              AllOf(HasSubstr("explicit: "), HasSubstr(tree.root().string()), HasSubstr("toolkit: ")));
}

TEST(Driver, BrokenCopiesArePassedOverForAGoodOne) {
  TemporaryTree tree;
  tree.write("text/libcuda.so.1");
  tree.write("empty/libcuda.so.1", "");
  tree.copy(GPUFORGE_FAKE_NVRTC, "other/libcuda.so.1");
  const std::string bad =
      (tree / "text").string() + ":" + (tree / "empty").string() + ":" + (tree / "other").string();
  const auto error = load_error(only(bad));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), StartsWith("CUDA driver not detected"));
  EXPECT_THAT(error->detail(), HasSubstr("has no cuInit"));
  FakeDriver fake;
  const auto driver = Driver::load(only(bad + ":" + GPUFORGE_FAKE_DRIVER_DIR));
  EXPECT_EQ(driver->path().parent_path(), GPUFORGE_FAKE_DRIVER_DIR);
}

TEST(Driver, NoDevicesIsItsOwnSentence) {
  {
    FakeDriver fake({{"FAKE_CUDA_DEVICES", "0"}});
    const auto error = load_error(FakeDriver::search());
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::unavailable);
    EXPECT_THAT(error->message(), StartsWith("No GPU devices found (cudaGetDeviceCount == 0)"));
    EXPECT_THAT(error->detail(), AllOf(HasSubstr("libcuda.so.1"), HasSubstr("CUDA 13.0")));
  }
  FakeDriver fake({{"FAKE_CUDA_FAIL", "cuDeviceGetCount:100"}});
  const auto error = load_error(FakeDriver::search());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), StartsWith("No GPU devices found (cudaGetDeviceCount == 0)"));
}

TEST(Driver, InitFailuresNameCodeTextAndAdvice) {
  struct Case {
    const char* code;
    const char* name;
    const char* advice;
  };
  for (const Case& c : {Case{"999", "CUDA_ERROR_UNKNOWN (unknown error), code 999", "nvidia_uvm"},
                        Case{"803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "restart the machine"},
                        Case{"12345", "CUDA error 12345, code 12345", "nvidia-smi"}}) {
    FakeDriver fake({{"FAKE_CUDA_INIT_RESULT", c.code}});
    const auto error = load_error(FakeDriver::search());
    ASSERT_TRUE(error) << c.code;
    EXPECT_EQ(error->code(), ErrorCode::unavailable);
    EXPECT_THAT(error->message(), AllOf(StartsWith("cuInit: "), HasSubstr(c.name), HasSubstr(c.advice)));
  }
}

TEST(Driver, TheToolkitsStubIsNoDriver) {
  FakeDriver fake({{"FAKE_CUDA_INIT_RESULT", "34"}});
  const auto error = load_error(FakeDriver::search());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), StartsWith("CUDA driver not detected"));
  EXPECT_THAT(error->detail(), HasSubstr("libcuda.so.1: is the CUDA toolkit's stub"));
}

TEST(Driver, TryLoadAnswersWithTheReason) {
  std::string why;
  TemporaryTree tree;
  EXPECT_EQ(Driver::try_load(only(tree.root()), &why), nullptr);
  EXPECT_THAT(why, StartsWith("CUDA driver not detected"));
  EXPECT_EQ(Driver::try_load(only(tree.root())), nullptr);
  FakeDriver fake;
  EXPECT_NE(Driver::try_load(FakeDriver::search(), &why), nullptr);
}

TEST(Driver, OldDriversAreRefusedByVersion) {
  FakeDriver fake({{"FAKE_CUDA_VERSION", "10020"}});
  const auto error = load_error(FakeDriver::search());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unavailable);
  EXPECT_THAT(error->message(), AllOf(HasSubstr("too old"), HasSubstr("CUDA 10.2"), HasSubstr("11.4")));
}

TEST(Driver, MissingFunctionsFailOnlyWhenCalled) {
  FakeDriver variables({{"FAKE_CUDA_VERSION", "11060"}});
  const auto driver = Driver::load(only(GPUFORGE_FAKE_OLD_DRIVER_DIR));
  EXPECT_FALSE(driver->launch_kernel_ex.available());
  const auto error = error_of([&] { driver->graph_exec_update("graph", nullptr, nullptr, nullptr); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unavailable);
  EXPECT_THAT(error->message(), AllOf(HasSubstr("driver too old"), HasSubstr("CUDA 11.6"),
                                      HasSubstr("cuGraphExecUpdate;"), Not(HasSubstr("_v2"))));
  // Without the functions that name errors, the code itself is told.
  EXPECT_EQ(driver->describe(Result::out_of_memory), "CUDA error 2");
}

// A driver with a current context on device 0.
class DriverCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = Driver::load(FakeDriver::search());
    RawContext context = nullptr;
    driver_->device_primary_ctx_retain("cuda:0", &context, 0);
    driver_->ctx_set_current("cuda:0", context);
  }

  FakeDriver fake_{{"FAKE_CUDA_MEMORY_BYTES", "65536"}};
  std::shared_ptr<const Driver> driver_;
};

TEST_F(DriverCalls, AnErrorNamesTheCallTheCodeItsTextAndTheObject) {
  const auto error = error_of([&] { driver_->mem_free("0x10 on cuda:0", 0x10); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::cuda);
  EXPECT_EQ(error->message(), "cuMemFree: CUDA_ERROR_INVALID_VALUE (invalid argument) [0x10 on cuda:0]");
  const auto without_object = error_of([&] { driver_->mem_free("", 0x10); });
  ASSERT_TRUE(without_object);
  EXPECT_EQ(without_object->message(), "cuMemFree: CUDA_ERROR_INVALID_VALUE (invalid argument)");
}

TEST_F(DriverCalls, OutOfMemoryHasItsOwnCode) {
  DevicePointer pointer = 0;
  const auto error =
      error_of([&] { driver_->mem_alloc_async("65537 bytes on cuda:0", &pointer, 65537, nullptr); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::out_of_memory);
  EXPECT_EQ(error->message(),
            "cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY (out of memory) [65537 bytes on cuda:0]");
}

TEST_F(DriverCalls, StickyErrorsSayThatTheProcessMustRestart) {
  fake_.fail("cuStreamSynchronize", 700);
  const auto error = error_of([&] { driver_->stream_synchronize("default stream", nullptr); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(),
              AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"), HasSubstr("must be restarted")));
  // The next call, of another kind, fails the same way.
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const auto later = error_of([&] { driver_->mem_get_info("cuda:0", &free_bytes, &total_bytes); });
  ASSERT_TRUE(later);
  EXPECT_THAT(later->message(), HasSubstr("cuMemGetInfo: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(is_sticky(Result::ecc_uncorrectable));
  EXPECT_TRUE(is_sticky(Result::assertion));
  EXPECT_FALSE(is_sticky(Result::out_of_memory));
  EXPECT_FALSE(is_sticky(Result::invalid_value));
}

TEST_F(DriverCalls, AfterShutdownCallsFailWithASentence) {
  fake_.shut_down();
  const auto error = error_of([&] { driver_->ctx_synchronize("cuda:0"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::cuda);
  EXPECT_THAT(error->message(), AllOf(HasSubstr("CUDA_ERROR_DEINITIALIZED"), HasSubstr("shutting down")));
}

TEST_F(DriverCalls, GetProcAddressFindsTheNewestVersion) {
  void* address = nullptr;
  ProcAddressStatus status = ProcAddressStatus::symbol_not_found;
  driver_->get_proc_address("cuMemAlloc", "cuMemAlloc", &address, driver_->version(), 0ULL, &status);
  EXPECT_NE(address, nullptr);
  EXPECT_EQ(status, ProcAddressStatus::success);
}

}  // namespace
}  // namespace gpuforge::cuda
