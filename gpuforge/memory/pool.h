// The allocator every Array uses: memory of a device that is kept and handed out again without asking the
// driver and without waiting.
//
// Sizes: size_class.h. Small blocks are cut from slabs; everything lies in ranges of addresses into which
// pages are mapped, so that free pages of any place serve any request: fragmentation is not a reason for
// out_of_memory where the device has virtual memory. A large request gets its pages in blocks of up to 64 MiB
// (and a 256th of all there is), which go elsewhere as a whole. Where there is no virtual memory, ranges are
// allocations of the device.
//
// Order: each stream has its own free blocks. A block freed on a stream is there at once for the next request
// on that stream, whose order protects it. Another stream gets it when an event recorded after the free has
// passed. If none has and there is room, the pool grows: streams are not ordered unasked. If there is no
// room, the taker's stream is made to wait for the event, which is better than to fail.
//
// Quota: what is reserved counts, used or not. At the quota (or the device's end) cached memory is given up
// first, then evictable blocks go to the host; then the pool waits for streams whose cached memory is not
// idle yet; then it is out_of_memory, with who holds how much and what can be done.
//
// Evictable: only blocks of an allocator made with Use::evictable. The user says Allocator::use before it
// queues work on one (Array does). Idle ones go to pinned host memory, least recently used first, from the
// soft share of the quota on without waiting, at the hard share with waiting; they come back, to the same
// address, when used or prefetched. A pinned block (Allocator::pin; memory that a graph has) stays.
//
// Captures: what a capturing stream allocates is memory that nothing works on and belongs to the graph
// (allocator.h); it is pinned, whatever kind of allocator it came from. Of other blocks, what is freed on
// such a stream is reused when the capture is over.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/memory/allocator.h"
#include "gpuforge/memory/pinned.h"

namespace gpuforge::memory {

struct PoolOptions {
  std::size_t quota_bytes = 0;       // 0: as much as the device has
  std::size_t page_bytes = 0;        // 0: 2 MiB; else a multiple of it and of the device's granularity
  bool virtual_memory = true;        // false: as on a device that has none
  double soft_share = 0.80;          // of the quota: evictable blocks are copied out ahead of need
  double hard_share = 0.95;          // of the quota: their memory is taken
  std::shared_ptr<PinnedPool> host;  // where evicted blocks go; nothing: a pool of its own, without quota
};

struct TagUse {
  std::string tag;
  std::size_t requested_bytes = 0;  // live, as asked for
  std::size_t blocks = 0;
};

struct PoolStatistics {
  std::string device;
  std::size_t quota_bytes = 0;  // 0: none
  std::size_t reserved_bytes = 0;
  std::size_t peak_reserved_bytes = 0;
  std::size_t requested_bytes = 0;  // of live blocks, as asked for; evicted ones too
  std::size_t block_bytes = 0;      // of live blocks, as they are; evicted ones too
  std::size_t blocks = 0;
  std::size_t cached_bytes = 0;  // reserved and not in a block
  std::size_t evicted_bytes = 0;
  std::size_t pinned_bytes = 0;  // of blocks that may not be evicted for now
  std::size_t pinned_blocks = 0;
  std::size_t hard_reserved_bytes = 0;
  std::size_t soft_reserved_bytes = 0;
  std::size_t allocations = 0;
  std::size_t reuses = 0;        // served from the cache of the stream, without the pool's lock
  std::size_t grown_pages = 0;   // asked of the device
  std::size_t grown_blocks = 0;  // in which they came
  std::size_t moved_pages = 0;   // taken from one place and mapped at another
  std::size_t stream_waits = 0;  // a stream was made to wait for another's free
  std::size_t host_waits = 0;    // the caller waited for a stream, for want of memory
  std::size_t evictions = 0;
  std::size_t rehydrations = 0;
  std::vector<TagUse> tags;  // largest first; those with nothing are left out
};
// A few lines.
std::string to_string(const PoolStatistics& statistics);

enum class Use { resident, evictable };
enum class ReservationKind { hard, soft };

// Thread-safe. It keeps the streams it has seen until they are idle and nobody else has them.
class Pool : public Allocator {
 public:
  // The same memory, accounted under `tag`. At most 64 different tags at a time: one whose allocators are
  // gone and that has no blocks makes room. Evictable only where the device has virtual memory, else
  // unsupported.
  virtual std::shared_ptr<Allocator> tagged(const std::string& tag, Use use = Use::resident) = 0;
  virtual PoolStatistics statistics() const = 0;
  // Gives back to the device what is cached and idle. Returns the bytes.
  virtual std::size_t trim() = 0;

  // Hard: a pool of its own that can always have `bytes`: they are taken from this one's quota now, or it is
  // out_of_memory. Soft: this one, which notes that they are expected. Given back with the last reference.
  virtual std::shared_ptr<Allocator> reserve(std::size_t bytes, ReservationKind kind,
                                             const std::string& tag) = 0;
  // Whether a hard reservation of that size would succeed without eviction.
  virtual bool can_reserve(std::size_t bytes) const = 0;

  // An evictable block comes back ahead of its use, by work on `stream`. Others: nothing to do.
  virtual void prefetch(device::Address address, device::Stream& stream) = 0;
  // An idle evictable block goes to the host now; false when it is in use, pinned or not evictable.
  virtual bool evict(device::Address address) = 0;
  virtual bool resident(device::Address address) const = 0;
};

std::shared_ptr<Pool> make_pool(std::shared_ptr<device::Device> device, PoolOptions options = {});

}  // namespace gpuforge::memory
