// What the cuda device does beyond the contract, over a driver that needs no GPU.
#include "gpuforge/device/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/device/cuda_objects.h"
#include "gpuforge/device/device_testing.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::device {
namespace {

using fake_driver::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_80
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{ ret; }
.visible .entry empty()
{ ret; }
)";

std::span<const std::byte> as_image(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Some of the tests choose the driver's behaviour before it is loaded, so nothing is loaded here.
class CudaDeviceTest : public testing::Test {
 protected:
  std::shared_ptr<Device> open(int ordinal = 0) {
    driver_ = cuda::Driver::load(FakeDriver::search());
    return make_cuda_device(driver_, ordinal);
  }
  std::shared_ptr<const cuda::Driver> driver_;
};

TEST_F(CudaDeviceTest, FactsComeFromTheDriver) {
  FakeDriver fake({{"FAKE_CUDA_DEVICES", "2"}, {"FAKE_CUDA_NAME", "NVIDIA H200"}});
  const auto device = open(1);
  const DeviceFacts& facts = device->facts();
  EXPECT_EQ(facts.name, "cuda:1");
  EXPECT_EQ(facts.product, "NVIDIA H200");
  EXPECT_EQ(facts.kind, DeviceKind::cuda);
  EXPECT_EQ(facts.ordinal, 1);
  EXPECT_EQ(facts.compute_major * 10 + facts.compute_minor, 90);
  EXPECT_EQ(facts.memory_bytes, std::size_t{8} << 30);
  EXPECT_EQ(facts.multiprocessors, 132);
  EXPECT_EQ(facts.launch.max_shared_per_block, 227u * 1024);
  EXPECT_EQ(facts.launch.max_cluster_blocks, 16u);
  EXPECT_TRUE(facts.cluster_launch && facts.cooperative_launch && facts.stream_ordered_memory);
  EXPECT_EQ(facts.driver_version, 13000);
}

TEST_F(CudaDeviceTest, AChipThatIsTooOldIsRefusedWithASentence) {
  FakeDriver fake({{"FAKE_CUDA_SM", "75"}, {"FAKE_CUDA_NAME", "Tesla T4"}});
  std::string message;
  EXPECT_EQ(code_of([&] { open(); }, &message), ErrorCode::unavailable);
  EXPECT_THAT(message,
              AllOf(StartsWith("cuda:0"), HasSubstr("Tesla T4"), HasSubstr("SM 75"), HasSubstr("SM 80")));
  EXPECT_EQ(fake.counters().contexts, 0u);
  EXPECT_EQ(cuda_device_facts(*driver_, 0).product, "Tesla T4") << "listings still describe it";
}

TEST_F(CudaDeviceTest, Sm80HasNoClusters) {
  FakeDriver fake({{"FAKE_CUDA_SM", "80"}});
  EXPECT_EQ(open()->facts().launch.max_cluster_blocks, 0u);
}

TEST_F(CudaDeviceTest, AnOrdinalThatIsNotThereIsUnavailable) {
  FakeDriver fake({{"FAKE_CUDA_DEVICES", "2"}});
  for (const int ordinal : {-1, 2, std::numeric_limits<int>::max()}) {
    std::string message;
    EXPECT_EQ(code_of([&] { open(ordinal); }, &message), ErrorCode::unavailable);
    EXPECT_THAT(message, AllOf(StartsWith("cuda:" + std::to_string(ordinal)), HasSubstr("cuda:0 to cuda:1")));
  }
}

TEST_F(CudaDeviceTest, AnAdoptedStreamIsUsedAndNotDestroyed) {
  FakeDriver fake;
  const auto device = open();
  const auto made = device->make_stream();
  ASSERT_NE(made->native_handle(), 0u);
  const std::size_t streams = fake.counters().streams;
  {
    const auto adopted = device->adopt_stream(made->native_handle());
    EXPECT_EQ(device->adopt_stream(made->native_handle()), adopted) << "the same one while it lives";
    EXPECT_EQ(adopted->native_handle(), made->native_handle());
    adopted->synchronize();
  }
  EXPECT_EQ(fake.counters().streams, streams);
  made->synchronize();
}

TEST_F(CudaDeviceTest, EverythingIsGivenBack) {
  FakeDriver fake;
  {
    const auto device = open();
    const auto stream = device->make_stream();
    const auto event = device->make_event();
    const auto module = device->load_module(as_image(kPtx), "saxpy");
    const auto function = module->function("empty");
    const Address block = device->allocate(1024, *stream);
    void* const pinned = device->allocate_pinned(1024);
    stream->begin_capture();
    stream->fill(block, 0, 4, 4);
    const auto graph = stream->end_capture();
    graph->launch(*stream);
    EXPECT_EQ(fake.counters().contexts, 1u);
    EXPECT_EQ(fake.counters().graph_execs, 1u);
    device->free(block, *stream);
    device->free_pinned(pinned);
    stream->synchronize();
  }
  const FakeCudaCounters left = fake.counters();
  EXPECT_EQ(left.allocations, 0u);
  EXPECT_EQ(left.pinned, 0u);
  EXPECT_EQ(left.streams, 0u);
  EXPECT_EQ(left.events, 0u);
  EXPECT_EQ(left.modules, 0u);
  EXPECT_EQ(left.graphs, 0u);
  EXPECT_EQ(left.graph_execs, 0u);
  EXPECT_EQ(left.contexts, 0u);
}

TEST_F(CudaDeviceTest, NothingSynchronizesUnasked) {
  FakeDriver fake;
  {
    const auto device = open();
    const auto stream = device->make_stream(3);
    const auto other = device->make_stream();
    const auto event = device->make_event();
    const auto function = device->load_module(as_image(kPtx), "saxpy")->function("empty");
    void* const pinned = device->allocate_pinned(4096);
    const Address block = device->allocate(4096, *stream);
    stream->copy_to_device(block, pinned, 4096);
    stream->fill(block, 0, 4, 4);
    stream->launch(*function, {.dynamic_shared_bytes = 100 * 1024}, {});
    stream->enqueue([] {});
    stream->record(*event);
    other->wait(*event);
    other->copy_to_host(pinned, block, 4096);
    stream->begin_capture();
    stream->launch(*function, {}, {});
    const auto graph = stream->end_capture();
    graph->launch(*other);
    graph->update(*graph);
    static_cast<void>(stream->done());
    static_cast<void>(event->done());
    device->memory_info();
    device->free(block, *other);
    EXPECT_EQ(fake.counters().synchronizes, 0u);
    other->synchronize();
    EXPECT_EQ(fake.counters().synchronizes, 1u);
    device->free_pinned(pinned);
    EXPECT_TRUE(eventually([&] { return stream->done(); }));
  }
  EXPECT_EQ(fake.counters().synchronizes, 1u) << "destructors wait for nothing";
}

TEST_F(CudaDeviceTest, ThePoolKeepsItsMemory) {
  FakeDriver fake;
  const auto device = open();
  cuda::RawMemoryPool pool = nullptr;
  driver_->device_get_default_mem_pool("test", &pool, 0);
  std::uint64_t threshold = 0;
  driver_->mem_pool_get_attribute("test", pool, cuda::MemoryPoolAttribute::release_threshold, &threshold);
  EXPECT_EQ(threshold, std::numeric_limits<std::uint64_t>::max());
}

TEST_F(CudaDeviceTest, TheLastReferenceGivesThePoolsMemoryBack) {
  FakeDriver fake;
  auto device = open();
  {
    const auto stream = device->make_stream();
    const Address block = device->allocate(1 << 20, *stream);
    device->free(block, *stream);
    stream->synchronize();
  }
  cuda::RawMemoryPool pool = nullptr;
  driver_->device_get_default_mem_pool("test", &pool, 0);
  std::uint64_t reserved = 0;
  driver_->mem_pool_get_attribute("test", pool, cuda::MemoryPoolAttribute::reserved_bytes, &reserved);
  EXPECT_GE(reserved, 1u << 20);
  EXPECT_EQ(device->memory_info().free_bytes, device->memory_info().total_bytes) << "kept is still free";
  device.reset();
  driver_->mem_pool_get_attribute("test", pool, cuda::MemoryPoolAttribute::reserved_bytes, &reserved);
  EXPECT_EQ(reserved, 0u);
}

TEST_F(CudaDeviceTest, WithoutPoolsMemoryComesFromThePlainCalls) {
  FakeDriver fake;
  driver_ = cuda::Driver::load(FakeDriver::search());
  DeviceFacts facts = cuda_device_facts(*driver_, 0);
  facts.stream_ordered_memory = false;
  const std::shared_ptr<Device> device = std::make_shared<CudaDevice>(driver_, facts);
  const auto stream = device->make_stream();
  fake.fail("cuMemAllocAsync", 801);
  fake.fail("cuMemFreeAsync", 801);
  const Address block = device->allocate(1000, *stream);
  stream->fill(block, 1, 1, 1000);
  EXPECT_EQ(fake.counters().allocations, 1u);
  device->free(block, *stream);
  EXPECT_EQ(fake.counters().allocations, 0u);
  EXPECT_GT(device->memory_info().free_bytes, 0u);
}

TEST_F(CudaDeviceTest, OutOfMemoryNamesWantedAndFree) {
  FakeDriver fake({{"FAKE_CUDA_MEMORY_BYTES", "1000000"}});
  const auto device = open();
  const auto stream = device->make_stream();
  const Address block = device->allocate(400'000, *stream);
  std::string message;
  EXPECT_EQ(code_of([&] { device->allocate(700'000, *stream); }, &message), ErrorCode::out_of_memory);
  EXPECT_THAT(message,
              AllOf(StartsWith("cuda:0"), HasSubstr("700000 bytes"), HasSubstr("600000 bytes are free")));
  device->free(block, *stream);
  stream->synchronize();
  fake.fail("cuMemAllocAsync", 999);
  EXPECT_EQ(code_of([&] { device->allocate(16, *stream); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message, HasSubstr("CUDA_ERROR_UNKNOWN"));
  fake.fail("cuMemHostAlloc", 2);
  EXPECT_EQ(code_of([&] { device->allocate_pinned(16); }, &message), ErrorCode::out_of_memory);
}

TEST_F(CudaDeviceTest, AnotherContextOfTheThreadIsGivenBack) {
  FakeDriver fake({{"FAKE_CUDA_DEVICES", "2"}});
  const auto device = open(0);
  const auto stream = device->make_stream();
  cuda::RawContext others = nullptr;
  driver_->device_primary_ctx_retain("test", &others, 1);
  driver_->ctx_set_current("test", others);
  {
    const auto event = device->make_event();
    const Address block = device->allocate(64, *stream);
    stream->fill(block, 1, 4, 16);
    stream->record(*event);
    event->synchronize();
    device->free(block, *stream);
    stream->synchronize();
  }
  cuda::RawContext now = nullptr;
  driver_->ctx_get_current("test", &now);
  EXPECT_EQ(now, others);
  driver_->ctx_set_current("test", nullptr);
  // A thread that never saw CUDA works too.
  std::thread([&] {
    int runs = 0;
    stream->enqueue([&] { ++runs; });
    stream->synchronize();
    EXPECT_EQ(runs, 1);
  }).join();
  driver_->device_primary_ctx_release("test", 1);
}

TEST_F(CudaDeviceTest, FailuresNameTheCallTheCodeAndTheDevice) {
  FakeDriver fake;
  const auto device = open();
  const auto stream = device->make_stream();
  std::string message;
  fake.fail("cuStreamSynchronize", 999);
  EXPECT_EQ(code_of([&] { stream->synchronize(); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message,
              AllOf(HasSubstr("cuStreamSynchronize"), HasSubstr("CUDA_ERROR_UNKNOWN"), HasSubstr("cuda:0")));
  fake.fail("cuStreamSynchronize", 0);
  fake.fail("cuLaunchHostFunc", 999);
  auto token = std::make_shared<int>(0);
  EXPECT_EQ(code_of([&] { stream->enqueue([token] {}); }), ErrorCode::cuda);
  EXPECT_EQ(token.use_count(), 1) << "work that was not taken is freed";
  fake.fail("cuLaunchHostFunc", 0);
  stream->synchronize();
  fake.fail("cuStreamCreateWithPriority", 2);
  EXPECT_EQ(code_of([&] { device->make_stream(); }, &message), ErrorCode::out_of_memory);
  EXPECT_THAT(message, HasSubstr("cuda:0"));
}

TEST_F(CudaDeviceTest, ACaptureTheDriverDropsIsAnErrorAndOver) {
  FakeDriver fake;
  const auto device = open();
  const auto stream = device->make_stream();
  stream->begin_capture();
  stream->enqueue([] {});
  // Someone else's call, past this device, that a capture does not survive.
  EXPECT_NE(driver_->stream_query.raw(dynamic_cast<CudaStream&>(*stream).raw()), cuda::Result::success);
  std::string message;
  EXPECT_EQ(code_of([&] { stream->end_capture(); }, &message), ErrorCode::cuda);
  EXPECT_THAT(message, AllOf(StartsWith("cuda:0"), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")));
  expect_refused([&] { stream->end_capture(); }, "cuda:0");
  device->synchronize();  // which is refused while a capture is open
}

TEST_F(CudaDeviceTest, DestructorsSurviveAStickyErrorAndShutdown) {
  for (const bool shut_down : {false, true}) {
    FakeDriver fake;
    auto device = open();
    auto stream = device->make_stream();
    auto capturing = device->make_stream();
    auto event = device->make_event();
    auto module = device->load_module(as_image(kPtx), "saxpy");
    auto function = module->function("saxpy");
    const Address block = device->allocate(64, *stream);
    void* const pinned = device->allocate_pinned(64);
    stream->begin_capture();
    stream->enqueue([] {});
    auto graph = stream->end_capture();
    capturing->begin_capture();
    if (shut_down) {
      fake.shut_down();
    } else {
      fake.fail("cuStreamSynchronize", 700);
    }
    std::string message;
    EXPECT_EQ(code_of([&] { stream->synchronize(); }, &message), ErrorCode::cuda);
    EXPECT_EQ(code_of([&] { device->allocate(64, *stream); }), ErrorCode::cuda);
    EXPECT_EQ(code_of([&] { graph->launch(*stream); }), ErrorCode::cuda);
    EXPECT_EQ(code_of([&] { stream->enqueue([] {}); }), ErrorCode::cuda);
    device->free(block, *stream);
    device->free_pinned(pinned);
    graph.reset();
    function.reset();
    module.reset();
    event.reset();
    device.reset();
    stream.reset();
    capturing.reset();
  }
}

}  // namespace
}  // namespace gpuforge::device
