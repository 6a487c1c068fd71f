// Kernels as people write them: no finding under any schedule, and the right result.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

Case of(std::string kernel, std::uint32_t blocks, std::uint32_t threads, std::size_t out, std::size_t in,
        std::uint32_t n = 0) {
  return {.file = "programs.cu",
          .kernel = std::move(kernel),
          .geometry = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}},
          .out = Words(out),
          .in = numbered(in),
          .n = n};
}

TEST(SimBugsPrograms, MatrixProduct) {
  constexpr std::size_t n = 37;
  Case one = of("matmul", 1, 1, n * n, 2 * n * n, n);
  one.geometry = {.grid = {3, 3, 1}, .block = {16, 16, 1}};
  Words expected(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k)
        expected[i * n + j] += one.in[i * n + k] * one.in[n * n + k * n + j];
  check_silent(one, expected);
}

TEST(SimBugsPrograms, BlockSum) {
  check_silent(of("block_sum", 3, 128, 1, 1000, 1000), {1000 * 1001 / 2});
}

TEST(SimBugsPrograms, BlockScan) {
  Words expected = numbered(256);
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  check_silent(of("block_scan", 1, 256, 256, 256), expected);
}

TEST(SimBugsPrograms, WorkQueue) {
  Words expected(257);
  expected[0] = 8 + 3;  // every block asks once more
  for (std::uint32_t i = 0; i < 256; ++i) expected[1 + i] = 2 * (i + 1);
  check_silent(of("work_queue", 3, 64, 257, 256, 256), expected);
}

TEST(SimBugsPrograms, HashTable) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = (64 - i) * 10;
  Case one = of("hash_table", 1, 64, 64, 64);
  one.step_limit = 300'000;  // without its barriers it may look for ever
  check_silent(one, expected);
}

TEST(SimBugsPrograms, LinkedList) {
  check_silent(of("linked_list", 2, 64, 2, 128 * 3, 128), {128 * 129 / 2, 2});
}

TEST(SimBugsPrograms, RadixSortStep) {
  Case one = of("radix_step", 1, 128, 128, 128);
  for (std::uint32_t i = 0; i < 128; ++i) one.in[i] = (i * 37 + 1) % 128;
  Words expected = one.in;
  std::stable_sort(expected.begin(), expected.end(),
                   [](std::uint32_t a, std::uint32_t b) { return a % 4 < b % 4; });
  check_silent(one, expected);
}

TEST(SimBugsPrograms, Stencil) {
  Case one = of("stencil", 3, 32, 90, 90, 90);
  one.geometry.dynamic_shared_bytes = 34 * 4;
  Words expected(90);
  for (std::uint32_t i = 0; i < 90; ++i) expected[i] = i + (i + 1) + (i < 89 ? i + 2 : 0);
  check_silent(one, expected);
}

TEST(SimBugsPrograms, FunctionPointersAndSwitch) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t x = i + 1;
    std::uint32_t value = x % 2 == 0 ? 2 * x : x * x;
    const std::uint32_t choices[] = {value + 3, value ^ 5, value * 7, value - 9, ~value, value << 2, value};
    expected[i] = choices[x % 7];
  }
  check_silent(of("dispatch", 1, 64, 64, 64, 2), expected);
}

TEST(SimBugsPrograms, EndedLanes) {
  Words expected(32);
  std::fill_n(expected.begin(), 20, 2);
  check_silent(of("ended_lanes", 1, 32, 32, 32, 20), expected);
}

TEST(SimBugsPrograms, WideValues) {
  Words expected(34);
  for (std::uint32_t i = 0; i < 32; ++i) expected[i] = (i + 1) | 0x100;
  expected[32] = 32;
  expected[33] = 4;
  check_silent(of("wide_values", 1, 32, 34, 32), expected);
}

TEST(SimBugsPrograms, OddEvenSort) {
  Case one = of("odd_even_sort", 1, 64, 64, 64);
  for (std::uint32_t i = 0; i < 64; ++i) one.in[i] = i * 29 % 61;
  Words expected = one.in;
  std::sort(expected.begin(), expected.end());
  check_silent(one, expected);
}

TEST(SimBugsPrograms, GuardedWords) {
  check_silent(of("guarded", 6, 32, 3, 6), {0, 6, 2 + 4 + 6});
}

TEST(SimBugsPrograms, Collatz) {
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i)
    for (std::uint32_t value = i + 1; value != 1; ++expected[i])
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  check_silent(of("collatz", 1, 64, 64, 64), expected);
}

TEST(SimBugsPrograms, LocalSort) {
  Words expected(256);
  for (std::uint32_t thread = 0; thread < 32; ++thread) {
    for (std::uint32_t i = 0; i < 8; ++i) expected[thread * 8 + i] = (thread * 8 + i * 5) % 32 + 1;
    std::sort(expected.begin() + thread * 8, expected.begin() + thread * 8 + 8);
  }
  check_silent(of("local_sort", 1, 32, 256, 32), expected);
}

}  // namespace
}  // namespace gpuforge::sim_bugs
