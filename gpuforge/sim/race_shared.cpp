#include <bit>

#include "gpuforge/sim/race_state.h"

namespace gpuforge::sim {

namespace {

RowKind row_kind(const Access& access) {
  if (access.order == Order::weak) return RowKind::reads;
  return access.writes ? RowKind::strong_writes : RowKind::strong_reads;
}

Did did(RowKind kind) {
  switch (kind) {
    case RowKind::reads:
      return Did::read;
    case RowKind::strong_reads:
      return Did::read_strong;
    case RowKind::strong_writes:
      return Did::wrote_strong;
  }
  return Did::read;
}

// Which rows an access can conflict with, beside the plain writes: nothing is ever wrong between reads, nor
// between strong accesses, since every scope holds the block.
struct Against {
  std::array<RowKind, 3> kind{};
  std::size_t count = 0;
};
Against against(const Access& access) {
  if (access.order != Order::weak) return access.writes ? Against{{RowKind::reads}, 1} : Against{{}, 0};
  if (access.writes) return {{RowKind::reads, RowKind::strong_writes, RowKind::strong_reads}, 3};
  return {{RowKind::strong_writes}, 1};
}

}  // namespace

bool RaceDetector::State::rows_known(const BlockRaces& block, RowKind kind, const CellRun& run,
                                     const Moment& moment) const {
  const SharedShadow& shadow = block.shared;
  const SharedRows& row = shadow.rows[static_cast<std::size_t>(kind)];
  if (row.stamp == nullptr) return true;
  Stamp latest = 0;
  for (std::size_t chunk = run.first / 32; chunk <= (run.first + run.count - 1) / 32; ++chunk)
    latest = std::max(latest, row.chunk[chunk]);
  if (latest <= moment.all_known) return true;
  const Stamp* known = block.clocks.known(moment.warp);
  for (std::uint32_t warp = 0; warp < shadow.warps; ++warp) {
    const std::size_t index = shadow.at(warp, run.first);
    if (warp == moment.warp) {
      if (!own_row_known(&row.stamp[index], &row.lanes[index], run, moment.own)) return false;
    } else if (!stamps_known(&row.stamp[index], run.count, known[warp])) {
      return false;
    }
  }
  return true;
}

std::optional<Conflict> RaceDetector::State::row_conflict(const BlockRaces& block, RowKind kind,
                                                          std::uint32_t warp, int lane,
                                                          std::size_t cell) const {
  const SharedShadow& shadow = block.shared;
  const SharedRows& row = shadow.rows[static_cast<std::size_t>(kind)];
  if (row.stamp == nullptr) return std::nullopt;
  const Stamp* known = block.clocks.known(warp);
  const std::uint32_t serial = block.clocks.serial();
  for (std::uint32_t other = 0; other < shadow.warps; ++other) {
    const std::size_t index = shadow.at(other, cell);
    if (row.stamp[index] <= known[other]) continue;
    for (Mask rest = row.lanes[index]; rest != 0; rest &= rest - 1) {
      const int with = std::countr_zero(rest);
      const std::uint32_t thread = other * kLanes + static_cast<std::uint32_t>(with);
      if (block.clocks.knows(warp, lane, serial, thread, shadow.lane_stamp(kind, other, cell, with)))
        continue;
      return Conflict{.serial = serial, .thread = thread, .site = row.site[index], .did = did(kind)};
    }
  }
  return std::nullopt;
}

// The exact question for one lane; at most one finding.
void RaceDetector::State::check_shared(BlockRaces& block, Warp& warp, const Access& access, int lane,
                                       std::size_t first, std::size_t count) {
  const SharedShadow& shadow = block.shared;
  const std::uint32_t serial = block.clocks.serial();
  const Against rows = against(access);
  const std::size_t width = std::size_t{1} << shadow.shift;
  for (std::size_t cell = first; cell < first + count; ++cell) {
    const std::uint64_t address = std::uint64_t{cell} << shadow.shift;
    const Stamp stamp = shadow.write_stamp[cell];
    const std::uint32_t thread = shadow.write_who[cell] >> kWhoShift;
    if (!block.clocks.knows(warp.index, lane, serial, thread, stamp)) {
      Conflict conflict{.serial = serial,
                        .thread = thread,
                        .site = site_of(shadow.write_who[cell] & kWhoSite, kWhoSite),
                        .did = Did::wrote};
      bool harmless = false;
      if (access.writes && access.values != nullptr) {
        const int other = static_cast<int>(thread % kLanes);
        conflict.same_instruction =
            thread / kLanes == warp.index && stamp == now && other < lane && touches(access, other, address);
        harmless = conflict.same_instruction
                       ? same_bytes(access, lane, other, address, width)
                       : same_bytes(access, lane, address, width, warp.block->shared + address);
      }
      if (!harmless) return tell(warp, access, lane, conflict, true);
    }
    for (std::size_t i = 0; i < rows.count; ++i)
      if (const auto conflict = row_conflict(block, rows.kind[i], warp.index, lane, cell))
        return tell(warp, access, lane, *conflict, true);
  }
}

bool RaceDetector::State::shared_run(BlockRaces& block, Warp& warp, const Access& access,
                                     const Moment& moment) {
  int lane = 0;
  std::uint32_t lanes = 0;
  if (!one_run(access, lane, lanes)) return false;
  SharedShadow& shadow = block.shared;
  const std::uint32_t each = access.bytes >> shadow.shift;
  const CellRun run{static_cast<std::size_t>(access.address[lane] >> shadow.shift), lanes * each,
                    std::countr_zero(each), static_cast<std::uint32_t>(lane)};
  Stamp* stamp = &shadow.write_stamp[run.first];
  std::uint32_t* who = &shadow.write_who[run.first];
  if (access.lanes == kAllLanes && access.order == Order::weak) {
    const std::size_t from = run.first / 32, to = (run.first + run.count - 1) / 32;
    SharedRows& reads = shadow.rows[static_cast<std::size_t>(RowKind::reads)];
    bool quiet = shadow.chunks_known(RowKind::strong_writes, from, to, moment.all_known);
    if (access.writes) {
      quiet = quiet && shadow.chunks_known(RowKind::strong_reads, from, to, moment.all_known) &&
              shadow.chunks_known(RowKind::reads, from, to, moment.all_known);
      if (quiet && shared_write_at_once(stamp, who, run, moment)) return true;
    } else if (quiet) {
      const std::size_t index = shadow.at(moment.warp, run.first);
      if (shared_read_at_once(stamp, &reads.stamp[index], &reads.lanes[index], &reads.site[index], run,
                              moment)) {
        for (std::size_t chunk = from; chunk <= to; ++chunk) reads.chunk[chunk] = now;
        return true;
      }
    }
  }
  bool known = shared_writes_known(stamp, who, run, moment);
  const Against rows = against(access);
  for (std::size_t i = 0; i < rows.count; ++i) known = known && rows_known(block, rows.kind[i], run, moment);
  if (!known)
    for (std::uint32_t i = 0; i < lanes; ++i)
      check_shared(block, warp, access, lane + static_cast<int>(i), run.first + i * each, each);
  if (access.writes && access.order == Order::weak) {
    put_shared_writes(stamp, who, run, moment);
    return true;
  }
  const RowKind kind = row_kind(access);
  SharedRows& row = shadow.made(kind);
  const std::size_t index = shadow.at(moment.warp, run.first);
  for (std::size_t chunk = run.first / 32; chunk <= (run.first + run.count - 1) / 32; ++chunk)
    row.chunk[chunk] = now;
  if (!put_row(&row.stamp[index], &row.lanes[index], &row.site[index], run, moment))
    for (std::uint32_t i = 0; i < run.count; ++i)
      shadow.put(kind, run.first + i, lane + static_cast<int>(i / each), moment, block.clocks);
  return true;
}

void RaceDetector::State::shared_lanes(BlockRaces& block, Warp& warp, const Access& access,
                                       const Moment& moment) {
  SharedShadow& shadow = block.shared;
  const std::uint32_t each = access.bytes >> shadow.shift;
  const Against rows = against(access);
  const bool plain_write = access.writes && access.order == Order::weak;
  const RowKind kind = row_kind(access);
  SharedRows& to = shadow.made(kind);
  const std::size_t mine = shadow.at(moment.warp, 0);
  LaneCells cells;
  find_cells(cells, access.address, access.lanes, shadow.shift);

  bool known = true;
  for (std::uint32_t i = 0; i < each; ++i)
    known = known && stamps_known_at(shadow.write_stamp.get() + i, cells, moment.all_known);
  for (std::size_t i = 0; i < rows.count; ++i) {  // a lane's cells lie in one chunk
    const SharedRows& row = shadow.rows[static_cast<std::size_t>(rows.kind[i])];
    if (row.stamp != nullptr) known = known && stamps_known_at(row.chunk.get(), cells, moment.all_known, 5);
  }
  if (known && plain_write) {
    for (std::uint32_t i = 0; i < each; ++i)
      put_writes_at(shadow.write_stamp.get() + i, shadow.write_who.get() + i, cells, moment);
    bool alone = true;
    for (std::uint32_t i = 0; i < each; ++i)
      alone = alone && writes_stand(shadow.write_who.get() + i, cells, moment);
    if (!alone) check_together(warp, access, shadow);
    return;
  }
  if (known && !(moment.exact && !stamps_known_at(to.stamp.get() + mine, cells, moment.own)) && each == 1) {
    put_rows_at(to.stamp.get() + mine, to.lanes.get() + mine, to.site.get() + mine, cells, moment);
    for (std::uint32_t i = 0; i < cells.count; ++i) to.chunk[cells.cell[i] / 32] = now;
    return;
  }
  for (std::uint32_t i = 0; i < cells.count; ++i) {
    const auto lane = static_cast<int>(cells.lane[i]);
    const std::size_t first = cells.cell[i];
    if (!known) {
      const CellRun run{first, each, kMostLog, cells.lane[i]};
      bool early = stamps_known(&shadow.write_stamp[first], each, moment.all_known);
      for (std::size_t k = 0; k < rows.count; ++k)
        early = early && rows_known(block, rows.kind[k], run, moment);
      if (!early) check_shared(block, warp, access, lane, first, each);
    }
    for (std::size_t cell = first; cell < first + each; ++cell) {
      if (plain_write) {
        shadow.write_stamp[cell] = now;
        shadow.write_who[cell] = moment.write_who(cells.lane[i]);
      } else {
        shadow.put(kind, cell, lane, moment, block.clocks);
      }
    }
  }
}

// Lanes of one store that write the same cell: fine when they write the same.
void RaceDetector::State::check_together(Warp& warp, const Access& access, const SharedShadow& shadow) const {
  const std::size_t width = std::size_t{1} << shadow.shift;
  for (Mask rest = access.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (std::uint32_t i = 0; i < access.bytes; i += static_cast<std::uint32_t>(width)) {
      const std::uint64_t address = access.address[lane] + i;
      const std::uint32_t who = shadow.write_who[address >> shadow.shift];
      const int winner = static_cast<int>((who >> kWhoShift) % kLanes);
      if (winner == lane || (access.values != nullptr && same_bytes(access, winner, lane, address, width)))
        continue;
      tell(warp, access, winner,
           {.serial = last->clocks.serial(),
            .thread = warp.index * kLanes + static_cast<std::uint32_t>(lane),
            .site = site_of(who & kWhoSite, kWhoSite),
            .did = Did::wrote,
            .same_instruction = true},
           true);
      break;
    }
  }
}

void RaceDetector::State::shared(BlockRaces& block, Warp& warp, const Access& access) {
  SharedShadow& shadow = block.shared;
  if (access.bytes < (1u << shadow.shift)) shadow.split(std::countr_zero(access.bytes));
  const Moment moment = this->moment(block, warp, access);
  if (shared_run(block, warp, access, moment)) return;
  // One address for all, and nothing new since the last barrier: once instead of for each lane.
  if (access.pattern == Pattern::uniform && access.order == Order::weak && !access.writes && !moment.exact) {
    const std::uint32_t each = access.bytes >> shadow.shift;
    const auto first =
        static_cast<std::size_t>(access.address[std::countr_zero(access.lanes)] >> shadow.shift);
    const CellRun run{first, each, kMostLog, 0};
    if (stamps_known(&shadow.write_stamp[first], each, moment.all_known) &&
        rows_known(block, RowKind::strong_writes, run, moment)) {
      SharedRows& row = shadow.made(RowKind::reads);
      const std::size_t index = shadow.at(moment.warp, first);
      for (std::uint32_t i = 0; i < each; ++i) {
        row.lanes[index + i] = (row.stamp[index + i] > moment.own ? row.lanes[index + i] : 0u) | access.lanes;
        row.stamp[index + i] = now;
        row.site[index + i] = moment.site;
        row.chunk[(first + i) / 32] = now;
      }
      return;
    }
  }
  shared_lanes(block, warp, access, moment);
}

}  // namespace gpuforge::sim
