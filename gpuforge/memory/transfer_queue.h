// Which bytes are copied next: the decisions of the transfer engine, without threads, clock or device. Times
// come in as microseconds of any one clock. transfer_engine.h carries them out.
//
// Each direction is a lane of its own. In a lane the transfer of highest priority goes first, among equals
// the one that came first. Copies are cut into pieces and only so many are in flight, so an urgent transfer
// waits for those and never for the rest of a huge one.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {

enum class TransferDirection { to_device, to_host, on_device };
inline constexpr std::size_t kTransferDirections = 3;
std::string_view name(TransferDirection direction);  // "to the device", "to the host", "on the device"

enum class TransferState { queued, in_progress, completed, failed, cancelled };
std::string_view name(TransferState state);
bool is_over(TransferState state);

using TransferId = std::uint64_t;  // from 1, in the order of arrival

struct LaneLimits {
  // 8 MiB are 0.15 ms at 55 GB/s: with four in flight an H200's link is 96 % busy, and an urgent copy waits
  // for 0.6 ms. With half of that it is 94 %, and 0.3 ms.
  std::size_t piece_bytes = std::size_t{8} << 20;
  // In flight at most; a piece bigger than `bytes` goes alone.
  std::size_t pieces = 16;
  std::size_t bytes = std::size_t{32} << 20;
  std::size_t staged_pieces = 4;  // of those, the ones that go through staging buffers
};

// Copies inside a device are two orders of magnitude faster, and so are their pieces.
struct TransferLimits {
  LaneLimits to_device;
  LaneLimits to_host;
  LaneLimits on_device{std::size_t{256} << 20, 16, std::size_t{512} << 20, 1};
  const LaneLimits& of(TransferDirection direction) const;
};

// What is known of one transfer. Bytes count as done when they are where they were to go.
struct TransferStatus {
  TransferId id = 0;
  TransferDirection direction = TransferDirection::to_device;
  std::string label;  // the user's word for it
  std::size_t bytes = 0;
  int priority = 0;
  bool staged = false;  // pageable memory, copied through pinned memory
  TransferState state = TransferState::queued;
  std::size_t bytes_done = 0;
  double queued_us = 0;
  double started_us = 0;  // the first piece; 0 before
  double updated_us = 0;  // the last time that bytes_done or the state changed
  std::optional<Error> failure;

  double progress() const;  // 0 to 1
  // Of the bytes done, from the start of the first piece to the end of the last one; 0 before. Includes the
  // time that more urgent transfers took in between.
  double bandwidth_gbps() const;
};
std::string to_text(
    const TransferStatus& status);  // "transfer 3 'weights' to the device: 12 of 64 bytes, .."

struct TransferPiece {
  TransferId id = 0;
  TransferDirection direction = TransferDirection::to_device;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool staged = false;
  bool last = false;  // no other piece of this transfer will start
};

// What a lane holds.
struct LaneTotals {
  std::size_t waiting = 0;       // transfers whose event has not come
  std::size_t ready = 0;         // with pieces to start
  std::size_t pieces = 0;        // in flight
  std::size_t bytes = 0;         // in flight
  std::size_t staged = 0;        // pieces in flight, of the above
  std::uint64_t bytes_done = 0;  // ever
  std::uint64_t completed = 0, failed = 0, cancelled = 0;
};

// "to the device: 3 pieces of 12582912 bytes in flight, ..".
std::string to_text(TransferDirection direction, const LaneTotals& totals);

class TransferQueue {
 public:
  // invalid_argument for a limit of zero.
  explicit TransferQueue(TransferLimits limits = {});

  struct Request {
    TransferDirection direction = TransferDirection::to_device;
    std::size_t bytes = 0;  // none: one empty piece, so that it keeps its place and its event
    int priority = 0;       // higher goes first
    bool staged = false;
    bool ready = true;  // false: no piece starts before make_ready
    std::string label;
  };
  TransferId add(Request request, double now_us);
  void make_ready(TransferId id);

  // The next piece of a lane, which is in flight from now on; nothing when the limits are reached or no
  // transfer has one.
  std::optional<TransferPiece> start(TransferDirection direction, double now_us);
  // A piece in flight has ended. True: the transfer is over, and its status is final.
  bool finish(const TransferPiece& piece, double now_us);
  // Like finish, but the transfer fails, with the first failure it is given, once no piece is in flight.
  bool fail(const TransferPiece& piece, const Error& why, double now_us);
  // A transfer that has not started fails whole: its event was lost.
  bool fail(TransferId id, const Error& why, double now_us);

  // No other piece starts. `will_cancel`: it is cancelled, or will be when the pieces in flight have ended;
  // false when it is too late: all its pieces are in flight or it is over.
  struct CancelAnswer {
    bool will_cancel = false;
    bool over = false;  // now
  };
  CancelAnswer cancel(TransferId id, double now_us);

  // invalid_argument when it was forgotten or never was.
  const TransferStatus& status(TransferId id) const;
  // True when every piece has been started: what is left is in flight or done.
  bool handed_over(TransferId id) const;
  // Why no piece of it starts now, in a sentence; "in flight", "completed" and so on when there is no need.
  std::string reason(TransferId id) const;
  void forget(TransferId id);  // one that is over
  std::vector<TransferId> ids() const;
  LaneTotals totals(TransferDirection direction) const;

 private:
  struct Rank {
    int priority = 0;
    TransferId id = 0;
    // The first in the order goes first.
    friend bool operator<(const Rank& a, const Rank& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
    }
  };
  struct Entry {
    TransferStatus status;
    bool ready = true;
    bool stopped = false;  // cancelled or failed: no more pieces
    bool all_started = false;
    std::size_t started_bytes = 0;
    std::size_t in_flight = 0;
  };
  struct Lane {
    std::set<Rank> direct, staged;  // ready, with pieces to start
    LaneTotals totals;
  };

  Entry& entry(TransferId id);
  const Entry& entry(TransferId id) const;
  Lane& lane(TransferDirection direction) { return lanes_[static_cast<std::size_t>(direction)]; }
  const Lane& lane(TransferDirection direction) const { return lanes_[static_cast<std::size_t>(direction)]; }
  static std::set<Rank>& runnable(Lane& lane, bool staged) { return staged ? lane.staged : lane.direct; }
  bool fits(const Entry& entry) const;
  std::size_t next_bytes(const Entry& entry) const;
  void stop(Entry& entry);
  bool end_if_drained(Entry& entry, double now_us);
  bool end_piece(const TransferPiece& piece, const Error* why, double now_us);

  TransferLimits limits_;
  TransferId last_id_ = 0;
  std::map<TransferId, Entry> entries_;
  std::array<Lane, kTransferDirections> lanes_;
};

}  // namespace gpuforge::memory
