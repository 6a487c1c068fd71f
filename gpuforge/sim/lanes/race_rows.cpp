#include "gpuforge/sim/lanes/race_rows.h"

#include <bit>

namespace gpuforge::sim {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Calls body<log> for the run's cells per lane, so that the lane of a cell is a constant shift.
template <class Body>
auto with_log(int log, Body body) {
  switch (log) {
    case 0:
      return body.template operator()<0>();
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    case 4:
      return body.template operator()<4>();
    default:
      return body.template operator()<5>();
  }
}

typedef u64 Keys __attribute__((vector_size(32)));
typedef std::int64_t SignedKeys __attribute__((vector_size(32)));
typedef u32 Quad __attribute__((vector_size(16)));

template <class Vector, class T>
Vector load(const T* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class Vector, class T>
void store(T* to, Vector value) {
  __builtin_memcpy(to, &value, sizeof value);
}

inline bool all_set(Keys mask) {
  u64 all = ~u64{0};
  for (int i = 0; i < 4; ++i) all &= mask[i];
  return all != 0;
}

// -1 where a key is of an earlier launch, or of this block and known to all of the warp. Keys are below
// 2^63 (RaceDetector sees to it), so that they compare as signed numbers, which AVX2 can do at once.
struct KnownKeys {
  SignedKeys base, block, last;
  explicit KnownKeys(const Moment& moment)
      : base(four(moment.base)), block(four(moment.block)), last(four(moment.block | moment.all_known)) {}
  static SignedKeys four(u64 value) {
    const auto one = static_cast<std::int64_t>(value);
    return SignedKeys{one, one, one, one};
  }
  Keys operator()(const u64* keys) const {
    const SignedKeys key = load<SignedKeys>(keys);
    return (Keys)((key < base) | ~((key < block) | (key > last)));
  }
  Keys old(const u64* keys) const { return (Keys)(load<SignedKeys>(keys) < base); }
};
inline Keys all_four(u64 value) {
  return Keys{value, value, value, value};
}

// Calls single(group, slot, index) for cells before and after whole groups, whole(group, index) for those;
// either may stop it by returning false.
template <class Single, class Whole>
bool each_group(const CellRun& run, Single single, Whole whole) {
  const u64 begin = run.first, end = run.first + run.count;
  u64 cell = begin;
  for (; cell < end && (cell & 3u) != 0; ++cell)
    if (!single(cell >> 2, cell & 3u, static_cast<u32>(cell - begin))) return false;
  for (; cell + 4 <= end; cell += 4)
    if (!whole(cell >> 2, static_cast<u32>(cell - begin))) return false;
  for (; cell < end; ++cell)
    if (!single(cell >> 2, cell & 3u, static_cast<u32>(cell - begin))) return false;
  return true;
}

inline Quad lane_numbers(const CellRun& run, u32 index) {
  const Quad count{index, index + 1, index + 2, index + 3};
  return run.lane + (count >> run.log);
}

}  // namespace

bool stamps_known(const u32* stamp, std::size_t count, u32 known) {
  u32 late = 0;
  for (std::size_t i = 0; i < count; ++i) late |= static_cast<u32>(stamp[i] > known);
  return late == 0;
}

bool shared_writes_known(const u32* stamp, const u32* who, const CellRun& run, const Moment& moment) {
  if (stamps_known(stamp, run.count, moment.all_known)) return true;
  const u32 first = moment.warp * kLanes + run.lane;
  const u32 known = moment.all_known;
  return with_log(run.log, [&]<int kLog>() {
    u32 late = 0;
    for (u32 i = 0; i < run.count; ++i)
      late |=
          static_cast<u32>(stamp[i] > known) & static_cast<u32>((who[i] >> kWhoShift) != first + (i >> kLog));
    return late == 0;
  });
}

bool own_row_known(const u32* stamp, const Mask* lanes, const CellRun& run, u32 own) {
  return with_log(run.log, [&]<int kLog>() {
    u32 late = 0;
    for (u32 i = 0; i < run.count; ++i)
      late |=
          static_cast<u32>(stamp[i] > own) & static_cast<u32>(lanes[i] != (1u << (run.lane + (i >> kLog))));
    return late == 0;
  });
}

void put_shared_writes(u32* __restrict stamp, u32* __restrict who, const CellRun& run, const Moment& moment) {
  const u32 first = moment.write_who(run.lane);
  const u32 now = moment.now;
  with_log(run.log, [&]<int kLog>() {
    const u32 count = run.count;
    for (u32 i = 0; i < count; ++i) {
      stamp[i] = now;
      who[i] = first + ((i >> kLog) << kWhoShift);
    }
  });
}

bool put_row(u32* __restrict stamp, Mask* __restrict lanes, u32* __restrict site, const CellRun& run,
             const Moment& moment) {
  if (moment.exact && !own_row_known(stamp, lanes, run, moment.own)) return false;
  const u32 now = moment.now, own = moment.own, here = moment.site, count = run.count, lane = run.lane;
  with_log(run.log, [&]<int kLog>() {
    for (u32 i = 0; i < count; ++i) {
      const u32 keep = stamp[i] > own ? lanes[i] : 0u;
      lanes[i] = keep | (1u << (lane + (i >> kLog)));
      stamp[i] = now;
      site[i] = here;
    }
  });
  return true;
}

bool shared_read_at_once(const u32* write_stamp, u32* __restrict stamp, Mask* __restrict lanes,
                         u32* __restrict site, const CellRun& run, const Moment& moment) {
  const u32 known = moment.all_known, own = moment.own, now = moment.now, here = moment.site;
  return with_log(run.log, [&]<int kLog>() {
    constexpr u32 kCount = u32{kLanes} << kLog;
    u32 late = 0, apart = 0;
    for (u32 i = 0; i < kCount; ++i) late |= static_cast<u32>(write_stamp[i] > known);
    if (moment.exact)
      for (u32 i = 0; i < kCount; ++i) apart |= static_cast<u32>(stamp[i] > own);
    if ((late | apart) != 0) return false;
    for (u32 i = 0; i < kCount; ++i) {
      lanes[i] = (stamp[i] > own ? lanes[i] : 0u) | (1u << (i >> kLog));
      stamp[i] = now;
      site[i] = here;
    }
    return true;
  });
}

bool shared_write_at_once(u32* __restrict stamp, u32* __restrict who, const CellRun& run,
                          const Moment& moment) {
  const u32 known = moment.all_known, now = moment.now, first = moment.write_who(0);
  return with_log(run.log, [&]<int kLog>() {
    constexpr u32 kCount = u32{kLanes} << kLog;
    u32 late = 0;
    for (u32 i = 0; i < kCount; ++i) late |= static_cast<u32>(stamp[i] > known);
    if (late != 0) return false;
    for (u32 i = 0; i < kCount; ++i) stamp[i] = now;
    for (u32 i = 0; i < kCount; ++i) who[i] = first + ((i >> kLog) << kWhoShift);
    return true;
  });
}

void find_cells(LaneCells& cells, const u64* address, Mask lanes, int shift) {
  if (lanes == kAllLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) cells.cell[lane] = static_cast<u32>(address[lane] >> shift);
    for (u32 lane = 0; lane < kLanes; ++lane) cells.lane[lane] = lane;
    cells.count = kLanes;
    return;
  }
  cells.count = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(lanes));
    cells.cell[cells.count] = static_cast<u32>(address[lane] >> shift);
    cells.lane[cells.count++] = lane;
  }
}

bool stamps_known_at(const u32* stamp, const LaneCells& cells, u32 known, int shift) {
  u32 late = 0;
  for (u32 i = 0; i < cells.count; ++i) late |= static_cast<u32>(stamp[cells.cell[i] >> shift] > known);
  return late == 0;
}

void put_rows_at(u32* __restrict stamp, Mask* __restrict lanes, u32* __restrict site, const LaneCells& cells,
                 const Moment& moment) {
  const u32 now = moment.now, own = moment.own, here = moment.site;
  for (u32 i = 0; i < cells.count; ++i) {
    const u32 cell = cells.cell[i];
    lanes[cell] = (stamp[cell] > own ? lanes[cell] : 0u) | (1u << cells.lane[i]);
    stamp[cell] = now;
    site[cell] = here;
  }
}

void put_writes_at(u32* __restrict stamp, u32* __restrict who, const LaneCells& cells, const Moment& moment) {
  const u32 now = moment.now, first = moment.write_who(0);
  for (u32 i = 0; i < cells.count; ++i) {
    stamp[cells.cell[i]] = now;
    who[cells.cell[i]] = first + (cells.lane[i] << kWhoShift);
  }
}

bool writes_stand(const u32* who, const LaneCells& cells, const Moment& moment) {
  const u32 first = moment.write_who(0);
  u32 other = 0;
  for (u32 i = 0; i < cells.count; ++i) other |= who[cells.cell[i]] ^ (first + (cells.lane[i] << kWhoShift));
  return other == 0;
}

bool global_read_at_once(const GlobalCells& cells, const CellRun& run, const Moment& moment) {
  const KnownKeys known(moment);
  const Keys mine = all_four(moment.block | moment.now);
  const u32 me = moment.kept_who();
  ReadCells* const reads = cells.reads + run.first / 4;
  const u32 groups = run.count / 4;
  Keys all = all_four(~u64{0}), before = all;
  Quad kinds{};
  if (cells.written)
    for (u32 i = 0; i < groups; ++i) all &= known(cells.writes[run.first / 4 + i].key);
  for (u32 i = 0; i < groups; ++i) {
    all &= known(reads[i].key);
    before &= known.old(reads[i].key);
    kinds |= load<Quad>(reads[i].who);
  }
  if (!all_set(all)) return false;
  // Of earlier launches the kind does not count either.
  if (!all_set(before) && many(kinds[0] | kinds[1] | kinds[2] | kinds[3])) return false;
  const Quad who{me, me, me, me}, one{1, 1, 1, 1};
  for (u32 i = 0; i < groups; ++i) {
    store(reads[i].key, mine);
    store(reads[i].lanes, one << lane_numbers(run, 4 * i));
    store(reads[i].who, who);
  }
  return true;
}

bool global_write_at_once(const GlobalCells& cells, const CellRun& run, const Moment& moment) {
  const KnownKeys known(moment);
  const Keys mine = all_four(moment.block | moment.now);
  const u32 first = moment.write_who(0);
  const ReadCells* const reads = cells.reads + run.first / 4;
  WriteCells* const writes = cells.writes + run.first / 4;
  const u32 groups = run.count / 4;
  Keys all = all_four(~u64{0}), before = all;
  Quad kinds{};
  for (u32 i = 0; i < groups; ++i) all &= known(writes[i].key);
  for (u32 i = 0; i < groups && cells.read; ++i) {
    all &= known(reads[i].key);
    before &= known.old(reads[i].key);
    kinds |= load<Quad>(reads[i].who);
  }
  if (!all_set(all)) return false;
  // Of earlier launches the kind does not count either.
  if (!all_set(before) && many(kinds[0] | kinds[1] | kinds[2] | kinds[3])) return false;
  for (u32 i = 0; i < groups; ++i) {
    store(writes[i].key, mine);
    store(writes[i].who, first + (lane_numbers(run, 4 * i) << kWhoShift));
  }
  return true;
}

bool global_writes_known(const GlobalCells& cells, const CellRun& run, const Moment& moment) {
  if (!cells.written) return true;
  const WriteCells* const writes = cells.writes;
  const KnownKeys known(moment);
  Keys all = all_four(~u64{0});
  bool rest = true;
  each_group(
      run,
      [&](u64 group, u64 slot, u32) {
        rest &= known_key(writes[group].key[slot], moment);
        return true;
      },
      [&](u64 group, u32) {
        all &= known(writes[group].key);
        return true;
      });
  if (rest && all_set(all)) return true;
  const u32 first = moment.warp * kLanes + run.lane;
  for (u32 i = 0; i < run.count; ++i) {
    const WriteCells& group = writes[(run.first + i) >> 2];
    const u64 slot = (run.first + i) & 3u, key = group.key[slot];
    const bool mine =
        key - moment.block <= 0xffffffffu && (group.who[slot] >> kWhoShift) == first + (i >> run.log);
    if (!known_key(key, moment) && !mine) return false;
  }
  return true;
}

bool global_reads_known(const GlobalCells& cells, const CellRun& run, const Moment& moment) {
  if (!cells.read) return true;
  const ReadCells* const reads = cells.reads;
  const KnownKeys known(moment);
  Keys all = all_four(~u64{0});
  Quad kinds{};
  bool rest = true;
  each_group(
      run,
      [&](u64 group, u64 slot, u32) {
        rest &= known_key(reads[group].key[slot], moment) && !many(reads[group].who[slot]);
        return true;
      },
      [&](u64 group, u32) {
        all &= known(reads[group].key);
        kinds |= load<Quad>(reads[group].who);
        return true;
      });
  if (rest && all_set(all) && !many(kinds[0] | kinds[1] | kinds[2] | kinds[3])) return true;
  for (u32 i = 0; i < run.count; ++i) {
    const ReadCells& group = reads[(run.first + i) >> 2];
    const u64 slot = (run.first + i) & 3u, key = group.key[slot];
    const u32 who = group.who[slot];
    const bool alone =
        kept(who) == Kept::one_warp && key - moment.block <= 0xffffffffu &&
        (who >> kKeptWarpShift) == moment.warp &&
        (static_cast<u32>(key) <= moment.own || group.lanes[slot] == 1u << (run.lane + (i >> run.log)));
    if (key >= moment.base && !alone && (many(who) || !known_key(key, moment))) return false;
  }
  return true;
}

void put_global_writes(const GlobalCells& cells, const CellRun& run, const Moment& moment) {
  WriteCells* const writes = cells.writes;
  const u64 mine = moment.block | moment.now;
  const u32 first = moment.write_who(0);
  each_group(
      run,
      [&](u64 group, u64 slot, u32 index) {
        writes[group].key[slot] = mine;
        writes[group].who[slot] = first + ((run.lane + (index >> run.log)) << kWhoShift);
        return true;
      },
      [&](u64 group, u32 index) {
        store(writes[group].key, all_four(mine));
        store(writes[group].who, first + (lane_numbers(run, index) << kWhoShift));
        return true;
      });
}

bool put_global_reads(const GlobalCells& cells, const CellRun& run, const Moment& moment, u32& done) {
  const KnownKeys known(moment);
  const Keys mine = all_four(moment.block | moment.now);
  const u32 me = moment.kept_who();
  const Quad who{me, me, me, me}, one{1, 1, 1, 1};
  const auto single = [&](u64 group, u64 slot, u32 index) {
    ReadCells& to = cells.reads[group];
    done = index;
    return put_kept(to.key[slot], to.lanes[slot], to.who[slot], 1u << (run.lane + (index >> run.log)),
                    moment);
  };
  const auto whole = [&](u64 group, u32 index) {
    ReadCells& to = cells.reads[group];
    const Quad old = load<Quad>(to.who);
    if (all_set(known(to.key)) && !many(old[0] | old[1] | old[2] | old[3])) {
      store(to.key, mine);
      store(to.who, who);
      store(to.lanes, one << lane_numbers(run, index));
      return true;
    }
    for (u32 slot = 0; slot < 4; ++slot)
      if (!single(group, slot, index + slot)) return false;
    return true;
  };
  return each_group(run, single, whole);
}

}  // namespace gpuforge::sim
