#include "gpuforge/memory/transfer_queue.h"

#include <algorithm>
#include <utility>

namespace gpuforge::memory {
namespace {

void check_limits(const LaneLimits& limits, TransferDirection direction) {
  GPUFORGE_CHECK(limits.piece_bytes > 0 && limits.pieces > 0 && limits.bytes > 0 && limits.staged_pieces > 0,
                 "transfers: limits of copies {} must be at least 1, and are {} bytes a piece, {} pieces, {} "
                 "bytes and {} staged pieces in flight",
                 name(direction), limits.piece_bytes, limits.pieces, limits.bytes, limits.staged_pieces);
}

}  // namespace

std::string_view name(TransferDirection direction) {
  switch (direction) {
    case TransferDirection::to_device:
      return "to the device";
    case TransferDirection::to_host:
      return "to the host";
    case TransferDirection::on_device:
      return "on the device";
  }
  return "?";
}

std::string_view name(TransferState state) {
  switch (state) {
    case TransferState::queued:
      return "queued";
    case TransferState::in_progress:
      return "in progress";
    case TransferState::completed:
      return "completed";
    case TransferState::failed:
      return "failed";
    case TransferState::cancelled:
      return "cancelled";
  }
  return "?";
}

bool is_over(TransferState state) {
  return state != TransferState::queued && state != TransferState::in_progress;
}

const LaneLimits& TransferLimits::of(TransferDirection direction) const {
  switch (direction) {
    case TransferDirection::to_device:
      return to_device;
    case TransferDirection::to_host:
      return to_host;
    case TransferDirection::on_device:
      return on_device;
  }
  return on_device;
}

double TransferStatus::progress() const {
  if (bytes == 0) return state == TransferState::completed ? 1 : 0;
  return static_cast<double>(bytes_done) / static_cast<double>(bytes);
}

double TransferStatus::bandwidth_gbps() const {
  const double took_us = updated_us - started_us;
  return bytes_done == 0 || took_us <= 0 ? 0 : static_cast<double>(bytes_done) / took_us / 1e3;
}

std::string to_text(const TransferStatus& status) {
  std::string text = format_text("transfer {}{} {}: {}, {} of {} bytes", status.id,
                                 status.label.empty() ? "" : format_text(" '{}'", status.label),
                                 name(status.direction), name(status.state), status.bytes_done, status.bytes);
  if (status.bandwidth_gbps() > 0) text += format_text(", {:.1f} GB/s", status.bandwidth_gbps());
  if (status.failure) text += ": " + status.failure->message();
  return text;
}

std::string to_text(TransferDirection direction, const LaneTotals& totals) {
  return format_text(
      "{}: {} pieces of {} bytes in flight ({} staged), {} transfers ready, {} waiting for events; so far {} "
      "completed, {} failed, {} cancelled, {} bytes",
      name(direction), totals.pieces, totals.bytes, totals.staged, totals.ready, totals.waiting,
      totals.completed, totals.failed, totals.cancelled, totals.bytes_done);
}

TransferQueue::TransferQueue(TransferLimits limits) : limits_(limits) {
  for (std::size_t i = 0; i < kTransferDirections; ++i) {
    const auto direction = static_cast<TransferDirection>(i);
    check_limits(limits_.of(direction), direction);
  }
}

TransferQueue::Entry& TransferQueue::entry(TransferId id) {
  return const_cast<Entry&>(std::as_const(*this).entry(id));
}

const TransferQueue::Entry& TransferQueue::entry(TransferId id) const {
  const auto found = entries_.find(id);
  GPUFORGE_CHECK(found != entries_.end(),
                 "transfers: there is no transfer {}; it was forgotten or never made", id);
  return found->second;
}

TransferId TransferQueue::add(Request request, double now_us) {
  const TransferId id = ++last_id_;
  Entry& made = entries_[id];
  made.status.id = id;
  made.status.direction = request.direction;
  made.status.label = std::move(request.label);
  made.status.bytes = request.bytes;
  made.status.priority = request.priority;
  made.status.staged = request.staged;
  made.status.queued_us = now_us;
  made.status.updated_us = now_us;
  made.ready = request.ready;
  Lane& own = lane(request.direction);
  if (made.ready) {
    runnable(own, made.status.staged).insert({request.priority, id});
  } else {
    ++own.totals.waiting;
  }
  return id;
}

void TransferQueue::make_ready(TransferId id) {
  Entry& found = entry(id);
  if (found.ready || found.stopped) return;
  found.ready = true;
  Lane& own = lane(found.status.direction);
  --own.totals.waiting;
  runnable(own, found.status.staged).insert({found.status.priority, id});
}

std::size_t TransferQueue::next_bytes(const Entry& entry) const {
  return std::min(limits_.of(entry.status.direction).piece_bytes, entry.status.bytes - entry.started_bytes);
}

bool TransferQueue::fits(const Entry& entry) const {
  const LaneTotals& totals = lane(entry.status.direction).totals;
  const LaneLimits& limits = limits_.of(entry.status.direction);
  if (totals.pieces >= limits.pieces) return false;
  return totals.pieces == 0 || totals.bytes + next_bytes(entry) <= limits.bytes;
}

std::optional<TransferPiece> TransferQueue::start(TransferDirection direction, double now_us) {
  Lane& own = lane(direction);
  // Only a lack of staging buffers lets one of lower rank go first: pieces and bytes are for all alike.
  const bool may_stage = !own.staged.empty() && own.totals.staged < limits_.of(direction).staged_pieces;
  if (own.direct.empty() && !may_stage) return std::nullopt;
  const bool staged = may_stage && (own.direct.empty() || *own.staged.begin() < *own.direct.begin());
  std::set<Rank>& ranks = runnable(own, staged);
  const TransferId id = ranks.begin()->id;
  Entry& next = entries_.at(id);
  if (!fits(next)) return std::nullopt;

  TransferPiece piece{id, direction, next.started_bytes, next_bytes(next), staged, false};
  next.started_bytes += piece.bytes;
  ++next.in_flight;
  ++own.totals.pieces;
  own.totals.bytes += piece.bytes;
  own.totals.staged += staged ? 1 : 0;
  if (next.status.state == TransferState::queued) {
    next.status.state = TransferState::in_progress;
    next.status.started_us = next.status.updated_us = now_us;
  }
  if (next.started_bytes == next.status.bytes) {
    next.all_started = piece.last = true;
    ranks.erase(ranks.begin());
  }
  return piece;
}

void TransferQueue::stop(Entry& entry) {
  if (entry.stopped) return;
  entry.stopped = true;
  Lane& own = lane(entry.status.direction);
  runnable(own, entry.status.staged).erase({entry.status.priority, entry.status.id});
  if (!entry.ready) --own.totals.waiting;
}

bool TransferQueue::end_if_drained(Entry& entry, double now_us) {
  if (entry.in_flight > 0 || (!entry.stopped && !entry.all_started)) return false;
  LaneTotals& totals = lane(entry.status.direction).totals;
  if (entry.status.failure) {
    entry.status.state = TransferState::failed;
    ++totals.failed;
  } else if (entry.stopped) {
    entry.status.state = TransferState::cancelled;
    ++totals.cancelled;
  } else {
    entry.status.state = TransferState::completed;
    ++totals.completed;
  }
  entry.status.updated_us = now_us;
  return true;
}

bool TransferQueue::end_piece(const TransferPiece& piece, const Error* why, double now_us) {
  Entry& found = entry(piece.id);
  GPUFORGE_ASSERT(found.in_flight > 0, "transfers: a piece of transfer {} ended that was not in flight",
                  piece.id);
  --found.in_flight;
  LaneTotals& totals = lane(piece.direction).totals;
  --totals.pieces;
  totals.bytes -= piece.bytes;
  totals.staged -= piece.staged ? 1 : 0;
  if (why == nullptr) {
    found.status.bytes_done += piece.bytes;
    found.status.updated_us = now_us;
    totals.bytes_done += piece.bytes;
  } else {
    if (!found.status.failure) found.status.failure = *why;
    stop(found);
  }
  return end_if_drained(found, now_us);
}

bool TransferQueue::finish(const TransferPiece& piece, double now_us) {
  return end_piece(piece, nullptr, now_us);
}

bool TransferQueue::fail(const TransferPiece& piece, const Error& why, double now_us) {
  return end_piece(piece, &why, now_us);
}

bool TransferQueue::fail(TransferId id, const Error& why, double now_us) {
  Entry& found = entry(id);
  if (is_over(found.status.state)) return false;
  if (!found.status.failure) found.status.failure = why;
  stop(found);
  return end_if_drained(found, now_us);
}

TransferQueue::CancelAnswer TransferQueue::cancel(TransferId id, double now_us) {
  Entry& found = entry(id);
  if (is_over(found.status.state) || found.all_started || found.status.failure) return {};
  stop(found);
  return {true, end_if_drained(found, now_us)};
}

const TransferStatus& TransferQueue::status(TransferId id) const {
  return entry(id).status;
}

bool TransferQueue::handed_over(TransferId id) const {
  return entry(id).all_started;
}

std::string TransferQueue::reason(TransferId id) const {
  const Entry& found = entry(id);
  if (is_over(found.status.state)) return std::string(name(found.status.state));
  if (found.stopped) return format_text("stopped; {} pieces in flight end first", found.in_flight);
  if (found.all_started) return "in flight";
  if (!found.ready) return "waits for its event";
  const Lane& own = lane(found.status.direction);
  const Rank rank{found.status.priority, id};
  const auto ahead = std::distance(own.direct.begin(), own.direct.lower_bound(rank)) +
                     std::distance(own.staged.begin(), own.staged.lower_bound(rank));
  if (ahead > 0) return format_text("{} transfers of higher rank go first", ahead);
  const LaneLimits& limits = limits_.of(found.status.direction);
  if (found.status.staged && own.totals.staged >= limits.staged_pieces) {
    return format_text("all {} staging buffers are in use", limits.staged_pieces);
  }
  if (fits(found)) return "next";
  return format_text("{} pieces of {} bytes are in flight, of {} pieces and {} bytes at most",
                     own.totals.pieces, own.totals.bytes, limits.pieces, limits.bytes);
}

void TransferQueue::forget(TransferId id) {
  GPUFORGE_CHECK(is_over(entry(id).status.state), "transfers: only what is over can be forgotten; {}",
                 to_text(entry(id).status));
  entries_.erase(id);
}

std::vector<TransferId> TransferQueue::ids() const {
  std::vector<TransferId> all;
  for (const auto& [id, unused] : entries_) all.push_back(id);
  return all;
}

LaneTotals TransferQueue::totals(TransferDirection direction) const {
  LaneTotals totals = lane(direction).totals;
  totals.ready = lane(direction).direct.size() + lane(direction).staged.size();
  return totals;
}

}  // namespace gpuforge::memory
