#include "gpuforge/layout/picture.h"

#include "gpuforge/layout/operation.h"
#include "gpuforge/layout/picture_cells.h"

namespace gpuforge::layout {
namespace {

// A swizzle keeps 2^M elements together; it is made for 16 bytes.
std::int64_t element_bytes(const AnyLayout& layout, const PictureOptions& options) {
  if (options.access) return options.access->type.element_bytes;
  if (options.element_bytes) return *options.element_bytes;
  const auto* const swizzled = std::get_if<SwizzledLayout>(&layout);
  const int base = swizzled != nullptr ? swizzled->swizzle.base() : 3;
  return base >= 1 && base <= 4 ? 16 >> base : 2;
}

// What a value and the options together say is to be drawn.
struct Subject {
  AnyLayout layout;  // of the elements in memory, when threads are not given
  std::optional<ThreadValueLayout> threads;
};

std::optional<AnyLayout> layout_in(const Value& value) {
  if (const auto* const plain = std::get_if<Layout>(&value.is)) return *plain;
  if (const auto* const swizzled = std::get_if<SwizzledLayout>(&value.is)) return *swizzled;
  const auto* const part = std::get_if<OffsetLayout>(&value.is);
  if (part == nullptr) return std::nullopt;
  if (part->offset.is(0)) return part->layout;
  // Where it begins decides about banks and sectors; a swizzle that changes nothing carries that.
  if (const auto* const plain = std::get_if<Layout>(&part->layout))
    return SwizzledLayout{Swizzle(), part->offset, *plain};
  refuse("picture: {} begins at index {}, behind its swizzle: not drawn", to_text(part->layout),
         to_text(IntTuple(part->offset)));
}

bool is_swizzled(const AnyLayout& layout) {
  const auto* const swizzled = std::get_if<SwizzledLayout>(&layout);
  return swizzled != nullptr && swizzled->swizzle != Swizzle();
}

std::string title_of(const AnyLayout& layout) {
  const auto* const part = std::get_if<SwizzledLayout>(&layout);
  if (part == nullptr || is_swizzled(layout)) return to_text(layout);
  return format_text("{} + {}", to_text(IntTuple(part->offset)), to_text(part->layout));
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
    return {options.memory.value_or(AnyLayout(Layout(threads->tiler))), std::move(threads)};
  if (options.memory) refuse("picture: a memory layout is for (tiler, tv) or a layout with a tile");
  std::optional<AnyLayout> layout = layout_in(value);
  if (!layout) refuse("picture: a layout or (tiler, tv) can be drawn, not {}", to_text(value));
  return {std::move(*layout), std::nullopt};
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
    const IntTuple& shape = without_swizzle(subject.layout).shape();
    draft = draft_of(shape, title_of(subject.layout), options);
    fill_indices(draft, subject.layout, shape);
    if (!options.access && (is_swizzled(subject.layout) || options.element_bytes))
      fill_banks(draft, subject.layout, element_bytes(subject.layout, options));
  }
  Picture picture;
  if (options.access) picture.access = access_of(subject, *options.access);
  if (picture.access) fill_access(draft, *picture.access);
  picture.svg = framed(draft.grid, draft.frame, picture.access ? &*picture.access : nullptr);
  return picture;
}

}  // namespace gpuforge::layout
