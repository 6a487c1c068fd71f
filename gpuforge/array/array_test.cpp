#include "gpuforge/array/array.h"

#include <cmath>
#include <cstring>
#include <thread>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/base/convert.h"
#include "gpuforge/device/cpu_device.h"

namespace gpuforge {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

INSTANTIATE_TEST_SUITE_P(Cpu, ArrayTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, ArrayTest, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayTest, testing::Values("cuda:0"), device_case_name);

TEST_P(ArrayTest, KnowsWhatItIs) {
  const Array array = empty(context_, {2, 3}, DType::f16, *stream_);
  EXPECT_EQ(array.shape(), Shape({2, 3}));
  EXPECT_EQ(array.strides(), Strides({3, 1}));
  EXPECT_EQ(array.dtype(), DType::f16);
  EXPECT_EQ(array.rank(), 2u);
  EXPECT_EQ(array.size(), 6);
  EXPECT_EQ(array.bytes(), 12u);
  EXPECT_TRUE(array.contiguous());
  EXPECT_EQ(&array.context(), context_.get());
  EXPECT_EQ(&array.device(), &context_->device());
  EXPECT_NE(array.address(), 0u);
  EXPECT_EQ(array.address() % 256, 0u);
}

TEST_P(ArrayTest, EmptyAndScalarShapes) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, std::int64_t{1} << 40}}) {
    const Array array = full(context_, shape, 3, DType::f64, *stream_);
    EXPECT_EQ(array.size(), 0);
    EXPECT_EQ(array.address(), 0u);
    EXPECT_TRUE(array.contiguous());
    EXPECT_TRUE(array.to_vector<double>(*stream_).empty());
    EXPECT_EQ(array.astype(DType::i8, *stream_).shape(), shape);
  }
  const Array scalar = full(context_, {}, 2.5, DType::f64, *stream_);
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.item(*stream_), 2.5);
  EXPECT_THAT(scalar.to_vector<double>(*stream_), ElementsAre(2.5));
}

TEST_P(ArrayTest, SizesThatCannotBeAreRefused) {
  EXPECT_THAT(error_of([&] {
                empty(context_, {std::int64_t{1} << 62, 4}, DType::i8, *stream_);
              }),
              StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { empty(context_, {std::int64_t{1} << 61}, DType::f64, *stream_); }),
              HasSubstr("more bytes than an address can reach"));
  EXPECT_THAT(error_of([&] { empty(context_, {-1}, DType::f64, *stream_); }),
              StartsWith("invalid_argument: "));
  EXPECT_THAT(error_of([&] { empty(context_, {std::int64_t{1} << 50}, DType::f32, *stream_); }),
              StartsWith("out_of_memory: "));
  EXPECT_THAT(error_of([&] { empty(nullptr, {1}, DType::f32, *stream_); }),
              StartsWith("invalid_argument: array: "));
}

TEST_P(ArrayTest, StreamsOfAnotherDeviceAreRefused) {
  const auto elsewhere = device::make_cpu_device();
  const auto foreign = elsewhere->make_stream();
  Array array = counting({4});
  EXPECT_THAT(error_of([&] { empty(context_, {1}, DType::f32, *foreign); }),
              StartsWith("invalid_argument: array: "));
  EXPECT_THAT(error_of([&] { array.fill(1, *foreign); }), StartsWith("invalid_argument: fill: "));
  EXPECT_THAT(error_of([&] { array.copy(*foreign); }), StartsWith("invalid_argument: astype: "));
  EXPECT_THAT(error_of([&] { array.assign(array, *foreign); }), StartsWith("invalid_argument: assign: "));
  EXPECT_THAT(error_of([&] { array.to_vector<std::int32_t>(*foreign); }),
              StartsWith("invalid_argument: to_host: "));
  const auto other_context = Context::make(elsewhere);
  const Array other = zeros(other_context, {4}, DType::i32, *foreign);
  EXPECT_THAT(error_of([&] { array.assign(other, *stream_); }), HasSubstr("to_host and from_host"));
}

TEST_P(ArrayTest, FullOfEveryDtype) {
  for (const DType dtype : kAllDTypes) {
    for (const double value : {0.0, -0.0, 1.0, -3.7, 200.0, 1e30, 0.1, 9007199254740991.0, double(NAN),
                               double(INFINITY), -double(INFINITY)}) {
      // Odd counts, and a size whose bytes are no multiple of four.
      const Array array = full(context_, {3, 7}, value, dtype, *stream_);
      std::vector<std::byte> bytes(array.bytes());
      array.to_host(bytes, *stream_);
      std::array<std::byte, 8> expected{};
      store_double(expected.data(), dtype, value);
      for (std::size_t i = 0; i < 21; ++i) {
        ASSERT_EQ(std::memcmp(bytes.data() + i * element_bytes(dtype), expected.data(), element_bytes(dtype)),
                  0)
            << name(dtype) << " " << value << " element " << i;
      }
    }
  }
  EXPECT_THAT(ones(context_, {5}, DType::i64, *stream_).to_vector<std::int64_t>(*stream_), Each(1));
  EXPECT_THAT(zeros(context_, {5}, DType::f64, *stream_).to_vector<double>(*stream_), Each(0.0));
}

TEST_P(ArrayTest, ArangeCountsLikeNumPy) {
  const auto doubles = [&](double start, double stop, double step) {
    return arange(context_, start, stop, step, DType::f64, *stream_).to_vector<double>(*stream_);
  };
  EXPECT_THAT(doubles(0, 3, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(doubles(3, 0, -1), ElementsAre(3, 2, 1));
  EXPECT_THAT(doubles(0, 1, 0.3), ElementsAre(0, 0.3, 0.6, 3 * 0.3));
  EXPECT_THAT(doubles(1, 1.3, 0.1), ElementsAre(1, 1.1, 1.2, 1 + 3 * 0.1));  // NumPy has four here, too
  EXPECT_TRUE(doubles(0, -1, 1).empty());
  EXPECT_TRUE(doubles(5, 5, 1).empty());
  EXPECT_TRUE(doubles(0, -INFINITY, 1).empty());
  EXPECT_THAT(arange(context_, -2, 3, 1, DType::i8, *stream_).to_vector<std::int8_t>(*stream_),
              ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_THAT(arange(context_, 9007199254740989.0, 9007199254740992.0, 1, DType::i64, *stream_)
                  .to_vector<std::int64_t>(*stream_),
              ElementsAre(9007199254740989, 9007199254740990, 9007199254740991));
  EXPECT_THAT(error_of([&] { doubles(0, 1, 0); }),
              StartsWith("invalid_argument: arange: a step other than zero"));
  EXPECT_THAT(error_of([&] { doubles(0, NAN, 1); }), StartsWith("invalid_argument: arange: "));
  EXPECT_THAT(error_of([&] { doubles(NAN, 1, 1); }), StartsWith("invalid_argument: arange: "));
  EXPECT_THAT(error_of([&] { doubles(0, INFINITY, 1); }), HasSubstr("more elements than an array can have"));
  EXPECT_THAT(error_of([&] { doubles(0, 1, INFINITY); }), StartsWith("invalid_argument: arange: "));
  EXPECT_THAT(error_of([&] { doubles(0, 1e300, 1e-9); }), StartsWith("invalid_argument: arange: "));
}

TEST_P(ArrayTest, ArangeOfEveryDtypeConvertsDoubles) {
  constexpr std::size_t kCount = 1003;
  std::vector<double> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = -300.25 + static_cast<double>(i) * 0.7;
  for (const DType dtype : kAllDTypes) {
    const Array array = arange(context_, -300.25, -300.25 + 0.7 * (kCount - 0.5), 0.7, dtype, *stream_);
    ASSERT_EQ(array.shape(), Shape({static_cast<std::int64_t>(kCount)}));
    std::vector<std::byte> found(array.bytes());
    std::vector<std::byte> expected(array.bytes());
    array.to_host(found, *stream_);
    convert_elements(expected.data(), dtype, values.data(), DType::f64, kCount);
    EXPECT_EQ(found, expected) << name(dtype);
  }
}

TEST_P(ArrayTest, FromHostLetsTheMemoryGo) {
  std::vector<std::int32_t> values(100000, 5);
  // Something slow in front, so that a copy made late would see the change.
  stream_->enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  const Array array = from(values, {100000});
  std::fill(values.begin(), values.end(), 6);
  EXPECT_THAT(ints(array), Each(5));
  EXPECT_THAT(error_of([&] { from(values, {99999}); }),
              HasSubstr("from_host: an array of [99999] i32 has 99999 elements of 4 bytes, the memory given "
                        "has 400000 bytes"));
}

TEST_P(ArrayTest, ToHostWantsTheExactSize) {
  const Array array = counting({3});
  std::vector<std::byte> bytes(11);
  EXPECT_THAT(error_of([&] { array.to_host(bytes, *stream_); }),
              HasSubstr("has 12 bytes, the memory given has 11"));
  EXPECT_THAT(error_of([&] { array.to_vector<float>(*stream_); }),
              HasSubstr("to_vector of f32 asked of an array of i32"));
  EXPECT_THAT(error_of([&] { array.item(*stream_); }),
              HasSubstr("item: an array with one element was expected"));
}

// Each way to_host has of fetching a scattered view: as a whole range, one by one, gathered on the device.
TEST_P(ArrayTest, ToHostOfScatteredViews) {
  const std::int64_t rows = 3000;
  const std::int64_t columns = 1000;
  const Array array = counting({rows, columns});
  const Array small = array.slice(0, {5, 8, 1}).slice(1, {{}, {}, -100});
  EXPECT_EQ(ints(small).front(), 5999);
  EXPECT_EQ(ints(small).size(), 30u);
  const Array far = array.slice(0, {{}, {}, -1499}).slice(1, {0, 1, 1});
  EXPECT_THAT(ints(far), ElementsAre(2999000, 1500000, 1000));
  const std::vector<std::int32_t> turned = ints(array.transpose());
  for (std::size_t i = 0; i < turned.size(); i += 997) {
    const auto at = static_cast<std::int64_t>(i);
    ASSERT_EQ(turned[i], at % rows * columns + at / rows);
  }
}

TEST_P(ArrayTest, ArraysMayDieWithWorkQueuedOnOtherStreams) {
  const auto other = context_->make_stream();
  std::vector<Array> results;
  for (int round = 0; round < 20; ++round) {
    const auto ready = context_->device().make_event(false);
    const Array source = full(context_, {1 << 16}, round, DType::i32, *stream_);
    stream_->record(*ready);
    other->wait(*ready);
    other->enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    results.push_back(source.slice(0, {{}, {}, 3}).astype(DType::i64, *other));
    // `source` goes here; its memory must outlive the copy that `other` has yet to make.
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(results[static_cast<std::size_t>(round)].to_vector<std::int64_t>(*other), Each(round));
  }
}

TEST_P(ArrayTest, OutlivesContextStreamAndDeviceHandles) {
  std::optional<Array> array = counting({1000});
  const auto stream = stream_;
  context_.reset();
  stream_.reset();
  const std::vector<std::int32_t> values = array->to_vector<std::int32_t>(*stream);
  EXPECT_EQ(values[999], 999);
  array.reset();
}

TEST_P(ArrayTest, IsAKernelArgument) {
  const Array array = counting({10});
  const Array view = array.slice(0, {3, {}, 1});
  const jit::Argument argument_of_view = argument(view);
  ASSERT_EQ(argument_of_view.bytes, 8u);
  device::Address address = 0;
  std::memcpy(&address, argument_of_view.data, 8);
  EXPECT_EQ(address, array.address() + 12);
}

// Gigabytes: element numbers that 32 bits cannot hold, signed on the host, unsigned in the kernels.
class SlowArrayTest : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, SlowArrayTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, SlowArrayTest, testing::Values("cuda:0"), device_case_name);

TEST_P(SlowArrayTest, MoreThanTwoToThe31Elements) {
  const bool on_cpu = context_->device().facts().kind == device::DeviceKind::cpu;
  const std::int64_t count = (std::int64_t{1} << (on_cpu ? 31 : 32)) + 7;
  Array array = zeros(context_, {count}, DType::i8, *stream_);
  EXPECT_EQ(array.size(), count);
  array.slice(0, {-7, {}, 1}).assign(arange(context_, 1, 8, 1, DType::i8, *stream_), *stream_);
  const auto bytes = [&](const Array& view) { return view.to_vector<std::int8_t>(*stream_); };
  EXPECT_THAT(bytes(array.slice(0, {-8, {}, 1})), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(bytes(array.slice(0, {{}, -9, -2})), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(bytes(array.slice(0, {0, {}, count - 1})), ElementsAre(0, 7));
  array.slice(0, {{}, {}, -1}).slice(0, {0, {}, 2}).fill(9, *stream_);
  EXPECT_THAT(bytes(array.slice(0, {-4, {}, 1})), ElementsAre(4, 9, 6, 9));
  EXPECT_THAT(bytes(array.slice(0, {0, 4, 1})), ElementsAre(9, 0, 9, 0));
  // A walk over every element with its own source strides; a conversion too where a kernel does it.
  const Array three = full(context_, {1}, 3, on_cpu ? DType::i8 : DType::f32, *stream_);
  array.assign(three.broadcast_to({count}), *stream_);
  EXPECT_THAT(bytes(array.slice(0, {-3, {}, 1})), Each(3));
  EXPECT_TRUE(equal(array, full(context_, {count}, 3, DType::i8, *stream_), *stream_));
}

}  // namespace
}  // namespace gpuforge
