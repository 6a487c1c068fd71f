#include <algorithm>
#include <bit>

#include "gpuforge/sim/race_state.h"

namespace gpuforge::sim {

namespace {

constexpr std::size_t kMostAccessors = 4096;               // of one cell
constexpr std::size_t kMostLooked = 64;                    // of them, for one that is all alike
constexpr std::size_t kMostListed = std::size_t{1} << 22;  // of all

StrongKind strong_kind(const Access& access) {
  const bool block = access.scope == Scope::cta || access.scope == Scope::cluster;
  if (access.writes) return block ? StrongKind::block_write : StrongKind::write;
  return block ? StrongKind::block_read : StrongKind::read;
}

struct AgainstStrong {
  StrongKind kind = StrongKind::write;
  Did did = Did::wrote_strong;
  bool only_other_blocks = false;
};
// The strong accesses that this one can conflict with. Two strong ones do when the scope of one is the block
// and they are of different blocks.
std::size_t against(const Access& access, std::array<AgainstStrong, 4>& into) {
  std::size_t count = 0;
  const bool weak = access.order == Order::weak;
  const bool block = !weak && (access.scope == Scope::cta || access.scope == Scope::cluster);
  if (weak || block) into[count++] = {StrongKind::write, Did::wrote_strong, !weak};
  into[count++] = {StrongKind::block_write, Did::wrote_strong, !weak};
  if (access.writes) {
    if (weak || block) into[count++] = {StrongKind::read, Did::read_strong, !weak};
    into[count++] = {StrongKind::block_read, Did::read_strong, !weak};
  }
  return count;
}

// Scattered lanes would wait for one cell after the other: those of the next few are asked for ahead.
constexpr int kAhead = 8;

constexpr std::uint32_t kMostLines = 512;  // of a page, until all of them get cells

void ask_for_cells(std::uint64_t address, const RaceCells& cells, StrongKind kind) {
  __builtin_prefetch(&cells.lines[cells.line(address)]);
  const RacePage& page = cells.pages[(address - cells.base) >> kRacePageShift];
  if (page.reads.empty()) return;
  const std::size_t cell = cells.cell(address, page);
  __builtin_prefetch(&page.reads[cell / 4]);
  const auto& strong = page.strong[static_cast<std::size_t>(kind)];
  if (!strong.empty()) __builtin_prefetch(&strong[cell]);
}

}  // namespace

std::optional<Conflict> RaceDetector::State::kept_conflict(const BlockRaces& block, std::uint32_t warp,
                                                           int lane, std::uint64_t key, Mask lanes,
                                                           std::uint32_t who, Did did,
                                                           bool only_other_blocks) const {
  const auto serial = static_cast<std::uint32_t>(key >> 32);
  if (serial < base) return std::nullopt;
  const std::uint32_t mine = block.clocks.serial();
  Conflict conflict{
      .serial = serial, .site = site_of(who & kKeptSite, kKeptSite), .did = did, .scope = only_other_blocks};
  const auto of_lanes = [&](std::uint32_t of, std::uint32_t in_warp, Mask which, Stamp stamp) {
    for (Mask rest = which; rest != 0; rest &= rest - 1) {
      conflict.thread = in_warp * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest));
      if (!block.clocks.knows(warp, lane, of, conflict.thread, stamp)) return true;
    }
    return false;
  };
  // Which lanes is not known: one that is known speaks for all of them.
  const auto of_warp = [&](std::uint32_t of, std::uint32_t in_warp, Stamp stamp) {
    if (of == mine && in_warp == warp) return false;
    for (std::uint32_t i = 0; i < kLanes; ++i)
      if (block.clocks.knows(warp, lane, of, in_warp * kLanes + i, stamp)) return false;
    conflict.thread = in_warp * kLanes;
    conflict.thread_known = false;
    return true;
  };
  switch (kept(who)) {
    case Kept::one_warp:
      if (only_other_blocks && serial == mine) return std::nullopt;
      if (of_lanes(serial, who >> kKeptWarpShift, lanes, static_cast<Stamp>(key))) return conflict;
      return std::nullopt;
    case Kept::several_warps:
      if (only_other_blocks && serial == mine) return std::nullopt;
      for (Mask rest = lanes; rest != 0; rest &= rest - 1)
        if (of_warp(serial, static_cast<std::uint32_t>(std::countr_zero(rest)), static_cast<Stamp>(key)))
          return conflict;
      return std::nullopt;
    case Kept::many_blocks:
      // All that is left is that there were several. Who has heard of other blocks may know them all.
      if (lists_lost || block.clocks.knows_other_blocks(warp, lane)) return std::nullopt;
      conflict.thread_known = false;
      return conflict;
    case Kept::listed:
      for (const Accessor& one : lists[lanes]) {
        if (only_other_blocks && one.serial == mine) continue;
        conflict.serial = one.serial;
        conflict.site = site_of(one.who & kKeptSite, kKeptSite);
        const std::uint32_t in_warp = one.who >> kKeptWarpShift;
        if (kept(one.who) == Kept::several_warps ? of_warp(one.serial, in_warp, one.stamp)
                                                 : of_lanes(one.serial, in_warp, one.lanes, one.stamp))
          return conflict;
      }
      return std::nullopt;
  }
  return std::nullopt;
}

void RaceDetector::State::split(RacePage& page, int shift) {
  const std::size_t factor = std::size_t{1} << (page.shift - shift);
  page.split(shift);
  const auto part = [&](std::uint64_t key, Mask& lanes, std::uint32_t who, std::size_t cell) {
    if (cell % factor == 0 || static_cast<std::uint32_t>(key >> 32) < base || kept(who) != Kept::listed)
      return;
    std::vector<Accessor> copy = lists[lanes];  // each part of the cell goes its own way from here
    listed += copy.size();
    lanes = keep_list(std::move(copy));
  };
  for (std::size_t cell = 0; cell < page.count() && !lists.empty(); ++cell) {
    ReadCells& group = page.reads[cell / 4];
    part(group.key[cell % 4], group.lanes[cell % 4], group.who[cell % 4], cell);
    for (const auto& strong : page.strong)
      if (!strong.empty()) part(strong[cell].key, strong[cell].lanes, strong[cell].who, cell);
  }
}

// The page of an access that needs cells, fine enough for it, with those of its line made.
inline RacePage& RaceDetector::State::cells_for(RaceCells& cells, std::uint64_t address,
                                                std::uint32_t bytes) {
  RacePage& page = cells.page(address);
  if ((page.full != base && !cells.lines[cells.line(address)].has_cells(std::uint64_t{base} << 32)) ||
      bytes < (1u << page.shift)) [[unlikely]]
    make_cells(cells, page, cells.line(address), std::countr_zero(bytes));
  return page;
}

void RaceDetector::State::make_cells(RaceCells& cells, RacePage& page, std::size_t line, int shift) {
  page.make_cells();
  if (shift < page.shift) split(page, shift);
  const std::uint64_t base_key = std::uint64_t{base} << 32;
  const auto make = [&](std::size_t which) {
    if (cells.lines[which].has_cells(base_key)) return;
    if (const int finest = cells.finest(which, base_key); finest < page.shift) split(page, finest);
    cells.spread(which, page, base_key);
  };
  make(line);
  // Many lines of a page one by one: the rest will follow.
  if (page.counting != base) page.counted = 0;
  page.counting = base;
  if (++page.counted < kMostLines || page.full == base) return;
  constexpr std::size_t kLines = kRacePageBytes >> kLineShift;
  const std::size_t first = line / kLines * kLines;
  for (std::size_t i = first; i < first + (page.bytes + kLineBytes - 1) / kLineBytes; ++i) make(i);
  page.full = base;
}

// Adds these lanes' access to a record, as a list where that is needed.
void RaceDetector::State::put(const BlockRaces& block, std::uint64_t& key, Mask& lanes, std::uint32_t& who,
                              Mask bits, const Moment& moment) {
  if (put_kept(key, lanes, who, bits, moment)) return;
  const std::uint64_t mine = moment.block | moment.now;
  const std::uint32_t serial = block.clocks.serial();
  if (kept(who) == Kept::many_blocks) return;
  const Stamp since = block.clocks.last_event(moment.warp);  // later accesses of the warp are all alike
  if (kept(who) == Kept::one_warp && (key >> 32) == serial && static_cast<Stamp>(key) > since &&
      (who >> kKeptWarpShift) == moment.warp) {
    lanes |= bits;
    return;
  }
  if (kept(who) == Kept::listed) {
    std::vector<Accessor>& list = lists[lanes];
    for (std::size_t i = list.size(), looked = 0; i-- > 0 && looked < kMostLooked; ++looked)
      if (Accessor& one = list[i]; one.serial == serial && one.stamp > since &&
                                   kept(one.who) == Kept::one_warp &&
                                   (one.who >> kKeptWarpShift) == moment.warp) {
        one.lanes |= bits;
        return;
      }
  }
  // Lanes of `one` that some lane of this access is not ordered after.
  const auto left = [&](const Accessor& one) -> Mask {
    Mask keep = 0;
    for (Mask rest = one.lanes; rest != 0; rest &= rest - 1) {
      const auto thread =
          (one.who >> kKeptWarpShift) * kLanes + static_cast<std::uint32_t>(std::countr_zero(rest));
      bool known = false;
      for (Mask by = bits; by != 0 && !known; by &= by - 1)
        known = block.clocks.knows(moment.warp, std::countr_zero(by), one.serial, thread, one.stamp);
      if (!known) keep |= rest & (0u - rest);
    }
    return keep;
  };
  if (kept(who) != Kept::listed) {
    std::vector<Accessor> list;
    const auto of = static_cast<std::uint32_t>(key >> 32);
    if (kept(who) == Kept::one_warp) {
      Accessor one{of, static_cast<Stamp>(key), lanes, who};
      one.lanes = left(one);
      if (one.lanes == 0) {
        lanes = bits;
        who = moment.kept_who();
        key = mine;
        return;
      }
      list.push_back(one);
    } else {
      for (Mask rest = lanes; rest != 0; rest &= rest - 1)
        list.push_back({of, static_cast<Stamp>(key), kAllLanes,
                        (static_cast<std::uint32_t>(std::countr_zero(rest)) << kKeptWarpShift) |
                            (static_cast<std::uint32_t>(Kept::several_warps) << kKeptShift) | kKeptSite});
    }
    listed += list.size();
    lanes = keep_list(std::move(list));
  }
  std::vector<Accessor>& list = lists[lanes];
  // The block's own records stand at the end; the others are looked through now and then.
  const bool all = std::has_single_bit(list.size());
  std::size_t from = list.size();
  while (from > 0 && (all || list[from - 1].serial == serial)) --from;
  std::size_t to = from;
  bool joined = false;
  for (std::size_t i = from; i < list.size(); ++i) {
    Accessor one = list[i];
    one.lanes = left(one);
    if (one.lanes == 0) continue;
    if (one.serial == serial && one.stamp == moment.now && kept(one.who) == Kept::one_warp &&
        (one.who >> kKeptWarpShift) == moment.warp) {
      one.lanes |= bits;
      joined = true;
    }
    list[to++] = one;
  }
  listed -= list.size() - to;
  list.resize(to);
  if (!joined) {
    list.push_back({serial, moment.now, bits, moment.kept_who()});
    ++listed;
  }
  forget_ended_clusters(list);
  key = mine;
  const bool too_many = list.size() > kMostAccessors || listed > kMostListed;
  if (list.size() > 1 && !too_many) {
    who = moment.kept_who(Kept::listed);
    return;
  }
  const Mask alone = list.back().lanes;  // of this warp, at this moment
  if (listed > kMostListed) lists_lost = true;
  listed -= list.size();
  list = {};
  free_lists.push_back(lanes);
  lanes = alone;
  who = moment.kept_who(too_many ? Kept::many_blocks : Kept::one_warp);
}

// Nobody will know of them any more: one of their accesses, the last, stands for all.
void RaceDetector::State::forget_ended_clusters(std::vector<Accessor>& list) {
  if (beyond_clusters) return;
  const auto ended = std::count_if(list.begin(), list.end(),
                                   [&](const Accessor& one) { return one.serial < cluster_first; });
  if (ended < 2) return;
  std::ptrdiff_t left = ended;
  listed -= static_cast<std::size_t>(ended - 1);
  std::erase_if(list, [&](const Accessor& one) { return one.serial < cluster_first && --left > 0; });
}

std::uint32_t RaceDetector::State::keep_list(std::vector<Accessor> list) {
  if (free_lists.empty()) {
    lists.push_back(std::move(list));
    return static_cast<std::uint32_t>(lists.size() - 1);
  }
  const std::uint32_t index = free_lists.back();
  free_lists.pop_back();
  lists[index] = std::move(list);
  return index;
}

// Whether the warp as a whole knows all that an access to these cells can conflict with, and, for weak
// reads, all earlier ones.
inline bool RaceDetector::State::cells_known(const RacePage& page, std::size_t first, std::size_t count,
                                             const Access& access, const Moment& moment) const {
  std::array<AgainstStrong, 4> strong;
  const std::size_t kinds = page.strong_block < base ? 0 : against(access, strong);
  const bool written = page.write_block >= base,
             read = page.read_block >= base && (access.writes || access.order == Order::weak);
  for (std::size_t cell = first; cell < first + count; ++cell) {
    const std::size_t slot = cell % 4;
    if (written && !known_key(page.writes[cell / 4].key[slot], moment)) return false;
    if (const ReadCells& group = page.reads[cell / 4];
        read && group.key[slot] >= moment.base &&
        (!known_key(group.key[slot], moment) || many(group.who[slot])))
      return false;
    for (std::size_t i = 0; i < kinds; ++i) {
      const auto& cells = page.strong[static_cast<std::size_t>(strong[i].kind)];
      if (!cells.empty() && (!known_key(cells[cell].key, moment) || many(cells[cell].who))) return false;
    }
  }
  return true;
}

// The exact question for one lane; at most one finding.
bool RaceDetector::State::check_global(BlockRaces& block, Warp& warp, const Access& access, int lane,
                                       RacePage& page, std::size_t first, std::size_t count) {
  std::array<AgainstStrong, 4> strong;
  const std::size_t kinds = against(access, strong);
  const std::size_t width = std::size_t{1} << page.shift;
  for (std::size_t cell = first; cell < first + count; ++cell) {
    const WriteCells& group = page.writes[cell / 4];
    const std::size_t slot = cell % 4;
    const std::uint64_t key = group.key[slot];
    const auto serial = static_cast<std::uint32_t>(key >> 32);
    const std::uint32_t thread = group.who[slot] >> kWhoShift;
    if (serial >= base && !block.clocks.knows(warp.index, lane, serial, thread, static_cast<Stamp>(key))) {
      Conflict conflict{.serial = serial,
                        .thread = thread,
                        .site = site_of(group.who[slot] & kWhoSite, kWhoSite),
                        .did = Did::wrote};
      const std::uint64_t address = access.address[lane] + (std::uint64_t{cell - first} << page.shift);
      bool harmless = false;
      if (access.writes && access.values != nullptr) {
        const int other = static_cast<int>(thread % kLanes);
        conflict.same_instruction = serial == block.clocks.serial() && thread / kLanes == warp.index &&
                                    static_cast<Stamp>(key) == now && other < lane &&
                                    touches(access, other, address);
        harmless = conflict.same_instruction
                       ? same_bytes(access, lane, other, address, width)
                       : same_bytes(access, lane, address, width, held_bytes(launch, address));
      }
      if (!harmless) {
        tell(warp, access, lane, conflict, false);
        return false;
      }
    }
    std::optional<Conflict> found;
    if (const ReadCells& read = page.reads[cell / 4]; access.writes)
      found = kept_conflict(block, warp.index, lane, read.key[slot], read.lanes[slot], read.who[slot],
                            Did::read, false);
    for (std::size_t i = 0; i < kinds && !found; ++i)
      if (const auto& cells = page.strong[static_cast<std::size_t>(strong[i].kind)]; !cells.empty())
        found = kept_conflict(block, warp.index, lane, cells[cell].key, cells[cell].lanes, cells[cell].who,
                              strong[i].did, strong[i].only_other_blocks);
    if (found) {
      tell(warp, access, lane, *found, false);
      return false;
    }
  }
  return true;
}

// Neighbouring lanes: line by line, by its record where that is enough.
void RaceDetector::State::global_run(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                                     const Moment& moment) {
  int lane = 0;
  std::uint32_t lanes = 0;
  one_run(access, lane, lanes);
  std::uint64_t address = access.address[lane];
  const int log = std::countr_zero(access.bytes);
  while (lanes != 0) {
    const auto begin = static_cast<std::uint32_t>(address - cells.base) & (kLineBytes - 1);
    const std::uint32_t here = std::min(lanes, (kLineBytes - begin) >> log);
    const LinePiece piece{begin, begin + (here << log), static_cast<std::uint32_t>(lane), log};
    LineCell* record = cells.record(cells.line(address), piece, moment.base);
    if (record == nullptr ||
        !(access.writes ? record->write(piece.shape(), moment) : record->read(piece.shape(), moment)))
      global_piece(block, warp, access, cells, moment, piece);
    address += std::uint64_t{here} << log;
    lane += static_cast<int>(here);
    lanes -= here;
  }
}

// The same for a piece of a line in its cells.
void RaceDetector::State::global_piece(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                                       const Moment& moment, const LinePiece& piece) {
  const int lane = static_cast<int>(piece.lane);
  const std::uint64_t address = access.address[lane];
  RacePage& page = cells_for(cells, address, access.bytes);
  const std::uint32_t each = access.bytes >> page.shift, lanes = (piece.end - piece.begin) >> piece.log;
  const CellRun run{cells.cell(address, page), lanes * each, std::countr_zero(each), piece.lane};
  const bool quiet = page.strong_block < base;
  const GlobalCells of_page = page.cells(base);
  std::uint32_t& last_block = access.writes ? page.write_block : page.read_block;
  last_block = std::max(last_block, block.clocks.serial());
  if (run.first % 4 == 0 && run.count % 4 == 0 && quiet &&
      (access.writes ? global_write_at_once(of_page, run, moment)
                     : global_read_at_once(of_page, run, moment)))
    return;
  bool known = quiet && global_writes_known(of_page, run, moment);
  if (access.writes) known = known && global_reads_known(of_page, run, moment);
  if (!known)
    for (std::uint32_t i = 0; i < lanes; ++i)
      check_global(block, warp, access, lane + static_cast<int>(i), page, run.first + i * each, each);
  if (access.writes) {
    put_global_writes(of_page, run, moment);
    return;
  }
  std::uint32_t done = 0;
  if (put_global_reads(of_page, run, moment, done)) return;
  for (std::uint32_t i = done; i < run.count; ++i) {
    ReadCells& group = page.reads[(run.first + i) / 4];
    const std::size_t slot = (run.first + i) % 4;
    put(block, group.key[slot], group.lanes[slot], group.who[slot], Mask{1} << (run.lane + i / each), moment);
  }
}

// One address for all lanes: a warp that polls does this again and again.
void RaceDetector::State::strong_uniform(BlockRaces& block, Warp& warp, const Access& access,
                                         RaceCells& cells, const Moment& moment) {
  const std::uint64_t address = access.address[std::countr_zero(access.lanes)];
  RacePage& page = cells_for(cells, address, access.bytes);
  const std::size_t first = cells.cell(address, page), each = access.bytes >> page.shift;
  if (!cells_known(page, first, each, access, moment))
    for (Mask rest = access.lanes; rest != 0; rest &= rest - 1)
      check_global(block, warp, access, std::countr_zero(rest), page, first, each);
  StrongCell* to = page.strong_cells(strong_kind(access));
  page.strong_block = std::max(page.strong_block, block.clocks.serial());
  for (std::size_t cell = first; cell < first + each; ++cell)
    put(block, to[cell].key, to[cell].lanes, to[cell].who, access.lanes, moment);
}

void RaceDetector::State::global_strong(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                                        const Moment& moment) {
  if (one_place(access)) return strong_uniform(block, warp, access, cells, moment);
  const StrongKind kind = strong_kind(access);
  Mask ahead = access.lanes;
  for (int i = 0; i < kAhead && ahead != 0; ++i, ahead &= ahead - 1)
    ask_for_cells(access.address[std::countr_zero(ahead)], cells, kind);
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (ahead != 0) {
      ask_for_cells(access.address[std::countr_zero(ahead)], cells, kind);
      ahead &= ahead - 1;
    }
    RacePage& page = cells_for(cells, access.address[lane], access.bytes);
    const std::size_t first = cells.cell(access.address[lane], page);
    const std::size_t each = access.bytes >> page.shift;
    if (!cells_known(page, first, each, access, moment))
      check_global(block, warp, access, lane, page, first, each);
    StrongCell* to = page.strong_cells(kind);
    page.strong_block = std::max(page.strong_block, block.clocks.serial());
    for (std::size_t cell = first; cell < first + each; ++cell)
      put(block, to[cell].key, to[cell].lanes, to[cell].who, Mask{1} << lane, moment);
  }
}

void RaceDetector::State::global(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells) {
  const Moment moment = this->moment(block, warp, access);
  if (access.order != Order::weak) return global_strong(block, warp, access, cells, moment);
  int lane = 0;
  std::uint32_t lanes = 0;
  if (one_run(access, lane, lanes)) return global_run(block, warp, access, cells, moment);
  if (access.pattern == Pattern::uniform && !access.writes)
    return global_uniform(block, warp, access, cells, moment);
  global_lanes(block, warp, access, cells, moment);
}

// One address for all lanes that read: once instead of for each.
void RaceDetector::State::global_uniform(BlockRaces& block, Warp& warp, const Access& access,
                                         RaceCells& cells, const Moment& moment) {
  const std::uint64_t address = access.address[std::countr_zero(access.lanes)];
  RacePage& page = cells_for(cells, address, access.bytes);
  const std::size_t first = cells.cell(address, page), each = access.bytes >> page.shift;
  const bool written = page.write_block >= base;
  bool known = page.strong_block < base;
  for (std::size_t cell = first; cell < first + each && written; ++cell)
    known = known && known_key(page.writes[cell / 4].key[cell % 4], moment);
  if (!known)
    for (Mask rest = access.lanes; rest != 0; rest &= rest - 1)
      check_global(block, warp, access, std::countr_zero(rest), page, first, each);
  page.read_block = std::max(page.read_block, block.clocks.serial());
  for (std::size_t cell = first; cell < first + each; ++cell) {
    ReadCells& group = page.reads[cell / 4];
    put(block, group.key[cell % 4], group.lanes[cell % 4], group.who[cell % 4], access.lanes, moment);
  }
}

void RaceDetector::State::global_lanes(BlockRaces& block, Warp& warp, const Access& access, RaceCells& cells,
                                       const Moment& moment) {
  // All cells are looked up and asked for before the first is used: they are seldom in the cache.
  std::array<RacePage*, kLanes> pages;
  const std::uint64_t one = access.address[std::countr_zero(access.lanes)];
  RacePage& of_one = cells.page(one);
  if (!access.writes && of_one.full == base && of_one.strong_block < base && of_one.write_block < base &&
      access.bytes == 1u << of_one.shift) {
    std::uint64_t apart = 0;
    for (Mask rest = access.lanes; rest != 0; rest &= rest - 1)
      apart |= (access.address[std::countr_zero(rest)] - cells.base) ^ (one - cells.base);
    if (apart >> kRacePageShift == 0) {  // rows with a stride: one page, and nothing to look up
      of_one.read_block = std::max(of_one.read_block, block.clocks.serial());
      pages.fill(&of_one);
      return read_lanes(block, access, cells, moment, pages);
    }
  }
  if (of_one.full != base)
    for (Mask rest = access.lanes; rest != 0; rest &= rest - 1)
      __builtin_prefetch(&cells.lines[cells.line(access.address[std::countr_zero(rest)])]);
  bool quiet = true, written = access.writes;
  int finest = 2;
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const std::uint64_t address = access.address[lane];
    RacePage& page = cells_for(cells, address, access.bytes);
    pages[lane] = &page;
    const std::size_t group = cells.cell(address, page) / 4;
    if (!access.writes) page.read_block = std::max(page.read_block, block.clocks.serial());
    if (page.read_block >= base) __builtin_prefetch(&page.reads[group], 1);
    __builtin_prefetch(reinterpret_cast<const void*>(address));  // the next who wants it is the access itself
    written |= page.write_block >= base;
    if (written) __builtin_prefetch(&page.writes[group], 1);
    quiet &= page.strong_block < base;
    finest = std::min(finest, page.shift);
    if (!quiet && !page.strong[0].empty()) __builtin_prefetch(&page.strong[0][group * 4]);
  }
  if (quiet && !written && access.bytes == 1u << finest)
    return read_lanes(block, access, cells, moment, pages);
  const Moment local = moment;  // stores to cells cannot change this one
  const std::uint64_t key = moment.block | moment.now;
  const std::uint32_t kept_who = moment.kept_who(), write_who = moment.write_who(0);
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    RacePage& page = *pages[static_cast<std::size_t>(lane)];
    const std::size_t first = cells.cell(access.address[lane], page), each = access.bytes >> page.shift;
    if (each == 1 && page.strong_block < base) [[likely]] {
      ReadCells& read = page.reads[first / 4];
      WriteCells& write = page.writes[first / 4];
      const std::size_t slot = first % 4;
      if (page.write_block < base || known_key(write.key[slot], local)) {
        if (!access.writes) {
          if (put_kept(read.key[slot], read.lanes[slot], read.who[slot], rest & (0u - rest), local)) continue;
        } else if (page.read_block < base || read.key[slot] < local.base ||
                   (known_key(read.key[slot], local) && !many(read.who[slot]))) {
          write.key[slot] = key;
          write.who[slot] = write_who + (static_cast<std::uint32_t>(lane) << kWhoShift);
          page.write_block = std::max(page.write_block, block.clocks.serial());
          continue;
        }
      }
    }
    const bool known = cells_known(page, first, each, access, moment);
    if (!known) check_global(block, warp, access, lane, page, first, each);
    if (access.writes) page.write_block = std::max(page.write_block, block.clocks.serial());
    for (std::size_t cell = first; cell < first + each; ++cell) {
      ReadCells& read = page.reads[cell / 4];
      const std::size_t slot = cell % 4;
      if (access.writes) {
        page.writes[cell / 4].key[slot] = key;
        page.writes[cell / 4].who[slot] = write_who + (static_cast<std::uint32_t>(lane) << kWhoShift);
      } else if (known) {
        read.key[slot] = key;
        read.lanes[slot] = rest & (0u - rest);
        read.who[slot] = kept_who;
      } else {
        put(block, read.key[slot], read.lanes[slot], read.who[slot], rest & (0u - rest), moment);
      }
    }
  }
}

// One cell for each lane, in pages that nobody has written to.
void RaceDetector::State::read_lanes(const BlockRaces& block, const Access& access, const RaceCells& cells,
                                     const Moment& moment, const std::array<RacePage*, kLanes>& pages) {
  const Moment local = moment;  // stores to cells cannot change this one
  const int shift = std::countr_zero(access.bytes);
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const std::size_t cell = ((access.address[lane] - cells.base) & (kRacePageBytes - 1)) >> shift;
    ReadCells& read = pages[lane]->reads[cell / 4];
    const std::size_t slot = cell % 4;
    const Mask bit = rest & (0u - rest);
    if (!put_kept(read.key[slot], read.lanes[slot], read.who[slot], bit, local))
      put(block, read.key[slot], read.lanes[slot], read.who[slot], bit, moment);
  }
}

}  // namespace gpuforge::sim
