#include "gpuforge/lab/placement.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpuforge::lab {
namespace {

constexpr std::size_t kMarginBytes = 256;  // a multiple of it, so that elements stay aligned for any vector

// The shape whose memory the operand lies in.
Shape storage_shape(const Operand& operand, Placement placement) {
  Shape shape = operand.shape;
  if (placement == Placement::transposed) std::reverse(shape.begin(), shape.end());
  if (!shape.empty() && placement == Placement::spread) shape[shape.size() - 1] *= 2;
  if (!shape.empty() && placement == Placement::shifted) shape[shape.size() - 1] += 1;
  return shape;
}

struct Run {  // of bytes of the storage that are elements
  std::size_t at = 0;
  std::size_t bytes = 0;
};

// The elements, row-major; neighbours are one run.
std::vector<Run> element_runs(const PlacedOperand& placed) {
  const Array& view = placed.view;
  if (view.size() == 0) return {};
  const auto start = static_cast<std::int64_t>(view.address() - placed.storage.address());
  if (view.contiguous()) return {{static_cast<std::size_t>(start), view.bytes()}};
  std::vector<Run> runs;
  const std::size_t width = element_bytes(view.dtype());
  Dims at = Dims::filled(view.rank(), 0);
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < view.rank(); ++axis) offset += at[axis] * view.strides()[axis];
    const auto here = static_cast<std::size_t>(start + offset * static_cast<std::int64_t>(width));
    if (!runs.empty() && runs.back().at + runs.back().bytes == here) {
      runs.back().bytes += width;
    } else {
      runs.push_back({here, width});
    }
    std::size_t axis = view.rank();
    while (axis > 0 && ++at[axis - 1] == view.shape()[axis - 1]) at[--axis] = 0;
    if (axis == 0) return runs;
  }
}

// By address, and fewer.
std::vector<Run> merged(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.at < b.at; });
  std::vector<Run> result;
  for (const Run& run : runs) {
    if (!result.empty() && result.back().at + result.back().bytes == run.at) {
      result.back().bytes += run.bytes;
    } else {
      result.push_back(run);
    }
  }
  return result;
}

// Past the device, so that to the simulator these bytes are still never written.
void write_unseen(const Array& storage, std::span<const std::byte> bytes) {
  std::memcpy(std::bit_cast<void*>(storage.address()), bytes.data(), bytes.size());
}

}  // namespace

std::string_view name(Placement placement) {
  switch (placement) {
    case Placement::contiguous:
      return "contiguous";
    case Placement::transposed:
      return "transposed";
    case Placement::spread:
      return "spread";
    case Placement::shifted:
      return "shifted";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the placement enumeration");
}

PlacedOperand place(const std::shared_ptr<Context>& context, const Operand& operand, Placement placement,
                    device::Stream& stream) {
  const Shape shape = storage_shape(operand, placement);
  const bool margins = context->device().facts().kind != device::DeviceKind::sim;
  const auto count = element_count(shape);
  const auto margin = margins && count > 0
                          ? static_cast<std::int64_t>(kMarginBytes / element_bytes(operand.dtype))
                          : std::int64_t{0};
  Array storage = empty(context, {count + 2 * margin}, operand.dtype, stream);
  Array view = storage.slice(0, {.start = margin, .stop = margin + count}).reshape(shape);
  const auto last = static_cast<std::int64_t>(shape.size()) - 1;
  if (placement == Placement::transposed) view = view.transpose();
  if (last >= 0 && placement == Placement::spread)
    view = view.slice(last, {.start = 0, .stop = {}, .step = 2});
  if (last >= 0 && placement == Placement::shifted) view = view.slice(last, {.start = 1, .stop = {}});
  return {std::move(storage), std::move(view)};
}

void write_operand(const PlacedOperand& placed, std::uint8_t pattern, std::span<const std::byte> elements,
                   device::Stream& stream) {
  GPUFORGE_ASSERT(elements.empty() || elements.size() == placed.view.bytes(),
                  "lab: {} bytes for an operand of {}", elements.size(), placed.view.bytes());
  std::vector<std::byte> image(placed.storage.bytes(), std::byte{pattern});
  if (image.empty()) return;
  std::vector<Run> given;
  if (!elements.empty()) given = element_runs(placed);
  const std::byte* from = elements.data();
  for (const Run& run : given) {
    std::memcpy(image.data() + run.at, from, run.bytes);
    from += run.bytes;
  }
  const device::Address address = placed.storage.address();
  if (placed.storage.device().facts().kind != device::DeviceKind::sim) {
    stream.copy_to_device(address, image.data(), image.size());
  } else {
    stream.synchronize();
    write_unseen(placed.storage, image);
    // Copies mark what was given as written.
    for (const Run& run : merged(std::move(given))) {
      stream.copy_to_device(address + run.at, image.data() + run.at, run.bytes);
    }
  }
  stream.synchronize();
}

ReadBack read_operand(const PlacedOperand& placed, std::uint8_t pattern, device::Stream& stream) {
  ReadBack result;
  std::vector<std::byte> image(placed.storage.bytes());
  if (image.empty()) return result;
  stream.copy_to_host(image.data(), placed.storage.address(), image.size());
  stream.synchronize();
  result.elements.resize(placed.view.bytes());
  std::byte* to = result.elements.data();
  std::size_t first = image.size();
  std::size_t end = 0;
  for (const Run& run : element_runs(placed)) {
    std::memcpy(to, image.data() + run.at, run.bytes);
    std::memset(image.data() + run.at, pattern, run.bytes);  // what is left to compare is no element's
    to += run.bytes;
    first = std::min(first, run.at);
    end = std::max(end, run.at + run.bytes);
  }
  std::size_t before = 0;
  std::size_t between = 0;
  std::size_t after = 0;
  for (std::size_t at = 0; at < image.size(); ++at) {
    if (image[at] == std::byte{pattern}) continue;
    (at < first ? before : at < end ? between : after) += 1;
  }
  const auto add = [&](std::size_t count, std::string_view where) {
    if (count == 0) return;
    result.damage +=
        format_text("{}{} byte{} {}", result.damage.empty() ? "" : ", ", count, count == 1 ? "" : "s", where);
  };
  add(before, "before its first element");
  add(between, "between its elements");
  add(after, "after its last element");
  return result;
}

}  // namespace gpuforge::lab
