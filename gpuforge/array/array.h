// Room array: a dtype, a shape and strides over bytes of a device. Arrays are values that share storage, as
// NumPy's views do. Nothing is lazy: an operation is queued on the stream given and its result is an Array at
// once. Only what returns host data waits (to_host, item, equal, allclose, to_string), and says so.
//
// Streams: an array may be used on any stream of its device and destroyed at any time; its memory is freed
// after the work queued through it. Ordering reads after writes between two streams is the caller's, with
// events.
//
// Not here: arithmetic (ops/).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/base/dtype.h"
#include "gpuforge/base/shape.h"
#include "gpuforge/context/context.h"
#include "gpuforge/jit/kernel.h"

namespace gpuforge {

// start:stop:step of one axis, NumPy's meaning, negative steps included.
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::int64_t step = 1;
};

class Array {
 public:
  // Uninitialised. Sizes that overflow are invalid_argument; memory that is not there is out_of_memory.
  // From `allocator`, or from the context's: a tag, a reservation or memory that may be evicted is an
  // allocator's (memory/pool.h).
  Array(std::shared_ptr<Context> context, Shape shape, DType dtype, device::Stream& stream,
        std::shared_ptr<memory::Allocator> allocator = nullptr);

  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }  // in elements
  DType dtype() const { return dtype_; }
  std::size_t rank() const { return shape_.size(); }
  std::int64_t size() const { return element_count(shape_); }
  std::size_t bytes() const;  // of the elements, not of the storage
  Context& context() const;
  device::Device& device() const;
  // Of the first element (coordinate zero). 0 when empty.
  device::Address address() const;
  bool contiguous() const { return is_contiguous(shape_, strides_); }
  bool shares_storage_with(const Array& other) const;
  // The whole allocation that this is a view of.
  device::Address storage_address() const;
  std::size_t storage_bytes() const;
  // For those who queue work on address() themselves: the memory outlives what `stream` then holds, or the
  // graph it records. An array whose allocator evicts has its memory for that work: keep what is returned
  // until the work is queued. Calling it early brings the memory back early.
  [[nodiscard]] memory::Hold record_use(device::Stream& stream) const;
  // While it lives, the memory is not evicted: for an address that others know.
  [[nodiscard]] memory::Hold pin() const;

  // Views: no data moves. Errors name the axis, index and extent.
  Array slice(std::int64_t axis, Slice range) const;
  Array index(std::int64_t axis, std::int64_t at) const;  // drops the axis
  Array transpose() const;                                // reverses the axes
  Array transpose(const Dims& permutation) const;
  // One -1 is worked out. invalid_argument when only a copy could have the shape: call to_contiguous first.
  Array reshape(const Shape& shape) const;
  Array broadcast_to(const Shape& shape) const;

  // Copies, queued on `stream`.
  Array to_contiguous(device::Stream& stream) const;  // itself when it already is
  Array copy(device::Stream& stream) const;
  Array astype(DType dtype, device::Stream& stream) const;
  // Writes `source` (broadcast, and converted by the rules of base/convert.h) into this view. A source that
  // overlaps it is read whole first, through a temporary; a view that overlaps itself is an invalid_argument.
  void assign(const Array& source, device::Stream& stream);
  // Converted as f64 elements are: integers are exact up to 2^53, saturate, and lose a fraction.
  void fill(double value, device::Stream& stream);

  // Waits for `stream`, not for the device. Elements in row-major order; `out` has exactly bytes() bytes.
  void to_host(std::span<std::byte> out, device::Stream& stream) const;
  template <typename T>
  std::vector<T> to_vector(device::Stream& stream) const;
  double item(device::Stream& stream) const;  // of an array with one element

 private:
  struct Storage;
  friend jit::Argument argument(const Array& array);
  friend Array from_memory(std::shared_ptr<Context> context, device::Address address, const Shape& shape,
                           const Strides& strides, DType dtype, device::Stream& stream,
                           std::shared_ptr<void> owner);
  // A view that starts `offset` elements after the first of this one.
  Array view(const Shape& shape, const Strides& strides, std::int64_t offset) const;
  void check_stream(const device::Stream& stream, const char* who) const;
  void check_writable(const char* who) const;
  void copy_from(const Array& source, device::Stream& stream);

  std::shared_ptr<Storage> storage_;
  DType dtype_;
  Shape shape_;
  Strides strides_;
  device::Address address_ = 0;
};

// An array as a kernel argument: the address of its first element. The array must outlive the launch call.
jit::Argument argument(const Array& array);

Array empty(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream,
            std::shared_ptr<memory::Allocator> allocator = nullptr);
Array zeros(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream);
Array ones(std::shared_ptr<Context> context, const Shape& shape, DType dtype, device::Stream& stream);
Array full(std::shared_ptr<Context> context, const Shape& shape, double value, DType dtype,
           device::Stream& stream);
// NumPy's length, ceil((stop - start) / step), at least 0; element i is start + i * step in double (two
// roundings), converted as fill does: exact for integers up to 2^53.
Array arange(std::shared_ptr<Context> context, double start, double stop, double step, DType dtype,
             device::Stream& stream);
// Copies row-major host elements, exactly as many bytes as the array has, without waiting for the stream. The
// bytes may be reused when it returns (the driver has staged them; cpu keeps a copy) unless they are pinned
// memory, which the device reads in its own time.
Array from_host(std::shared_ptr<Context> context, std::span<const std::byte> elements, const Shape& shape,
                DType dtype, device::Stream& stream);
// Memory of the context's device that somebody else owns, used where it is. `address` is that of the first
// element; strides are in elements. `owner` is dropped by whoever drops the last view, without waiting: it
// must itself outlast, or wait for, work that is still queued then.
Array from_memory(std::shared_ptr<Context> context, device::Address address, const Shape& shape,
                  const Strides& strides, DType dtype, device::Stream& stream, std::shared_ptr<void> owner);
template <typename T>
Array from_vector(std::shared_ptr<Context> context, std::span<const T> elements, const Shape& shape,
                  device::Stream& stream);

// Both arrays are of the stream's device (bring one over through the host otherwise). They wait for `stream`
// and move through the host piece by piece. Shapes must be equal (false otherwise); dtypes may differ: equal
// compares the exact values, allclose as doubles, |a - b| <= atol + rtol * |b|. NaN equals nothing unless
// `equal_nan`.
bool equal(const Array& a, const Array& b, device::Stream& stream);
bool allclose(const Array& a, const Array& b, double rtol, double atol, bool equal_nan,
              device::Stream& stream);

// As NumPy 2 prints it with its default options (8 digits, 75 columns, more than 1000 elements summarised),
// with our dtype name and the device: array([1., 2.], dtype=f32, device=cuda:0). Waits.
std::string to_string(const Array& array, device::Stream& stream);

template <typename T>
std::vector<T> Array::to_vector(device::Stream& stream) const {
  GPUFORGE_CHECK(dtype_of<T>() == dtype_, "array: to_vector of {} asked of an array of {}",
                 name(dtype_of<T>()), name(dtype_));
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is not a row of bytes: use to_host");
  std::vector<T> out(static_cast<std::size_t>(size()));
  to_host(std::as_writable_bytes(std::span(out)), stream);
  return out;
}

template <typename T>
Array from_vector(std::shared_ptr<Context> context, std::span<const T> elements, const Shape& shape,
                  device::Stream& stream) {
  return from_host(std::move(context), std::as_bytes(elements), shape, dtype_of<T>(), stream);
}

}  // namespace gpuforge
