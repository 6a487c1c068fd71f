#include "gpuforge/sim/thread_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "gpuforge/sim/written.h"

namespace gpuforge::sim {
namespace {

constexpr std::size_t kFirstSlab = std::size_t{1} << 16;
constexpr std::size_t kLargestSlab = std::size_t{1} << 22;

std::uint64_t chunk_number(const Allocation& allocation, std::uint64_t address) {
  return (address >> ThreadMemory::kChunkShift) - (allocation.begin >> ThreadMemory::kChunkShift);
}
std::size_t chunk_count(const Allocation& allocation) {
  return allocation.bytes == 0 ? 0 : chunk_number(allocation, allocation.end() - 1) + 1;
}

// Bits that one host thread alone has.
template <class Words>
void set_bits(Words& words, std::uint64_t first, std::uint64_t count) {
  std::size_t word = first >> 6;
  std::uint64_t shift = first & 63;
  while (count > 0) {
    const std::uint64_t here = std::min<std::uint64_t>(64 - shift, count);
    words[word++] |= low_bits(here) << shift;
    shift = 0;
    count -= here;
  }
}

// Calls with the first bit and the length of every run of set bits.
template <class Call>
void for_runs(const ThreadMemory::Bits& bits, Call call) {
  std::uint64_t first = 0, count = 0;  // of the run that reaches the word's start
  for (std::uint64_t word = 0; word < bits.size(); ++word)
    for (std::uint64_t at = 0; at < 64;) {
      const auto rest = bits[word] >> at;
      const auto zeros = std::min<std::uint64_t>(static_cast<std::uint64_t>(std::countr_zero(rest)), 64 - at);
      if (zeros > 0) {
        if (count > 0) call(first, count);
        count = 0;
        at += zeros;
        continue;
      }
      const auto ones = static_cast<std::uint64_t>(std::countr_one(rest));
      if (count == 0) first = word * 64 + at;
      count += ones;
      at += ones;
    }
  if (count > 0) call(first, count);
}

// Whether a byte that one of them wrote was touched by another. Reductions of one kind do not meet.
bool meet(std::span<const ThreadMemory::Touched* const> all) {
  static constexpr ThreadMemory::Bits kNone{};
  ThreadMemory::Bits read{}, written{}, reduced{};
  const Reduction* reduction = nullptr;
  for (const ThreadMemory::Touched* const one : all) {
    const ThreadMemory::Bits& sums = one->sums != nullptr ? one->sums->reduced : kNone;
    bool other_kind = false;
    if (one->sums != nullptr) {
      other_kind = reduction != nullptr && reduction->combine != one->sums->reduction->combine;
      reduction = one->sums->reduction;
    }
    std::uint64_t both = 0;
    for (std::size_t i = 0; i < read.size(); ++i) {
      both |= one->written[i] & (read[i] | written[i] | reduced[i]);
      both |= one->read[i] & (written[i] | reduced[i]);
      both |= sums[i] & (read[i] | written[i] | (other_kind ? reduced[i] : 0));
      read[i] |= one->read[i];
      written[i] |= one->written[i];
      reduced[i] |= sums[i];
    }
    if (both != 0) return true;
  }
  return false;
}

}  // namespace

ThreadMemory::ThreadMemory(std::shared_ptr<const Allocations> allocations, Writes writes)
    : allocations_(std::move(allocations)), apart_(writes == Writes::apart), areas_(allocations_->size()) {}

ThreadMemory::Area& ThreadMemory::find(Allocation& allocation) {
  const auto at = std::lower_bound(allocations_->begin(), allocations_->end(), allocation.begin,
                                   [](const auto& one, std::uint64_t begin) { return one->begin < begin; });
  Area& area = areas_[static_cast<std::size_t>(at - allocations_->begin())];
  if (area.allocation == nullptr) {
    area.allocation = &allocation;
    area.chunks = ZeroedArray<Chunk>(chunk_count(allocation));
  }
  last_[slot(allocation)] = &area;
  return area;
}

std::byte* ThreadMemory::take(std::size_t bytes) {
  if (bytes > room_) {
    room_ = std::clamp(mapped_, kFirstSlab, kLargestSlab);
    next_ = static_cast<std::byte*>(slabs_.emplace_back(room_).data());
    mapped_ += room_;
  }
  std::byte* const taken = next_;
  next_ += bytes;
  room_ -= bytes;
  return taken;
}

template <class T>
T* ThreadMemory::make() {
  return new (take(sizeof(T))) T{};
}

inline ThreadMemory::Chunk& ThreadMemory::chunk_at(Area& area, std::uint64_t address) {
  Chunk& chunk = area.chunks[chunk_number(*area.allocation, address)];
  if (chunk.touched == nullptr) [[unlikely]]
    chunk.touched = make<Touched>();
  return chunk;
}

// All of the chunk, so that reads need not ask which of its bytes were written. It may reach over the
// allocation's ends.
void ThreadMemory::make_copy(Chunk& chunk, const Allocation& allocation, std::uint64_t address) {
  const std::uint64_t begin = address & ~(kChunkBytes - 1);
  const std::uint64_t from = std::max(begin, allocation.begin);
  const std::uint64_t to = std::min(begin + kChunkBytes, allocation.end());
  chunk.copy = take(kChunkBytes);
  std::memcpy(chunk.copy + (from - begin), reinterpret_cast<const void*>(from), to - from);
}

std::uint64_t ThreadMemory::touch(Area& area, std::uint64_t address, std::uint32_t bytes, Use use) {
  if (area.allocation->read_only) return address;
  Chunk& chunk = chunk_at(area, address);
  Touched& touched = *chunk.touched;
  const std::uint64_t offset = address & (kChunkBytes - 1);
  if (use != Use::write) set_bits(touched.read, offset, bytes);
  if (use != Use::read) {
    set_bits(touched.written, offset, bytes);
    if (apart_ && chunk.copy == nullptr) make_copy(chunk, *area.allocation, address);
  }
  if (apart_ && touched.sums != nullptr) [[unlikely]]
    for (std::uint64_t at = offset; at < offset + bytes; ++at)
      if (all_written(touched.sums->reduced.data(), at, 1)) give_up();
  return chunk.copy == nullptr ? address : reinterpret_cast<std::uint64_t>(chunk.copy) + offset;
}

ThreadMemory::Sums& ThreadMemory::make_sums(Touched& touched, std::uint64_t address,
                                            const Reduction& reduction) {
  Sums& sums = *make<Sums>();
  sums.reduction = &reduction;
  sums.begin = address & ~(kChunkBytes - 1);
  sums_.push_back(&sums);
  for (std::size_t at = 0; at < kChunkBytes; at += reduction.bytes)
    std::memcpy(&sums.value[at], &reduction.identity, reduction.bytes);
  touched.sums = &sums;
  return sums;
}

std::uint64_t ThreadMemory::reduce(Area& area, std::uint64_t address, std::uint32_t bytes,
                                   const Reduction& reduction) {
  Touched& touched = *chunk_at(area, address).touched;
  Sums& sums = touched.sums != nullptr ? *touched.sums : make_sums(touched, address, reduction);
  if (sums.reduction->combine != reduction.combine) {
    if (apart_) give_up();
    return touch(area, address, bytes, Use::atomic);
  }
  const std::uint64_t offset = address & (kChunkBytes - 1);
  set_bits(sums.reduced, offset, bytes);
  return apart_ ? reinterpret_cast<std::uint64_t>(&sums.value[offset]) : address;
}

bool ThreadMemory::initialized(const Area& area, std::uint64_t address, std::uint32_t bytes) const {
  const Allocation& allocation = *area.allocation;
  const std::uint64_t* const before = allocation.initialized.get();
  if (all_written(before, address - allocation.begin, bytes)) return true;
  const Touched* const touched = area.chunks[chunk_number(allocation, address)].touched;
  if (touched == nullptr) return false;
  const std::uint64_t offset = address & (kChunkBytes - 1);
  if (all_written(touched->written.data(), offset, bytes)) return true;
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (!all_written(before, address - allocation.begin + i, 1) &&
        !all_written(touched->written.data(), offset + i, 1))
      return false;
  return true;
}

const std::byte* ThreadMemory::look(std::uint64_t address) const {
  const auto after = std::upper_bound(allocations_->begin(), allocations_->end(), address,
                                      [](std::uint64_t at, const auto& one) { return at < one->begin; });
  const Area& area = areas_[static_cast<std::size_t>(after - allocations_->begin()) - 1];
  const std::byte* const copy =
      area.allocation == nullptr ? nullptr : area.chunks[chunk_number(*area.allocation, address)].copy;
  return copy == nullptr ? reinterpret_cast<const std::byte*>(address) : copy + (address & (kChunkBytes - 1));
}

void ThreadMemory::commit(bool mark_initialized) {
  for (const Area& area : areas_) {
    if (area.allocation == nullptr) continue;
    Allocation& allocation = *area.allocation;
    const bool mark = mark_initialized && !allocation.initialized_whole;
    std::uint64_t begin = allocation.begin >> kChunkShift << kChunkShift;
    for (std::size_t i = 0; i < chunk_count(allocation); ++i, begin += kChunkBytes) {
      const Chunk& chunk = area.chunks[i];
      if (chunk.copy == nullptr) continue;
      for_runs(chunk.touched->written, [&](std::uint64_t first, std::uint64_t count) {
        std::memcpy(reinterpret_cast<void*>(begin + first), chunk.copy + first, count);
        if (mark) set_written(allocation.initialized.get(), begin + first - allocation.begin, count);
      });
    }
  }
}

void ThreadMemory::commit_sums() {
  for (const Sums* const sums : sums_)
    for_runs(sums->reduced, [&](std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t at = first; at < first + count; at += sums->reduction->bytes)
        sums->reduction->combine(reinterpret_cast<std::byte*>(sums->begin + at), &sums->value[at]);
    });
}

bool ThreadMemory::conflict(std::span<const ThreadMemory* const> all) {
  std::vector<const Area*> areas;
  std::vector<const Touched*> touched;
  for (std::size_t i = 0; i < all.front()->areas_.size(); ++i) {
    areas.clear();
    for (const ThreadMemory* const one : all)
      if (one->areas_[i].allocation != nullptr) areas.push_back(&one->areas_[i]);
    if (areas.size() < 2) continue;
    for (std::size_t chunk = 0; chunk < chunk_count(*areas.front()->allocation); ++chunk) {
      touched.clear();
      for (const Area* const area : areas)
        if (const Touched* const one = area->chunks[chunk].touched; one != nullptr) touched.push_back(one);
      if (touched.size() > 1 && meet(touched)) return true;
    }
  }
  return false;
}

}  // namespace gpuforge::sim
