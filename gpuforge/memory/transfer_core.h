// The inside of the transfer engine: threads, streams and what is in flight. Not installed.
//
// A piece goes to its lane's copy stream with an event behind it. A second stream of the lane waits for the
// event and posts a notice, so that copies follow each other without a host function between them. One
// thread, the director, reads notices and starts what comes next; others copy pageable memory to and from
// staging. Host functions touch the mailbox alone: they may run while a thread that holds `mutex_` is in the
// driver.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpuforge/base/mailbox.h"
#include "gpuforge/memory/transfer_engine.h"

namespace gpuforge::memory {

class TransferCore;

// What a handle sees; the last status stays when the engine is gone.
struct TransferRecord {
  mutable std::mutex mutex;
  std::condition_variable changed;
  TransferStatus status;
  bool handed_over = false;  // every piece is in the device's queue
  std::weak_ptr<TransferCore> core;
};

// What host functions tell.
struct TransferNotice {
  enum class Kind { landed, ready } kind = Kind::landed;
  TransferDirection direction = TransferDirection::to_device;
  std::uint64_t flight = 0;  // landed
  TransferId id = 0;         // ready
};

class TransferCore : public std::enable_shared_from_this<TransferCore> {
 public:
  TransferCore(std::shared_ptr<device::Device> device, TransferEngineOptions options);
  void start();
  void close() noexcept;

  struct Copy {
    TransferDirection direction = TransferDirection::to_device;
    const std::byte* host_from = nullptr;  // to_device
    std::byte* host_to = nullptr;          // to_host
    device::Address from = 0;
    device::Address to = 0;
    std::size_t bytes = 0;
  };
  std::shared_ptr<TransferRecord> submit(const Copy& copy, TransferOptions options);
  bool cancel(TransferId id);
  // Makes the stream wait for the copies of a direction that are in the device's queue now.
  void order(TransferDirection direction, device::Stream& stream);
  void wait_all();
  LaneTotals totals(TransferDirection direction) const;
  std::string reason(TransferId id) const;
  device::Device& device() const { return *device_; }

 private:
  struct Job {
    Copy copy;
    std::shared_ptr<TransferRecord> record;
    std::shared_ptr<const void> keep;
    std::size_t being_staged = 0;  // pieces that a thread copies before the device can
  };
  struct Flight {
    TransferPiece piece;
    void* buffer = nullptr;  // staged
    std::unique_ptr<device::Event> event;
  };
  struct Lane {
    std::shared_ptr<device::Stream> copies, notices;
    std::map<std::uint64_t, Flight> flights;  // in the device's queue, oldest first
    std::vector<std::unique_ptr<device::Event>> spare_events;
  };
  struct Watch {
    std::shared_ptr<device::Stream> stream;
    std::unique_ptr<device::Event> event;  // behind the one waited for
  };
  // What is done without the lock, when it is over with a transfer.
  struct Ended {
    Job job;
    TransferStatus status;
  };
  using Outbox = std::vector<Ended>;

  // With the lock held:
  void pump(Outbox& outbox);
  void begin(const TransferPiece& piece, Outbox& outbox);
  void send(Flight flight, Outbox& outbox);
  void copy_piece(const Flight& flight, const Job& job, Lane& lane);
  void end(Flight flight, const Error* why, Outbox& outbox);
  void settle(TransferId id, bool over, Outbox& outbox);
  void land(const TransferNotice& notice, Outbox& outbox);
  void watch(TransferId id, const std::vector<const device::Event*>& events);
  void look_for_losses(Outbox& outbox);
  bool idle() const;
  std::size_t piece_bytes(const TransferPiece& piece) const;
  Lane& lane(TransferDirection direction) { return lanes_[static_cast<std::size_t>(direction)]; }
  // Without:
  void deliver(Outbox& outbox) noexcept;
  void direct();
  void stage();
  void start_staging_threads();

  const std::shared_ptr<device::Device> device_;
  const TransferEngineOptions options_;
  const std::shared_ptr<Mailbox<TransferNotice>> mailbox_ = std::make_shared<Mailbox<TransferNotice>>();
  std::shared_ptr<StagingBuffers> staging_;
  mutable std::mutex mutex_;
  std::condition_variable drained_;   // nothing in flight
  std::condition_variable to_stage_;  // staged_ has work, or the end has come
  TransferQueue queue_;
  std::map<TransferId, Job> jobs_;
  std::array<Lane, kTransferDirections> lanes_;
  std::map<TransferId, Watch> watches_;
  std::vector<std::shared_ptr<device::Stream>> spare_watchers_;
  std::deque<Flight> staged_;  // for the staging threads: to be filled, or landed and to be emptied
  std::size_t staging_now_ = 0;
  std::uint64_t last_flight_ = 0;
  bool closing_ = false;
  bool ended_ = false;
  std::thread director_;
  std::vector<std::thread> staging_threads_;
};

}  // namespace gpuforge::memory
