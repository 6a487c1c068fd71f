// Arrays and the pool they come from.
#include "gpuforge/array/array.h"
#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/device/sim_device.h"

namespace gpuforge {
namespace {

class ArrayMemoryTest : public ArrayTest {
 protected:
  void SetUp() override {
    ArrayTest::SetUp();
    if (context_ != nullptr) pool_ = context_->pool();
  }
  std::shared_ptr<memory::Pool> pool_;
};

TEST_P(ArrayMemoryTest, ArraysComeFromTheContextsPool) {
  ASSERT_NE(pool_, nullptr);
  const Array a = zeros(context_, {1000}, DType::f32, *stream_);
  EXPECT_EQ(pool_->statistics().requested_bytes, 4000u);
  const Array tagged = empty(context_, {10}, DType::f32, *stream_, pool_->tagged("weights"));
  EXPECT_EQ(pool_->statistics().tags.back().tag, "weights");
  EXPECT_EQ(pool_->statistics().tags.back().requested_bytes, 40u);
}

// A graph has addresses in it: nobody else gets that memory while it lives, whatever becomes of the arrays.
TEST_P(ArrayMemoryTest, MemoryInAGraphStaysItsOwn) {
  const Shape shape = {1 << 16};
  std::unique_ptr<device::Graph> graph;
  {
    const Array source = full(context_, shape, 3, DType::f32, *stream_);
    Array scratch = zeros(context_, shape, DType::f32, *stream_);
    stream_->synchronize();
    stream_->begin_capture();
    scratch.assign(source, *stream_);
    graph = stream_->end_capture();
  }
  EXPECT_EQ(pool_->statistics().pinned_blocks, 2u);
  EXPECT_EQ(pool_->statistics().blocks, 2u);
  std::vector<Array> others;
  for (int i = 0; i < 6; ++i) others.push_back(full(context_, shape, 7, DType::f32, *stream_));
  graph->launch(*stream_);
  for (const Array& other : others) EXPECT_TRUE(equal(other, others[0], *stream_));
  EXPECT_EQ(others[0].index(0, 5).item(*stream_), 7);
  graph.reset();
  stream_->synchronize();
  for (int i = 0; i < 1000 && pool_->statistics().pinned_blocks > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(pool_->statistics().pinned_blocks, 0u);
  EXPECT_EQ(pool_->statistics().blocks, 6u);
}

// Temporaries of captured work come from the pool, take each other's place, and go with the graph.
TEST_P(ArrayMemoryTest, ArraysMayBeMadeAndDroppedInACapture) {
  const Shape shape = {1 << 16};
  const Array source = full(context_, shape, 3, DType::f32, *stream_);
  Array target = zeros(context_, shape, DType::f64, *stream_);
  static_cast<void>(source.astype(DType::i32, *stream_).astype(DType::f64, *stream_));  // compiled before
  stream_->synchronize();
  const std::size_t before = pool_->statistics().blocks;
  stream_->begin_capture();
  for (int i = 0; i < 5; ++i) {
    target.assign(source.astype(DType::i32, *stream_).astype(DType::f64, *stream_), *stream_);
  }
  const Array result = target.astype(DType::i64, *stream_);
  auto graph = stream_->end_capture();
  EXPECT_EQ(pool_->statistics().blocks, before + 2) << "i32 and f64, whose place the result has taken";
  target.fill(0, *stream_);
  graph->launch(*stream_);
  graph->launch(*stream_);
  EXPECT_EQ(target.index(0, 77).item(*stream_), 3);
  EXPECT_EQ(result.index(0, 78).item(*stream_), 3);
  graph.reset();
  EXPECT_EQ(result.index(0, 79).item(*stream_), 3);
  EXPECT_EQ(pool_->statistics().blocks, before + 1);
}

// An array that another stream used, dropped while that one captures, does not draw its own stream in.
TEST_P(ArrayMemoryTest, ArraysMayGoDuringACapture) {
  const auto other = context_->make_stream();
  {
    const Array a = full(context_, {100}, 1, DType::f32, *stream_);
    stream_->synchronize();
    EXPECT_EQ(a.to_vector<float>(*other)[0], 1);
    other->begin_capture();
  }
  EXPECT_FALSE(stream_->capturing());
  const Array b = full(context_, {100}, 2, DType::f32, *stream_);
  EXPECT_EQ(other->end_capture()->node_count(), 0u);
  EXPECT_EQ(b.index(0, 0).item(*stream_), 2);
}

TEST_P(ArrayMemoryTest, EvictableArraysOfTwiceTheQuotaComputeTheSame) {
  ContextOptions options;
  options.pool.quota_bytes = 16 << 20;
  const auto device = context_->device().shared_from_this();
  const auto context = Context::make(device, std::move(options));
  const auto weights = context->pool()->tagged("weights", memory::Use::evictable);
  std::vector<Array> arrays;
  for (int i = 0; i < 8; ++i) {
    Array array = empty(context, {1 << 20}, DType::i32, *stream_, weights);
    array.fill(i, *stream_);
    arrays.push_back(std::move(array));
  }
  EXPECT_LE(context->pool()->statistics().peak_reserved_bytes, std::size_t{16} << 20);
  for (std::size_t i = 1; i < 8; ++i) {
    arrays[i].slice(0, {0, 10}).assign(arrays[i - 1].slice(0, {0, 10}), *stream_);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    const std::vector<std::int32_t> values = arrays[i].to_vector<std::int32_t>(*stream_);
    EXPECT_EQ(values[9], 0);
    EXPECT_EQ(values[10], static_cast<std::int32_t>(i));
    EXPECT_EQ(values.back(), static_cast<std::int32_t>(i));
  }
  EXPECT_GT(context->pool()->statistics().evictions, 4u);
  const memory::Hold pin = arrays[0].pin();
  EXPECT_FALSE(context->pool()->evict(arrays[0].address()));
}

TEST_P(ArrayMemoryTest, OutOfMemoryNamesSizeQuotaAndHolders) {
  ContextOptions options;
  options.pool.quota_bytes = 4 << 20;
  const auto context = Context::make(context_->device().shared_from_this(), std::move(options));
  const Array a = empty(context, {2 << 20}, DType::u8, *stream_, context->pool()->tagged("cache"));
  EXPECT_THAT(
      error_of([&] { empty(context, {3 << 20}, DType::u8, *stream_); }),
      testing::AllOf(testing::HasSubstr("out_of_memory"), testing::HasSubstr("3145728 bytes wanted"),
                     testing::HasSubstr("quota of 4194304 bytes"), testing::HasSubstr("cache 2048.0 KiB")));
}

INSTANTIATE_TEST_SUITE_P(Cpu, ArrayMemoryTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayMemoryTest, testing::Values("cuda:0"), device_case_name);

TEST(ArrayMemoryOnSim, ArraysMayBeMadeAndDroppedInACapture) {
  const auto context = Context::make(device::make_sim_device());
  const auto stream = context->make_stream();
  Array target = zeros(context, {1000}, DType::f32, *stream);
  stream->synchronize();
  stream->begin_capture();
  {
    Array scratch = empty(context, {1000}, DType::f32, *stream);
    const memory::Hold use = scratch.record_use(*stream);
    stream->fill(scratch.address(), 0x40400000, 4, 1000);
    stream->copy(target.address(), scratch.address(), 4000);
  }
  const auto graph = stream->end_capture();
  graph->launch(*stream);
  graph->launch(*stream);
  EXPECT_EQ(target.index(0, 999).item(*stream), 3);
}

// The simulator checks each allocation by itself: arrays there go to it one by one.
TEST(ArrayMemoryOnSim, IsNotPooled) {
  const auto context = Context::make(device::make_sim_device());
  EXPECT_EQ(context->pool(), nullptr);
}

}  // namespace
}  // namespace gpuforge
