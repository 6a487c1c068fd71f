// Memory allocated while a stream captures. It belongs to the graph: it stays as long as that lives and has
// launches under way, and as its user has not freed it, whichever is longer. What is freed inside the capture
// is there for the next request of that stream in the same capture, whose order protects it at every replay.
// Not installed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "gpuforge/memory/allocator.h"

namespace gpuforge::memory {

// Thread-safe. Part of an allocator, which `owner` keeps alive.
class CaptureMemory {
 public:
  // Memory that no queued work touches, since nobody knows when the graph will run.
  using Take = std::function<device::Address(std::size_t bytes, unsigned tag)>;
  // Back again, in the order of `stream`; nothing: no work is under way on it. Called from any thread, also
  // from work of a stream.
  using Give =
      std::function<void(device::Address address, std::size_t bytes, unsigned tag, device::Stream* stream)>;
  // Requests of the same size may have each other's blocks. Nothing: blocks are not used again.
  using BlockSize = std::size_t (*)(std::size_t bytes);
  CaptureMemory(Take take, Give give, BlockSize block_size)
      : take_(std::move(take)), give_(std::move(give)), block_size_(block_size) {}

  // On a stream that captures.
  device::Address allocate(std::size_t bytes, device::Stream& stream, unsigned tag, Hold owner);
  // False when the block is of no capture: then it is the caller's to free.
  bool free(device::Address address, device::Stream& stream) noexcept {
    return perhaps(address) && free_own(address, stream);
  }
  bool has(device::Address address) const;

  struct Use {
    std::size_t bytes = 0;
    std::size_t blocks = 0;
  };
  Use use() const;  // of all graphs and captures

 private:
  struct Block {
    std::size_t bytes = 0;  // of the request that made it
    unsigned tag = 0;
    std::uint64_t capture = 0;  // 0: the graph is gone
    bool in_use = true;         // by whom allocated it
    // Freed in its order after the capture: work of that stream may still use it when the graph has gone.
    std::shared_ptr<device::Stream> freed_on;
  };
  using Place = std::tuple<std::uint64_t, const device::Stream*, std::size_t>;

  static std::size_t hint(device::Address address) { return (address * 0x9E3779B97F4A7C15u) >> 54; }
  bool perhaps(device::Address address) const {
    return hints_[hint(address)].load(std::memory_order_relaxed) > 0;
  }
  bool free_own(device::Address address, device::Stream& stream) noexcept;
  std::optional<device::Address> reuse(const Place& place);
  void graph_gone(std::uint64_t capture) noexcept;
  void forget(std::map<device::Address, Block>::iterator block) noexcept;

  const Take take_;
  const Give give_;
  const BlockSize block_size_;
  // How many blocks there are of each hash, so that freeing others' blocks takes no lock.
  std::array<std::atomic<std::uint32_t>, 1024> hints_ = {};
  mutable std::mutex mutex_;  // of all that follows; never held in a call of the device
  std::map<device::Address, Block> blocks_;
  std::map<Place, std::vector<device::Address>> free_;
  std::set<std::uint64_t> captures_;  // that are open or have a graph, and have asked for memory
};

}  // namespace gpuforge::memory
