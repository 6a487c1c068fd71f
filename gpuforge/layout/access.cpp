#include "gpuforge/layout/access.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "gpuforge/base/dtype.h"
#include "gpuforge/layout/access_sentence.h"
#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// What PTX has besides our element types; only the width counts here.
struct PlainWidth {
  std::string_view name;
  std::int64_t bytes;
};
constexpr PlainWidth kPlainWidths[] = {{"u16", 2}, {"u32", 4}, {"u64", 8},   {"b8", 1},  {"b16", 2},
                                       {"b32", 4}, {"b64", 8}, {"b128", 16}, {"tf32", 4}};

std::optional<std::int64_t> width_of(std::string_view name) {
  for (const PlainWidth& plain : kPlainWidths)
    if (plain.name == name) return plain.bytes;
  if (const std::optional<DType> dtype = parse_dtype(name))
    return static_cast<std::int64_t>(element_bytes(*dtype));
  return std::nullopt;
}

// So that no address and no difference of indices overflows.
constexpr std::int64_t kFarthest = std::int64_t{1} << 56;

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

std::int64_t known(Integer value, std::string_view what) {
  if (!value.known()) refuse("access: {} is unknown; bind its names to numbers", what);
  return value.value();
}

void check_same_sizes(const IntTuple& tile, const Layout& memory) {
  bool same = product(tile) == size(memory);
  if (same && tile.rank() > 1 && memory.rank() > 1) {
    same = tile.rank() == memory.rank();
    for (std::size_t i = 0; same && i < tile.rank(); ++i)
      same = product(tile[i]) == product(memory.shape()[i]);
  }
  if (!same)
    refuse("access: the memory has shape {}, the tile {}: they must have the same sizes",
           to_text(memory.shape()), to_text(tile));
}

ThreadAccess access_of(int thread, const ThreadValueLayout& by, const Mapping& memory,
                       const AccessType& type) {
  ThreadAccess access{.thread = thread};
  for (std::int64_t value = 0; value < type.elements; ++value) {
    const Integer at = crd2idx(tuple({thread, value}), by.tv);
    access.coordinates.push_back(known(at, "a coordinate"));
    if (at.value() < 0 || at.value() >= product(by.tiler).value())
      refuse("access: thread {}, value {} of {} is element {}, outside of the tile {}", thread, value,
             to_text(by.tv), at.value(), to_text(by.tiler));
    const std::int64_t index = index_at(access.coordinates.back(), memory);
    if (value == 0) access.index = index;
    if (index != access.index + value)
      refuse(
          "access: thread {} cannot access its first {} elements at once: element {} has index {}, element 0 "
          "{}",
          thread, type.elements, value, index, access.index);
  }
  if (access.index % type.elements != 0)
    refuse(
        "access: thread {} begins at index {}, which is no multiple of {}: an access of {} bytes must be "
        "aligned",
        thread, access.index, type.elements, type.bytes());
  return access;
}

}  // namespace

std::int64_t index_at(std::int64_t coordinate, const Mapping& layout) {
  const std::int64_t value = known(crd2idx(IntTuple(coordinate), layout), "an index");
  if (value > kFarthest || value < -kFarthest) refuse("access: index {} is too far away", value);
  return value;
}

AccessType parse_access(std::string_view text) {
  AccessType type{.name = std::string(text)};
  std::optional<std::int64_t> width = width_of(text);
  const std::size_t x = text.rfind('x');
  if (!width && x != std::string_view::npos) {
    width = width_of(text.substr(0, x));
    const std::string_view count = text.substr(x + 1);
    const auto [end, problem] = std::from_chars(count.data(), count.data() + count.size(), type.elements);
    if (problem != std::errc() || end != count.data() + count.size() || type.elements < 1) width.reset();
  }
  if (!width)
    refuse("access: expected an element type and a number of elements such as f16x8 or f32, found '{}'",
           text);
  type.element_bytes = *width;
  if (!is_power_of_two(type.elements) || type.elements > 32 || type.bytes() > 32)
    refuse("access: a thread accesses 1, 2, 4, 8, 16 or 32 bytes at once, not {} elements of {} bytes",
           type.elements, type.element_bytes);
  return type;
}

ThreadValueLayout threads_in_order(const Mapping& layout, std::int64_t elements) {
  struct Part {
    std::int64_t size, stride, before, taken = 1;  // `before`: the step of its coordinate
  };
  const Layout& plain = expect_domain(layout);
  std::vector<Part> parts;
  std::int64_t before = 1;
  for (const FlatMode& mode : flat_modes(plain)) {
    const std::int64_t extent = known(mode.shape, "a size");
    parts.push_back({extent, known(mode.stride, "a stride"), before});
    before = (Integer(before) * extent).value();
  }
  LayoutBuilder values;
  values.open();
  for (std::int64_t together = 1; together < elements;) {
    const auto next = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return part.stride == together && part.size > 1 && part.taken == 1;
    });
    const std::int64_t wanted = elements / together;
    if (next == parts.end() || (next->size % wanted != 0 && wanted % next->size != 0))
      refuse("access: {} has no {} elements that lie side by side and divide it evenly", to_text(plain),
             elements);
    next->taken = std::min(next->size, wanted);
    values.add(next->taken, next->before);
    together *= next->taken;
  }
  values.add(1, 0);  // so that one element at a time is a mode too
  values.close();
  LayoutBuilder threads;
  threads.open();
  for (const Part& part : parts) threads.add(part.size / part.taken, part.before * part.taken);
  threads.close();
  const auto moded = [](const Layout& one) { return coalesce(one); };
  return {plain.shape(), make_layout({moded(threads.take()), moded(values.take())})};
}

WarpAccess warp_access(const ThreadValueLayout& by, const Mapping& memory, const AccessRequest& request) {
  const AccessType& type = request.type;
  if (request.space == Space::shared && type.bytes() > 16)
    refuse("access: a thread accesses at most 16 bytes of shared memory at once, {} has {}", type.name,
           type.bytes());
  if (by.tv.rank() != 2) refuse("access: {} is no layout of (thread,value)", to_text(by.tv));
  check_same_sizes(by.tiler, expect_domain(memory));
  const std::int64_t threads = known(size(by.tv.mode(0)), "the number of threads");
  const std::int64_t values = known(size(by.tv.mode(1)), "the number of values");
  known(product(by.tiler), "the size of the tile");
  if (threads < 1) refuse("access: {} has no threads", to_text(by.tv));
  if (values < type.elements)
    refuse("access: {} has {} elements, but a thread of {} has only {} values", type.name, type.elements,
           to_text(by.tv), values);
  WarpAccess access{.request = request};
  WarpAddresses addresses;
  for (int thread = 0; thread < std::min<std::int64_t>(threads, kWarpThreads); ++thread) {
    access.threads.push_back(access_of(thread, by, memory, type));
    addresses[static_cast<unsigned>(thread)] = access.threads.back().index * type.element_bytes;
  }
  if (request.space == Space::shared) {
    access.shared = shared_cost(addresses, type.bytes(), request.is_load);
    find_conflict(access);
  } else {
    access.global = global_cost(addresses, type.bytes());
  }
  access.sentence = sentence_of(access);
  return access;
}

}  // namespace gpuforge::layout
