#include "gpuforge/ops/matmul/matmul.h"

#include "gpuforge/ops/matmul/matmul_kernels.h"
#include "gpuforge/ops/op_for_tests.h"

namespace gpuforge::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Matmul : public OpTest {
 protected:
  Array product(const Array& a, const Array& b) { return matmul(a, b, {}, *stream_); }
};
INSTANTIATE_TEST_SUITE_P(Cpu, Matmul, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, Matmul, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, Matmul, testing::Values("cuda:0"), device_case_name);

TEST_P(Matmul, AllCheckProblemsAreRight) {
  expect_all_good(find_op("matmul"));
}

TEST_P(Matmul, EveryConfigurationIsRight) {
  const lab::Op op = find_op("matmul");
  for (const DType dtype : {DType::f32, DType::f64}) {
    const lab::Problem problem =
        lab::complete(op, {.shape = {67, 35}, .dtype = dtype, .options = {{"n", "131"}}});
    const std::vector<Config> configs = matmul_configs(dtype);
    EXPECT_GE(configs.size(), 20u);
    for (const Config& config : configs) {
      expect_good(op, {.problem = problem, .variant = "best", .config = config});
    }
  }
}

TEST_P(Matmul, ShapesAreNumPys) {
  const Array square = counting({2, 2});  // 0 1 / 2 3
  const Array line = from<std::int32_t>({5, 7}, {2});
  EXPECT_THAT(ints(product(square, line)), ElementsAre(7, 31));
  EXPECT_EQ(product(square, line).shape(), Shape{2});
  EXPECT_THAT(ints(product(line, square)), ElementsAre(14, 26));
  EXPECT_THAT(ints(product(line, line)), ElementsAre(74));
  EXPECT_EQ(product(line, line).shape(), Shape{});
  EXPECT_THAT(ints(product(square.transpose(), square)), ElementsAre(4, 6, 6, 10));
  EXPECT_THAT(ints(product(square.slice(0, {.start = {}, .stop = {}, .step = -1}), square)),
              ElementsAre(6, 11, 2, 3));
  // Batches broadcast against each other.
  const Array left = counting({3, 1, 2, 2}), right = counting({4, 2, 1});
  const Array all = product(left, right);
  EXPECT_EQ(all.shape(), (Shape{3, 4, 2, 1}));
  EXPECT_EQ(ints(all.index(0, 2).index(0, 3)),
            ints(product(left.index(0, 2).index(0, 0), right.index(0, 3))));
  EXPECT_THAT(ints(product(zeros(context_, {2, 0}, DType::i32, *stream_),
                           zeros(context_, {0, 2}, DType::i32, *stream_))),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(product(zeros(context_, {0, 2, 2}, DType::i32, *stream_), square).shape(), (Shape{0, 2, 2}));
}

TEST_P(Matmul, MoreMatricesThanAGridIsHigh) {
  const std::int64_t count = 65537;
  const Array numbers = counting({count, 1, 1});
  const Array twos = from<std::int32_t>({2}, {1, 1});
  const std::vector<std::int32_t> doubled =
      ints(matmul(numbers, twos, {.variant = "naive"}, *stream_).reshape({count}));
  for (const std::int32_t i : {0, 1, 32767, 32768, 32769, 65535, 65536}) {
    EXPECT_EQ(doubled[static_cast<std::size_t>(i)], 2 * i);
  }
}

TEST_P(Matmul, DtypesMeet) {
  const Array whole = counting({2, 2});
  const Array real = whole.astype(DType::f32, *stream_);
  EXPECT_EQ(product(whole, real).dtype(), DType::f64);
  EXPECT_EQ(product(real.astype(DType::f16, *stream_), real.astype(DType::bf16, *stream_)).dtype(),
            DType::f32);
  const Array flags = whole.astype(DType::boolean, *stream_);  // 0 1 / 1 1
  const Array joined = product(flags, flags);
  EXPECT_EQ(joined.dtype(), DType::boolean);
  EXPECT_THAT(ints(joined.astype(DType::i32, *stream_)), ElementsAre(1, 1, 1, 1));
  const Array bytes = from<std::uint8_t>({200, 100}, {2});
  EXPECT_EQ(product(bytes, bytes).astype(DType::i32, *stream_).item(*stream_), (200 * 200 + 100 * 100) % 256);
}

TEST_P(Matmul, BadArgumentsAreSentences) {
  const Array x = counting({2, 3});
  EXPECT_EQ(error_of([&] { product(x, x); }),
            "invalid_argument: matmul: [2, 3] and [2, 3] do not fit: 3 columns of the first, 2 rows of the "
            "second");
  EXPECT_THAT(error_of([&] { product(x, counting({})); }), HasSubstr("one axis or more"));
  EXPECT_THAT(error_of([&] { product(counting({2, 1, 3}), counting({3, 3, 4})); }), HasSubstr("broadcast"));
  Array out = zeros(context_, {2, 2}, DType::i64, *stream_);
  EXPECT_EQ(error_of([&] { matmul(x, x.transpose(), {.out = &out}, *stream_); }),
            "invalid_argument: matmul: out must be i32; found i64");
  const Config odd{{"rows", 48}};
  EXPECT_THAT(error_of([&] { matmul(x, x.transpose(), {.config = &odd}, *stream_); }),
              HasSubstr("no configuration rows=48"));
  const Config large{{"rows", 128}, {"columns", 128}, {"depth", 32}};
  const Array wide = x.astype(DType::f64, *stream_);
  EXPECT_THAT(error_of([&] { matmul(wide, wide.transpose(), {.config = &large}, *stream_); }),
              HasSubstr("f64 of columns=128 depth=32 rows=128 takes 66048 bytes of shared memory"));
  EXPECT_THAT(error_of([&] { matmul(x, x.transpose(), {.variant = "fast"}, *stream_); }),
              HasSubstr("no variant 'fast'"));
}

TEST(MatmulChoice, TilesFitTheOutputAndFillTheDevice) {
  const device::DeviceFacts facts{.multiprocessors = 132};
  const auto tile = [&](MatmulSize size, DType dtype = DType::f32) {
    return to_string(to_config(choose_matmul(size, dtype, "best", facts, {}).config));
  };
  EXPECT_EQ(tile({4096, 4096, 64}), "columns=128 depth=8 rows=128");
  EXPECT_EQ(tile({4096, 4096, 64}, DType::f64), "columns=64 depth=16 rows=64");
  EXPECT_EQ(tile({17, 65536, 64}), "columns=128 depth=8 rows=32");  // not 128 rows, most of them empty
  EXPECT_EQ(tile({65536, 1, 64}), "columns=32 depth=8 rows=128");
  EXPECT_EQ(tile({40, 40, 64, 1000}), "columns=64 depth=8 rows=64");
  EXPECT_EQ(tile({100, 100, 64}), "columns=32 depth=16 rows=32");  // 16 blocks are all it can have
}

}  // namespace
}  // namespace gpuforge::ops
