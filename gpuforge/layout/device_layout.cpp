#include "gpuforge/layout/device_layout.h"

#include <algorithm>
#include <limits>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// Kernels count coordinates of a mode in an int, and indices in 64 bits where they need to.
constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();

enum class Role { shape, stride };

void check_size(std::int64_t size) {
  if (size > kLargestSize) refuse("a kernel's mode has at most {} elements, not {}", kLargestSize, size);
}

std::string integer_type(Integer integer, Role role) {
  if (!integer.known()) return role == Role::shape ? "int" : "long long";
  if (role == Role::shape) check_size(integer.value());
  return format_text("gpuforge::Int<{}>", integer.value());
}

std::string tuple_type(TupleView tuple, Role role) {
  if (tuple.is_underscore()) refuse("`_` has no type");
  if (tuple.is_integer()) return integer_type(tuple.integer(), role);
  std::string text = role == Role::shape ? "gpuforge::Shape<" : "gpuforge::Stride<";
  const char* separator = "";
  for (const TupleView element : tuple) {
    text += separator + tuple_type(element, role);
    separator = ",";
  }
  return text + ">";
}

std::string plain_type(const Layout& layout) {
  return format_text("gpuforge::Layout<{},{}>", tuple_type(layout.shape(), Role::shape),
                     tuple_type(layout.stride(), Role::stride));
}

std::string swizzled_type(const SwizzledLayout& layout) {
  return format_text("gpuforge::SwizzledLayout<{},{},{}>", device_type(layout.swizzle),
                     integer_type(layout.offset, Role::stride), plain_type(layout.layout));
}

// Appends what stands where the pattern has `?`.
void collect(TupleView tuple, TupleView pattern, Role role, std::vector<std::int64_t>& values) {
  if (tuple.is_tuple() != pattern.is_tuple() || tuple.rank() != pattern.rank())
    refuse("{} has another hierarchy than {}", to_text(tuple), to_text(pattern));
  if (tuple.is_tuple()) {
    for (std::size_t i = 0; i < tuple.rank(); ++i) collect(tuple[i], pattern[i], role, values);
    return;
  }
  const Integer integer = tuple.integer();
  if (!integer.known()) refuse("a launch needs a number where there is `?`");
  if (role == Role::shape) check_size(integer.value());
  if (!pattern.integer().known())
    values.push_back(integer.value());
  else if (integer != pattern.integer())
    refuse("{} stands where the kernel is compiled for {}", integer.value(), pattern.integer().value());
}

void collect(const Layout& layout, const Layout& pattern, std::vector<std::int64_t>& values) {
  collect(layout.shape(), pattern.shape(), Role::shape, values);
  collect(layout.stride(), pattern.stride(), Role::stride, values);
}

void add_unknown(TupleView tuple, TupleBuilder& builder) {
  if (!tuple.is_tuple()) return builder.add(Integer::unknown());
  builder.open();
  for (const TupleView element : tuple) add_unknown(element, builder);
  builder.close();
}

// The tuple with `?` in these modes.
IntTuple unknown_in(TupleView tuple, std::span<const std::size_t> modes) {
  for (const std::size_t mode : modes)
    if (mode >= tuple.rank()) refuse("there is no mode {} in {}", mode, to_text(tuple));
  TupleBuilder builder;
  if (!tuple.is_tuple()) {
    builder.add(modes.empty() ? tuple.integer() : Integer::unknown());
    return builder.take();
  }
  builder.open();
  for (std::size_t i = 0; i < tuple.rank(); ++i) {
    if (std::find(modes.begin(), modes.end(), i) != modes.end())
      add_unknown(tuple[i], builder);
    else
      builder.add(tuple[i]);
  }
  builder.close();
  return builder.take();
}

}  // namespace

std::string device_type(const AnyLayout& layout) {
  return named_operation(
      "device_type",
      [&] {
        if (const auto* const swizzled = std::get_if<SwizzledLayout>(&layout))
          return swizzled_type(*swizzled);
        return plain_type(std::get<Layout>(layout));
      },
      layout);
}

std::string device_type(const Swizzle& swizzle) {
  return format_text("gpuforge::Swizzle<{},{},{}>", swizzle.bits(), swizzle.base(), swizzle.shift());
}

std::string device_type(TupleView shape) {
  return named_operation(
      "device_type", [&] { return tuple_type(shape, Role::shape); }, shape);
}

Layout with_dynamic(const Layout& layout, std::initializer_list<std::size_t> sizes,
                    std::initializer_list<std::size_t> strides) {
  return named_operation(
      "with_dynamic",
      [&] { return Layout(unknown_in(layout.shape(), sizes), unknown_in(layout.stride(), strides)); },
      layout);
}

std::span<const std::byte> DeviceLayout::bytes() const {
  static constexpr std::byte kNothing{};
  if (values.empty()) return {&kNothing, 1};
  return std::as_bytes(std::span(values));
}

DeviceLayout device_layout(const AnyLayout& layout) {
  return device_layout(layout, layout);
}

DeviceLayout device_layout(const AnyLayout& layout, const AnyLayout& pattern) {
  return named_operation(
      "device_layout",
      [&] {
        if (layout.index() != pattern.index()) refuse("one is swizzled and the other is not");
        DeviceLayout result{device_type(pattern), {}};
        if (const auto* const swizzled = std::get_if<SwizzledLayout>(&layout)) {
          const auto& other = std::get<SwizzledLayout>(pattern);
          if (swizzled->swizzle != other.swizzle) refuse("the swizzles differ");
          collect(IntTuple(swizzled->offset), IntTuple(other.offset), Role::stride, result.values);
          collect(swizzled->layout, other.layout, result.values);
        } else {
          collect(std::get<Layout>(layout), std::get<Layout>(pattern), result.values);
        }
        return result;
      },
      layout, pattern);
}

}  // namespace gpuforge::layout
