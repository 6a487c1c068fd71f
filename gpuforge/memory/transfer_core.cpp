#include "gpuforge/memory/transfer_core.h"

#include <cstring>
#include <system_error>
#include <utility>

#include "gpuforge/base/current_error.h"

namespace gpuforge::memory {
namespace {

// A lost context runs no host functions any more, so what is in flight is asked now and then.
constexpr std::chrono::milliseconds kPatience(100);

Error with_transfer(const TransferStatus& status, const Error& why) {
  return Error(why.code(),
               format_text("transfers: transfer {}{} {} of {} bytes failed: {}", status.id,
                           status.label.empty() ? "" : format_text(" '{}'", status.label),
                           name(status.direction), status.bytes, why.message()),
               why.detail());
}

}  // namespace

TransferCore::TransferCore(std::shared_ptr<device::Device> device, TransferEngineOptions options)
    : device_(std::move(device)), options_(std::move(options)), queue_(options_.limits) {
  GPUFORGE_CHECK(options_.staging_threads > 0,
                 "transfers: at least 1 staging thread is needed, {} were asked for",
                 options_.staging_threads);
  staging_ = options_.staging ? options_.staging : std::make_shared<PinnedStaging>(device_);
}

void TransferCore::start() {
  try {
    director_ = std::thread([this] { direct(); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::unavailable,
                format_text("transfers: the machine gives no thread for the engine of {}: {}",
                            device_->facts().name, error.what()));
  }
}

void TransferCore::close() noexcept {
  Outbox outbox;
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    for (const TransferId id : queue_.ids()) {
      settle(id, queue_.cancel(id, transfer_clock_us()).over, outbox);
    }
    lock.unlock();
    deliver(outbox);
    lock.lock();
    drained_.wait(lock, [this] { return idle(); });
    ended_ = true;
  }
  mailbox_->wake();
  to_stage_.notify_all();
  if (director_.joinable()) director_.join();
  for (std::thread& thread : staging_threads_) thread.join();
  // The last host functions have told us all, and are about to return: so that the device can go with us.
  for (const Lane& own : lanes_) {
    for (const auto& stream : {own.copies, own.notices}) {
      if (stream == nullptr) continue;
      try {
        stream->synchronize();
      } catch (const Error&) {  // a lost context; those it concerned know
      }
    }
  }
  lanes_ = {};
  watches_.clear();
  spare_watchers_.clear();
  staging_ = nullptr;
}

bool TransferCore::idle() const {
  for (const Lane& own : lanes_) {
    if (!own.flights.empty()) return false;
  }
  return staged_.empty() && staging_now_ == 0;
}

std::size_t TransferCore::piece_bytes(const TransferPiece& piece) const {
  return options_.limits.of(piece.direction).piece_bytes;
}

std::shared_ptr<TransferRecord> TransferCore::submit(const Copy& copy, TransferOptions options) {
  std::unique_ptr<device::Event> behind_stream;
  if (options.after_stream != nullptr) {
    GPUFORGE_CHECK(&options.after_stream->device() == device_.get(),
                   "transfers: a copy on {} cannot wait for a stream of {}", device_->facts().name,
                   options.after_stream->device().facts().name);
    behind_stream = device_->make_event(false);
    options.after_stream->record(*behind_stream);
  }
  // Asking also refuses an event that was recorded in a capture.
  std::vector<const device::Event*> awaited;
  const device::Event* const both[] = {options.after, behind_stream.get()};
  for (const device::Event* const event : both) {
    if (event == nullptr) continue;
    GPUFORGE_CHECK(&event->device() == device_.get(),
                   "transfers: a copy on {} cannot wait for an event of {}", device_->facts().name,
                   event->device().facts().name);
    if (!event->done()) awaited.push_back(event);
  }
  const bool staged = copy.direction != TransferDirection::on_device && !options.pinned && copy.bytes > 0;
  auto record = std::make_shared<TransferRecord>();
  record->core = weak_from_this();
  Outbox outbox;
  {
    const std::lock_guard lock(mutex_);
    if (staged) start_staging_threads();
    const TransferId id = queue_.add({.direction = copy.direction,
                                      .bytes = copy.bytes,
                                      .priority = options.priority,
                                      .staged = staged,
                                      .ready = awaited.empty(),
                                      .label = std::move(options.label)},
                                     transfer_clock_us());
    record->status = queue_.status(id);
    jobs_[id] = {copy, record, std::move(options.keep), 0};
    if (!awaited.empty()) {
      try {
        watch(id, awaited);
      } catch (...) {
        static_cast<void>(queue_.cancel(id, 0));
        queue_.forget(id);
        jobs_.erase(id);
        throw;
      }
    }
    pump(outbox);
  }
  deliver(outbox);
  return record;
}

// Each waiting transfer has a stream of its own, so that no event that is late holds up another's notice.
void TransferCore::watch(TransferId id, const std::vector<const device::Event*>& events) {
  Watch made{nullptr, device_->make_event(false)};
  if (spare_watchers_.empty()) {
    made.stream = device_->make_stream();
  } else {
    made.stream = std::move(spare_watchers_.back());
    spare_watchers_.pop_back();
  }
  for (const device::Event* const event : events) made.stream->wait(*event);
  made.stream->record(*made.event);
  made.stream->enqueue([mailbox = mailbox_, id] {
    mailbox->post({TransferNotice::Kind::ready, TransferDirection::to_device, 0, id});
  });
  watches_[id] = std::move(made);
  mailbox_->wake();
}

bool TransferCore::cancel(TransferId id) {
  Outbox outbox;
  bool will_cancel = false;
  {
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(id)) return false;
    const TransferQueue::CancelAnswer answer = queue_.cancel(id, transfer_clock_us());
    will_cancel = answer.will_cancel;
    settle(id, answer.over, outbox);
    pump(outbox);
  }
  deliver(outbox);
  return will_cancel;
}

void TransferCore::order(TransferDirection direction, device::Stream& stream) {
  const std::unique_ptr<device::Event> event = device_->make_event(false);
  const std::lock_guard lock(mutex_);
  if (ended_ || lane(direction).copies == nullptr) return;
  lane(direction).copies->record(*event);
  stream.wait(*event);
}

void TransferCore::wait_all() {
  std::vector<std::shared_ptr<TransferRecord>> records;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, job] : jobs_) records.push_back(job.record);
  }
  for (const auto& record : records) {
    std::unique_lock lock(record->mutex);
    record->changed.wait(lock, [&] { return is_over(record->status.state); });
  }
}

LaneTotals TransferCore::totals(TransferDirection direction) const {
  const std::lock_guard lock(mutex_);
  return queue_.totals(direction);
}

std::string TransferCore::reason(TransferId id) const {
  const std::lock_guard lock(mutex_);
  return jobs_.contains(id) ? queue_.reason(id) : "over";
}

void TransferCore::pump(Outbox& outbox) {
  for (std::size_t i = 0; i < kTransferDirections; ++i) {
    while (const auto piece = queue_.start(static_cast<TransferDirection>(i), transfer_clock_us())) {
      begin(*piece, outbox);
    }
  }
}

void TransferCore::begin(const TransferPiece& piece, Outbox& outbox) {
  Flight flight{piece, nullptr, nullptr};
  if (piece.staged) {
    try {
      flight.buffer = staging_->take(piece_bytes(piece));
    } catch (...) {
      const Error why = current_error();
      end(std::move(flight), &why, outbox);
      return;
    }
  }
  if (!piece.staged || piece.direction == TransferDirection::to_host) {
    send(std::move(flight), outbox);
    return;
  }
  ++jobs_.at(piece.id).being_staged;
  staged_.push_back(std::move(flight));
  to_stage_.notify_one();
}

void TransferCore::copy_piece(const Flight& flight, const Job& job, Lane& lane) {
  const TransferPiece& piece = flight.piece;
  switch (piece.direction) {
    case TransferDirection::to_device:
      lane.copies->copy_to_device(job.copy.to + piece.offset,
                                  piece.staged ? flight.buffer : job.copy.host_from + piece.offset,
                                  piece.bytes);
      break;
    case TransferDirection::to_host:
      lane.copies->copy_to_host(piece.staged ? flight.buffer : job.copy.host_to + piece.offset,
                                job.copy.from + piece.offset, piece.bytes);
      break;
    case TransferDirection::on_device:
      lane.copies->copy(job.copy.to + piece.offset, job.copy.from + piece.offset, piece.bytes);
  }
}

void TransferCore::send(Flight flight, Outbox& outbox) {
  const TransferPiece piece = flight.piece;
  Lane& own = lane(piece.direction);
  const std::uint64_t number = ++last_flight_;
  bool in_flight = false;
  try {
    if (own.notices == nullptr) {  // a GPU has few queues: none for a direction that is not used
      own.copies = device_->make_stream();
      own.notices = device_->make_stream();
    }
    if (own.spare_events.empty()) {
      flight.event = device_->make_event(false);
    } else {
      flight.event = std::move(own.spare_events.back());
      own.spare_events.pop_back();
    }
    Flight& sent = own.flights.emplace(number, std::move(flight)).first->second;
    in_flight = true;
    copy_piece(sent, jobs_.at(piece.id), own);
    own.copies->record(*sent.event);
    own.notices->wait(*sent.event);
    own.notices->enqueue([mailbox = mailbox_, direction = piece.direction, number] {
      mailbox->post({TransferNotice::Kind::landed, direction, number, 0});
    });
    if (own.flights.size() == 1) mailbox_->wake();  // from now on the director has something to watch over
  } catch (...) {
    const Error why = current_error();
    try {
      if (own.copies != nullptr)
        own.copies->synchronize();  // the copy may be under way, and its memory is about to be let go
    } catch (const Error&) {        // the failure is known already
    }
    if (in_flight) flight = std::move(own.flights.extract(number).mapped());
    end(std::move(flight), &why, outbox);
    return;
  }
  settle(piece.id, false, outbox);
}

void TransferCore::end(Flight flight, const Error* why, Outbox& outbox) {
  const TransferPiece& piece = flight.piece;
  if (flight.buffer != nullptr) staging_->give_back(flight.buffer, piece_bytes(piece));
  if (flight.event != nullptr && why == nullptr) {
    lane(piece.direction).spare_events.push_back(std::move(flight.event));
  }
  const double now_us = transfer_clock_us();
  settle(piece.id,
         why == nullptr ? queue_.finish(piece, now_us)
                        : queue_.fail(piece, with_transfer(queue_.status(piece.id), *why), now_us),
         outbox);
  if (closing_ && idle()) drained_.notify_all();
}

void TransferCore::settle(TransferId id, bool over, Outbox& outbox) {
  const auto found = jobs_.find(id);
  if (over) {
    outbox.push_back({std::move(found->second), queue_.status(id)});
    jobs_.erase(found);
    queue_.forget(id);
    return;
  }
  const Job& job = found->second;
  const bool handed_over = queue_.handed_over(id) && job.being_staged == 0;
  const std::lock_guard lock(job.record->mutex);
  job.record->status = queue_.status(id);
  if (handed_over && !std::exchange(job.record->handed_over, true)) job.record->changed.notify_all();
}

void TransferCore::land(const TransferNotice& notice, Outbox& outbox) {
  if (notice.kind == TransferNotice::Kind::ready) {
    const auto watched = watches_.find(notice.id);
    if (watched == watches_.end()) return;
    spare_watchers_.push_back(std::move(watched->second.stream));
    watches_.erase(watched);
    if (jobs_.contains(notice.id)) queue_.make_ready(notice.id);
    return;
  }
  Lane& own = lane(notice.direction);
  const auto found = own.flights.find(notice.flight);
  if (found == own.flights.end()) return;
  Flight flight = std::move(found->second);
  own.flights.erase(found);
  if (flight.buffer != nullptr && notice.direction == TransferDirection::to_host) {
    staged_.push_back(std::move(flight));
    to_stage_.notify_one();
  } else {
    end(std::move(flight), nullptr, outbox);
  }
}

void TransferCore::look_for_losses(Outbox& outbox) {
  for (Lane& own : lanes_) {
    if (own.flights.empty()) continue;
    try {
      static_cast<void>(own.flights.begin()->second.event->done());
    } catch (const Error& why) {
      for (auto& [number, flight] : std::exchange(own.flights, {})) end(std::move(flight), &why, outbox);
    }
  }
  for (auto watched = watches_.begin(); watched != watches_.end();) {
    try {
      static_cast<void>(watched->second.event->done());
      ++watched;
    } catch (const Error& why) {
      const TransferId id = watched->first;
      watched = watches_.erase(watched);
      if (!jobs_.contains(id)) continue;
      const Error named = with_transfer(queue_.status(id), why);
      settle(id, queue_.fail(id, named, transfer_clock_us()), outbox);
    }
  }
}

// What was held goes before those who wait are told: afterwards nothing of theirs is in our hands.
void TransferCore::deliver(Outbox& outbox) noexcept {
  for (Ended& ended : outbox) {
    try {
      if (options_.on_over) options_.on_over(ended.status);
    } catch (...) {  // an observer's trouble is not the transfer's
    }
    ended.job.keep = nullptr;
    TransferRecord& record = *ended.job.record;
    const std::lock_guard lock(record.mutex);
    record.status = std::move(ended.status);
    record.changed.notify_all();
  }
  outbox.clear();
}

void TransferCore::direct() {
  for (;;) {
    std::optional<std::chrono::milliseconds> patience;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      if (!idle() || !watches_.empty()) patience = kPatience;
    }
    const std::vector<TransferNotice> notices = mailbox_->take(patience);
    Outbox outbox;
    {
      const std::lock_guard lock(mutex_);
      for (const TransferNotice& notice : notices) land(notice, outbox);
      if (notices.empty()) look_for_losses(outbox);
      pump(outbox);
    }
    deliver(outbox);
  }
}

void TransferCore::start_staging_threads() {
  if (!staging_threads_.empty()) return;
  try {
    for (int i = 0; i < options_.staging_threads; ++i) staging_threads_.emplace_back([this] { stage(); });
  } catch (const std::system_error& error) {
    if (!staging_threads_.empty()) return;  // fewer will do
    throw Error(ErrorCode::unavailable,
                format_text("transfers: the machine gives no thread to stage with: {}", error.what()));
  }
}

void TransferCore::stage() {
  std::unique_lock lock(mutex_);
  for (;;) {
    to_stage_.wait(lock, [this] { return !staged_.empty() || ended_; });
    if (staged_.empty()) return;
    Flight flight = std::move(staged_.front());
    staged_.pop_front();
    ++staging_now_;
    const TransferPiece piece = flight.piece;
    const Copy copy = jobs_.at(piece.id).copy;
    lock.unlock();
    if (piece.direction == TransferDirection::to_device) {
      std::memcpy(flight.buffer, copy.host_from + piece.offset, piece.bytes);
    } else {
      std::memcpy(copy.host_to + piece.offset, flight.buffer, piece.bytes);
    }
    lock.lock();
    --staging_now_;
    Outbox outbox;
    if (piece.direction == TransferDirection::to_device) {
      --jobs_.at(piece.id).being_staged;
      send(std::move(flight), outbox);
    } else {
      end(std::move(flight), nullptr, outbox);
    }
    pump(outbox);
    if (outbox.empty()) continue;
    lock.unlock();
    deliver(outbox);
    lock.lock();
  }
}

}  // namespace gpuforge::memory
