// Which parts of one range of addresses are free, and which of those have memory behind them, in units;
// memory comes and goes in pages of several units. A value without memory or device: it decides where a block
// goes and which pages that needs. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace gpuforge::memory {

class RangeMap {
 public:
  // All free, without memory. `units` is a multiple of `page_units`.
  RangeMap(std::size_t units, std::size_t page_units);

  struct Pages {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  struct Place {
    std::size_t begin = 0;
    std::vector<Pages> missing;  // to be given memory first
    std::size_t missing_count = 0;
  };
  // Where `units` fit best: the smallest free piece with memory that has room; else where the fewest pages
  // are missing. Nothing when no free piece is long enough. Changes nothing.
  std::optional<Place> find(std::size_t units) const;

  // These pages have memory now; they had none.
  void add_memory(Pages pages);
  // Takes free units that have memory.
  void take(std::size_t begin, std::size_t units);
  // Gives back what was taken, or a part of it; whole pages may have lost their memory meanwhile.
  void give(std::size_t begin, std::size_t units, bool memory = true);
  // Pages with memory that are free as a whole, in runs.
  std::vector<Pages> free_pages() const;
  // Such pages lose their memory.
  void remove_memory(Pages pages);

  std::size_t units() const { return units_; }
  std::size_t page_units() const { return page_units_; }
  std::size_t taken_units() const { return taken_; }
  std::size_t free_memory_units() const { return free_with_memory_; }
  bool empty() const { return taken_ == 0; }

 private:
  struct Piece {
    std::size_t units = 0;
    bool memory = false;
  };
  using Pieces = std::map<std::size_t, Piece>;  // free ones; neighbours differ in `memory`
  void insert(std::size_t begin, Piece piece);
  void cut(Pieces::iterator piece, std::size_t begin, std::size_t units);
  void note(std::size_t begin, const Piece& piece);
  void forget(std::size_t begin, const Piece& piece);
  std::optional<Place> place_at(std::size_t begin, std::size_t units) const;

  const std::size_t units_;
  const std::size_t page_units_;
  Pieces pieces_;
  // Pieces with memory by size, for the best fit.
  std::map<std::size_t, std::map<std::size_t, bool>> by_size_;
  std::size_t taken_ = 0;
  std::size_t free_with_memory_ = 0;
};

}  // namespace gpuforge::memory
