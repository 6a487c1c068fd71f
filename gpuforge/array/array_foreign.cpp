// Arrays over memory that somebody else owns.
#include <utility>

#include "gpuforge/array/storage.h"

namespace gpuforge {
namespace {

// Hands out one block, once: the memory given.
class ForeignMemory final : public memory::Allocator {
 public:
  ForeignMemory(std::shared_ptr<Context> context, device::Address address, std::shared_ptr<void> owner)
      : context_(std::move(context)), address_(address), owner_(std::move(owner)) {}

  device::Device& device() const override { return context_->device(); }
  device::Address allocate(std::size_t, device::Stream&) override { return address_; }
  void free(device::Address, std::size_t, device::Stream&) noexcept override { owner_.reset(); }

 private:
  const std::shared_ptr<Context> context_;
  const device::Address address_;
  std::shared_ptr<void> owner_;
};

}  // namespace

Array from_memory(std::shared_ptr<Context> context, device::Address address, const Shape& shape,
                  const Strides& strides, DType dtype, device::Stream& stream, std::shared_ptr<void> owner) {
  GPUFORGE_CHECK(context != nullptr, "from_memory: a context was expected, and none was given");
  GPUFORGE_CHECK(strides.size() == shape.size(), "from_memory: shape {} has {} axes, strides {} have {}",
                 to_string(shape), shape.size(), to_string(strides), strides.size());
  GPUFORGE_CHECK(address % element_bytes(dtype) == 0,
                 "from_memory: elements of {} start at multiples of {} bytes, the address given is {}",
                 name(dtype), element_bytes(dtype), address);
  const OffsetRange range = offset_range(shape, strides);
  const auto element = static_cast<std::int64_t>(element_bytes(dtype));
  const auto below = static_cast<device::Address>(-range.lowest * element);
  const bool empty = element_count(shape) == 0;
  const std::int64_t span = empty ? 0 : range.highest - range.lowest + 1;
  auto memory = std::make_shared<ForeignMemory>(context, empty ? device::Address{0} : address - below,
                                                std::move(owner));
  Array array(std::move(context), {span}, dtype, stream, std::move(memory));
  array.shape_ = shape;
  array.strides_ = strides;
  array.address_ = empty ? 0 : address;
  return array;
}

}  // namespace gpuforge
