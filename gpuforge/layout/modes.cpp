#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// `change` at each integer of the profile; modes beyond the profile stay.
template <class Change>
void add_by_profile(LayoutView layout, TupleView profile, const Change& change, LayoutBuilder& builder) {
  if (!profile.is_tuple()) return builder.add(change(some_flat_modes(layout)));
  if (profile.rank() > layout.rank())
    refuse("the profile {} has more modes than {}", to_text(profile), to_text(layout.shape));
  if (profile.rank() == 0 && layout.rank() == 0) refuse("() has no modes");
  builder.open();
  std::size_t at = 0;
  for (const TupleView part : profile) add_by_profile(layout[at++], part, change, builder);
  for (; at < layout.rank(); ++at) builder.add(layout[at]);
  builder.close();
}

template <class Change>
Layout by_profile(const Layout& layout, TupleView profile, const Change& change) {
  LayoutBuilder builder;
  add_by_profile(layout, profile, change, builder);
  return builder.take();
}

template <class Write>
Layout written(const Write& write) {
  LayoutBuilder builder;
  builder.open();
  write(builder);
  builder.close();
  return builder.take();
}

void add_modes(LayoutView layout, std::size_t begin, std::size_t end, LayoutBuilder& builder) {
  for (; begin < end; ++begin) builder.add(layout[begin]);
}

void expect_range(std::size_t begin, std::size_t end, std::size_t rank) {
  if (begin > end || end > rank) refuse("modes {} to {} were asked for, of {}", begin, end, rank);
}

IntTuple zipped(TupleView tuple) {
  if (!tuple.is_tuple()) return tuple;
  if (tuple.rank() == 0) refuse("() has nothing to zip");
  TupleBuilder builder;
  builder.open();
  if (!tuple[0].is_tuple()) {
    builder.add(tuple);
  } else {
    for (const TupleView element : tuple)
      if (!element.is_tuple() || element.rank() != tuple[0].rank())
        refuse("the modes of {} differ in rank", to_text(tuple));
    for (std::size_t i = 0; i < tuple[0].rank(); ++i) {
      builder.open();
      for (const TupleView element : tuple) builder.add(element[i]);
      builder.close();
    }
  }
  builder.close();
  return builder.take();
}

}  // namespace

Layout flatten(const Layout& layout) {
  return {flatten(layout.shape()), flatten(layout.stride())};
}

Layout unflatten(const Layout& layout, TupleView profile) {
  return {unflatten(layout.shape(), profile), unflatten(layout.stride(), profile)};
}

Layout coalesce(const Layout& layout) {
  return named_operation(
      "coalesce", [&] { return layout_of(coalesced(some_flat_modes(layout))); }, layout);
}

Layout coalesce(const Layout& layout, TupleView profile) {
  return named_operation(
      "coalesce",
      [&] { return by_profile(layout, profile, [](const FlatModes& flat) { return coalesced(flat); }); },
      layout, profile);
}

Layout filter_zeros(const Layout& layout) {
  LayoutBuilder builder;
  const auto add = [&](const auto& self, LayoutView part) -> void {
    if (!part.shape.is_tuple()) {
      const Integer stride = part.stride.integer();
      return builder.add(stride.is(0) ? Integer(1) : part.shape.integer(), stride);
    }
    builder.open();
    for (std::size_t i = 0; i < part.rank(); ++i) self(self, part[i]);
    builder.close();
  };
  add(add, layout);
  return builder.take();
}

Layout filter(const Layout& layout) {
  return named_operation(
      "filter", [&] { return layout_of(filtered(some_flat_modes(layout))); }, layout);
}

Layout filter(const Layout& layout, TupleView profile) {
  return named_operation(
      "filter", [&] { return by_profile(layout, profile, filtered); }, layout, profile);
}

Layout group_modes(const Layout& layout, std::size_t begin, std::size_t end) {
  return named_operation(
      "group_modes",
      [&] {
        expect_range(begin, end, layout.rank());
        return written([&](LayoutBuilder& builder) {
          add_modes(layout, 0, begin, builder);
          if (begin < end) {
            builder.open();
            add_modes(layout, begin, end, builder);
            builder.close();
          }
          add_modes(layout, end, layout.rank(), builder);
        });
      },
      layout, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
}

Layout append(const Layout& layout, const Layout& mode) {
  return append(layout, layout.rank() + 1, mode);
}

Layout append(const Layout& layout, std::size_t rank, const Layout& mode) {
  if (rank == layout.rank()) return layout;
  return named_operation(
      "append",
      [&] {
        if (rank < layout.rank()) refuse("it has rank {} already", layout.rank());
        return written([&](LayoutBuilder& builder) {
          add_modes(layout, 0, layout.rank(), builder);
          for (std::size_t i = layout.rank(); i < rank; ++i) builder.add(mode);
        });
      },
      layout, static_cast<std::int64_t>(rank), mode);
}

Layout prepend(const Layout& layout, const Layout& mode) {
  return prepend(layout, layout.rank() + 1, mode);
}

Layout prepend(const Layout& layout, std::size_t rank, const Layout& mode) {
  if (rank == layout.rank()) return layout;
  return named_operation(
      "prepend",
      [&] {
        if (rank < layout.rank()) refuse("it has rank {} already", layout.rank());
        return written([&](LayoutBuilder& builder) {
          for (std::size_t i = layout.rank(); i < rank; ++i) builder.add(mode);
          add_modes(layout, 0, layout.rank(), builder);
        });
      },
      layout, static_cast<std::int64_t>(rank), mode);
}

Layout replace(const Layout& layout, std::size_t index, const Layout& mode) {
  return named_operation(
      "replace",
      [&] {
        const bool is_tuple = layout.shape().is_tuple();
        // One past the last is a further mode.
        if (index > layout.rank() || (index == layout.rank() && !is_tuple))
          refuse("there is no mode {}", index);
        if (!is_tuple) return mode;
        return written([&](LayoutBuilder& builder) {
          add_modes(layout, 0, index, builder);
          builder.add(mode);
          if (index < layout.rank()) add_modes(layout, index + 1, layout.rank(), builder);
        });
      },
      layout, static_cast<std::int64_t>(index), mode);
}

Layout take(const Layout& layout, std::size_t begin, std::size_t end) {
  return named_operation(
      "take",
      [&] {
        expect_range(begin, end, layout.rank());
        if (begin == end) refuse("no mode is left");
        return written([&](LayoutBuilder& builder) { add_modes(layout, begin, end, builder); });
      },
      layout, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
}

Layout select(const Layout& layout, const std::vector<std::size_t>& modes) {
  return named_operation(
      "select",
      [&] {
        return written([&](LayoutBuilder& builder) {
          for (const std::size_t mode : modes) {
            if (mode >= layout.rank()) refuse("there is no mode {}", mode);
            add_modes(layout, mode, mode + 1, builder);
          }
        });
      },
      layout);
}

Layout zip(const Layout& layout) {
  return named_operation(
      "zip", [&] { return Layout(zipped(layout.shape()), zipped(layout.stride())); }, layout);
}

Layout zip(const Layout& a, const Layout& b) {
  return named_operation(
      "zip",
      [&] {
        return Layout(zipped(tuple({a.shape(), b.shape()})), zipped(tuple({a.stride(), b.stride()})));
      },
      a, b);
}

}  // namespace gpuforge::layout
