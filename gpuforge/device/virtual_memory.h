// Addresses apart from the memory behind them: a range of addresses is reserved once, and physical blocks are
// mapped into it, taken out and mapped elsewhere. What a device offers (Device::virtual_memory) so that free
// memory of any place can serve any request, and so that what was evicted comes back to its own address.
//
// Nothing here is stream-ordered: who maps or unmaps has seen to it that no queued work touches the place.
// Every size, offset and alignment is a multiple of granularity(). Thread-safe. Objects keep their device and
// may be destroyed in any order, also by enqueued work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuforge::device {

// Memory without an address. Given back when nobody holds it and nothing maps it. Contents are undefined when
// new, and stay while it is mapped elsewhere.
class PhysicalBlock {
 public:
  virtual ~PhysicalBlock() = default;
  virtual std::size_t bytes() const = 0;
};

// Reserved addresses, of which some have memory. Destroyed, it unmaps what is mapped.
class AddressRange {
 public:
  virtual ~AddressRange() = default;
  virtual std::uint64_t address() const = 0;
  virtual std::size_t bytes() const = 0;
  // One after the other from `offset` on, readable and writable by the device. invalid_argument when a part
  // lies outside or is mapped already; nothing is mapped then.
  virtual void map(std::size_t offset, std::span<const std::shared_ptr<PhysicalBlock>> blocks) = 0;
  // Exactly whole blocks, in one piece; else an invalid_argument.
  virtual void unmap(std::size_t offset, std::size_t bytes) = 0;
};

class VirtualMemory {
 public:
  virtual ~VirtualMemory() = default;
  virtual std::size_t granularity() const = 0;
  // out_of_memory when there are not as many addresses.
  virtual std::unique_ptr<AddressRange> reserve(std::size_t bytes, std::size_t alignment = 0) = 0;
  // out_of_memory names wanted and free bytes.
  virtual std::shared_ptr<PhysicalBlock> make_block(std::size_t bytes) = 0;
};

}  // namespace gpuforge::device
