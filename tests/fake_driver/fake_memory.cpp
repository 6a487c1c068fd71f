// Device, pooled and pinned memory, copies and fills. A device address is a host address.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPoisonedBytes = std::size_t{1} << 20;

void* pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);
}

// True when all of [address, address + bytes) is one live allocation's, or mapped.
bool is_device_range(DevicePointer address, std::size_t bytes) {
  const State& s = state();
  auto after = s.allocations.upper_bound(address);
  if (after != s.allocations.begin()) {
    --after;
    const std::size_t offset = address - after->first;
    if (offset <= after->second.bytes && bytes <= after->second.bytes - offset) return true;
  }
  return is_mapped_range(address, bytes);
}

Result allocate(DevicePointer* address, std::size_t bytes, CUmemPoolHandle_st* pool) {
  State& s = state();
  if (address == nullptr || bytes == 0) return Result::invalid_value;
  if (bytes > s.memory_bytes - std::min(s.memory_bytes, s.allocated_bytes)) return Result::out_of_memory;
  void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) return Result::out_of_memory;
  std::memset(memory, 0xCD, std::min(bytes, kPoisonedBytes));
  *address = reinterpret_cast<DevicePointer>(memory);
  s.allocations[*address] = {bytes, pool};
  s.allocated_bytes += bytes;
  if (pool != nullptr) {
    pool->used_bytes += bytes;
    pool->used_bytes_high = std::max(pool->used_bytes_high, pool->used_bytes);
    pool->reserved_bytes = std::max(pool->reserved_bytes, pool->used_bytes);
    pool->reserved_bytes_high = std::max(pool->reserved_bytes_high, pool->reserved_bytes);
  }
  return Result::success;
}

// Forgets the allocation; the memory itself is the caller's to free.
bool forget(DevicePointer address) {
  State& s = state();
  const auto found = s.allocations.find(address);
  if (found == s.allocations.end()) return false;
  s.allocated_bytes -= found->second.bytes;
  if (found->second.pool != nullptr) found->second.pool->used_bytes -= found->second.bytes;
  s.allocations.erase(found);
  return true;
}

CUmemPoolHandle_st* pool_of(RawStream handle, const CUstream_st& stream) {
  const int device = handle == nullptr ? context_stack().back()->device : stream.device;
  return state().pools[static_cast<std::size_t>(device)].get();
}

Result copy_async(const char* function, void* to, const void* from, std::size_t bytes, RawStream stream,
                  bool to_device, bool from_device) {
  const Entered entered = enter(function, Needs::object);
  if (entered.result != Result::success) return entered.result;
  const auto is_good = [&](const void* end, bool on_device) {
    if (bytes == 0) return true;
    return on_device ? is_device_range(reinterpret_cast<DevicePointer>(end), bytes) : end != nullptr;
  };
  if (!is_good(to, to_device) || !is_good(from, from_device)) return Result::invalid_value;
  return submit(stream, NodeKind::copy, [=] {
    if (bytes > 0) std::memmove(to, from, bytes);
  });
}

Result copy_now(const char* function, void* to, const void* from, std::size_t bytes, bool to_device,
                bool from_device) {
  const Result result = copy_async(function, to, from, bytes, nullptr, to_device, from_device);
  if (result == Result::success) state().default_stream.queue->wait_idle();
  return result;
}

template <typename Value>
Result fill_async(const char* function, DevicePointer to, Value value, std::size_t count, RawStream stream) {
  const Entered entered = enter(function, Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (count > 0 && (count > SIZE_MAX / sizeof(Value) || to % sizeof(Value) != 0 ||
                    !is_device_range(to, count * sizeof(Value)))) {
    return Result::invalid_value;
  }
  return submit(stream, NodeKind::fill, [=] { std::fill_n(static_cast<Value*>(pointer(to)), count, value); });
}

}  // namespace

extern "C" {

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Entered entered = enter("cuMemGetInfo");
  if (entered.result != Result::success) return entered.result;
  *total = state().memory_bytes;
  *free = *total - std::min(*total, state().allocated_bytes);
  return Result::success;
}

Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  const Entered entered = enter("cuMemAlloc", Needs::context, During::ends_capture);
  return entered.result != Result::success ? entered.result : allocate(address, bytes, nullptr);
}

Result cuMemFree_v2(DevicePointer address) {
  Entered entered = enter("cuMemFree", Needs::context, During::ends_capture);
  if (entered.result != Result::success) return entered.result;
  if (address == 0) return Result::success;
  if (!forget(address)) return Result::invalid_value;
  // Waits for all work, as the real one does.
  std::vector<std::shared_ptr<Queue>> queues = {state().default_stream.queue};
  for (const auto& [handle, stream] : state().streams) queues.push_back(stream->queue);
  entered.lock.unlock();
  for (const auto& queue : queues) queue->wait_idle();
  std::free(pointer(address));
  return Result::success;
}

Result cuMemAllocAsync(DevicePointer* address, std::size_t bytes, RawStream stream) {
  const Entered entered = enter("cuMemAllocAsync", stream == nullptr ? Needs::context : Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUstream_st* const found = find_stream(stream);
  if (found == nullptr) return Result::invalid_handle;
  *address = 0;
  if (bytes == 0) return Result::success;
  const bool captured = found->capture != nullptr;
  const Result result = allocate(address, bytes, captured ? nullptr : pool_of(stream, *found));
  if (result != Result::success) return result;
  if (captured) {
    state().allocations[*address].captured = true;
    state().allocated_bytes -= bytes;
  }
  return submit(stream, NodeKind::allocate, [] {});
}

Result cuMemFreeAsync(DevicePointer address, RawStream stream) {
  const Entered entered = enter("cuMemFreeAsync", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUstream_st* const found = find_stream(stream);
  if (found == nullptr) return Result::invalid_handle;
  if (address == 0) return Result::success;
  const auto allocation = state().allocations.find(address);
  if (allocation == state().allocations.end()) return Result::invalid_value;
  // A captured free can only be of captured memory, which stays for the replays until the fake is reset.
  if (found->capture != nullptr) {
    return allocation->second.captured ? submit(stream, NodeKind::free, [] {}) : Result::invalid_value;
  }
  if (allocation->second.captured) return Result::invalid_value;
  forget(address);
  return submit(stream, NodeKind::free, [address] { std::free(pointer(address)); });
}

Result cuDeviceGetDefaultMemPool(RawMemoryPool* pool, RawDevice device) {
  const Entered entered = enter("cuDeviceGetDefaultMemPool", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (device < 0 || device >= state().devices) return Result::invalid_device;
  *pool = state().pools[static_cast<std::size_t>(device)].get();
  return Result::success;
}

Result cuMemPoolGetAttribute(RawMemoryPool pool, MemoryPoolAttribute which, void* value) {
  const Entered entered = enter("cuMemPoolGetAttribute", Needs::init);
  if (entered.result != Result::success) return entered.result;
  switch (which) {
    case MemoryPoolAttribute::release_threshold:
      *static_cast<std::uint64_t*>(value) = pool->release_threshold;
      return Result::success;
    case MemoryPoolAttribute::reserved_bytes:
      *static_cast<std::uint64_t*>(value) = pool->reserved_bytes;
      return Result::success;
    case MemoryPoolAttribute::reserved_bytes_high:
      *static_cast<std::uint64_t*>(value) = pool->reserved_bytes_high;
      return Result::success;
    case MemoryPoolAttribute::used_bytes:
      *static_cast<std::uint64_t*>(value) = pool->used_bytes;
      return Result::success;
    case MemoryPoolAttribute::used_bytes_high:
      *static_cast<std::uint64_t*>(value) = pool->used_bytes_high;
      return Result::success;
    default:
      *static_cast<int*>(value) = 1;
      return Result::success;
  }
}

Result cuMemPoolSetAttribute(RawMemoryPool pool, MemoryPoolAttribute which, void* value) {
  const Entered entered = enter("cuMemPoolSetAttribute", Needs::init);
  if (entered.result != Result::success) return entered.result;
  switch (which) {
    case MemoryPoolAttribute::release_threshold:
      pool->release_threshold = *static_cast<std::uint64_t*>(value);
      return Result::success;
    case MemoryPoolAttribute::reserved_bytes_high:
      pool->reserved_bytes_high = pool->reserved_bytes;
      return Result::success;
    case MemoryPoolAttribute::used_bytes_high:
      pool->used_bytes_high = pool->used_bytes;
      return Result::success;
    case MemoryPoolAttribute::reserved_bytes:
    case MemoryPoolAttribute::used_bytes:
      return Result::invalid_value;
    default:
      return Result::success;
  }
}

Result cuMemPoolTrimTo(RawMemoryPool pool, std::size_t bytes_to_keep) {
  const Entered entered = enter("cuMemPoolTrimTo", Needs::init);
  if (entered.result != Result::success) return entered.result;
  pool->reserved_bytes =
      std::max(pool->used_bytes, std::min<std::uint64_t>(pool->reserved_bytes, bytes_to_keep));
  return Result::success;
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, HostMemoryFlags) {
  const Entered entered = enter("cuMemHostAlloc", Needs::context, During::ends_capture);
  if (entered.result != Result::success) return entered.result;
  if (bytes == 0) return Result::invalid_value;
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return Result::out_of_memory;
  state().pinned[*memory] = bytes;
  return Result::success;
}

Result cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  return cuMemHostAlloc(memory, bytes, HostMemoryFlags::none);
}

Result cuMemFreeHost(void* memory) {
  const Entered entered = enter("cuMemFreeHost", Needs::object, During::ends_capture);
  if (entered.result != Result::success) return entered.result;
  if (memory == nullptr) return Result::success;
  if (state().pinned.erase(memory) == 0) return Result::invalid_value;
  std::free(memory);
  return Result::success;
}

Result cuMemHostRegister_v2(void* memory, std::size_t bytes, HostMemoryFlags) {
  const Entered entered = enter("cuMemHostRegister");
  if (entered.result != Result::success) return entered.result;
  if (memory == nullptr || bytes == 0) return Result::invalid_value;
  const bool is_new = state().registered.emplace(memory, bytes).second;
  return is_new ? Result::success : Result::host_memory_already_registered;
}

Result cuMemHostUnregister(void* memory) {
  const Entered entered = enter("cuMemHostUnregister");
  if (entered.result != Result::success) return entered.result;
  return state().registered.erase(memory) == 1 ? Result::success : Result::host_memory_not_registered;
}

Result cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  return copy_now("cuMemcpyHtoD", pointer(to), from, bytes, true, false);
}

Result cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  return copy_now("cuMemcpyDtoH", to, pointer(from), bytes, false, true);
}

Result cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return copy_now("cuMemcpyDtoD", pointer(to), pointer(from), bytes, true, true);
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, RawStream stream) {
  return copy_async("cuMemcpyHtoDAsync", pointer(to), from, bytes, stream, true, false);
}

Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, RawStream stream) {
  return copy_async("cuMemcpyDtoHAsync", to, pointer(from), bytes, stream, false, true);
}

Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, RawStream stream) {
  return copy_async("cuMemcpyDtoDAsync", pointer(to), pointer(from), bytes, stream, true, true);
}

Result cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, RawStream stream) {
  return fill_async("cuMemsetD8Async", to, value, count, stream);
}

Result cuMemsetD16Async(DevicePointer to, unsigned short value, std::size_t count, RawStream stream) {
  return fill_async("cuMemsetD16Async", to, value, count, stream);
}

Result cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, RawStream stream) {
  return fill_async("cuMemsetD32Async", to, value, count, stream);
}
}
