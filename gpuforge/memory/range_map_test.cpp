#include "gpuforge/memory/range_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {
namespace {

// One letter a unit: what is it?
struct Model {
  enum class Unit { bare, free, taken };
  std::vector<Unit> units;

  std::size_t count(Unit what) const {
    return static_cast<std::size_t>(std::count(units.begin(), units.end(), what));
  }
  // The fewest pages to be given memory for a place of `length`, or nothing.
  std::optional<std::size_t> fewest_missing(std::size_t length, std::size_t page) const {
    std::optional<std::size_t> best;
    for (std::size_t begin = 0; begin + length <= units.size(); ++begin) {
      std::size_t missing = 0;
      bool fits = true;
      for (std::size_t i = begin; i < begin + length; ++i) {
        fits = fits && units[i] != Unit::taken;
        if (units[i] == Unit::bare && (i == begin || i % page == 0)) ++missing;
      }
      if (fits && (!best || missing < *best)) best = missing;
    }
    return best;
  }
};

TEST(RangeMap, KeepsToThePlainModel) {
  EXPECT_TRUE(rc::check("range map", [] {
    const std::size_t page = *rc::gen::inRange<std::size_t>(1, 5);
    const std::size_t pages = *rc::gen::inRange<std::size_t>(1, 12);
    RangeMap map(page * pages, page);
    Model model{std::vector<Model::Unit>(page * pages, Model::Unit::bare)};
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    const std::size_t steps = *rc::gen::inRange<std::size_t>(1, 60);
    for (std::size_t step = 0; step < steps; ++step) {
      const int action = *rc::gen::inRange(0, 8);
      if (action < 4) {
        const std::size_t length = *rc::gen::inRange<std::size_t>(1, page * pages + 2);
        const auto place = map.find(length);
        const auto fewest = model.fewest_missing(length, page);
        RC_ASSERT(place.has_value() == fewest.has_value());
        if (!place) continue;
        RC_ASSERT(place->missing_count == *fewest);
        for (const RangeMap::Pages& missing : place->missing) {
          map.add_memory(missing);
          for (std::size_t i = missing.first * page; i < (missing.first + missing.count) * page; ++i) {
            RC_ASSERT(model.units[i] == Model::Unit::bare);
            model.units[i] = Model::Unit::free;
          }
        }
        for (std::size_t i = place->begin; i < place->begin + length; ++i) {
          RC_ASSERT(model.units[i] == Model::Unit::free);
          model.units[i] = Model::Unit::taken;
        }
        map.take(place->begin, length);
        taken.emplace_back(place->begin, length);
      } else if (action < 7) {
        if (taken.empty()) continue;
        const std::size_t which = *rc::gen::inRange<std::size_t>(0, taken.size());
        const auto [begin, length] = taken[which];
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
        map.give(begin, length);
        for (std::size_t i = begin; i < begin + length; ++i) model.units[i] = Model::Unit::free;
      } else {
        const std::size_t most = *rc::gen::inRange<std::size_t>(0, pages + 1);
        std::size_t whole = 0;
        for (std::size_t p = 0; p < pages; ++p) {
          bool is_free = true;
          for (std::size_t i = p * page; i < (p + 1) * page; ++i) {
            is_free = is_free && model.units[i] == Model::Unit::free;
          }
          whole += is_free ? 1 : 0;
        }
        std::size_t found = 0;
        std::size_t removed = 0;
        for (const RangeMap::Pages& run : map.free_pages()) {
          found += run.count;
          const std::size_t count = std::min(run.count, most - removed);
          if (count == 0) continue;
          const RangeMap::Pages gone{run.first + (run.count - count) / 2, count};
          map.remove_memory(gone);
          removed += count;
          for (std::size_t i = gone.first * page; i < (gone.first + gone.count) * page; ++i) {
            RC_ASSERT(model.units[i] == Model::Unit::free);
            model.units[i] = Model::Unit::bare;
          }
        }
        RC_ASSERT(found == whole);
      }
      RC_ASSERT(map.taken_units() == model.count(Model::Unit::taken));
      RC_ASSERT(map.free_memory_units() == model.count(Model::Unit::free));
    }
  }));
}

TEST(RangeMap, TakesTheSmallestPieceThatFits) {
  RangeMap map(64, 4);
  map.add_memory({0, 16});
  map.take(0, 64);
  map.give(0, 10);
  map.give(20, 3);
  map.give(40, 5);
  EXPECT_EQ(map.find(3)->begin, 20u);
  EXPECT_EQ(map.find(4)->begin, 40u);
  EXPECT_EQ(map.find(6)->begin, 0u);
  EXPECT_FALSE(map.find(11).has_value());
}

// Of one place that begins with a piece and one that ends with one, the one that misses fewer pages.
TEST(RangeMap, AsFewPagesAsPossibleAreMissing) {
  RangeMap map(20, 2);
  map.add_memory({4, 3});  // units 8 to 13
  const auto ending = map.find(10);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->missing_count, 2u);
  RangeMap walled(20, 2);
  walled.add_memory({4, 4});
  walled.take(14, 2);  // nothing goes on behind unit 13
  const auto place = walled.find(10);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->begin, 4u) << "from within what has no memory to the end of what has";
  EXPECT_EQ(place->missing_count, 2u);
}

TEST(RangeMap, MistakesOfThePoolAreFound) {
  RangeMap map(8, 4);
  map.add_memory({0, 1});
  map.take(0, 4);
  EXPECT_THROW(map.take(0, 1), Error);
  EXPECT_THROW(map.take(4, 1), Error);  // without memory
  map.give(0, 2);
  EXPECT_THROW(map.give(1, 1), Error);
  EXPECT_THROW(map.add_memory({0, 1}), Error);
  EXPECT_THROW(map.remove_memory({0, 1}), Error);
}

}  // namespace
}  // namespace gpuforge::memory
