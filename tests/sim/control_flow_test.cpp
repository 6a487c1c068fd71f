// Lanes that part and meet in every way a program can, compared with one thread after the other.
#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/seeded_bug.h"

namespace gpuforge::sim_bugs {
namespace {

Case of(std::string kernel, std::uint32_t threads, std::uint32_t n = 0) {
  return {.file = "control_flow.cu",
          .kernel = std::move(kernel),
          .geometry = {.grid = {1, 1, 1}, .block = {threads, 1, 1}},
          .out = Words(threads),
          .in = numbered(threads),
          .n = n};
}

std::uint32_t switched(std::uint32_t x, std::uint32_t n) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < x % 11 + n; ++i) {
    const std::uint32_t which = (x * 7 + i * 5 + value) % 12;
    if (which == 4 && value % 2 == 1) continue;
    if (which == 9 && i > 6) return value;
    if (which == 11) break;
    const std::uint32_t results[] = {value + 3,  value * 5, (value ^ x) + i, value + i,
                                     value + 11, value - x, value * 3 + 1,   value + value % 2,
                                     value + 2,  value + 9, value << 1};
    value = results[which] & 0xffff;
  }
  return value + 100000;
}

TEST(SimBugsControlFlow, Switches) {
  const Case one = of("switches", 64, 5);
  Words expected(64);
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = switched(one.in[i], one.n);
  check_silent(one, expected);
}

std::uint32_t ping_pong(std::uint32_t x, bool ping) {
  if (x < (ping ? 3u : 2u)) return ping ? 7 : 3;
  return ping ? ping_pong(x - 3, false) + 1 : ping_pong(x - 2, true) + 10;
}
std::uint32_t out_of_loop(std::uint32_t x) {
  for (std::uint32_t i = 0; i < 10; ++i)
    if (i * i >= x) return i * 100;
  return 7;
}
std::uint32_t through_table(std::uint32_t x) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < x % 4 + 1; ++i) {
    const std::uint32_t which = (x + i * (x / 8)) % 4;
    if (which == 1 && x % 2 == 1) return 500 + x;
    const std::uint32_t results[] = {out_of_loop(x), x * 2, ping_pong(x, true), ping_pong(x, false)};
    value = value * 7 + results[which];
  }
  return value;
}

TEST(SimBugsControlFlow, FunctionTable) {
  const Case one = of("function_table", 96);
  Words expected(96);
  for (std::uint32_t i = 0; i < 96; ++i) expected[i] = through_table(one.in[i]);
  check_silent(one, expected);
}

TEST(SimBugsControlFlow, RecursionOfUnequalDepth) {
  const Case one = of("recursion", 64, 13);
  Words expected(64);
  const std::uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  for (std::uint32_t i = 0; i < 64; ++i) expected[i] = fibonacci[one.in[i] % 13];
  check_silent(one, expected);
}

TEST(SimBugsControlFlow, ExchangeInAFunction) {
  const Case one = of("exchange_in_function", 32, 7);
  Words expected = one.in;
  for (std::uint32_t round = 0; round < one.n; ++round) {
    Words given(32);
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint32_t way = (i + round) % 3;
      given[i] = way == 0 ? expected[i] * 3 : way == 1 ? expected[i] + 5 : expected[i] ^ 9;
    }
    for (std::uint32_t i = 0; i < 32; ++i) expected[i] = given[i ^ 1] + ((i + round) % 3 == 2 ? 2 : 1);
  }
  check_silent(one, expected);
}

TEST(SimBugsControlFlow, FlagInAWarp) {
  Words expected(32);
  for (std::uint32_t i = 0; i < 16; ++i) expected[i] = 32;
  check_silent(of("flag_in_warp", 32), expected);
}

}  // namespace
}  // namespace gpuforge::sim_bugs
