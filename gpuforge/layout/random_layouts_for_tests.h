// Random layouts for property tests, and what a layout means by definition: each index, one after the other.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <vector>

#include "gpuforge/layout/flat_modes.h"

namespace gpuforge::layout {

// How rapidcheck and GoogleTest print counterexamples.
inline void showValue(const Layout& layout, std::ostream& out) {
  out << to_text(layout);
}
inline void showValue(const IntTuple& tuple, std::ostream& out) {
  out << to_text(tuple.view());
}
inline void PrintTo(const Layout& layout, std::ostream* out) {
  *out << to_text(layout);
}
inline void PrintTo(const IntTuple& tuple, std::ostream* out) {
  *out << to_text(tuple.view());
}

// rapidcheck tells the counterexample and the seed.
template <class Property>
void expect_for_all(const char* what, const Property& property) {
  EXPECT_TRUE(rc::check(what, property)) << what;
}

using Indices = std::vector<std::int64_t>;

// By definition: the coordinate's digits, the first mode's first, times the strides.
inline std::int64_t index_at(const Layout& layout, std::int64_t coordinate) {
  const FlatModes modes = flat_modes(layout);
  std::int64_t index = 0;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const std::int64_t shape = modes[i].shape.value();
    const bool last = i + 1 == modes.size();
    index += (last ? coordinate : coordinate % shape) * modes[i].stride.value();
    if (!last) coordinate /= shape;
  }
  return index;
}

inline std::int64_t count_of(const Layout& layout) {
  std::int64_t count = 1;
  for (const FlatMode& mode : flat_modes(layout)) count *= mode.shape.value();
  return count;
}

inline Indices indices_of(const Layout& layout) {
  Indices all;
  const std::int64_t count = count_of(layout);
  for (std::int64_t i = 0; i < count; ++i) all.push_back(index_at(layout, i));
  return all;
}

inline Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

inline Indices numbers_to(std::int64_t count) {
  Indices all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

struct Wanted {
  std::vector<std::int64_t> sizes = {1, 2, 3, 4, 5, 6, 8};
  int depth = 3;
  bool gaps = true;         // of these sizes, between one mode's indices and the next mode's
  bool zeros = false;       // modes of stride 0
  std::int64_t most = 512;  // coordinates
};
inline const std::vector<std::int64_t> kPowersOfTwo = {1, 2, 4, 8};

namespace random_layouts {

inline void add_shape(const Wanted& wanted, int depth, std::int64_t& room, TupleBuilder& builder) {
  const int modes = depth == 0 ? 0 : *rc::gen::weightedElement<int>({{3, 0}, {1, 1}, {3, 2}, {2, 3}});
  if (modes == 0) {
    const std::int64_t size = *rc::gen::elementOf(wanted.sizes);
    const std::int64_t fitting = size <= room ? size : 1;
    room /= fitting;
    return builder.add(Integer(fitting));
  }
  builder.open();
  for (int i = 0; i < modes; ++i) add_shape(wanted, depth - 1, room, builder);
  builder.close();
}

}  // namespace random_layouts

inline IntTuple random_shape(const Wanted& wanted) {
  TupleBuilder builder;
  std::int64_t room = wanted.most;
  random_layouts::add_shape(wanted, wanted.depth, room, builder);
  return builder.take();
}

// No index twice (but for stride 0), modes in any order.
inline Layout random_layout(const Wanted& wanted = {}) {
  const IntTuple shape = random_shape(wanted);
  FlatModes modes = flat_modes(Layout(shape));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < modes.size(); ++i)
    order.insert(order.begin() + *rc::gen::inRange<int>(0, static_cast<int>(i) + 1), i);
  std::int64_t next = 1;
  for (const std::size_t i : order) {
    if (wanted.gaps && *rc::gen::inRange(0, 6) == 0) next *= *rc::gen::elementOf(wanted.sizes);
    modes[i].stride = modes[i].shape.is(1) ? Integer(0) : Integer(next);
    next *= modes[i].shape.value();
    if (wanted.zeros && *rc::gen::inRange(0, 6) == 0) modes[i].stride = 0;
  }
  TupleBuilder strides;
  strides.open();
  for (const FlatMode& mode : modes) strides.add(mode.stride);
  strides.close();
  return {shape, unflatten(strides.take(), shape)};
}

// A layout into the coordinates of one that has `count` of them, where `count` is a power of two.
inline Layout random_layout_into(std::int64_t count) {
  Wanted wanted{.sizes = kPowersOfTwo, .depth = 2, .gaps = true, .most = count};
  Layout layout = random_layout(wanted);
  if (cosize(layout).value() <= count) return layout;
  wanted.gaps = false;
  return random_layout(wanted);
}

}  // namespace gpuforge::layout
