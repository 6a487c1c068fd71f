// Arrays may be destroyed as soon as an op has been called, whatever stream they were made on.
#include <future>
#include <thread>

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

class OpLifetime : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, OpLifetime, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, OpLifetime, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, OpLifetime, testing::Values("cuda:0"));

// The memory of arrays made on one stream may not be given back while another still waits to use it. The
// simulator finds an access to memory that was.
TEST_P(OpLifetime, OperandsMayGoBeforeTheWorkIsDone) {
  for (const lab::Op& op : all_ops()) {
    for (const lab::Variant& variant : op.variants) {
      SCOPED_TRACE(op.name + " " + variant.name);
      const auto made_on = context_->make_stream();
      const auto used_on = context_->make_stream();
      const lab::Problem problem = lab::complete(op, {.shape = {33, 40}, .dtype = DType::f32});
      std::vector<Array> arrays;
      for (const lab::Operand& operand : op.operands(problem)) {
        arrays.push_back(ones(context_, operand.shape, operand.dtype, *made_on));
      }
      const lab::Call call{
          .problem = problem, .variant = variant.name, .operands = arrays, .stream = *used_on};
      made_on->synchronize();  // loading a kernel waits for the whole device, but it may be loaded already
      op.run(call);
      used_on->synchronize();
      std::promise<void> go;
      used_on->enqueue([ready = go.get_future().share()] { ready.wait(); });
      op.run(call);
      arrays.clear();
      // Long enough for memory that nobody watches over to be gone.
      for (int i = 0; i < 20 && !made_on->done(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      go.set_value();
      EXPECT_NO_THROW(used_on->synchronize());
    }
  }
}

// Every op brings back the memory of the arrays it is given.
TEST_P(OpLifetime, EvictedArraysComeBackForEveryOp) {
  if (context_->pool() == nullptr) GTEST_SKIP() << GetParam() << ": arrays are not in a pool";
  const auto evictable = context_->pool()->tagged("operands", memory::Use::evictable);
  for (const lab::Op& op : all_ops()) {
    for (const lab::Variant& variant : op.variants) {
      SCOPED_TRACE(op.name + " " + variant.name);
      const lab::Problem problem = lab::complete(op, {.shape = {33, 40}, .dtype = DType::f32});
      std::vector<Array> arrays;
      for (const lab::Operand& operand : op.operands(problem)) {
        arrays.emplace_back(context_, operand.shape, operand.dtype, *stream_, evictable);
        arrays.back().fill(1, *stream_);
      }
      const lab::Call call{
          .problem = problem, .variant = variant.name, .operands = arrays, .stream = *stream_};
      op.run(call);
      std::vector<std::vector<float>> before;
      for (const Array& array : arrays) before.push_back(array.to_vector<float>(*stream_));
      for (const Array& array : arrays) EXPECT_TRUE(context_->pool()->evict(array.address()));
      op.run(call);
      stream_->synchronize();
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        EXPECT_TRUE(context_->pool()->resident(arrays[i].address()));
        EXPECT_EQ(arrays[i].to_vector<float>(*stream_), before[i]);
      }
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
