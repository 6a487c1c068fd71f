// What the cpu device does beyond the contract (device_contract_test.cpp).
#include "gpuforge/device/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/device/device_testing.h"
#include "gpuforge/device/host_memory.h"

namespace gpuforge::device {
namespace {

using testing::HasSubstr;

TEST(CpuDevice, DescribesTheMachine) {
  const auto device = make_cpu_device();
  const DeviceFacts& facts = device->facts();
  EXPECT_EQ(facts.name, "cpu");
  EXPECT_EQ(facts.kind, DeviceKind::cpu);
  EXPECT_EQ(facts.multiprocessors, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(facts.compute_major, 0);
  EXPECT_EQ(facts.memory_bytes, device->memory_info().total_bytes);
  EXPECT_FALSE(facts.cluster_launch);
}

class NoFunction final : public Function {
 public:
  const FunctionFacts& facts() const override { return facts_; }
  int max_active_blocks(int, std::size_t) const override { return 0; }
  int max_active_clusters(const LaunchConfig&) const override { return 0; }

 private:
  FunctionFacts facts_{.name = "saxpy", .parameters = {}};
};

TEST(CpuDevice, RunsNoKernelsAndSaysSo) {
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  std::string message;
  EXPECT_EQ(code_of([&] { device->load_module({}, "saxpy.cu"); }, &message), ErrorCode::unsupported);
  EXPECT_THAT(message, HasSubstr("saxpy.cu"));
  EXPECT_EQ(code_of([&] { stream->launch(NoFunction(), {}, {}); }, &message), ErrorCode::unsupported);
  EXPECT_THAT(message, HasSubstr("saxpy"));
}

TEST(CpuDevice, AddressesAreHostAddresses) {
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  const Address block = device->allocate(8, *stream);
  stream->fill(block, 0x01010101, 4, 2);
  stream->synchronize();
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(block), 0x0101010101010101u);
  device->free(block, *stream);
}

TEST(CpuDevice, StreamsRunBesideEachOther) {
  const auto device = make_cpu_device();
  const auto first = device->make_stream();
  const auto second = device->make_stream();
  std::promise<void> from_second;
  std::future<void> arrived = from_second.get_future();
  bool met = false;
  first->enqueue([&] { met = arrived.wait_for(std::chrono::seconds(60)) == std::future_status::ready; });
  second->enqueue([&] { from_second.set_value(); });
  first->synchronize();
  second->synchronize();
  EXPECT_TRUE(met);
}

TEST(CpuDevice, WorkThatSynchronizesItsOwnStreamIsAnErrorNotADeadlock) {
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  std::string message;
  stream->enqueue([&] { stream->synchronize(); });
  EXPECT_EQ(code_of([&] { stream->synchronize(); }, &message), ErrorCode::invalid_argument);
  EXPECT_THAT(message, HasSubstr("wait for itself"));
}

TEST(CpuDevice, AThousandIdleStreamsAreCheap) {
  const auto device = make_cpu_device();
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 1000; ++i) {
    streams.push_back(device->make_stream());
    const Address block = device->allocate(16, *streams.back());
    device->free(block, *streams.back());
    EXPECT_TRUE(streams.back()->done());
  }
  device->synchronize();
}

TEST(CpuDevice, MemoryLeftOverGoesWithTheDevice) {
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  EXPECT_NE(device->allocate(1000, *stream), 0u);  // the leak checker of a sanitizer build is the judge
  EXPECT_NE(device->allocate_pinned(1000), nullptr);
}

TEST(CpuDevice, MemoryOutlivesADeviceWhoseWorkStillUsesIt) {
  auto device = make_cpu_device();
  auto stream = device->make_stream();
  std::promise<int> value;
  Gate gate;
  const Address block = device->allocate(4, *stream);
  stream->fill(block, 77, 4, 1);
  stream->enqueue(gate.work());
  stream->enqueue([&, block] { value.set_value(*reinterpret_cast<int*>(block)); });
  stream.reset();
  device.reset();
  gate.open();
  EXPECT_EQ(value.get_future().get(), 77);
}

TEST(HostMemory, CountsWhatIsAllocatedAgainstTheMachine) {
  // Pages nobody has touched look available, so only the count keeps the promises below the machine's memory.
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  const std::size_t quarter = device->memory_info().total_bytes / 4;
  std::vector<Address> blocks;
  bool refused = false;
  for (int i = 0; i < 5 && !refused; ++i) {
    try {
      blocks.push_back(device->allocate(quarter, *stream));
    } catch (const Error& error) {
      refused = error.code() == ErrorCode::out_of_memory;
    }
  }
  EXPECT_TRUE(refused);
  for (const Address block : blocks) device->free(block, *stream);
  const Address again = device->allocate(1 << 20, *stream);
  EXPECT_NE(again, 0u);
  device->free(again, *stream);
}

TEST(HostMemory, AnAddressThatIsNotABlockIsLeftAlone) {
  HostMemory memory("cpu");
  int on_the_stack = 5;
  memory.free(&on_the_stack);
  memory.free(nullptr);
  void* const block = memory.allocate(10, "a test");
  memory.free(block);
  memory.free(block);
  EXPECT_EQ(on_the_stack, 5);
}

// Who waited for a stream's last event must not find the stream at work.
TEST(CpuDevice, AStreamIsDoneWhenItsLastEventIs) {
  const auto device = make_cpu_device();
  const auto stream = device->make_stream();
  const auto event = device->make_event(false);
  for (int i = 0; i < 3000; ++i) {
    stream->record(*event);
    event->synchronize();
    ASSERT_TRUE(stream->done()) << i;
  }
}

}  // namespace
}  // namespace gpuforge::device
