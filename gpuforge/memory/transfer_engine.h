// Copies that run beside the program and each other: asked for with a priority, carried out in pieces on a
// stream per direction, waited for, followed or cancelled by a handle. The decisions are TransferQueue's.
//
// Who holds what: the engine holds the device, its streams and its staging buffers, and until a transfer is
// over the `keep` it was given. The host and device memory of a transfer is the caller's, and must stay until
// the transfer is over (or be held by `keep`); what is over has no piece in flight. Handles hold no memory
// and may outlive the engine, whose destructor cancels what has not started, waits for the pieces in flight,
// and leaves every transfer over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gpuforge/device/device.h"
#include "gpuforge/memory/transfer_queue.h"
#include "gpuforge/memory/transfer_staging.h"

namespace gpuforge::memory {

struct TransferOptions {
  int priority = 0;  // higher goes first
  // The host memory is from Device::allocate_pinned. Otherwise it is staged through such memory by threads of
  // the engine.
  bool pinned = false;
  // It starts when the event, as recorded at the time of the call, has come; and after the work that was on
  // the stream at that time. Neither holds other transfers up. The objects are not needed after the call.
  const device::Event* after = nullptr;
  device::Stream* after_stream = nullptr;
  std::shared_ptr<const void> keep;  // let go when the transfer is over, on a thread of the engine or caller
  std::string label;                 // for messages and traces
};

struct TransferRecord;

// One transfer. Copies of a handle are the same transfer. Thread-safe.
class Transfer {
 public:
  Transfer() = default;  // of nothing: every call but `valid` is an invalid_argument
  explicit Transfer(std::shared_ptr<TransferRecord> record) : record_(std::move(record)) {}

  bool valid() const { return record_ != nullptr; }
  TransferStatus status() const;
  bool done() const { return is_over(status().state); }
  double progress() const { return status().progress(); }
  double bandwidth_gbps() const { return status().bandwidth_gbps(); }
  std::optional<Error> failure() const { return status().failure; }

  // Until it is over: completed or cancelled. One that failed throws its failure.
  TransferState wait() const;
  // No more pieces start. True: it was or will be cancelled, with status().bytes_done telling how far it
  // came; false when it is too late.
  bool cancel() const;
  // Work queued on `stream` after the call runs after this transfer, as far as the device sees it: memory it
  // writes on the device is written, memory it reads there has been read. (Bytes for pageable host memory
  // arrive there a little later: wait.) The call returns when the last piece is in the device's queue, which
  // is at once unless transfers of higher rank are before it. A failed one throws, a cancelled one is an
  // invalid_argument.
  void order_before(device::Stream& stream) const;

 private:
  TransferRecord& record() const;
  std::shared_ptr<TransferRecord> record_;
};

struct TransferEngineOptions {
  TransferLimits limits;
  int staging_threads = 4;                  // that copy pageable memory; started by the first such transfer
  std::shared_ptr<StagingBuffers> staging;  // nothing: a PinnedStaging of the engine's own
  // Called once for each transfer that is over, on a thread of the engine or of a caller, before its waiters
  // wake. Times are those of transfer_clock_us. It must not call the engine; what it throws is dropped.
  std::function<void(const TransferStatus&)> on_over;
};

// Microseconds of the steady clock: the times in TransferStatus.
double transfer_clock_us();

class TransferCore;

// Thread-safe.
class TransferEngine {
 public:
  explicit TransferEngine(std::shared_ptr<device::Device> device, TransferEngineOptions options = {});
  ~TransferEngine();
  TransferEngine(const TransferEngine&) = delete;
  TransferEngine& operator=(const TransferEngine&) = delete;

  // No address with bytes to copy, or a range that wraps around or overlaps itself, is an invalid_argument.
  Transfer to_device(device::Address to, const void* from, std::size_t bytes, TransferOptions options = {});
  Transfer to_host(void* to, device::Address from, std::size_t bytes, TransferOptions options = {});
  Transfer on_device(device::Address to, device::Address from, std::size_t bytes,
                     TransferOptions options = {});

  void wait_all();  // for those asked for before the call, however they end
  LaneTotals totals(TransferDirection direction) const;
  // Why a transfer does not move, in a sentence.
  std::string reason(const Transfer& transfer) const;
  device::Device& device() const;

 private:
  std::shared_ptr<TransferCore> core_;
};

}  // namespace gpuforge::memory
