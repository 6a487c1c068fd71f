#include "gpuforge/layout/picture.h"

#include "gpuforge/layout/arguments.h"
#include "gpuforge/layout/operation.h"
#include "gpuforge/layout/picture_cells.h"

namespace gpuforge::layout {
namespace {

// The swizzle that comes last, of those that change anything.
const Swizzle* last_swizzle(const Mapping& layout) {
  if (const auto* const composed = std::get_if<ComposedLayout>(&layout)) {
    const Swizzle* const outer = last_swizzle(composed->outer());
    return outer != nullptr ? outer : last_swizzle(composed->inner());
  }
  const auto* const swizzled = std::get_if<SwizzledLayout>(&layout);
  const Swizzle* const found = swizzled != nullptr ? &swizzled->swizzle : std::get_if<Swizzle>(&layout);
  return found != nullptr && found->bits() > 0 ? found : nullptr;
}

// A swizzle keeps 2^M elements together; it is made for 16 bytes.
std::int64_t element_bytes(const Mapping& layout, const PictureOptions& options) {
  if (options.access) return options.access->type.element_bytes;
  if (options.element_bytes) return *options.element_bytes;
  const Swizzle* const swizzle = last_swizzle(layout);
  const int base = swizzle != nullptr ? swizzle->base() : 3;
  return base >= 1 && base <= 4 ? 16 >> base : 2;
}

// What a value and the options together say is to be drawn.
struct Subject {
  Mapping layout;  // of the elements in memory, when threads are not given
  std::string text;
  std::optional<ThreadValueLayout> threads;
};

std::optional<Subject> layout_in(const Value& value) {
  if (const auto* const part = std::get_if<OffsetLayout>(&value.is)) {
    if (part->offset.is(0)) return Subject{part->layout, to_text(part->layout), {}};
    // Where it begins decides about banks and sectors; a swizzle that changes nothing carries that.
    return Subject{composition(Swizzle(), part->offset, part->layout),
                   format_text("{} + {}", to_text(IntTuple(part->offset)), to_text(part->layout)),
                   {}};
  }
  std::optional<Mapping> layout = mapping_in(value);
  if (!layout || domain(*layout) == nullptr) return std::nullopt;
  return Subject{std::move(*layout), to_text(value), {}};
}

std::optional<ThreadValueLayout> threads_in(const Value& value, const PictureOptions& options) {
  const Value* tv = &value;
  const IntTuple* tile = options.tile ? &*options.tile : nullptr;
  if (const auto* const several = std::get_if<Value::Values>(&value.is);
      tile == nullptr && several != nullptr && several->size() == 2) {
    tile = std::get_if<IntTuple>(&(*several)[0].is);
    tv = &(*several)[1];
  }
  if (tile == nullptr) return std::nullopt;
  const auto* const layout = std::get_if<Layout>(&tv->is);
  if (layout == nullptr || layout->rank() != 2)
    refuse("picture: {} is no layout of (thread,value)", to_text(*tv));
  return ThreadValueLayout{*tile, *layout};
}

Subject subject_of(const Value& value, const PictureOptions& options) {
  if (auto threads = threads_in(value, options))
    return {options.memory.value_or(Layout(threads->tiler)), {}, std::move(threads)};
  if (options.memory) refuse("picture: a memory layout is for (tiler, tv) or a layout with a tile");
  std::optional<Subject> subject = layout_in(value);
  if (!subject) refuse("picture: a layout with a shape or (tiler, tv) can be drawn, not {}", to_text(value));
  return *std::move(subject);
}

WarpAccess access_of(const Subject& subject, const AccessRequest& request) {
  if (subject.threads) return warp_access(*subject.threads, subject.layout, request);
  return warp_access(threads_in_order(subject.layout, request.type.elements), subject.layout, request);
}

}  // namespace

WarpAccess access_of(const Value& value, const PictureOptions& options) {
  GPUFORGE_CHECK(options.access.has_value(), "picture: no access was asked for");
  return access_of(subject_of(value, options), *options.access);
}

Picture draw(const Value& value, const PictureOptions& options) {
  GPUFORGE_CHECK(!options.element_bytes || (*options.element_bytes >= 1 && *options.element_bytes <= 16),
                 "picture: elements have 1 to 16 bytes, not {}", options.element_bytes.value_or(0));
  const Subject subject = subject_of(value, options);
  Draft draft;
  if (subject.threads) {
    const IntTuple& tile = subject.threads->tiler;
    draft = draft_of(
        tile, format_text("tile {}, (thread,value) -> {}", to_text(tile), to_text(subject.threads->tv)),
        options);
    fill_threads(draft, *subject.threads, tile);
    if (options.access) draft.frame.titles.push_back("Memory: " + to_text(subject.layout));
  } else {
    const IntTuple& shape = expect_domain(subject.layout).shape();
    draft = draft_of(shape, subject.text, options);
    fill_indices(draft, subject.layout, shape);
    if (!options.access && (last_swizzle(subject.layout) != nullptr || options.element_bytes))
      fill_banks(draft, subject.layout, element_bytes(subject.layout, options));
  }
  Picture picture;
  if (options.access) picture.access = access_of(subject, *options.access);
  if (picture.access) fill_access(draft, *picture.access);
  picture.svg = framed(draft.grid, draft.frame, picture.access ? &*picture.access : nullptr);
  return picture;
}

}  // namespace gpuforge::layout
