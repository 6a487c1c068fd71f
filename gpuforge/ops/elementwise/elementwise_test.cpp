#include "gpuforge/ops/elementwise/elementwise.h"

#include <cmath>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/kernels/device_type.h"
#include "gpuforge/lab/compare.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/elementwise/elementwise_reference.h"
#include "gpuforge/ops/elementwise/host_functions.h"
#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/tolerances.h"

namespace gpuforge::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Elementwise : public OpTest {
 protected:
  template <typename T>
  std::vector<T> values(const Array& array) {
    return array.to_vector<T>(*stream_);
  }
  std::vector<bool> truths(const Array& array) {
    EXPECT_EQ(array.dtype(), DType::boolean);
    std::vector<std::byte> bytes(array.bytes());
    array.to_host(bytes, *stream_);
    std::vector<bool> list;
    for (const std::byte byte : bytes) list.push_back(byte != std::byte{0});
    return list;
  }
  // Every function over the same operands; on devices that run kernels in one kernel for all of them, as
  // compiling one for each would take minutes.
  std::vector<std::vector<double>> evaluate(const std::vector<Resolution>& list,
                                            const std::vector<Array>& arrays) {
    std::vector<std::vector<double>> results;
    if (context_->device().facts().kind == device::DeviceKind::cpu) {
      const std::vector<Operand> operands(arrays.begin(), arrays.end());
      for (const Resolution& how : list) {
        results.push_back(
            values<double>(apply(*how.function, operands, {}, *stream_).astype(DType::f64, *stream_)));
      }
      return results;
    }
    const std::string type(device_type(arrays[0].dtype()));
    std::string text = format_text(
        "#include \"gpuforge/ops/elementwise/functions.cuh\"\n"
        "extern \"C\" __global__ void every(double* out, const {0}* a, const {0}* b, "
        "const {0}* c, int count) {{\n"
        "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i >= count) return;\n",
        type);
    for (std::size_t f = 0; f < list.size(); ++f) {
      std::string arguments;
      for (std::size_t k = 0; k < arrays.size(); ++k) {
        const std::string element = format_text("{}[i]", std::string(1, "abc"[k]));
        arguments +=
            (k > 0 ? ", " : "") + (list[f].truth[k] ? format_text("int({} != 0)", element) : element);
      }
      text += format_text("out[{} * count + i] = double(gpuforge::fn::{}::of({}));\n", f,
                          list[f].function->name, arguments);
    }
    const jit::KernelSource source{.name = "every.cu", .text = text + "}\n"};
    const auto count = static_cast<std::int32_t>(arrays[0].size());
    const Array out = zeros(context_, {static_cast<std::int64_t>(list.size()), count}, DType::f64, *stream_);
    device::LaunchConfig launch;
    launch.block.x = 64;
    launch.grid.x = static_cast<std::uint32_t>((count + 63) / 64);
    (*context_->jit().kernel(source, "every", context_->device()))(
        launch, *stream_, out, arrays.front(), arrays[arrays.size() / 2], arrays.back(), count);
    for (std::size_t f = 0; f < list.size(); ++f) {
      results.push_back(values<double>(out.index(0, static_cast<std::int64_t>(f))));
    }
    return results;
  }
  std::string refusal(std::string_view function, std::vector<Operand> operands, ApplyOptions options = {}) {
    return error_of([&] { apply(function, operands, options, *stream_); });
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, Elementwise, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, Elementwise, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Elementwise, testing::Values("cuda:0"), device_case_name);

TEST_P(Elementwise, AllCheckProblemsAreRight) {
  expect_all_good(find_op("elementwise"));
}

TEST_P(Elementwise, EveryConfigurationIsRight) {
  expect_configs_good(find_op("elementwise"), {.shape = {9, 204}, .dtype = DType::f16}, "best");
}

TEST_P(Elementwise, BroadcastsAsNumPy) {
  const Array column = from<float>({1, 2, 3}, {3, 1});
  const Array row = from<float>({10, 20}, {2});
  const Array sum = apply("add", column, row, *stream_);
  EXPECT_EQ(sum.shape(), (Shape{3, 2}));
  EXPECT_THAT(values<float>(sum), ElementsAre(11, 21, 12, 22, 13, 23));
  EXPECT_THAT(values<float>(apply("sub", row, 1.0, *stream_)), ElementsAre(9, 19));
  EXPECT_THAT(values<float>(apply("sub", 1.0, row, *stream_)), ElementsAre(-9, -19));
  const Array scalar = from<float>({3}, {});
  EXPECT_EQ(apply("mul", scalar, scalar, *stream_).shape(), Shape{});
  EXPECT_THAT(values<float>(apply("mul", scalar, row, *stream_)), ElementsAre(30, 60));
  EXPECT_EQ(apply("add", from<float>({}, {0, 2}), row, *stream_).shape(), (Shape{0, 2}));
  EXPECT_EQ(refusal("add", {from<float>({1, 2, 3}, {3}), row}),
            "invalid_argument: shape: [3] and [2] do not broadcast together");
}

TEST_P(Elementwise, ReadsViewsInPlace) {
  const Array x = counting({4, 5, 6});
  const Array strided = x.slice(0, {.start = {}, .stop = {}, .step = -2}).transpose({2, 0, 1});
  const Array sum = apply("add", strided, strided, *stream_);
  const std::vector<std::int32_t> once = ints(strided), twice = ints(sum);
  ASSERT_EQ(once.size(), twice.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(twice[i], 2 * once[i]);
  // Sixteen axes, none of which merge.
  Shape shape = Shape::filled(kMaxRank, 1);
  for (const std::size_t d : {0, 5, 9, 15}) shape[d] = 3;
  const Array deep = counting({3, 6, 3, 3}).slice(1, {0, 6, 2}).reshape(shape);
  EXPECT_EQ(ints(apply("sub", deep, deep, *stream_)), std::vector<std::int32_t>(81, 0));
  EXPECT_EQ(ints(apply("add", deep, std::int64_t{0}, *stream_)), ints(deep));
}

TEST_P(Elementwise, WritesIntoOut) {
  Array x = counting({3, 4});
  Array same = x;
  const Operand operands[] = {x, std::int64_t{5}};
  apply("add", operands, {.out = &same}, *stream_);
  EXPECT_THAT(ints(x), ElementsAre(5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  // Overlapping otherwise: as if read whole first.
  Array run = counting({8});
  Array later = run.slice(0, {1, 8, 1});
  const Operand shifted[] = {run.slice(0, {0, 7, 1}), std::int64_t{10}};
  apply("mul", shifted, {.out = &later}, *stream_);
  EXPECT_THAT(ints(run), ElementsAre(0, 0, 10, 20, 30, 40, 50, 60));
  // Strided, and of another dtype of the same kind.
  Array wide = zeros(context_, {2, 6}, DType::f32, *stream_);
  Array every_other = wide.slice(1, {0, 6, 2});
  const Operand halves[] = {from<double>({1, 2, 3}, {3}), 0.5};
  Array target = every_other.index(0, 1);
  apply("mul", halves, {.out = &target}, *stream_);
  EXPECT_THAT(values<float>(wide), ElementsAre(0, 0, 0, 0, 0, 0, 0.5f, 0, 1, 0, 1.5f, 0));
  Array wrong_shape = zeros(context_, {2}, DType::f64, *stream_);
  EXPECT_EQ(refusal("mul", {halves[0], 0.5}, {.out = &wrong_shape}),
            "invalid_argument: mul: out must have shape [3]; found [2]");
  Array whole = zeros(context_, {3}, DType::i32, *stream_);
  EXPECT_THAT(refusal("mul", {halves[0], 0.5}, {.out = &whole}),
              HasSubstr("the result is f64, which out's i32 cannot take"));
  Array repeated = wide.index(1, 0).reshape({2, 1}).broadcast_to({2, 3});
  EXPECT_THAT(refusal("add", {repeated, 1.0}, {.out = &repeated}),
              HasSubstr("two elements of out are one place"));
}

TEST_P(Elementwise, DtypesAreNumPys) {
  const auto result = [&](std::string_view function, DType a, DType b) {
    return name(apply(function, ones(context_, {3}, a, *stream_), ones(context_, {3}, b, *stream_), *stream_)
                    .dtype());
  };
  EXPECT_EQ(result("add", DType::u8, DType::i8), "i16");
  EXPECT_EQ(result("add", DType::f16, DType::bf16), "f32");
  EXPECT_EQ(result("mul", DType::i64, DType::f32), "f64");
  EXPECT_EQ(result("div", DType::i32, DType::i32), "f64");
  EXPECT_EQ(result("lt", DType::i32, DType::f8e4m3), "bool");
  EXPECT_EQ(name(apply("exp", ones(context_, {2}, DType::i8, *stream_), *stream_).dtype()), "f16");
  const Array bools = ones(context_, {2}, DType::boolean, *stream_);
  EXPECT_EQ(name(apply("add", bools, std::int64_t{1}, *stream_).dtype()), "i64");
  EXPECT_EQ(name(apply("floor_div", bools, bools, *stream_).dtype()), "i8");
  EXPECT_THAT(truths(apply("add", bools, bools, *stream_)), ElementsAre(true, true));
  EXPECT_THAT(truths(apply("bitwise_not", bools, *stream_)), ElementsAre(false, false));
  EXPECT_EQ(refusal("sub", {bools, bools}), "invalid_argument: sub: numbers were expected; found bool");
}

TEST_P(Elementwise, NumbersTakeTheirKind) {
  const Array small = from<std::int8_t>({1, 2, 127}, {3});
  EXPECT_THAT(values<std::int8_t>(apply("add", small, std::int64_t{1}, *stream_)), ElementsAre(2, 3, -128));
  EXPECT_EQ(apply("add", small, 1.5, *stream_).dtype(), DType::f64);
  EXPECT_EQ(refusal("add", {small, std::int64_t{200}}),
            "invalid_argument: add: the number 200 does not fit i8, the dtype of the array it meets");
  EXPECT_THAT(truths(apply("lt", small, std::int64_t{200}, *stream_)), ElementsAre(true, true, true));
  EXPECT_THAT(truths(apply("eq", std::int64_t{127}, small, *stream_)), ElementsAre(false, false, true));
  // Rounded to the arrays' dtype first: 0.1 of f16 times 1 is f16's 0.1.
  const Array half = ones(context_, {1}, DType::f16, *stream_);
  EXPECT_EQ(values<Half>(apply("mul", half, 0.1, *stream_))[0], Half::from(0.1));
  const Operand numbers[] = {std::int64_t{2}, 3.5};
  Array out = zeros(context_, {}, DType::f64, *stream_);
  apply("mul", numbers, {.out = &out}, *stream_);
  EXPECT_EQ(out.item(*stream_), 7);
  EXPECT_THAT(refusal("mul", {std::int64_t{2}, 3.5}), HasSubstr("an array among the operands"));
  EXPECT_THAT(refusal("add", {small}), HasSubstr("2 operands were expected; found 1"));
  EXPECT_THAT(refusal("addd", {small}), HasSubstr("did you mean"));
  EXPECT_THAT(refusal("bitwise_and", {small, 1.5}), HasSubstr("integers or bools were expected; found f64"));
  EXPECT_THAT(refusal("pow", {small, std::int64_t{-1}}), HasSubstr("a negative integer"));
}

TEST_P(Elementwise, IntegersDivideAndWrapAsNumPys) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  const Array a = from<std::int32_t>({7, -7, 7, -7, 5, kLowest, kLowest, 0}, {8});
  const Array b = from<std::int32_t>({2, 2, -2, -2, 0, -1, 3, -4}, {8});
  EXPECT_THAT(ints(apply("floor_div", a, b, *stream_)), ElementsAre(3, -4, -4, 3, 0, kLowest, -715827883, 0));
  EXPECT_THAT(ints(apply("mod", a, b, *stream_)), ElementsAre(1, 1, -1, -1, 0, 0, 1, 0));
  EXPECT_THAT(ints(apply("mul", a, a, *stream_)), ElementsAre(49, 49, 49, 49, 25, 0, 0, 0));
  EXPECT_THAT(ints(apply("pow", b, from<std::int32_t>({10, 31, 3, -1, 0, -3, -1, 1}, {8}), *stream_)),
              ElementsAre(1024, kLowest, -8, 0, 1, -1, 0, -4));
  EXPECT_EQ(ints(apply("abs", a, *stream_))[5], kLowest);
  const Array bytes = from<std::uint8_t>({1, 200, 255}, {3});
  EXPECT_THAT(values<std::uint8_t>(apply("neg", bytes, *stream_)), ElementsAre(255, 56, 1));
  EXPECT_THAT(values<std::uint8_t>(apply("bitwise_not", bytes, *stream_)), ElementsAre(254, 55, 0));
}

TEST_P(Elementwise, ChoosesAndClamps) {
  const Array a = from<float>({-1, 0.5, 3, std::nanf("")}, {4});
  const Array clamped = apply("clamp", a, std::int64_t{0}, 2.0, *stream_);
  EXPECT_THAT(values<float>(clamped), ElementsAre(0, 0.5f, 2, testing::IsNan()));
  const Array chosen = apply("where", apply("gt", a, 0.0, *stream_), a, std::int64_t{9}, *stream_);
  EXPECT_THAT(values<float>(chosen), ElementsAre(9, 0.5f, 3, 9));
  EXPECT_EQ(apply("where", a, std::int64_t{1}, std::int64_t{2}, *stream_).dtype(), DType::i64);
  EXPECT_THAT(truths(apply("logical_and", a, true, *stream_)), ElementsAre(true, true, true, true));
}

// Hard numbers for every function, dtype by dtype of computation, against the reference.
std::vector<double> hard_numbers(DType dtype) {
  if (!is_floating(dtype)) {
    std::vector<double> list = {0, 1, -1, 2, -2, 3, 7, -7, 100, -128, 127};
    if (dtype == DType::i32 || dtype == DType::i64) {
      for (const double far : {-2147483648.0, 2147483647.0, 65536.0}) list.push_back(far);
    }
    return list;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> list = {0.0,      -0.0,      1.0,
                              -1.0,     0.5,       -0.5,
                              1.5,      2.5,       -2.5,
                              3.0,      -3.0,      1e-3,
                              -1e-3,    10.0,      -10.0,
                              88.0,     -88.0,     90.0,
                              -100.0,   1000.5,    1e-30,
                              -1e-30,   1e30,      -1e30,
                              0.3,      -0.7,      3.1416,
                              1e5,      -1e-7,     0.99,
                              infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  return list;
}

void expect_near(const Resolution& how, const std::vector<double>& operands, double got) {
  const double want = reference_value(how, operands);
  std::uint64_t bits = 0;
  store_double(&bits, how.result, got);
  const lab::Comparison comparison =
      lab::compare({{want}, {}}, {reinterpret_cast<const std::byte*>(&bits), element_bytes(how.result)},
                   how.result, elementwise_tolerance(how.function->name, how.result));
  EXPECT_TRUE(comparison.good()) << how.function->name << " of " << operands[0] << ", "
                                 << (operands.size() > 1 ? operands[1] : 0) << ", "
                                 << (operands.size() > 2 ? operands[2] : 0) << " in " << name(how.operation)
                                 << " is " << want << ", found " << got;
}

// Pairs and triples of the numbers, every one with every other.
std::vector<std::vector<double>> operands_for(const std::vector<double>& numbers, int arity) {
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(arity));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < (arity > 1 ? numbers.size() : 1); ++j) {
      columns[0].push_back(numbers[i]);
      if (arity > 1) columns[1].push_back(numbers[j]);
      if (arity > 2) columns[2].push_back(numbers[(i + j) % numbers.size()]);
    }
  }
  return columns;
}

TEST_P(Elementwise, EveryFunctionIsRightInEveryTypeItComputesIn) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    SCOPED_TRACE(name(dtype));
    for (const int arity : {1, 2, 3}) {
      std::vector<std::vector<double>> columns = operands_for(hard_numbers(dtype), arity);
      const auto count = static_cast<std::int64_t>(columns[0].size());
      std::vector<Array> arrays;
      for (std::vector<double>& column : columns) {
        arrays.push_back(from(column, {count}).astype(dtype, *stream_));
        column = arrays.back().astype(DType::f64, *stream_).to_vector<double>(*stream_);
      }
      std::vector<Resolution> list;
      for (const Function& function : functions()) {
        if (function.arity != arity) continue;
        const std::vector<OperandType> types(static_cast<std::size_t>(arity), {.dtype = dtype});
        if (function.rule == Rule::bits && is_floating(dtype)) continue;
        const Resolution how = resolve(function, types);
        if (how.function->rule == Rule::logical || compute_dtype(how.operation) == dtype) list.push_back(how);
      }
      const std::vector<std::vector<double>> results = evaluate(list, arrays);
      for (std::size_t f = 0; f < list.size(); ++f) {
        for (std::size_t i = 0; i < columns[0].size(); ++i) {
          std::vector<double> operands;
          for (const auto& column : columns) operands.push_back(column[i]);
          expect_near(list[f], operands, results[f][i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
