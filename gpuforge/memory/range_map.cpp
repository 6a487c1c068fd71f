#include "gpuforge/memory/range_map.h"

#include <algorithm>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {

RangeMap::RangeMap(std::size_t units, std::size_t page_units) : units_(units), page_units_(page_units) {
  GPUFORGE_ASSERT(page_units > 0 && units > 0 && units % page_units == 0, "memory: a range of {} units",
                  units);
  insert(0, {units, false});
}

void RangeMap::note(std::size_t begin, const Piece& piece) {
  if (!piece.memory) return;
  by_size_[piece.units].emplace(begin, true);
  free_with_memory_ += piece.units;
}

void RangeMap::forget(std::size_t begin, const Piece& piece) {
  if (!piece.memory) return;
  const auto found = by_size_.find(piece.units);
  found->second.erase(begin);
  if (found->second.empty()) by_size_.erase(found);
  free_with_memory_ -= piece.units;
}

// Joined with its neighbours where those are alike.
void RangeMap::insert(std::size_t begin, Piece piece) {
  auto next = pieces_.lower_bound(begin);
  if (next != pieces_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.units == begin && previous->second.memory == piece.memory) {
      forget(previous->first, previous->second);
      begin = previous->first;
      piece.units += previous->second.units;
      pieces_.erase(previous);
    }
  }
  if (next != pieces_.end() && begin + piece.units == next->first && next->second.memory == piece.memory) {
    forget(next->first, next->second);
    piece.units += next->second.units;
    pieces_.erase(next);
  }
  pieces_.emplace(begin, piece);
  note(begin, piece);
}

// Takes [begin, begin + units) out of a piece; what is left on both sides stays.
void RangeMap::cut(Pieces::iterator piece, std::size_t begin, std::size_t units) {
  const std::size_t old_begin = piece->first;
  const Piece old = piece->second;
  forget(old_begin, old);
  pieces_.erase(piece);
  if (begin > old_begin) insert(old_begin, {begin - old_begin, old.memory});
  const std::size_t old_end = old_begin + old.units;
  if (begin + units < old_end) insert(begin + units, {old_end - begin - units, old.memory});
}

// [begin, begin + units), if all of it is free.
std::optional<RangeMap::Place> RangeMap::place_at(std::size_t begin, std::size_t units) const {
  auto piece = pieces_.upper_bound(begin);
  if (piece == pieces_.begin()) return {};
  --piece;
  if (piece->first + piece->second.units <= begin) return {};
  Place place;
  place.begin = begin;
  std::size_t reached = begin;
  const std::size_t end = begin + units;
  while (reached < end && piece != pieces_.end() && piece->first <= reached) {
    const std::size_t piece_end = piece->first + piece->second.units;
    if (!piece->second.memory) {
      // Pieces without memory begin and end with pages.
      const std::size_t first = reached / page_units_;
      const std::size_t last = (std::min(piece_end, end) + page_units_ - 1) / page_units_;
      place.missing.push_back({first, last - first});
      place.missing_count += last - first;
    }
    reached = piece_end;
    ++piece;
  }
  if (reached < end) return {};
  return place;
}

std::optional<RangeMap::Place> RangeMap::find(std::size_t units) const {
  if (const auto fit = by_size_.lower_bound(units); fit != by_size_.end()) {
    return Place{fit->second.begin()->first, {}, 0};
  }
  // One of the best places begins with a piece or ends with one: any other can be moved, page by page, until
  // it does, and loses as many missing pages at one end as it gains at the other.
  std::optional<Place> best;
  const auto consider = [&](std::size_t begin) {
    std::optional<Place> place = place_at(begin, units);
    if (place && (!best || place->missing_count < best->missing_count)) best = std::move(place);
  };
  for (const auto& [begin, piece] : pieces_) consider(begin);
  for (const auto& [begin, piece] : pieces_) {
    if (begin + piece.units >= units) consider(begin + piece.units - units);
  }
  return best;
}

void RangeMap::add_memory(Pages pages) {
  const std::size_t begin = pages.first * page_units_;
  const std::size_t units = pages.count * page_units_;
  auto piece = pieces_.upper_bound(begin);
  GPUFORGE_ASSERT(piece != pieces_.begin(), "memory: pages from {} on are not free", pages.first);
  --piece;
  GPUFORGE_ASSERT(!piece->second.memory && piece->first + piece->second.units >= begin + units,
                  "memory: pages from {} on are not free and without memory", pages.first);
  cut(piece, begin, units);
  insert(begin, {units, true});
}

void RangeMap::take(std::size_t begin, std::size_t units) {
  auto piece = pieces_.upper_bound(begin);
  GPUFORGE_ASSERT(piece != pieces_.begin(), "memory: unit {} is not free", begin);
  --piece;
  GPUFORGE_ASSERT(piece->second.memory && piece->first + piece->second.units >= begin + units,
                  "memory: {} units from {} on are not free with memory", units, begin);
  cut(piece, begin, units);
  taken_ += units;
}

void RangeMap::give(std::size_t begin, std::size_t units, bool memory) {
  const auto next = pieces_.lower_bound(begin);
  const bool free_after = next == pieces_.end() || next->first >= begin + units;
  const bool free_before =
      next == pieces_.begin() || std::prev(next)->first + std::prev(next)->second.units <= begin;
  GPUFORGE_ASSERT(free_after && free_before && begin + units <= units_,
                  "memory: {} units from {} on are given back twice", units, begin);
  insert(begin, {units, memory});
  taken_ -= units;
}

std::vector<RangeMap::Pages> RangeMap::free_pages() const {
  std::vector<Pages> runs;
  for (const auto& [begin, piece] : pieces_) {
    if (!piece.memory || piece.units < page_units_) continue;
    const std::size_t first = (begin + page_units_ - 1) / page_units_;
    const std::size_t last = (begin + piece.units) / page_units_;
    if (first < last) runs.push_back({first, last - first});
  }
  return runs;
}

void RangeMap::remove_memory(Pages pages) {
  const std::size_t begin = pages.first * page_units_;
  const std::size_t units = pages.count * page_units_;
  auto piece = pieces_.upper_bound(begin);
  GPUFORGE_ASSERT(piece != pieces_.begin(), "memory: pages from {} on are not free", pages.first);
  --piece;
  GPUFORGE_ASSERT(piece->second.memory && piece->first + piece->second.units >= begin + units,
                  "memory: pages from {} on are not free with memory", pages.first);
  cut(piece, begin, units);
  insert(begin, {units, false});
}

}  // namespace gpuforge::memory
