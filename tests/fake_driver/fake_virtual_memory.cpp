// Reserved addresses and physical blocks, which are pieces of a file in memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

void* pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);
}

bool is_whole(std::size_t bytes) {
  return bytes > 0 && bytes % kGranularity == 0;
}

void* map_nothing(void* at, std::size_t bytes) {
  return ::mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1,
                0);
}

void drop_if_unused(std::uint64_t handle) {
  State& s = state();
  const auto found = s.physical.find(handle);
  if (!found->second.released || found->second.mappings > 0) return;
  ::fallocate(s.memory_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, found->second.offset,
              static_cast<off_t>(found->second.bytes));
  s.allocated_bytes -= found->second.bytes;
  s.physical.erase(found);
}

// The reserved range that has all of [address, address + bytes), or the end.
auto find_range(DevicePointer address, std::size_t bytes) {
  State& s = state();
  auto found = s.address_ranges.upper_bound(address);
  if (found == s.address_ranges.begin()) return s.address_ranges.end();
  --found;
  const std::size_t offset = address - found->first;
  return offset <= found->second && bytes <= found->second - offset ? found : s.address_ranges.end();
}

}  // namespace

namespace gpuforge::fake_driver {

bool is_mapped_range(std::uint64_t address, std::size_t bytes) {
  const State& s = state();
  auto at = s.mappings.upper_bound(address);
  if (at == s.mappings.begin()) return false;
  --at;
  std::uint64_t reached = at->first;
  for (; at != s.mappings.end() && at->first == reached && at->second.accessible; ++at) {
    reached += at->second.bytes;
    if (reached >= address + bytes) return reached > address;
  }
  return false;
}

void reset_virtual_memory() {
  State& s = state();
  for (const auto& [address, bytes] : s.address_ranges) ::munmap(pointer(address), bytes);
  s.address_ranges.clear();
  s.mappings.clear();
  s.physical.clear();
  if (s.memory_file >= 0) ::close(s.memory_file);
  s.memory_file = -1;
}

}  // namespace gpuforge::fake_driver

extern "C" {

Result cuMemGetAllocationGranularity(std::size_t* bytes, const PhysicalMemoryProperties* properties,
                                     GranularityOption) {
  const Entered entered = enter("cuMemGetAllocationGranularity", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (properties == nullptr || properties->type != PhysicalMemoryType::pinned) return Result::invalid_value;
  *bytes = kGranularity;
  return Result::success;
}

Result cuMemAddressReserve(DevicePointer* address, std::size_t bytes, std::size_t alignment, DevicePointer,
                           unsigned long long flags) {
  const Entered entered = enter("cuMemAddressReserve");
  if (entered.result != Result::success) return entered.result;
  if (!is_whole(bytes) || flags != 0) return Result::invalid_value;
  const std::size_t margin = std::max(alignment, kGranularity);
  void* const begin = map_nothing(nullptr, bytes + margin);
  if (begin == MAP_FAILED) return Result::out_of_memory;
  const auto first = reinterpret_cast<DevicePointer>(begin);
  const DevicePointer aligned = (first + margin - 1) / margin * margin;
  if (aligned > first) ::munmap(begin, aligned - first);
  if (first + margin > aligned) ::munmap(pointer(aligned + bytes), first + margin - aligned);
  state().address_ranges[aligned] = bytes;
  *address = aligned;
  return Result::success;
}

Result cuMemAddressFree(DevicePointer address, std::size_t bytes) {
  const Entered entered = enter("cuMemAddressFree", Needs::object);
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  const auto found = s.address_ranges.find(address);
  if (found == s.address_ranges.end() || found->second != bytes) return Result::invalid_value;
  const auto mapped = s.mappings.lower_bound(address);
  if (mapped != s.mappings.end() && mapped->first < address + bytes) return Result::invalid_value;
  ::munmap(pointer(address), bytes);
  s.address_ranges.erase(found);
  return Result::success;
}

Result cuMemCreate(std::uint64_t* handle, std::size_t bytes, const PhysicalMemoryProperties* properties,
                   unsigned long long flags) {
  const Entered entered = enter("cuMemCreate");
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  if (!is_whole(bytes) || properties == nullptr || flags != 0 ||
      properties->location.type != MemoryLocationType::device) {
    return Result::invalid_value;
  }
  if (properties->location.id < 0 || properties->location.id >= s.devices) return Result::invalid_device;
  if (bytes > s.memory_bytes - std::min(s.memory_bytes, s.allocated_bytes)) return Result::out_of_memory;
  if (s.memory_file < 0) {
    s.memory_file = ::memfd_create("fake_cuda", MFD_CLOEXEC);
    if (s.memory_file < 0 || ::ftruncate(s.memory_file, off_t{1} << 46) != 0) return Result::out_of_memory;
  }
  static std::int64_t next_offset = 0;
  *handle = s.next_physical++;
  s.physical[*handle] = {bytes, next_offset, false, 0};
  next_offset += static_cast<std::int64_t>(bytes);
  s.allocated_bytes += bytes;
  return Result::success;
}

Result cuMemRelease(std::uint64_t handle) {
  const Entered entered = enter("cuMemRelease", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const auto found = state().physical.find(handle);
  if (found == state().physical.end() || found->second.released) return Result::invalid_value;
  found->second.released = true;
  drop_if_unused(handle);
  return Result::success;
}

Result cuMemMap(DevicePointer address, std::size_t bytes, std::size_t offset, std::uint64_t handle,
                unsigned long long flags) {
  const Entered entered = enter("cuMemMap");
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  const auto found = s.physical.find(handle);
  if (found == s.physical.end() || found->second.released || found->second.bytes != bytes || offset != 0 ||
      flags != 0 || address % kGranularity != 0 || find_range(address, bytes) == s.address_ranges.end()) {
    return Result::invalid_value;
  }
  const auto next = s.mappings.lower_bound(address);
  if (next != s.mappings.end() && next->first < address + bytes) return Result::invalid_value;
  if (next != s.mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address) {
    return Result::invalid_value;
  }
  if (::mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s.memory_file,
             found->second.offset) == MAP_FAILED) {
    return Result::out_of_memory;
  }
  s.mappings[address] = {bytes, handle, false};
  ++found->second.mappings;
  return Result::success;
}

Result cuMemUnmap(DevicePointer address, std::size_t bytes) {
  const Entered entered = enter("cuMemUnmap", Needs::object);
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  const auto found = s.mappings.find(address);
  if (found == s.mappings.end() || found->second.bytes != bytes) return Result::invalid_value;
  map_nothing(pointer(address), bytes);
  const std::uint64_t handle = found->second.handle;
  s.mappings.erase(found);
  --s.physical[handle].mappings;
  drop_if_unused(handle);
  return Result::success;
}

Result cuMemSetAccess(DevicePointer address, std::size_t bytes, const MemoryAccessDescription* access,
                      std::size_t count) {
  const Entered entered = enter("cuMemSetAccess");
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  if (count != 1 || access->access != MemoryAccess::read_write) return Result::invalid_value;
  std::uint64_t reached = address;
  for (auto at = s.mappings.find(address); reached < address + bytes; ++at) {
    if (at == s.mappings.end() || at->first != reached) return Result::invalid_value;
    at->second.accessible = true;
    reached += at->second.bytes;
  }
  return Result::success;
}
}
