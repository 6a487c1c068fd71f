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

// All bytes of the storage. To the simulator they are still never written: it is gone past.
void write_pattern(const Array& storage, std::uint8_t pattern, device::Stream& stream) {
  if (storage.device().facts().kind != device::DeviceKind::sim) {
    stream.fill(storage.address(), pattern, 1, storage.bytes());
    return;
  }
  stream.synchronize();
  std::memset(std::bit_cast<void*>(storage.address()), pattern, storage.bytes());
}

// Bytes [begin, end) of the storage that are not `pattern`.
std::size_t changed_bytes(std::span<const std::byte> image, std::size_t begin, std::size_t end,
                          std::uint8_t pattern) {
  const auto part = image.subspan(begin, end - begin);
  return part.size() - static_cast<std::size_t>(std::count(part.begin(), part.end(), std::byte{pattern}));
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
  if (placed.storage.bytes() == 0) return;
  write_pattern(placed.storage, pattern, stream);
  std::vector<Run> runs;
  if (!elements.empty()) runs = element_runs(placed);
  const device::Address address = placed.storage.address();
  if (runs.size() == 1) {
    stream.copy_to_device(address + runs[0].at, elements.data(), elements.size());
  } else if (!runs.empty()) {
    std::vector<std::byte> image(placed.storage.bytes(), std::byte{pattern});
    const std::byte* from = elements.data();
    for (const Run& run : runs) {
      std::memcpy(image.data() + run.at, from, run.bytes);
      from += run.bytes;
    }
    // To the simulator a copy marks what was given as written, and no byte between.
    if (placed.storage.device().facts().kind == device::DeviceKind::sim) {
      for (const Run& run : merged(std::move(runs)))
        stream.copy_to_device(address + run.at, image.data() + run.at, run.bytes);
    } else {
      stream.copy_to_device(address, image.data(), image.size());
    }
    stream.synchronize();  // the image goes
    return;
  }
  stream.synchronize();
}

ReadBack read_operand(const PlacedOperand& placed, std::uint8_t pattern, device::Stream& stream) {
  ReadBack result;
  const std::size_t size = placed.storage.bytes();
  if (size == 0) return result;
  const device::Address address = placed.storage.address();
  std::vector<Run> runs = element_runs(placed);
  result.elements.resize(placed.view.bytes());
  std::vector<std::byte> image;
  if (runs.size() == 1) {  // large ones are read where they are wanted, and the image is what lies around
    const std::size_t head = runs[0].at;
    const std::size_t tail = size - head - runs[0].bytes;
    image.resize(head + tail);
    stream.copy_to_host(result.elements.data(), address + head, runs[0].bytes);
    if (head > 0) stream.copy_to_host(image.data(), address, head);
    if (tail > 0) stream.copy_to_host(image.data() + head, address + size - tail, tail);
    stream.synchronize();
    runs[0].bytes = 0;
  } else {
    image.resize(size);
    stream.copy_to_host(image.data(), address, size);
    stream.synchronize();
    std::byte* to = result.elements.data();
    for (const Run& run : runs) {
      std::memcpy(to, image.data() + run.at, run.bytes);
      to += run.bytes;
    }
  }
  std::size_t before = 0;
  std::size_t between = 0;
  std::size_t end = 0;  // of the run before
  for (const Run& run : merged(std::move(runs))) {
    (end == 0 ? before : between) += changed_bytes(image, end, run.at, pattern);
    end = run.at + run.bytes;
  }
  const std::size_t after = changed_bytes(image, end, image.size(), pattern);
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
