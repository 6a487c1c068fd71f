// Arrays from a shape, a value, a range or host memory.
#include <bit>
#include <cmath>

#include "gpuforge/array/array.h"
#include "gpuforge/array/array_kernels.h"
#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

void fill_range_on_host(std::byte* to, DType dtype, std::int64_t count, double start, double step) {
  constexpr std::int64_t kChunk = 512;
  std::array<double, kChunk> values;
  for (std::int64_t at = 0; at < count; at += kChunk) {
    const std::int64_t n = std::min(kChunk, count - at);
    for (std::int64_t i = 0; i < n; ++i) {
      values[static_cast<std::size_t>(i)] = start + static_cast<double>(at + i) * step;
    }
    convert_elements(to + at * static_cast<std::int64_t>(element_bytes(dtype)), dtype, values.data(),
                     DType::f64, static_cast<std::size_t>(n));
  }
}

}  // namespace

Array empty(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream,
            std::shared_ptr<memory::Allocator> allocator) {
  return Array(std::move(context), shape, dtype, stream, std::move(allocator));
}

Array zeros(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream) {
  return full(std::move(context), shape, 0.0, dtype, stream);
}

Array ones(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream) {
  return full(std::move(context), shape, 1.0, dtype, stream);
}

Array full(std::shared_ptr<Context> context, const Shape& shape, double value, DType dtype,
           device::Stream& stream) {
  Array array(std::move(context), shape, dtype, stream);
  array.fill(value, stream);
  return array;
}

Array arange(std::shared_ptr<Context> context, double start, double stop, double step, DType dtype,
             device::Stream& stream) {
  GPUFORGE_CHECK(step != 0, "arange: a step other than zero was expected");
  const double length = std::ceil((stop - start) / step);
  GPUFORGE_CHECK(std::isfinite(start) && std::isfinite(step) && !std::isnan(length),
                 "arange: from {} to {} by {} has no length", start, stop, step);
  GPUFORGE_CHECK(length < 0x1p63, "arange: from {} to {} by {} has more elements than an array can have",
                 start, stop, step);
  const auto count = length > 0 ? static_cast<std::int64_t>(length) : std::int64_t{0};
  Array array(std::move(context), {count}, dtype, stream);
  if (count == 0) return array;
  const memory::Hold use = array.record_use(stream);
  if (array.device().facts().kind == device::DeviceKind::cpu) {
    stream.enqueue([to = array.address(), dtype, count, start, step] {
      fill_range_on_host(std::bit_cast<std::byte*>(to), dtype, count, start, step);
    });
  } else {
    launch_range(array.context(), {array.address(), dtype}, count, start, step, stream);
  }
  return array;
}

Array from_host(std::shared_ptr<Context> context, std::span<const std::byte> elements, const Shape& shape,
                DType dtype, device::Stream& stream) {
  // Compared before allocating, so that a wrong size costs nothing; this way no product can overflow.
  const std::size_t element = element_bytes(dtype);
  const auto count = static_cast<std::uint64_t>(element_count(shape));
  GPUFORGE_CHECK(elements.size() % element == 0 && elements.size() / element == count,
                 "from_host: an array of {} {} has {} elements of {} bytes, the memory given has {} bytes",
                 to_string(shape), name(dtype), count, element, elements.size());
  Array array(std::move(context), shape, dtype, stream);
  if (elements.empty()) return array;
  const memory::Hold use = array.record_use(stream);
  if (array.device().facts().kind == device::DeviceKind::cuda) {
    stream.copy_to_device(array.address(), elements.data(), elements.size());  // the driver stages it
  } else {
    const auto kept = std::make_shared<const std::vector<std::byte>>(elements.begin(), elements.end());
    stream.copy_to_device(array.address(), kept->data(), kept->size());
    stream.enqueue([kept] {});
  }
  return array;
}

}  // namespace gpuforge
