// Right code that holds values never written and does not use them: no finding, and the right result.
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

Case of(std::string kernel, std::size_t out, std::uint32_t n = 0) {
  return {.file = "legal_values.cu",
          .kernel = std::move(kernel),
          .geometry = {.block = {32, 1, 1}},
          .out = Words(out),
          .in = numbered(32),
          .n = n};
}

TEST(SimLegalValues, StructuresOfMixedSizes) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t word = 32 - i;
    expected[i] = word + word * 3 + 7 + word / 2 + 1;
  }
  check_silent(of("mixed_structures", 32), expected);
}

// The padding that lands in global memory is not read there, so that its words are left out of the
// comparison.
TEST(SimLegalValues, StructuresToGlobalMemory) {
  Case one = of("structures_to_global", 32);
  one.out_initialized = false;
  for (const jit::CompilerChoice front_end : front_ends()) {
    const auto compiled = compile(one.file, text_of(one.file), {}, front_end);
    for (const std::uint64_t seed : kSeeds) {
      const Ran ran = run(one, *compiled, one.kernel, seed);
      EXPECT_TRUE(ran.report.findings.empty()) << ran.report.findings_text(200);
      for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(ran.out[24 + i], 1 + (8 - i) + 2);
    }
  }
}

TEST(SimLegalValues, FieldsOfAWord) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = (32 - i) % 8 + 100 + 11 * ((i + 1) % 4 * 3 % 4);
  check_silent(of("bit_fields", 32, 3), expected);
}

TEST(SimLegalValues, HalvesOfWords) {
  Words expected = numbered(32);
  for (std::uint32_t i = 0; i < 20; ++i) expected[i] += 5;
  check_silent(of("halves_of_words", 32, 20), expected);
}

TEST(SimLegalValues, NarrowVectors) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = (32 - i) * 4 + 2 + 3 + 1 + 2;
  check_silent(of("narrow_vectors", 32), expected);
}

TEST(SimLegalValues, StagedBeyondTheData) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 20; ++i) expected[i] = 20 - i;
  check_silent(of("staged_beyond_the_data", 32, 20), expected);
}

TEST(SimLegalValues, ThreeOfFour) {
  const Case one = of("three_of_four", 16);
  for (const jit::CompilerChoice front_end : front_ends()) {
    const auto compiled = compile(one.file, text_of(one.file), {}, front_end);
    const Ran ran = run(one, *compiled, one.kernel, 0);
    EXPECT_TRUE(ran.report.findings.empty()) << ran.report.findings_text(200);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(ran.out[4 * i], i + 1);
  }
}

TEST(SimLegalValues, ResultsInParts) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t word = i + 1;
    expected[i] = (word % 2 == 1 ? word : 0) + (word * 3 <= 32 ? word * 3 - 1 : 100);
  }
  check_silent(of("results_in_parts", 32, 3), expected);
}

TEST(SimLegalValues, BestOfSome) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 32; ++i)
    for (std::uint32_t j = 0; j < 2; ++j) {
      const std::uint32_t word = (i + j) % 32 + 1;
      if (word % 3 == 0) expected[i] = word;
    }
  check_silent(of("best_of_some", 32, 2), expected);
}

}  // namespace
}  // namespace gpuforge::sim_bugs
