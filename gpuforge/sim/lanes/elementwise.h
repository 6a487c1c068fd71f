// Handlers for instructions that do the same in every lane: a function of one to three values, lifted over
// rows. Files of this folder are compiled for AVX2 where the machine is x86; the loops are plain so that the
// compiler makes vectors of them. Destination and source rows may be the same row, never overlap otherwise.
#pragma once

#include <bit>
#include <cstdint>

#include "gpuforge/sim/opcode.h"
#include "gpuforge/sim/warp.h"

namespace gpuforge::sim {

// F has: using Result, A (B, C): the row element types (std::uint32_t or std::uint64_t, or float, double,
// signed ones of the same widths), and static Result apply(A, B, C). Values narrower than a row stay
// zero-extended.
template <class F>
const Op* unary_full(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = F::apply(a[lane]);
  return op + 1;
}
template <class F>
const Op* unary_masked(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = F::apply(a[lane]);
    d[lane] = warp.lane_mask[lane] != 0 ? value : d[lane];
  }
  return op + 1;
}
template <class F>
const Op* binary_full(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
  const auto* b = row<typename F::B>(warp, op->operand[2]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = F::apply(a[lane], b[lane]);
  return op + 1;
}
template <class F>
const Op* binary_masked(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
  const auto* b = row<typename F::B>(warp, op->operand[2]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = F::apply(a[lane], b[lane]);
    d[lane] = warp.lane_mask[lane] != 0 ? value : d[lane];
  }
  return op + 1;
}
template <class F>
const Op* ternary_full(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
  const auto* b = row<typename F::B>(warp, op->operand[2]);
  const auto* c = row<typename F::C>(warp, op->operand[3]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = F::apply(a[lane], b[lane], c[lane]);
  return op + 1;
}
template <class F>
const Op* ternary_masked(Warp& warp, const Op* op) {
  auto* d = row<typename F::Result>(warp, op->operand[0]);
  const auto* a = row<typename F::A>(warp, op->operand[1]);
  const auto* b = row<typename F::B>(warp, op->operand[2]);
  const auto* c = row<typename F::C>(warp, op->operand[3]);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto value = F::apply(a[lane], b[lane], c[lane]);
    d[lane] = warp.lane_mask[lane] != 0 ? value : d[lane];
  }
  return op + 1;
}

template <class F>
Handlers unary() {
  return {unary_full<F>, unary_masked<F>};
}
template <class F>
Handlers binary() {
  return {binary_full<F>, binary_masked<F>};
}
template <class F>
Handlers ternary() {
  return {ternary_full<F>, ternary_masked<F>};
}

}  // namespace gpuforge::sim
