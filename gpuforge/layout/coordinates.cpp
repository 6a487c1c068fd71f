#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

void expect_rank(TupleView coordinate, TupleView shape) {
  if (!shape.is_tuple() || coordinate.rank() != shape.rank())
    refuse("the coordinate {} does not fit {}", to_text(coordinate), to_text(shape));
}

// `_` counts as 0.
Integer index_of(TupleView coordinate, TupleView shape, TupleView stride);

Integer index_of(Integer coordinate, TupleView shape, TupleView stride) {
  if (!shape.is_tuple()) return coordinate * stride.integer();
  if (shape.rank() == 0) refuse("() has no coordinate {}", to_text(IntTuple(coordinate)));
  Integer sum = 0;
  auto part_stride = stride.begin();
  std::size_t left = shape.rank();
  for (const TupleView part : shape) {
    const bool last = --left == 0;
    const Integer extent = last ? Integer(1) : product(part);
    sum = sum + index_of(last || coordinate.is(0) ? coordinate : coordinate % extent, part, *part_stride);
    if (!last && !coordinate.is(0)) coordinate = coordinate / extent;
    ++part_stride;
  }
  return sum;
}

Integer index_of(TupleView coordinate, TupleView shape, TupleView stride) {
  if (!coordinate.is_tuple()) return index_of(coordinate.integer(), shape, stride);
  expect_rank(coordinate, shape);
  if (coordinate.rank() == 0) refuse("() is no coordinate");
  Integer sum = 0;
  auto part = shape.begin(), part_stride = stride.begin();
  for (const TupleView element : coordinate) {
    sum = sum + index_of(element, *part, *part_stride);
    ++part;
    ++part_stride;
  }
  return sum;
}

void add_coordinate(Integer index, TupleView shape, TupleBuilder& builder) {
  if (!shape.is_tuple()) return builder.add(index);
  if (shape.rank() == 0) refuse("() has no coordinate {}", to_text(IntTuple(index)));
  builder.open();
  std::size_t left = shape.rank();
  for (const TupleView part : shape) {
    const bool last = --left == 0;
    const Integer extent = last ? Integer(1) : product(part);
    add_coordinate(last || index.is(0) ? index : index % extent, part, builder);
    if (!last && !index.is(0)) index = index / extent;
  }
  builder.close();
}

void add_coordinates(TupleView index, TupleView shape, TupleBuilder& builder) {
  if (!index.is_tuple()) return add_coordinate(index.integer(), shape, builder);
  expect_rank(index, shape);
  builder.open();
  auto part = shape.begin();
  for (const TupleView element : index) {
    add_coordinates(element, *part, builder);
    ++part;
  }
  builder.close();
}

void add_coordinates(TupleView index, TupleView shape, TupleView stride, TupleBuilder& builder) {
  if (index.is_tuple()) expect_rank(index, shape);
  if (!shape.is_tuple()) {
    const Integer extent = shape.integer();
    return builder.add(extent.is(1) ? Integer(0) : index.integer() / stride.integer() % extent);
  }
  const IntTuple compact = stride.is_tuple() ? IntTuple(stride) : compact_col_major(shape, stride.integer());
  expect_rank(compact, shape);
  builder.open();
  auto part_stride = compact.view().begin();
  auto element = index.begin();
  for (const TupleView part : shape) {
    add_coordinates(index.is_tuple() ? *element : index, part, *part_stride, builder);
    if (index.is_tuple()) ++element;
    ++part_stride;
  }
  builder.close();
}

void add_between(TupleView coordinate, TupleView from, TupleView to, TupleBuilder& builder) {
  if (!coordinate.is_tuple() || !from.is_tuple() || !to.is_tuple()) {
    const Integer index = crd2idx(coordinate, from);
    return add_coordinate(index, to, builder);
  }
  expect_rank(coordinate, from);
  expect_rank(coordinate, to);
  builder.open();
  auto source = from.begin(), target = to.begin();
  for (const TupleView element : coordinate) {
    add_between(element, *source, *target, builder);
    ++source;
    ++target;
  }
  builder.close();
}

// Horner's rule over the sizes of the shape's parts at the integers of the coordinate, the last one first.
struct Horner {
  Integer index = 0;
  Integer scale = 1;
  void add(TupleView coordinate, TupleView shape) {
    if (!coordinate.is_tuple()) {
      index = index + coordinate.integer() * scale;
      scale = scale * product(shape);
      return;
    }
    expect_rank(coordinate, shape);
    auto part = shape.begin();
    for (const TupleView element : coordinate) {
      add(element, *part);
      ++part;
    }
  }
};

// Elements of `tuple` where the coordinate has `_` (kept) or has not; tuples of the coordinate vanish.
void add_chosen(TupleView coordinate, TupleView tuple, bool underscored, TupleBuilder& builder) {
  if (!coordinate.is_tuple()) {
    if (coordinate.is_underscore() == underscored) builder.add(tuple);
    return;
  }
  expect_rank(coordinate, tuple);
  auto part = tuple.begin();
  for (const TupleView element : coordinate) {
    add_chosen(element, *part, underscored, builder);
    ++part;
  }
}

IntTuple chosen(TupleView coordinate, TupleView tuple, bool underscored) {
  if (!coordinate.is_tuple() && coordinate.is_underscore() == underscored) return tuple;
  TupleBuilder builder;
  builder.open();
  if (coordinate.is_tuple()) add_chosen(coordinate, tuple, underscored, builder);
  builder.close();
  return builder.take();
}

}  // namespace

Integer size(const Layout& layout) {
  return product(layout.shape());
}

Integer cosize(LayoutView layout) {
  Integer last = 0;
  for (const FlatMode& mode : flat_modes(layout)) last = last + (mode.shape - 1) * abs(mode.stride);
  return last + 1;
}

Integer cosize(const Layout& layout) {
  return named_operation(
      "cosize",
      [&] {
        const Integer result = cosize(LayoutView(layout));
        if (result.known() && result.value() < 0) refuse("a layout of size 0 has no last index");
        return result;
      },
      layout);
}

std::size_t depth(const Layout& layout) {
  return depth(layout.shape());
}

Integer crd2idx(TupleView coordinate, TupleView shape, TupleView stride) {
  return crd2idx(coordinate, Layout(shape, stride));
}

Integer crd2idx(TupleView coordinate, const Layout& layout) {
  return named_operation(
      "crd2idx", [&] { return index_of(coordinate, layout.shape(), layout.stride()); }, coordinate, layout);
}

Integer crd2idx(TupleView coordinate, TupleView shape) {
  if (coordinate.is_integer()) return coordinate.integer();
  return named_operation(
      "crd2idx",
      [&] {
        expect_numbers(coordinate);
        if (flatten(coordinate).rank() == 0) refuse("{} is no coordinate", to_text(coordinate));
        Horner horner;
        horner.add(coordinate, shape);
        return horner.index;
      },
      coordinate, shape);
}

IntTuple idx2crd(TupleView index, TupleView shape) {
  return named_operation(
      "idx2crd",
      [&] {
        expect_numbers(index);
        expect_numbers(shape);
        TupleBuilder builder;
        add_coordinates(index, shape, builder);
        return builder.take();
      },
      index, shape);
}

IntTuple idx2crd(TupleView index, TupleView shape, TupleView stride) {
  return named_operation(
      "idx2crd",
      [&] {
        expect_numbers(index);
        expect_numbers(shape);
        expect_numbers(stride);
        TupleBuilder builder;
        add_coordinates(index, shape, stride, builder);
        return builder.take();
      },
      index, shape, stride);
}

IntTuple crd2crd(TupleView coordinate, TupleView from_shape, TupleView to_shape) {
  return named_operation(
      "crd2crd",
      [&] {
        expect_numbers(coordinate);
        expect_numbers(to_shape);
        TupleBuilder builder;
        add_between(coordinate, from_shape, to_shape, builder);
        return builder.take();
      },
      coordinate, from_shape, to_shape);
}

IntTuple slice(TupleView coordinate, TupleView tuple) {
  return named_operation(
      "slice", [&] { return chosen(coordinate, tuple, true); }, coordinate, tuple);
}

IntTuple dice(TupleView coordinate, TupleView tuple) {
  return named_operation(
      "dice", [&] { return chosen(coordinate, tuple, false); }, coordinate, tuple);
}

Layout slice(TupleView coordinate, const Layout& layout) {
  return named_operation(
      "slice",
      [&] {
        return Layout(chosen(coordinate, layout.shape(), true), chosen(coordinate, layout.stride(), true));
      },
      coordinate, layout);
}

Layout dice(TupleView coordinate, const Layout& layout) {
  return named_operation(
      "dice",
      [&] {
        return Layout(chosen(coordinate, layout.shape(), false), chosen(coordinate, layout.stride(), false));
      },
      coordinate, layout);
}

}  // namespace gpuforge::layout
