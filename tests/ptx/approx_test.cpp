// The .approx instructions: an H200's results and the simulator's, both against the exact values.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "gpuforge/base/embedded.h"
#include "gpuforge/base/error.h"
#include "tests/ptx/approx_record.h"

namespace gpuforge {
std::span<const EmbeddedFile> approx_record_files();  // made from approx_*.txt when this is built
}

namespace gpuforge::ptx_files {
namespace {

constexpr int kMaxShown = 6;

std::vector<std::uint64_t> halves(const ApproxFunction& function, std::uint64_t bits) {
  if (!function.packed) return {bits};
  return {bits & 0xffff, bits >> 16};
}

// Every result within the bound; a line for each that is not.
void expect_within_bounds(const ApproxFunction& function, const std::vector<std::uint64_t>& operands,
                          const std::vector<std::uint64_t>& results, std::string_view whose) {
  const auto count = static_cast<std::size_t>(function.operands);
  ASSERT_EQ(operands.size(), results.size() * count) << function.instruction;
  int wrong = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::span<const std::uint64_t> now = std::span(operands).subspan(i * count, count);
    const auto found = halves(function, results[i]), first = halves(function, now[0]);
    for (std::size_t part = 0; part < found.size(); ++part) {
      const std::uint64_t given[] = {first[part], now.back()};
      const std::string why = beyond_bound(function, std::span(given).first(count), found[part]);
      if (why.empty() || ++wrong > kMaxShown) continue;
      ADD_FAILURE() << whose << ": " << function.instruction << " of " << std::hex << given[0] << " "
                    << (count == 2 ? given[1] : 0) << " gave " << found[part] << ": " << why << " ("
                    << function.source << ")";
    }
  }
  EXPECT_LE(wrong, kMaxShown) << function.instruction << ": results beyond the bound";
}

// Zeros, infinities, NaNs and what .ftz makes zero: the GPU's bits.
void expect_same_special_cases(const ApproxFunction& function, const std::vector<std::uint64_t>& operands,
                               const std::vector<std::uint64_t>& gpu, const std::vector<std::uint64_t>& sim) {
  const auto count = static_cast<std::size_t>(function.operands);
  int wrong = 0;
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    const std::span<const std::uint64_t> now = std::span(operands).subspan(i * count, count);
    const auto expected = halves(function, gpu[i]), found = halves(function, sim[i]),
               first = halves(function, now[0]);
    for (std::size_t part = 0; part < found.size(); ++part) {
      const std::uint64_t given[] = {first[part], now.back()};
      if (!is_special(function, std::span(given).first(count)) || expected[part] == found[part]) continue;
      if (++wrong > kMaxShown) continue;
      ADD_FAILURE() << function.instruction << " of " << std::hex << given[0] << " "
                    << (count == 2 ? given[1] : 0) << ": the GPU gave " << expected[part]
                    << ", the simulator " << found[part];
    }
  }
  EXPECT_LE(wrong, kMaxShown) << function.instruction << ": special cases that differ";
}

std::vector<std::uint64_t> results_on_sim(const ApproxFunction& function,
                                          const std::vector<std::uint64_t>& inputs) {
  const SimModule module(approx_module(), "approx.ptx");
  return approx_results(function, inputs,
                        [&](std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers) {
                          EXPECT_EQ(module.run(entry, shape, buffers).findings_text(), "");
                        });
}

const ApproxFunction& named(std::string_view instruction) {
  for (const ApproxFunction& one : approx_functions())
    if (one.instruction == instruction) return one;
  throw Error(ErrorCode::invalid_argument, std::string(instruction));
}

class PtxApprox : public testing::TestWithParam<std::string> {};

TEST_P(PtxApprox, SimIsWithinTheBound) {
  const ApproxFunction& function = named(GetParam());
  const auto inputs = approx_inputs(*function.format, function.operands);
  expect_within_bounds(function, operands_of(function, inputs), results_on_sim(function, inputs), "sim");
}

TEST_P(PtxApprox, TheRecordedGpuIsWithinTheBoundAndItsSpecialCasesAreSims) {
  const ApproxFunction& function = named(GetParam());
  ASSERT_FALSE(approx_record_files().empty())
      << "tests/ptx/approx_h200.txt is not there: run ptx_fuzz_test --record approx_h200.txt on an H200";
  const ApproxRecord record = read_record(approx_record_files().front().text);
  const auto inputs = record.inputs.find(name_of_inputs(function));
  const auto gpu = record.results.find(std::string(function.instruction));
  ASSERT_TRUE(inputs != record.inputs.end() && gpu != record.results.end()) << "not in the record";
  EXPECT_EQ(inputs->second, approx_inputs(*function.format, function.operands))
      << "recorded for other inputs";
  const auto operands = operands_of(function, inputs->second);
  expect_within_bounds(function, operands, gpu->second, record.machine);
  expect_same_special_cases(function, operands, gpu->second, results_on_sim(function, inputs->second));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ApproxFunction& one : approx_functions()) all.emplace_back(one.instruction);
  return all;
}
const auto test_name = [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Functions, PtxApprox, testing::ValuesIn(names()), test_name);

TEST(PtxApproxRecord, TextReadsBackAsItWas) {
  const ApproxRecord record{
      "a machine", {{"f32 1", std::vector<std::uint64_t>(30, 7)}}, {{"x.y", {1, 0xffffffffffffffffu}}}};
  const ApproxRecord again = read_record(record_text(record));
  EXPECT_EQ(again.machine, record.machine);
  EXPECT_EQ(again.inputs, record.inputs);
  EXPECT_EQ(again.results, record.results);
  EXPECT_THROW(read_record("machine m\n12 34\n"), Error);
  EXPECT_THROW(read_record("inputs f32 1\n12 xyz\n"), Error);
}

// The judge can say no: results one unit beyond a bound are refused, special cases are told from the others.
TEST(PtxApproxRecord, BoundsRefuse) {
  const auto wrong = [&](std::string_view instruction, std::vector<std::uint64_t> operands,
                         std::uint64_t result) {
    return !beyond_bound(named(instruction), operands, result).empty();
  };
  EXPECT_FALSE(wrong("rcp.approx.f32", {0x40400000}, 0x3eaaaaab));  // 1/3
  EXPECT_FALSE(wrong("rcp.approx.f32", {0x40400000}, 0x3eaaaaaa));
  EXPECT_TRUE(wrong("rcp.approx.f32", {0x40400000}, 0x3eaaaaac));
  EXPECT_TRUE(wrong("rcp.approx.f32", {0}, 0x7fffffff));
  EXPECT_TRUE(wrong("rcp.approx.ftz.f32", {0x7f000000}, 0x00400000));  // 2^-127 is flushed
  EXPECT_FALSE(wrong("rcp.approx.ftz.f32", {0x7f000000}, 0));
  EXPECT_FALSE(wrong("rcp.approx.f32", {0x7f000000}, 0x00400000));
  EXPECT_TRUE(wrong("rcp.approx.f32", {0x7f000000}, 0));
  EXPECT_FALSE(wrong("ex2.approx.f32", {0x43000000}, 0x7f800000));  // 2^128
  EXPECT_TRUE(wrong("ex2.approx.f32", {0x42fe0000}, 0x7f800000));   // 2^127
  EXPECT_TRUE(wrong("rcp.approx.ftz.f64", {0x3ff0000000000000}, 0x3ff0000000000001));
  EXPECT_FALSE(wrong("rcp.approx.ftz.f64", {0x3ff0000000000000}, 0x3ff0000100000000));
  EXPECT_TRUE(wrong("rcp.approx.ftz.f64", {0x3ff0000000000000}, 0x3ff0000300000000));
  EXPECT_FALSE(wrong("tanh.approx.f16", {0x3c00}, 0x3a18));  // tanh(1) = 0.7616
  EXPECT_TRUE(wrong("tanh.approx.f16", {0x3c00}, 0x3a1b));
  EXPECT_TRUE(wrong("sqrt.approx.f32", {0xbf800000}, 0x3f800000));
  EXPECT_FALSE(wrong("sin.approx.f32", {0x7f000000}, 0x40000000));  // no promise out there
  const std::uint64_t subnormal[] = {1}, one[] = {0x3f800000}, far[] = {0x3f800000, 0x7f000000};
  EXPECT_TRUE(is_special(named("ex2.approx.ftz.f32"), subnormal));
  EXPECT_FALSE(is_special(named("ex2.approx.f32"), subnormal));
  EXPECT_FALSE(is_special(named("lg2.approx.f32"), one));
  EXPECT_TRUE(is_special(named("div.approx.f32"), far));
}

class PtxApproxGpu : public testing::Test {};

TEST_F(PtxApproxGpu, ThisGpuIsWithinTheManualsBounds) {
  std::string why;
  const auto device = open_gpu(&why);
  if (device == nullptr) GTEST_SKIP() << why;
  if (device->facts().compute_major < 9) GTEST_SKIP() << "tanh.approx.bf16 needs sm_90";
  const GpuModule module(device, approx_module(), "approx.ptx");
  const ApproxRecord record = make_record(
      device->facts().product, [&](std::string_view entry, const Shape& shape, std::vector<Bytes>& buffers) {
        module.run(entry, shape, buffers);
      });
  for (const ApproxFunction& function : approx_functions())
    expect_within_bounds(function, operands_of(function, record.inputs.at(name_of_inputs(function))),
                         record.results.at(std::string(function.instruction)), record.machine);
}

}  // namespace
}  // namespace gpuforge::ptx_files
