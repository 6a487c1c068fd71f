#include <cmath>
#include <string>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/array/print_goldens_for_tests.h"

namespace gpuforge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ArrayPrintTest : public ArrayTest {
 protected:
  std::string printed(const Array& array) { return to_string(array, *stream_); }
  // The goldens speak of the cpu.
  std::string expected(std::string text) {
    return text.replace(text.rfind("cpu)"), 4, context_->device().facts().name + ")");
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, ArrayPrintTest, testing::Values("cpu"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Sim, ArrayPrintTest, testing::Values("sim"), device_case_name);
INSTANTIATE_TEST_SUITE_P(Gpu, ArrayPrintTest, testing::Values("cuda:0"), device_case_name);

std::vector<std::byte> from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// "cuda:0" is longer than "cpu", which can move the facts to a line of their own: that is tested on the cpu
// alone.
std::string without_wrapping(std::string text) {
  const std::size_t at = text.rfind("\n      dtype=");
  return at == std::string::npos ? text : text.replace(at, 7, " ");
}

TEST_P(ArrayPrintTest, LooksLikeNumPy) {
  const bool on_cpu = context_->device().facts().kind == device::DeviceKind::cpu;
  for (const PrintGolden& golden : kPrintGoldens) {
    const Array array = from_host(context_, from_hex(golden.hex), golden.shape, golden.dtype, *stream_);
    if (on_cpu) {
      EXPECT_EQ(printed(array), golden.text);
    } else {
      EXPECT_EQ(without_wrapping(printed(array)), without_wrapping(expected(golden.text)));
    }
  }
}

TEST_P(ArrayPrintTest, SummarisesLikeNumPy) {
  for (const RangeGolden& golden : kRangeGoldens) {
    const auto count = static_cast<double>(element_count(golden.shape));
    const Array range = arange(context_, golden.start, golden.start + (count - 0.5) * golden.step,
                               golden.step, golden.dtype, *stream_);
    EXPECT_EQ(printed(range.reshape(golden.shape)), expected(golden.text));
  }
}

TEST_P(ArrayPrintTest, ViewsPrintTheirOwnElements) {
  const std::string device = context_->device().facts().name;
  const Array array = counting({3, 4});
  EXPECT_EQ(printed(array.transpose().slice(0, {{}, {}, -2})),
            "array([[ 3,  7, 11],\n       [ 1,  5,  9]], dtype=i32, device=" + device + ")");
  const Array turned = counting({2000, 3000}).transpose();
  EXPECT_EQ(printed(turned),
            "array([[      0,    3000,    6000, ..., 5991000, 5994000, 5997000],\n"
            "       [      1,    3001,    6001, ..., 5991001, 5994001, 5997001],\n"
            "       [      2,    3002,    6002, ..., 5991002, 5994002, 5997002],\n"
            "       ...,\n"
            "       [   2997,    5997,    8997, ..., 5993997, 5996997, 5999997],\n"
            "       [   2998,    5998,    8998, ..., 5993998, 5996998, 5999998],\n"
            "       [   2999,    5999,    8999, ..., 5993999, 5996999, 5999999]],\n"
            "      shape=(3000, 2000), dtype=i32, device=" +
                device + ")");
  const Array endless = counting({}).broadcast_to({std::int64_t{1} << 40});
  EXPECT_EQ(
      printed(endless),
      "array([0, 0, 0, ..., 0, 0, 0],\n      shape=(1099511627776,), dtype=i32, device=" + device + ")");
  EXPECT_THAT(error_of([&] { printed(counting({}).broadcast_to(Shape::filled(15, 8))); }),
              HasSubstr("slice it first"));
}

// Types NumPy lacks follow its rules for float16: the fewest digits that tell values of the type apart.
TEST_P(ArrayPrintTest, NarrowFloats) {
  const std::string device = context_->device().facts().name;
  const auto text = [&](std::vector<double> values, DType dtype) {
    const auto count = static_cast<std::int64_t>(values.size());
    return printed(from(values, {count}).astype(dtype, *stream_));
  };
  EXPECT_EQ(text({1, 0.1, -3.140625}, DType::bf16),
            "array([ 1.  ,  0.1 , -3.14], dtype=bf16, device=" + device + ")");
  EXPECT_EQ(text({1e30, 1}, DType::bf16), "array([1.e+30, 1.e+00], dtype=bf16, device=" + device + ")");
  EXPECT_EQ(text({448, 416, 1.75}, DType::f8e4m3),
            "array([448. , 416. ,   1.8], dtype=f8e4m3, device=" + device + ")");
  EXPECT_EQ(text({0.1, NAN}, DType::f8e4m3), "array([0.1, nan], dtype=f8e4m3, device=" + device + ")");
  EXPECT_EQ(text({57344, 0.25}, DType::f8e5m2),
            "array([5.7e+04, 2.5e-01], dtype=f8e5m2, device=" + device + ")");
}

}  // namespace
}  // namespace gpuforge
