#include "gpuforge/ops/elementwise/fuse.h"

#include <cmath>

#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

Expression x(std::size_t index) {
  return Expression::argument(index);
}
Expression make(std::string_view function, std::vector<Expression> operands) {
  return call(function, operands);
}

class Fuse : public OpTest {
 protected:
  Array run(const Fused& fused, std::vector<Operand> arguments, ApplyOptions options = {}) {
    return fused(arguments, options, *stream_);
  }
  std::vector<double> numbers(const Array& array) {
    return array.astype(DType::f64, *stream_).to_vector<double>(*stream_);
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, Fuse, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, Fuse, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Fuse, testing::Values("cuda:0"), device_case_name);

TEST_P(Fuse, IsWhatTheCallsAreOneByOne) {
  // silu(a) * b where a > 0, else c / 2, over a matrix, a row and a column.
  const Fused fused(make("where", {make("gt", {x(0), std::int64_t{0}}),
                                   make("mul", {make("silu", {x(0)}), x(1)}), make("div", {x(2), 2.0})}),
                    3);
  std::vector<float> values(33 * 20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 5;
  const Array a = from(values, {33, 20});
  const Array b = a.index(0, 3), c = a.slice(1, {4, 5, 1});
  const Array got = run(fused, {a, b, c});
  const Array want =
      apply("where", apply("gt", a, std::int64_t{0}, *stream_),
            apply("mul", apply("silu", a, *stream_), b, *stream_), apply("div", c, 2.0, *stream_), *stream_);
  EXPECT_EQ(got.dtype(), DType::f32);
  EXPECT_TRUE(allclose(got, want, 1e-6, 0, false, *stream_));
  EXPECT_EQ(fused.expression().text(), "where(gt(x0, 0), mul(silu(x0), x1), div(x2, 2))");
}

TEST_P(Fuse, DtypesAndWrapsAreThoseOfTheCalls) {
  const Array small = from<std::int8_t>({100, -100, 7}, {3});
  const Fused twice(make("floor_div", {make("add", {x(0), x(0)}), std::int64_t{3}}), 1);
  const Array got = run(twice, {small});
  EXPECT_EQ(got.dtype(), DType::i8);
  EXPECT_EQ(numbers(got),
            numbers(apply("floor_div", apply("add", small, small, *stream_), std::int64_t{3}, *stream_)));
  const Array flags = from<std::uint8_t>({1, 0, 1}, {3}).astype(DType::boolean, *stream_);
  const Fused counted(make("mul", {make("add", {x(0), x(0)}), x(1)}), 2);  // true + true is true
  EXPECT_EQ(numbers(run(counted, {flags, small})), (std::vector<double>{100, 0, 7}));
  const Fused mixed(make("exp", {make("sub", {x(0), x(1)})}), 2);
  EXPECT_EQ(run(mixed, {small, from<double>({1, 2, 3}, {3})}).dtype(), DType::f64);
}

// Numbers given with the call take their kind, and do not make another kernel.
TEST_P(Fuse, TakesNumbers) {
  const Fused scale(make("add", {make("mul", {x(0), x(1)}), 0.5}), 2);
  const Array half = from<float>({1, 2}, {2}).astype(DType::f16, *stream_);
  const Array got = run(scale, {half, 3.0});
  EXPECT_EQ(got.dtype(), DType::f16);
  EXPECT_EQ(numbers(got), (std::vector<double>{3.5, 6.5}));
  const auto compiled = context_->jit().counters().compiles;
  EXPECT_EQ(numbers(run(scale, {half, 4.0})), (std::vector<double>{4.5, 8.5}));
  EXPECT_EQ(context_->jit().counters().compiles, compiled);
  const OperandType types[] = {{.dtype = DType::f16}, {.dtype = {}, .kind = ScalarKind::floating}};
  EXPECT_THAT(scale.source(types), HasSubstr("fn::add::of(t0, 0.5f)"));
  EXPECT_THAT(scale.source(types), HasSubstr("fn::mul::of(x0, n0)"));
}

// Sixteen arguments, and one number used by every call: the kernel's parameters have room.
TEST_P(Fuse, TakesManyArguments) {
  Expression sum = make("add", {x(0), x(15)});
  for (std::size_t i = 1; i < 15; ++i) sum = make("add", {make("mul", {x(i), x(15)}), sum});
  const Fused fused(sum, 16);
  std::vector<Operand> arguments(15, counting({2, 3}).slice(1, {0, 3, 2}));
  arguments.emplace_back(std::int64_t{2});
  EXPECT_EQ(numbers(run(fused, arguments)), (std::vector<double>{2, 2 + 2 * 29, 2 + 3 * 29, 2 + 5 * 29}));
  EXPECT_THAT(error_of([&] { Fused(sum, 17); }), HasSubstr("at most 16 arguments"));
}

TEST_P(Fuse, WritesIntoOut) {
  const Fused next(make("add", {x(0), x(1)}), 2);
  Array line = counting({8});
  Array later = line.slice(0, {1, 8, 1});
  run(next, {line.slice(0, {0, 7, 1}), std::int64_t{10}}, {.out = &later});
  EXPECT_EQ(numbers(line), (std::vector<double>{0, 10, 11, 12, 13, 14, 15, 16}));
  run(next, {line, line}, {.out = &line});
  EXPECT_EQ(numbers(line)[7], 32);
  EXPECT_EQ(run(next, {zeros(context_, {0}, DType::f32, *stream_), 1.0}).shape(), Shape{0});
}

TEST_P(Fuse, BadOnesAreSentences) {
  EXPECT_EQ(error_of([] { Fused(x(0), 1); }),
            "invalid_argument: fuse: a call of a function was expected; found x0");
  EXPECT_EQ(error_of([] { Fused(make("exp", {x(2)}), 1); }),
            "invalid_argument: fuse: argument 2 is used, and there are 1");
  EXPECT_THAT(error_of([] { make("add", {x(0)}); }), HasSubstr("2 operands were expected; found 1"));
  EXPECT_THAT(error_of([] {
                Expression deep = x(0);
                for (int i = 0; i < 600; ++i) deep = make("neg", {deep});
              }),
              HasSubstr("over 500 calls"));
  const Fused bits(make("bitwise_and", {x(0), x(0)}), 1);
  EXPECT_THAT(error_of([&] { run(bits, {from<float>({1}, {1})}); }), HasSubstr("integers or bools"));
  EXPECT_THAT(error_of([&] { run(bits, {}); }), HasSubstr("1 arguments were expected; found 0"));
  EXPECT_THAT(error_of([&] { run(bits, {std::int64_t{1}}); }), HasSubstr("an array among the arguments"));
}

}  // namespace
}  // namespace gpuforge::ops
