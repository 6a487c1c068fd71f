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
void for_runs(std::uint64_t bits, Call call) {
  while (bits != 0) {
    const int first = std::countr_zero(bits);
    const int count = std::countr_one(bits >> first);
    call(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(count));
    if (first + count == 64) return;
    bits &= ~std::uint64_t{0} << (first + count);
  }
}

}  // namespace

ThreadMemory::ThreadMemory(std::shared_ptr<const Allocations> allocations, Writes writes)
    : allocations_(std::move(allocations)), apart_(writes == Writes::apart), areas_(allocations_->size()) {}

ThreadMemory::Area& ThreadMemory::find(Allocation& allocation) {
  const auto at =
      std::lower_bound(allocations_->begin(), allocations_->end(), allocation.begin,
                       [](const auto& one, std::uint64_t begin) { return one->begin < begin; });
  Area& area = areas_[static_cast<std::size_t>(at - allocations_->begin())];
  if (area.allocation == nullptr) {
    area.allocation = &allocation;
    area.chunks = ZeroedArray<Chunk*>(chunk_count(allocation));
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

ThreadMemory::Chunk& ThreadMemory::make_chunk(Area& area, std::size_t index) {
  area.chunks[index] = new (take(sizeof(Chunk))) Chunk{};
  return *area.chunks[index];
}

inline ThreadMemory::Chunk& ThreadMemory::chunk_at(Area& area, std::uint64_t address) {
  const std::size_t index = chunk_number(*area.allocation, address);
  Chunk* const made = area.chunks[index];
  return made != nullptr ? *made : make_chunk(area, index);
}

std::uint64_t ThreadMemory::touch(Area& area, std::uint64_t address, std::uint32_t bytes, Use use) {
  if (area.allocation->read_only) return address;
  Chunk& chunk = chunk_at(area, address);
  const std::uint64_t offset = address & (kChunkBytes - 1);
  if (use != Use::write) set_bits(chunk.read, offset, bytes);
  if (use != Use::read) {
    set_bits(chunk.written, offset, bytes);
    if (apart_ && chunk.bytes == nullptr) {
      // The whole chunk, so that reads need not ask which of its bytes were written. It may reach over the
      // allocation's ends.
      chunk.bytes = take(kChunkBytes);
      const std::uint64_t start = std::max(address - offset, area.allocation->begin);
      const std::uint64_t end = std::min(address - offset + kChunkBytes, area.allocation->end());
      std::memcpy(chunk.bytes + (start & (kChunkBytes - 1)), reinterpret_cast<const void*>(start),
                  end - start);
    }
  }
  return chunk.bytes == nullptr ? address : reinterpret_cast<std::uint64_t>(chunk.bytes) + offset;
}

bool ThreadMemory::initialized(const Area& area, std::uint64_t address, std::uint32_t bytes) const {
  const Allocation& allocation = *area.allocation;
  const std::uint64_t* const before = allocation.initialized.get();
  if (all_written(before, address - allocation.begin, bytes)) return true;
  const Chunk* const chunk = area.chunks[chunk_number(allocation, address)];
  if (chunk == nullptr) return false;
  const std::uint64_t offset = address & (kChunkBytes - 1);
  if (all_written(chunk->written.data(), offset, bytes)) return true;
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (!all_written(before, address - allocation.begin + i, 1) &&
        !all_written(chunk->written.data(), offset + i, 1))
      return false;
  return true;
}

const std::byte* ThreadMemory::look(std::uint64_t address) const {
  const auto after = std::upper_bound(allocations_->begin(), allocations_->end(), address,
                                      [](std::uint64_t at, const auto& one) { return at < one->begin; });
  const Area& area = areas_[static_cast<std::size_t>(after - allocations_->begin()) - 1];
  const Chunk* const chunk =
      area.allocation == nullptr ? nullptr : area.chunks[chunk_number(*area.allocation, address)];
  if (chunk == nullptr || chunk->bytes == nullptr) return reinterpret_cast<const std::byte*>(address);
  return chunk->bytes + (address & (kChunkBytes - 1));
}

void ThreadMemory::commit(bool mark_initialized) {
  for (const Area& area : areas_) {
    if (area.allocation == nullptr) continue;
    Allocation& allocation = *area.allocation;
    const std::uint64_t begin = allocation.begin >> kChunkShift << kChunkShift;
    for (std::size_t i = 0; i < chunk_count(allocation); ++i) {
      const Chunk* const chunk = area.chunks[i];
      if (chunk == nullptr || chunk->bytes == nullptr) continue;
      for (std::size_t word = 0; word < chunk->written.size(); ++word) {
        for_runs(chunk->written[word], [&](std::uint64_t first, std::uint64_t count) {
          const std::uint64_t offset = word * 64 + first, address = begin + i * kChunkBytes + offset;
          std::memcpy(reinterpret_cast<void*>(address), chunk->bytes + offset, count);
          if (mark_initialized && !allocation.initialized_whole)
            set_written(allocation.initialized.get(), address - allocation.begin, count);
        });
      }
    }
  }
}

bool ThreadMemory::conflict(std::span<const ThreadMemory* const> all) {
  const std::size_t areas = all.front()->areas_.size();
  std::vector<const Area*> touched;
  for (std::size_t i = 0; i < areas; ++i) {
    touched.clear();
    for (const ThreadMemory* const one : all)
      if (one->areas_[i].allocation != nullptr) touched.push_back(&one->areas_[i]);
    if (touched.size() < 2) continue;
    const std::size_t chunks = chunk_count(*touched.front()->allocation);
    for (std::size_t number = 0; number < chunks; ++number) {
      const Chunk* first = nullptr;  // alone so far
      std::array<std::uint64_t, kChunkBytes / 64> read{}, written{};
      bool several = false;
      for (const Area* const area : touched) {
        const Chunk* const chunk = area->chunks[number];
        if (chunk == nullptr) continue;
        if (first == nullptr) {
          first = chunk;
          continue;
        }
        if (!several) {
          read = first->read;
          written = first->written;
          several = true;
        }
        std::uint64_t both = 0;
        for (std::size_t word = 0; word < read.size(); ++word) {
          both |= (chunk->written[word] & (read[word] | written[word])) | (chunk->read[word] & written[word]);
          read[word] |= chunk->read[word];
          written[word] |= chunk->written[word];
        }
        if (both != 0) return true;
      }
    }
  }
  return false;
}

}  // namespace gpuforge::sim
