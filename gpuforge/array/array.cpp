#include "gpuforge/array/array.h"

#include <bit>
#include <limits>

#include "gpuforge/array/storage.h"
#include "gpuforge/array/strided.h"
#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

// Up to this many bytes a scattered view is fetched as the whole range it lies in and sorted out by the host,
// which needs neither a kernel nor memory on the device.
constexpr std::size_t kFetchWholeBytes = std::size_t{1} << 20;
constexpr std::int64_t kFetchSinglyElements = 64;

std::size_t byte_count(const Shape& shape, DType dtype) {
  const std::int64_t count = element_count(shape);
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  GPUFORGE_CHECK(count <= std::numeric_limits<std::int64_t>::max() / bytes,
                 "array: shape {} of {} has more bytes than an address can reach", to_string(shape),
                 name(dtype));
  return static_cast<std::size_t>(count * bytes);
}

}  // namespace

Array::Storage::Storage(std::shared_ptr<Context> owner, std::size_t bytes, device::Stream& stream,
                        std::shared_ptr<memory::Allocator> from)
    : context(std::move(owner)),
      allocator(from != nullptr ? std::move(from) : context->allocator()),
      home(stream.shared_from_this()),
      born_in(context->device().capturing() ? stream.capture_number() : 0),
      buffer(allocator, bytes, home) {}

Array::Storage::~Storage() {
  // The free waits, in the home stream's order, for what other streams still do with the memory.
  for (const auto& visitor : visitors) {
    try {
      const std::uint64_t capture = visitor->capture_number();
      if (capture != 0 && capture != home->capture_number()) {
        // An event recorded there would draw the home stream into the capture: the memory goes with the
        // graph.
        auto kept = std::make_shared<memory::Buffer>(std::move(buffer));
        if (visitor->keep_in_capture(kept)) return;
        buffer = std::move(*kept);
      }
      const auto event = context->device().make_event(false);
      visitor->record(*event);
      home->wait(*event);
    } catch (const std::exception&) {
      // A device that can no longer record an event runs nothing that could still touch the memory.
    }
  }
}

memory::Hold Array::Storage::record_use(device::Stream& stream) {
  memory::Hold hold;
  if (allocator->evicts()) hold = allocator->use(buffer.address(), stream);
  const std::uint64_t capture = context->device().capturing() ? stream.capture_number() : 0;
  if (capture != 0 && capture != born_in) {
    // The graph has the address: the memory stays as long as it does, and where it is. The pin goes first.
    using Kept = std::pair<std::shared_ptr<Storage>, memory::Hold>;
    stream.keep_in_capture(
        std::make_shared<Kept>(shared_from_this(), allocator->pin(buffer.address(), buffer.bytes())));
  }
  if (&stream == home.get()) return hold;
  const std::lock_guard lock(mutex);
  for (const auto& visitor : visitors) {
    if (visitor.get() == &stream) return hold;
  }
  visitors.push_back(stream.shared_from_this());
  return hold;
}

Array::Array(std::shared_ptr<Context> context, Shape shape, DType dtype, device::Stream& stream,
             std::shared_ptr<memory::Allocator> allocator)
    : dtype_(dtype), shape_(std::move(shape)) {
  GPUFORGE_CHECK(context != nullptr, "array: a context was expected, and none was given");
  GPUFORGE_CHECK(&stream.device() == &context->device(), "array: the context is of {}, the stream of {}",
                 context->device().facts().name, stream.device().facts().name);
  const std::size_t bytes = byte_count(shape_, dtype_);
  strides_ = row_major_strides(shape_);
  storage_ = std::make_shared<Storage>(std::move(context), bytes, stream, std::move(allocator));
  address_ = storage_->buffer.address();
}

std::size_t Array::bytes() const {
  return byte_count(shape_, dtype_);
}
Context& Array::context() const {
  return *storage_->context;
}
device::Device& Array::device() const {
  return storage_->context->device();
}
device::Address Array::address() const {
  return address_;
}
bool Array::shares_storage_with(const Array& other) const {
  return storage_ == other.storage_;
}
device::Address Array::storage_address() const {
  return storage_->buffer.address();
}
std::size_t Array::storage_bytes() const {
  return storage_->buffer.bytes();
}
memory::Hold Array::record_use(device::Stream& stream) const {
  return storage_->record_use(stream);
}
memory::Hold Array::pin() const {
  return storage_->allocator->pin(storage_->buffer.address(), storage_->buffer.bytes());
}

void Array::check_stream(const device::Stream& stream, const char* who) const {
  GPUFORGE_CHECK(&stream.device() == &device(), "{}: the array is on {}, the stream is of {}", who,
                 device().facts().name, stream.device().facts().name);
}

void Array::to_host(std::span<std::byte> out, device::Stream& stream) const {
  check_stream(stream, "to_host");
  GPUFORGE_CHECK(out.size() == bytes(), "to_host: an array of {} {} has {} bytes, the memory given has {}",
                 to_string(shape_), name(dtype_), bytes(), out.size());
  const std::int64_t count = size();
  if (count == 0) return;
  const memory::Hold use = record_use(stream);
  const std::size_t element = element_bytes(dtype_);
  const OffsetRange range = offset_range(shape_, strides_);
  const StridedWalk walk = make_walk(shape_, row_major_strides(shape_), strides_);
  const std::int64_t span = range.highest - range.lowest + 1;
  if (contiguous()) {
    stream.copy_to_host(out.data(), address_, out.size());
    stream.synchronize();
  } else if (device().facts().kind == device::DeviceKind::cpu) {
    stream.enqueue([to = out.data(), from = address_, dtype = dtype_, walk] {
      copy_on_host(to, dtype, std::bit_cast<const std::byte*>(from), dtype, walk);
    });
    stream.synchronize();
  } else if (static_cast<std::size_t>(span) <= kFetchWholeBytes / element) {
    std::vector<std::byte> whole(static_cast<std::size_t>(span) * element);
    const std::int64_t before = -range.lowest * static_cast<std::int64_t>(element);
    stream.copy_to_host(whole.data(), address_ - static_cast<device::Address>(before), whole.size());
    stream.synchronize();
    copy_on_host(out.data(), dtype_, whole.data() + before, dtype_, walk);
  } else if (count <= kFetchSinglyElements) {
    const Strides counting = row_major_strides(shape_);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < rank(); ++d) offset += i / counting[d] % shape_[d] * strides_[d];
      stream.copy_to_host(
          out.data() + i * static_cast<std::int64_t>(element),
          address_ + static_cast<device::Address>(offset * static_cast<std::int64_t>(element)), element);
    }
    stream.synchronize();
  } else {
    const Array gathered = copy(stream);
    stream.copy_to_host(out.data(), gathered.address_, out.size());
    stream.synchronize();
  }
}

double Array::item(device::Stream& stream) const {
  GPUFORGE_CHECK(size() == 1, "item: an array with one element was expected, this one has shape {}",
                 to_string(shape_));
  std::array<std::byte, 8> element{};
  to_host(std::span(element).first(element_bytes(dtype_)), stream);
  return load_double(element.data(), dtype_);
}

jit::Argument argument(const Array& array) {
  return {&array.address_, sizeof(array.address_), "array"};
}

}  // namespace gpuforge
