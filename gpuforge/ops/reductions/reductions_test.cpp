#include "gpuforge/ops/reductions/reductions.h"

#include <cmath>

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Axes = std::vector<std::int64_t>;

class Reductions : public OpTest {
 protected:
  Array reduced(Reduction reduction, const Array& x, std::optional<Axes> axes = {},
                ReductionOptions options = {}) {
    std::optional<std::span<const std::int64_t>> list;
    if (axes) list = *axes;
    return reduce_axes(reduction, x, list, options, *stream_);
  }
  std::vector<double> numbers(const Array& array) {
    return array.astype(DType::f64, *stream_).to_vector<double>(*stream_);
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, Reductions, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, Reductions, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Reductions, testing::Values("cuda:0"), device_case_name);

TEST_P(Reductions, GoOverAnyAxes) {
  const Array x = counting({2, 3, 4});
  EXPECT_THAT(numbers(reduced(Reduction::sum, x)), ElementsAre(276));
  EXPECT_EQ(reduced(Reduction::sum, x).shape(), Shape{});
  EXPECT_THAT(numbers(reduced(Reduction::sum, x, Axes{1})), ElementsAre(12, 15, 18, 21, 48, 51, 54, 57));
  EXPECT_THAT(numbers(reduced(Reduction::sum, x, Axes{0, 2})), ElementsAre(60, 92, 124));
  const Array kept = reduced(Reduction::max, x, Axes{-1, 0}, {.keepdims = true});
  EXPECT_EQ(kept.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(numbers(kept), ElementsAre(15, 19, 23));
  EXPECT_EQ(numbers(reduced(Reduction::min, x, Axes{})), numbers(x));
  // A view that runs backwards, and floats, which go through reduce.
  const Array back = x.astype(DType::f32, *stream_).slice(1, {.start = {}, .stop = {}, .step = -1});
  EXPECT_THAT(numbers(reduced(Reduction::mean, back, Axes{0, 2})), ElementsAre(15.5, 11.5, 7.5));
  EXPECT_THAT(numbers(reduced(Reduction::prod, counting({5}).slice(0, {1, 5, 1}))), ElementsAre(24));
}

TEST_P(Reductions, FindPlaces) {
  const Array x = from<float>({1, 5, 5, -2, std::nanf(""), 7, -9, -9}, {2, 4});
  EXPECT_THAT(numbers(reduced(Reduction::argmax, x, Axes{1})), ElementsAre(1, 0));
  EXPECT_THAT(numbers(reduced(Reduction::argmin, x, Axes{-1})), ElementsAre(3, 0));
  EXPECT_THAT(numbers(reduced(Reduction::argmax, x, Axes{0})), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(numbers(reduced(Reduction::argmax, x)), ElementsAre(4));
  EXPECT_TRUE(std::isnan(numbers(reduced(Reduction::max, x.astype(DType::f64, *stream_)))[0]));
  // Long enough to be cut into parts; the last and the first of equals.
  std::vector<std::int32_t> many(20000, 3);
  many[12345] = many[17000] = 9;
  many[19999] = -4;
  const Array flat = from(many, {20000});
  EXPECT_THAT(numbers(reduced(Reduction::argmax, flat)), ElementsAre(12345));
  EXPECT_THAT(numbers(reduced(Reduction::argmin, flat)), ElementsAre(19999));
  EXPECT_THAT(numbers(reduced(Reduction::sum, flat)), ElementsAre(60005));
  EXPECT_THAT(numbers(reduced(Reduction::argmax, flat.reshape({100, 200}).transpose(), Axes{1})).size(),
              200u);
}

TEST_P(Reductions, TakeEveryDtype) {
  for (const DType dtype : kAllDTypes) {
    // Compiling for all of them takes a minute in the simulator: one of every accumulator, and bool.
    const bool simulated = context_->device().facts().kind == device::DeviceKind::sim;
    if (simulated && dtype != DType::f8e4m3 && dtype != DType::f64 && dtype != DType::boolean) continue;
    SCOPED_TRACE(name(dtype));
    const Array x = from<std::int32_t>({1, 0, 3, 2}, {4}).astype(dtype, *stream_);
    const double sum = dtype == DType::boolean ? 3 : 6;
    const DType wide = is_floating(dtype) ? dtype : DType::i64;
    EXPECT_EQ(reduced(Reduction::sum, x).dtype(), wide);
    EXPECT_THAT(numbers(reduced(Reduction::sum, x)), ElementsAre(sum));
    EXPECT_THAT(numbers(reduced(Reduction::mean, x)), ElementsAre(sum / 4));
    EXPECT_EQ(reduced(Reduction::mean, x).dtype(), is_floating(dtype) ? dtype : DType::f64);
    EXPECT_THAT(numbers(reduced(Reduction::max, x)), ElementsAre(dtype == DType::boolean ? 1 : 3));
    EXPECT_EQ(reduced(Reduction::min, x).dtype(), dtype);
    EXPECT_THAT(numbers(reduced(Reduction::min, x)), ElementsAre(0));
    EXPECT_THAT(numbers(reduced(Reduction::any, x)), ElementsAre(1));
    EXPECT_THAT(numbers(reduced(Reduction::all, x)), ElementsAre(0));
    EXPECT_THAT(numbers(reduced(Reduction::argmin, x)), ElementsAre(1));
  }
  const Array ends = from<std::int64_t>({std::int64_t{1} << 62, std::int64_t{1} << 62}, {2});
  EXPECT_EQ(reduced(Reduction::sum, ends).to_vector<std::int64_t>(*stream_)[0],
            std::numeric_limits<std::int64_t>::min());
}

TEST_P(Reductions, OfNothing) {
  const Array none = zeros(context_, {2, 0}, DType::f64, *stream_);
  EXPECT_THAT(numbers(reduced(Reduction::sum, none, Axes{1})), ElementsAre(0, 0));
  EXPECT_THAT(numbers(reduced(Reduction::prod, none)), ElementsAre(1));
  EXPECT_THAT(numbers(reduced(Reduction::any, none)), ElementsAre(0));
  EXPECT_THAT(numbers(reduced(Reduction::all, none)), ElementsAre(1));
  EXPECT_TRUE(std::isnan(numbers(reduced(Reduction::mean, none))[0]));
  EXPECT_EQ(reduced(Reduction::max, none, Axes{0}).shape(), Shape{0});
  EXPECT_EQ(error_of([&] { reduced(Reduction::max, none); }),
            "invalid_argument: max: of no elements it is not defined; x has shape [2, 0]");
  const Array one = from<double>({7}, {});
  EXPECT_THAT(numbers(reduced(Reduction::sum, one)), ElementsAre(7));
  EXPECT_THAT(numbers(reduced(Reduction::argmax, one)), ElementsAre(0));
}

TEST_P(Reductions, BadArgumentsAreSentences) {
  const Array x = counting({2, 3});
  EXPECT_THAT(error_of([&] { reduced(Reduction::sum, x, Axes{2}); }), HasSubstr("sum"));
  EXPECT_EQ(error_of([&] {
              reduced(Reduction::sum, x, Axes{0, -2});
            }),
            "invalid_argument: sum: axis -2 is named twice");
  EXPECT_THAT(error_of([&] { reduced(Reduction::argmax, x, Axes{0, 1}); }), HasSubstr("one axis"));
  Array out = zeros(context_, {3}, DType::i32, *stream_);
  EXPECT_EQ(error_of([&] { reduced(Reduction::sum, x, Axes{0}, {.out = &out}); }),
            "invalid_argument: sum: out must be i64; found i32");
  Array good = zeros(context_, {3}, DType::i64, *stream_);
  reduced(Reduction::sum, x, Axes{0}, {.out = &good});
  EXPECT_THAT(numbers(good), ElementsAre(3, 5, 7));
  EXPECT_EQ(parse_reduction("argmin"), Reduction::argmin);
  EXPECT_THAT(error_of([] { parse_reduction("median"); }), HasSubstr("found 'median'"));
}

}  // namespace
}  // namespace gpuforge::ops
