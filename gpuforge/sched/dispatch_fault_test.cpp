// Kernels that fault: in the simulator, on the stand-in driver, and on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "gpuforge/base/environment.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/sched/dispatch_controller.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::sched {
namespace {

using fake_driver::FakeDriver;
using State = DispatchState;
using testing::HasSubstr;
constexpr int kIllegalAddress = 700;  // sticky: the context is lost

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry store_seven(.param .u64 where)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [where];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], 7;
  ret;
}
)";

// Real kernels, good and bad, on one device.
struct Machine {
  explicit Machine(std::shared_ptr<device::Device> opened)
      : device(std::move(opened)),
        context(Context::make(device)),
        kernel(context->jit().kernel_from_ptx(kPtx, "store.ptx", "store_seven", *device)),
        stream(device->make_stream()),
        memory(context->allocator(), 256, stream) {
    stream->synchronize();
  }
  std::shared_ptr<device::Device> device;
  std::shared_ptr<Context> context;
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<device::Stream> stream;
  memory::Buffer memory;

  DispatchRequest store(device::Address where, std::string task) const {
    DispatchRequest request = kernel_request(kernel, {.grid = {1}, .block = {32}}, where);
    request.task = std::move(task);
    return request;
  }
  std::uint32_t value() {
    std::uint32_t read = 0;
    stream->copy_to_host(&read, memory.address(), sizeof(read));
    stream->synchronize();
    return read;
  }
};

TEST(DispatchFault, OnTheSimulatorAFaultEndsThatLaunchAlone) {
  Machine machine(device::open_device("sim", {}));
  DispatchController controller(machine.device, {.in_flight_per_stream = 4});
  const Dispatch bad = controller.submit(machine.store(16, "bad"));
  const Dispatch good = controller.submit(machine.store(machine.memory.address(), "good"));
  std::string message;
  device::code_of([&] { bad.wait(); }, &message);
  EXPECT_THAT(message, HasSubstr("launch 1: kernel store_seven with grid (1, 1, 1), block (32, 1, 1) of task "
                                 "'bad' on stream 0 failed on sim"));
  EXPECT_EQ(good.wait(), State::completed);
  EXPECT_EQ(machine.value(), 7u);
  EXPECT_GT(controller.accounts().at("good").gpu_us, 0);
  ASSERT_EQ(controller.faults().size(), 1u);
  EXPECT_THAT(to_text(controller.faults()[0]), HasSubstr("Nothing else was lost"));
}

TEST(DispatchFault, ArgumentsAreCheckedWhenTheRequestIsMade) {
  Machine machine(device::open_device("sim", {}));
  EXPECT_THROW(kernel_request(machine.kernel, {}), Error);
  EXPECT_THROW(kernel_request(machine.kernel, {}, 1.0F), Error);
}

TEST(DispatchFault, OnCudaAFaultTakesTheContextAndTheReportSaysWhat) {
  FakeDriver driver;
  {
    Machine machine(device::open_device("cuda:0", FakeDriver::search()));
    device::Gate gate;
    DispatchController controller(machine.device, {.in_flight_per_stream = 2});
    DispatchRequest faulting = machine.store(machine.memory.address(), "first");
    faulting.launch = [&, launch = faulting.launch](device::Stream& stream) {
      stream.enqueue(gate.work());
      launch(stream);
    };
    auto kept = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = kept;
    faulting.keep = std::move(kept);
    const Dispatch first = controller.submit(std::move(faulting));
    const Dispatch behind = controller.submit(machine.store(machine.memory.address(), "second"));
    const Dispatch queued = controller.submit(machine.store(machine.memory.address(), "third"));
    driver.fail("cuStreamQuery", kIllegalAddress);  // what the driver answers once a kernel has faulted
    std::string message;
    EXPECT_EQ(device::code_of([&] { first.wait(); }, &message), ErrorCode::cuda);
    EXPECT_THAT(message, HasSubstr("launch 1: kernel store_seven with grid (1, 1, 1), block (32, 1, 1)"));
    EXPECT_THAT(message, HasSubstr("took the context with it"));
    EXPECT_THAT(message, HasSubstr("ILLEGAL_ADDRESS"));
    EXPECT_EQ(device::code_of([&] { behind.wait(); }, &message), ErrorCode::cuda);
    EXPECT_THAT(message, HasSubstr("lost in flight"));
    EXPECT_EQ(device::code_of([&] { queued.wait(); }, &message), ErrorCode::cuda);
    EXPECT_THAT(message, HasSubstr("never launched"));
    ASSERT_EQ(controller.faults().size(), 1u);
    EXPECT_THAT(to_text(controller.faults()[0]), HasSubstr("1 launches behind it in flight: launch 2"));
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(device::code_of([&] { controller.submit(machine.store(0, "late")); }, &message),
              ErrorCode::cuda);
    EXPECT_THAT(message, HasSubstr("lost to an earlier fault"));
    gate.open();
  }
  // Streams with work queued let go of the device when that is done; the next test has its own driver.
  EXPECT_TRUE(device::eventually([&] { return driver.counters().contexts == 0; }));
}

// The context stays lost for the rest of a process, so a child has it.
TEST(DispatchFaultGpu, AKernelThatFaultsIsNamed) {
  std::shared_ptr<device::Device> device;
  try {
    device = device::open_device("cuda:0", cuda::search_options(read_environment()));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  {
    Machine machine(device);
    DispatchController controller(machine.device);
    const Dispatch good = controller.submit(machine.store(machine.memory.address(), "good"));
    EXPECT_EQ(good.wait(), State::completed);
    EXPECT_EQ(machine.value(), 7u);
    EXPECT_GT(good.status().gpu_us, 0);
    EXPECT_LT(good.status().gpu_us, 1e5);
  }
  device = nullptr;
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        Machine machine(device::open_device("cuda:0", cuda::search_options(read_environment())));
        DispatchController controller(machine.device);
        const Dispatch bad = controller.submit(machine.store(16, "bad"));
        try {
          controller.submit(machine.store(machine.memory.address(), "behind"));
        } catch (const Error&) {  // the fault may be known already
        }
        controller.wait_all();
        const std::vector<FaultReport> faults = controller.faults();
        std::fprintf(stderr, "%zu faults: %s\n", faults.size(),
                     faults.empty() ? "" : to_text(faults[0]).c_str());
        std::_Exit(bad.status().failure ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "kernel store_seven with grid \\(1, 1, 1\\), block \\(32, 1, 1\\) of task 'bad'");
}

}  // namespace
}  // namespace gpuforge::sched
