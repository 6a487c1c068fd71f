#include <bit>
#include <cstring>

#include "gpuforge/array/array_kernels.h"
#include "gpuforge/array/storage.h"
#include "gpuforge/array/strided.h"
#include "gpuforge/base/convert.h"

namespace gpuforge {

void Array::check_writable(const char* who) const {
  GPUFORGE_CHECK(
      !may_overlap_itself(shape_, strides_),
      "{}: a view of shape {} with strides {} shows one element at several places, so it cannot be written; "
      "write to a copy of it",
      who, to_string(shape_), to_string(strides_));
}

// Same shape, same device, no overlap.
void Array::copy_from(const Array& source, device::Stream& stream) {
  if (size() == 0) return;
  const memory::Hold use = record_use(stream);
  const memory::Hold source_use = source.record_use(stream);
  const StridedWalk walk = make_walk(shape_, strides_, source.strides_);
  if (dtype_ == source.dtype_ && walk.dense()) {
    const auto start = [&](device::Address address, std::int64_t elements) {
      return address +
             static_cast<device::Address>(elements * static_cast<std::int64_t>(element_bytes(dtype_)));
    };
    stream.copy(start(address_, walk.to_start), start(source.address_, walk.from_start), bytes());
  } else if (device().facts().kind == device::DeviceKind::cpu) {
    stream.enqueue(
        [to = address_, to_dtype = dtype_, from = source.address_, from_dtype = source.dtype_, walk] {
          copy_on_host(std::bit_cast<std::byte*>(to), to_dtype, std::bit_cast<const std::byte*>(from),
                       from_dtype, walk);
        });
  } else {
    launch_copy(context(), {address_, dtype_}, {source.address_, source.dtype_}, walk, stream);
  }
}

Array Array::astype(DType dtype, device::Stream& stream) const {
  check_stream(stream, "astype");
  Array result(storage_->context, shape_, dtype, stream);
  result.copy_from(*this, stream);
  return result;
}

Array Array::copy(device::Stream& stream) const {
  return astype(dtype_, stream);
}

Array Array::to_contiguous(device::Stream& stream) const {
  return contiguous() ? *this : copy(stream);
}

void Array::assign(const Array& source, device::Stream& stream) {
  check_stream(stream, "assign");
  GPUFORGE_CHECK(&source.device() == &device(),
                 "assign: the array is on {}, the source on {}; bring it over with to_host and from_host",
                 device().facts().name, source.device().facts().name);
  check_writable("assign");
  const Array shown = source.broadcast_to(shape_);
  if (size() == 0) return;
  if (shares_storage_with(source)) {
    if (dtype_ == shown.dtype_ && address_ == shown.address_ &&
        make_walk(shape_, strides_, shown.strides_).same()) {
      return;
    }
    const auto lies = [](const Array& view) {
      const OffsetRange range = offset_range(view.shape_, view.strides_);
      const auto bytes = static_cast<std::int64_t>(element_bytes(view.dtype_));
      const auto base = static_cast<std::int64_t>(view.address_);
      return std::pair(base + range.lowest * bytes, base + (range.highest + 1) * bytes);
    };
    const auto [to_begin, to_end] = lies(*this);
    const auto [from_begin, from_end] = lies(shown);
    if (to_begin < from_end && from_begin < to_end) {
      // Only the elements there are, not their repetitions, go through the temporary.
      copy_from(source.copy(stream).broadcast_to(shape_), stream);
      return;
    }
  }
  copy_from(shown, stream);
}

void Array::fill(double value, device::Stream& stream) {
  check_stream(stream, "fill");
  check_writable("fill");
  if (size() == 0) return;
  const memory::Hold use = record_use(stream);
  const std::size_t element = element_bytes(dtype_);
  std::uint64_t bits = 0;
  store_double(&bits, dtype_, value);
  const StridedWalk walk = make_walk(shape_, strides_, Strides::filled(rank(), 0));
  const bool run = walk.extents.empty() || (walk.extents.size() == 1 && walk.to_strides[0] == 1);
  const auto low = static_cast<std::uint32_t>(bits);
  const device::Address first =
      address_ + static_cast<device::Address>(walk.to_start * static_cast<std::int64_t>(element));
  const auto count = static_cast<std::size_t>(size());
  if (run && element <= 4) {
    stream.fill(first, low, element, count);
  } else if (run && low == bits >> 32) {
    stream.fill(first, low, 4, count * 2);
  } else if (device().facts().kind == device::DeviceKind::cpu) {
    stream.enqueue([to = address_, bits, element, walk] {
      fill_on_host(std::bit_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(&bits), element, walk);
    });
  } else {
    launch_fill(context(), address_, bits, element, walk, stream);
  }
}

}  // namespace gpuforge
