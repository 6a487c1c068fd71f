// Random programs against a reference that does everything the slow way: a vector clock per thread, and every
// access ever made to every byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <tuple>

#include "gpuforge/sim/race_stage_for_tests.h"

namespace gpuforge::sim {
namespace {

constexpr std::uint32_t kWarps = 3;  // of a block

using Places = std::array<std::uint64_t, kLanes>;
using Clock = std::vector<std::uint32_t>;
void join_into(Clock& to, const Clock& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

class Reference {
 public:
  Reference(std::uint32_t blocks, std::uint32_t live)
      : live_(live),
        threads_(kWarps * live),
        count_(blocks * threads_),
        time_(count_, 1),
        knows_(count_, Clock(count_, 0)),
        kept_(count_, Kept{nothing(), nothing(), nothing(), nothing(), nothing()}) {}

  struct Event {
    std::uint32_t thread, time;
    bool writes, strong, narrow;
  };

  // Whether an access would race with what was there before it, or its lanes with each other.
  bool races(std::uint32_t block, std::uint32_t warp, Mask lanes, const Places& at,
             const RaceStage::How& how) {
    bool race = false;
    const bool strong = how.order != Order::weak, narrow = how.scope == Scope::cta;
    std::map<std::uint64_t, std::uint32_t> written;  // by this instruction
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t lane) {
      for (std::uint64_t byte = at[lane]; byte < at[lane] + how.bytes; ++byte) {
        for (const Event& old : history_[{how.shared ? block + 1 : 0, byte}]) {
          if (old.thread == thread || knows_[thread][old.thread] >= old.time) continue;
          if (!old.writes && !how.writes) continue;
          const bool reach = old.thread / threads_ == block || (!old.narrow && !narrow);
          race = race || !(strong && old.strong && reach);
        }
        if (how.writes && !strong && !written.emplace(byte, thread).second) race = true;
      }
    });
    return race;
  }
  void access(std::uint32_t block, std::uint32_t warp, Mask lanes, const Places& at,
              const RaceStage::How& how) {
    const bool narrow = how.scope == Scope::cta;
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t lane) {
      for (std::uint64_t byte = at[lane]; byte < at[lane] + how.bytes; ++byte)
        history_[{how.shared ? block + 1 : 0, byte}].push_back(
            {thread, time_[thread], how.writes, how.order != Order::weak, narrow});
    });
    if (how.order == Order::weak) return;
    const bool acquires = how.order == Order::acquire || how.order == Order::acq_rel;
    const bool releases = how.order == Order::release || how.order == Order::acq_rel;
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t lane) {
      Location& location = locations_[{how.shared ? block + 1 : 0, at[lane]}];
      if (location.released[0].empty()) location.released = location.sc = nothing();
      Kept& kept = kept_[thread];
      for (std::size_t kind = 0; kind < 2; ++kind) {
        if (!how.reads || (kind == 0 ? location.serial != block : narrow)) continue;
        join_into(kept.flow_taken[kind], location.sc[kind]);
        if (location.released[kind] == Clock(count_, 0)) continue;
        join_into(kept.taken[kind], location.released[kind]);
        join_into(kept.taken_sc[kind], location.sc[kind]);
        if (!acquires) continue;
        join_into(knows_[thread], location.released[kind]);
        join_into(kept.flow_given[kind], location.sc[kind]);
      }
      if (!how.writes) return;
      const bool hands_on = how.reads || location.owner == thread;
      for (std::size_t kind = 0; kind < 2; ++kind) {
        if (!hands_on || (kind == 0 && location.serial != block))
          location.released[kind] = location.sc[kind] = Clock(count_, 0);
        if (kind == 1 && narrow) continue;
        join_into(location.released[kind], kept.given[kind]);
        join_into(location.sc[kind], kept.flow_given[kind]);
        if (releases) join_into(location.released[kind], with_self(thread));
      }
      location.serial = block;
      location.owner = how.reads ? count_ : thread;
    });
    if (releases) each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t) { ++time_[thread]; });
  }

  void fence(std::uint32_t block, std::uint32_t warp, Mask lanes, Scope scope, Fence fence) {
    const std::size_t kinds = scope == Scope::cta ? 1 : 2;
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t) {
      Kept& kept = kept_[thread];
      for (std::size_t kind = 0; kind < kinds && fence != Fence::release; ++kind) {
        join_into(knows_[thread], kept.taken[kind]);
        join_into(kept.flow_given[kind], kept.taken_sc[kind]);
        if (fence == Fence::sc) join_into(knows_[thread], kept.flow_taken[kind]);
      }
      for (std::size_t kind = 0; kind < kinds && fence != Fence::acquire; ++kind) {
        kept.given[kind] = with_self(thread);
        if (fence == Fence::sc) kept.flow_given[kind] = with_self(thread);
      }
      ++time_[thread];
    });
  }

  struct Meeting {
    Clock knows;
    std::array<Clock, 2> given, taken;
  };
  Meeting meeting() const { return {Clock(count_, 0), nothing(), nothing()}; }
  void arrive(Meeting& meeting, std::uint32_t block, std::uint32_t warp, Mask lanes) {
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t) {
      join_into(meeting.knows, with_self(thread));
      for (std::size_t kind = 0; kind < 2; ++kind) {
        join_into(meeting.given[kind], kept_[thread].flow_given[kind]);
        join_into(meeting.taken[kind], kept_[thread].flow_taken[kind]);
      }
      ++time_[thread];
    });
  }
  void leave(const Meeting& meeting, std::uint32_t block, std::uint32_t warp, Mask lanes) {
    each(block, warp, lanes, [&](std::uint32_t thread, std::uint32_t) {
      join_into(knows_[thread], meeting.knows);
      for (std::size_t kind = 0; kind < 2; ++kind) {
        join_into(kept_[thread].flow_given[kind], meeting.given[kind]);
        join_into(kept_[thread].flow_taken[kind], meeting.taken[kind]);
      }
    });
  }

 private:
  using Kinds = std::array<Clock, 2>;  // within the block, and for everyone
  struct Kept {                        // given: at fences so far; taken: for the next one
    Kinds given, taken, taken_sc, flow_given, flow_taken;
  };
  struct Location {
    Kinds released, sc;
    std::uint32_t serial = 0xffffffff, owner = 0xffffffff;
  };
  template <class Visit>
  void each(std::uint32_t block, std::uint32_t warp, Mask lanes, Visit visit) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      visit(block * threads_ + warp * live_ + lane, lane);
    }
  }
  Kinds nothing() const { return {Clock(count_, 0), Clock(count_, 0)}; }
  Clock with_self(std::uint32_t thread) const {
    Clock clock = knows_[thread];
    clock[thread] = time_[thread];
    return clock;
  }

  std::uint32_t live_, threads_, count_;
  std::vector<std::uint32_t> time_;
  std::vector<Clock> knows_;
  std::vector<Kept> kept_;
  std::map<std::tuple<std::uint32_t, std::uint64_t>, std::vector<Event>> history_;
  std::map<std::tuple<std::uint32_t, std::uint64_t>, Location> locations_;
};

struct Rules {
  std::uint32_t blocks = 1;
  bool partial = true;  // lanes and warps on their own, named barriers
  bool fences = true;
  bool strong = true;
  bool parts = true;  // bytes and halves
  bool exact_from_start = true;
  std::uint32_t live = 4;  // lanes of a warp
  bool lines = false;      // mostly whole and ragged lines of global memory, of all widths
  int launches = 1;
};

class Program {
 public:
  Program(const Rules& rules, std::uint32_t seed)
      : rules_(rules),
        random_(seed),
        live_(rules.live == kLanes ? kAllLanes : (1u << rules.live) - 1),
        threads_(kWarps * rules.live),
        stage_(rules.blocks, kWarps, live_, rules.lines ? 2048 : 256, 256),
        reference_(rules.blocks, rules.live) {}

  // Until the first race or the end: whether both agree on every access.
  ::testing::AssertionResult run(int steps) {
    for (int launch = 0; launch < rules_.launches && !raced_; ++launch) {
      if (launch != 0) stage_.next_launch();
      begin();
      ::testing::AssertionResult result = run_launch(steps);
      if (!result) return result << " (launch " << launch << ")";
    }
    return ::testing::AssertionSuccess();
  }
  bool raced() const { return raced_; }

 private:
  void begin() {
    reference_ = Reference(rules_.blocks, rules_.live);
    free_.clear();
    barriers_.clear();
    for (std::uint32_t i = 0; i < rules_.blocks; ++i) {
      free_.push_back({live_, live_, live_});
      for (int barrier = 0; barrier < 3; ++barrier) barriers_.push_back(fresh());
    }
    if (rules_.exact_from_start)
      for (std::uint32_t block = 0; block < rules_.blocks; ++block) {
        if (rules_.partial) warp_sync(block, 0, 1);
        if (rules_.fences) fence(block, 0, 1, Scope::gpu, Fence::sc);
      }
  }
  ::testing::AssertionResult run_launch(int steps) {
    for (int step = 0; step < steps; ++step) {
      const std::uint32_t block = below(rules_.blocks), warp = below(kWarps);
      const Mask free = free_[block][warp];
      if (free == 0) continue;
      Mask some = rules_.partial && below(2) == 0 ? free & below_live() : free;
      if (some == 0) some = free;
      const std::uint32_t what = below(16);
      if (what < 2) {
        if (rules_.partial || free == live_) warp_sync(block, warp, rules_.partial ? some : free);
      } else if (what < 6) {
        arrive(block, warp, rules_.partial ? some : free);
      } else if (what < 8) {
        constexpr std::array<Fence, 6> kFences{Fence::sc,      Fence::sc,      Fence::acq_rel,
                                               Fence::acq_rel, Fence::release, Fence::acquire};
        if (rules_.fences)
          fence(block, warp, some, below(4) == 0 ? Scope::cta : Scope::gpu, kFences[below(6)]);
      } else {
        const bool expected =
            access(block, warp, what < (rules_.lines ? 9u : 12u) ? some & (0u - some) : some);
        if ((stage_.found() != 0) != expected)
          return ::testing::AssertionFailure()
                 << "step " << step << ": the reference says " << expected << ", found "
                 << (stage_.findings().empty() ? std::string("nothing") : stage_.findings()[0].message);
        if (expected) {
          raced_ = true;
          break;
        }
      }
    }
    return ::testing::AssertionSuccess();
  }

  struct BarrierState {
    std::array<Mask, kWarps> arrived{}, waiting{};
    std::uint32_t count = 0, expected = 0;
    Reference::Meeting meeting;
  };
  BarrierState fresh() const { return {{}, {}, 0, 0, reference_.meeting()}; }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  Mask below_live() { return static_cast<Mask>(random_()) & live_; }

  void warp_sync(std::uint32_t block, std::uint32_t warp, Mask mask) {
    stage_.warp_sync(block, warp, mask);
    Reference::Meeting meeting = reference_.meeting();
    reference_.arrive(meeting, block, warp, mask);
    reference_.leave(meeting, block, warp, mask);
  }
  void fence(std::uint32_t block, std::uint32_t warp, Mask mask, Scope scope, Fence fence) {
    stage_.fence_lanes(block, warp, mask, scope, fence);
    reference_.fence(block, warp, mask, scope, fence);
  }
  void arrive(std::uint32_t block, std::uint32_t warp, Mask mask) {
    const std::uint32_t id = rules_.partial ? below(3) : 0;
    BarrierState& barrier = barriers_[block * 3 + id];
    mask &= ~barrier.arrived[warp];
    if (barrier.count == 0) barrier.expected = id == 0 ? threads_ : 2 + below(threads_ - 1);
    while (static_cast<std::uint32_t>(std::popcount(mask)) > barrier.expected - barrier.count)
      mask &= mask - 1;
    if (mask == 0) return;
    const bool waits = !rules_.partial || below(3) != 0;
    stage_.arrive(block, warp, static_cast<int>(id), mask);
    reference_.arrive(barrier.meeting, block, warp, mask);
    barrier.arrived[warp] |= mask;
    barrier.count += static_cast<std::uint32_t>(std::popcount(mask));
    if (waits) {
      barrier.waiting[warp] |= mask;
      free_[block][warp] &= ~mask;
    }
    if (barrier.count < barrier.expected) return;
    stage_.complete(block, static_cast<int>(id));
    for (std::uint32_t other = 0; other < kWarps; ++other) {
      Mask rest = barrier.waiting[other];
      while (rest != 0) {
        Mask now = rules_.partial && below(3) == 0 ? rest & below_live() : rest;
        if (now == 0) now = rest;
        stage_.leave(block, other, static_cast<int>(id), now);
        reference_.leave(barrier.meeting, block, other, now);
        free_[block][other] |= now;
        rest &= ~now;
      }
    }
    barrier = fresh();
  }
  // Neighbouring lanes from the start of a line on, or from somewhere in it; few places, so that they meet.
  Mask line(Places& at, RaceStage::How& how, Mask mask) {
    constexpr std::array<std::uint32_t, 8> kWidths{4, 4, 4, 4, 8, 16, 2, 1};
    how.bytes = kWidths[below(rules_.parts ? 8 : 6)];
    const std::uint64_t room = 1024 - kLanes * how.bytes;
    constexpr std::array<std::uint32_t, 4> kOdd{12, 36, 64, 100};
    std::uint64_t first = below(2) * 128 + (below(3) == 0 ? kOdd[below(4)] : 0);
    first = std::min(first, room) / how.bytes * how.bytes;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) at[lane] = first + lane * how.bytes;
    if (below(2) == 0) return mask;
    // The end of a row.
    const Mask some = mask & (below(2) == 0 ? 0x7ffu : 0xfffff800u);
    return some != 0 ? some : mask;
  }
  bool access(std::uint32_t block, std::uint32_t warp, Mask mask) {
    RaceStage::How how;
    how.shared = below(2) == 0;
    how.untold = true;  // bytes that are equal by chance would be no race
    const bool strong = rules_.strong && below(2) == 0;
    const std::uint32_t what = below(3);
    how.reads = what != 1;
    how.writes = what == 1 || (strong && what == 2);
    Places at{};
    if (rules_.lines && !strong && below(5) != 0) {
      how.shared = false;
      mask = line(at, how, mask);
    } else {
      if (rules_.parts && below(6) == 0) how.bytes = 1u << below(2);
      const std::uint32_t words = 1 + below(12), pattern = below(3);
      const std::uint64_t first = (strong ? 64u : 0u) + below(words) * 4 + below(4 / how.bytes) * how.bytes;
      for (std::uint64_t lane = 0; lane < kLanes; ++lane)
        at[lane] = pattern == 0   ? first + lane * how.bytes
                   : pattern == 1 ? first
                                  : (strong ? 64u : 0u) + below(words) * 4;
    }
    if (strong) {
      if (below(8) == 0)  // also to the plain ones' words
        for (std::uint64_t& one : at) one -= 64;
      how.scope = below(6) == 0 ? Scope::cta : Scope::gpu;
      how.order = Order::relaxed;
      if (rules_.fences && below(2) == 0)
        how.order = how.reads && how.writes ? Order::acq_rel : how.reads ? Order::acquire : Order::release;
    }
    const bool race = reference_.races(block, warp, mask, at, how);
    if (race && below(rules_.lines ? 8 : 24) != 0)
      return false;  // mostly legal programs, or none would get far
    reference_.access(block, warp, mask, at, how);
    stage_.access(
        block, warp, mask, [&](int lane) { return at[static_cast<std::size_t>(lane)]; }, how);
    return race;
  }

  Rules rules_;
  std::mt19937 random_;
  Mask live_;
  std::uint32_t threads_;
  RaceStage stage_;
  Reference reference_;
  std::vector<std::array<Mask, kWarps>> free_;
  std::vector<BarrierState> barriers_;
  bool raced_ = false;
};

void agree(const Rules& rules, int programs, int steps) {
  int raced = 0;
  for (int seed = 0; seed < programs; ++seed) {
    Program program(rules, static_cast<std::uint32_t>(seed));
    ASSERT_TRUE(program.run(steps)) << "seed " << seed;
    raced += program.raced();
  }
  EXPECT_GT(raced, programs / 50);
  EXPECT_LT(raced, programs);
}

TEST(RaceRandom, WholeWarpsAndBlocks) {
  agree({.partial = false, .fences = false, .strong = false, .exact_from_start = false}, 1000, 100);
  agree({.partial = false, .fences = false, .strong = true, .exact_from_start = false}, 1000, 100);
}
TEST(RaceRandom, PartsOfWarpsAndNamedBarriers) {
  agree({.fences = false, .strong = false}, 500, 150);
  agree({.fences = false, .exact_from_start = false}, 500, 150);
}
TEST(RaceRandom, Everything) {
  agree({}, 700, 200);
  agree({.exact_from_start = false}, 700, 200);
}
TEST(RaceRandom, TwoBlocks) {
  agree({.blocks = 2}, 500, 200);
  agree({.blocks = 2, .exact_from_start = false}, 500, 200);
}
TEST(RaceRandom, BlocksWithoutSynchronisation) {
  agree({.blocks = 3, .fences = false, .strong = false, .exact_from_start = false}, 500, 60);
}
TEST(RaceRandom, LinesOfOneBlock) {
  agree({.partial = false,
         .fences = false,
         .strong = false,
         .parts = false,
         .exact_from_start = false,
         .live = kLanes,
         .lines = true,
         .launches = 3},
        200, 40);
  agree({.partial = false, .strong = true, .exact_from_start = false, .live = kLanes, .lines = true}, 150,
        60);
  agree({.live = kLanes, .lines = true, .launches = 2}, 100, 50);
}
TEST(RaceRandom, LinesOfBlocks) {
  agree({.blocks = 3,
         .partial = false,
         .fences = false,
         .strong = false,
         .exact_from_start = false,
         .live = kLanes,
         .lines = true,
         .launches = 3},
        150, 40);
  agree({.blocks = 2, .exact_from_start = false, .live = kLanes, .lines = true, .launches = 2}, 100, 40);
}

}  // namespace
}  // namespace gpuforge::sim
