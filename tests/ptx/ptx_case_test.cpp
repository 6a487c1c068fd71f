#include "tests/ptx/ptx_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::ptx_files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kBody =
    "\n.version 8.0\n.target sm_90a\n.visible .entry only(.param .u64 a) { ret; }\n";

PtxCase read(const std::string& head) {
  return read_case("tests/ptx/some.ptx", "// what it is about: text\n" + head + std::string(kBody));
}

std::string refusal(const std::string& head) {
  try {
    read(head);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

template <class T>
std::vector<T> as(const Argument& argument) {
  std::vector<T> values(argument.bytes.size() / sizeof(T));
  std::memcpy(values.data(), argument.bytes.data(), argument.bytes.size());
  return values;
}

template <class T>
std::string compared(const Argument& argument, const std::vector<T>& found) {
  return differences(argument, std::as_bytes(std::span(found)));
}

TEST(PtxCase, ReadsGeometryAndNames) {
  const PtxCase test =
      read("// grid: 2 3\n// cluster: 2\n// block: 32\n// shared: 512\n// expect: race\n// in a u32: 1\n");
  EXPECT_EQ(test.name, "some");
  EXPECT_EQ(test.entry, "only");
  EXPECT_EQ(test.grid.y, 3u);
  EXPECT_EQ(test.grid.z, 1u);
  EXPECT_EQ(test.cluster.x, 2u);
  EXPECT_EQ(test.block.x, 32u);
  EXPECT_EQ(test.dynamic_shared_bytes, 512u);
  EXPECT_EQ(test.target, 90);
  EXPECT_TRUE(test.target_is_exact);
  EXPECT_THAT(test.findings, ElementsAre("race"));
}

TEST(PtxCase, ReadsValuesOfEveryKind) {
  const PtxCase test = read(
      "// in a s32: -1 (minus one) 0x7fffffff 3..5\n//   7*2\n// in b f32: 1.5 -inf 0x00000001\n"
      "// in c f16: 1 65504\n// in d bf16: 1\n// in e b128: 0x00112233445566778899aabbccddeeff\n"
      "// value n u8: 255 0\n// in f s64: -9223372036854775808\n// in g f64: 0.1\n");
  ASSERT_EQ(test.arguments.size(), 8u);
  EXPECT_THAT(as<std::int32_t>(test.arguments[0]), ElementsAre(-1, 0x7fffffff, 3, 4, 5, 7, 7));
  EXPECT_THAT(as<std::uint32_t>(test.arguments[1]), ElementsAre(0x3fc00000u, 0xff800000u, 1u));
  EXPECT_THAT(as<std::uint16_t>(test.arguments[2]), ElementsAre(0x3c00, 0x7bff));
  EXPECT_THAT(as<std::uint16_t>(test.arguments[3]), ElementsAre(0x3f80));
  EXPECT_THAT(as<std::uint64_t>(test.arguments[4]), ElementsAre(0x8899aabbccddeeffu, 0x0011223344556677u));
  EXPECT_TRUE(test.arguments[5].by_value);
  EXPECT_THAT(as<std::uint8_t>(test.arguments[5]), ElementsAre(255, 0));
  EXPECT_THAT(as<std::uint64_t>(test.arguments[6]), ElementsAre(std::uint64_t{1} << 63));
  EXPECT_THAT(as<double>(test.arguments[7]), ElementsAre(0.1));
}

TEST(PtxCase, AnInputAndAnOutputOfOneNameAreOneBuffer) {
  const PtxCase test = read("// in a u32: 1 2\n// out a u32: 2 3\n// out b u16: 5\n");
  ASSERT_EQ(test.arguments.size(), 2u);
  EXPECT_TRUE(test.arguments[0].has_input);
  EXPECT_THAT(as<std::uint32_t>(test.arguments[0]), ElementsAre(1u, 2u));
  EXPECT_FALSE(test.arguments[1].has_input);
  EXPECT_THAT(as<std::uint16_t>(test.arguments[1]), ElementsAre(0xcdcd));
  EXPECT_THAT(compared<std::uint32_t>(test.arguments[0], {2, 3}), IsEmpty());
  EXPECT_EQ(compared<std::uint32_t>(test.arguments[0], {2, 4}),
            "a[1]: expected 3 (0x00000003), found 4 (0x00000004)\n");
}

TEST(PtxCase, ComparesBitsUnlessToldOtherwise) {
  const PtxCase test = read(
      "// out exact f32: 0 nan _\n// out near f32 +-2ulp: 1 0 inf\n// out close f32 +-0.125: 1\n"
      "// out wide f64 +-1ulp: 1\n");
  const Argument &exact = test.arguments[0], &near = test.arguments[1], &close = test.arguments[2];
  EXPECT_THAT(compared<std::uint32_t>(exact, {0, 0x7fc00001, 12}), IsEmpty());
  EXPECT_THAT(compared<std::uint32_t>(exact, {0x80000000, 0x7f800001, 12}),
              HasSubstr("exact[0]: expected 0"));
  EXPECT_THAT(compared<std::uint32_t>(exact, {0, 0x7f800000, 12}), HasSubstr("exact[1]: expected a NaN"));
  EXPECT_THAT(compared<std::uint32_t>(near, {0x3f800002, 0x80000002, 0x7f800000}), IsEmpty());
  EXPECT_THAT(compared<std::uint32_t>(near, {0x3f800003, 0, 0x7f800000}), HasSubstr("near[0]"));
  EXPECT_THAT(compared<std::uint32_t>(near, {0x3f800000, 3, 0x7f800000}), HasSubstr("near[1]"));
  EXPECT_THAT(compared<std::uint32_t>(near, {0x3f800000, 0, 0x7f7fffff}), HasSubstr("near[2]"));
  EXPECT_THAT(compared<float>(close, {1.125f}), IsEmpty());
  EXPECT_THAT(compared<float>(close, {1.13f}), HasSubstr("close[0]"));
  EXPECT_THAT(compared<std::uint64_t>(test.arguments[3], {0x3ff0000000000001}), IsEmpty());
  EXPECT_THAT(compared<std::uint64_t>(test.arguments[3], {0x3ff0000000000002}), HasSubstr("wide[0]"));
}

TEST(PtxCase, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(refusal("// colour: blue\n"), HasSubstr("some.ptx:2: unknown key 'colour'"));
  EXPECT_THAT(refusal("// in a u33: 1\n"), HasSubstr("unknown type 'u33'"));
  EXPECT_THAT(refusal("// in a u8: 256\n"), HasSubstr("256 is no u8"));
  EXPECT_THAT(refusal("// in a s8: -129\n"), HasSubstr("-129 is no s8"));
  EXPECT_THAT(refusal("// in a u32: -1\n"), HasSubstr("-1 is no u32"));
  EXPECT_THAT(refusal("// in a u32: _\n"), HasSubstr("an input needs a value"));
  EXPECT_THAT(refusal("// in a b16: 0x12345\n"), HasSubstr("0x12345 is no b16"));
  EXPECT_THAT(refusal("// in a f32: 1.5x\n"), HasSubstr("'1.5x' is no value"));
  EXPECT_THAT(refusal("// in a u32: 5..3\n"), HasSubstr("counts up"));
  EXPECT_THAT(refusal("// in a u32: 1\n// in a u32: 1\n"), HasSubstr("some.ptx:3: a has its values already"));
  EXPECT_THAT(refusal("// in a u32: 1\n// out a u32: 1 2\n"), HasSubstr("two sizes"));
  EXPECT_THAT(refusal("// out a u32 +-1ulp: 1\n"), HasSubstr("a tolerance"));
  EXPECT_THAT(refusal(""), HasSubstr("no argument is named"));
}

}  // namespace
}  // namespace gpuforge::ptx_files
