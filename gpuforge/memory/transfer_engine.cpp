#include "gpuforge/memory/transfer_engine.h"

#include <limits>
#include <utility>

#include "gpuforge/memory/transfer_core.h"

namespace gpuforge::memory {
namespace {

void check_range(std::uint64_t address, std::size_t bytes, std::string_view what) {
  if (bytes == 0) return;
  GPUFORGE_CHECK(address != 0, "transfers: {} bytes were to be copied, but {} is null", bytes, what);
  GPUFORGE_CHECK(bytes <= std::numeric_limits<std::uint64_t>::max() - address,
                 "transfers: {} bytes from {} at {:#x} on go beyond the end of all addresses", bytes, what,
                 address);
}

}  // namespace

double transfer_clock_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

TransferRecord& Transfer::record() const {
  GPUFORGE_CHECK(record_ != nullptr,
                 "transfers: this handle is of no transfer; an engine makes those that are");
  return *record_;
}

TransferStatus Transfer::status() const {
  const std::lock_guard lock(record().mutex);
  return record_->status;
}

TransferState Transfer::wait() const {
  std::unique_lock lock(record().mutex);
  record_->changed.wait(lock, [this] { return is_over(record_->status.state); });
  if (record_->status.failure) throw *record_->status.failure;
  return record_->status.state;
}

bool Transfer::cancel() const {
  const std::shared_ptr<TransferCore> core = record().core.lock();
  return core != nullptr && core->cancel(status().id);
}

void Transfer::order_before(device::Stream& stream) const {
  std::unique_lock lock(record().mutex);
  record_->changed.wait(lock, [this] { return record_->handed_over || is_over(record_->status.state); });
  const TransferStatus now = record_->status;
  lock.unlock();
  if (now.failure) throw *now.failure;
  GPUFORGE_CHECK(now.state != TransferState::cancelled,
                 "transfers: a stream was to wait for transfer {}, which was cancelled after {} of {} bytes",
                 now.id, now.bytes_done, now.bytes);
  if (now.state == TransferState::completed) return;
  if (const std::shared_ptr<TransferCore> core = record_->core.lock()) core->order(now.direction, stream);
}

TransferEngine::TransferEngine(std::shared_ptr<device::Device> device, TransferEngineOptions options) {
  GPUFORGE_CHECK(device != nullptr, "transfers: an engine needs a device, and none was given");
  core_ = std::make_shared<TransferCore>(std::move(device), std::move(options));
  core_->start();
}

TransferEngine::~TransferEngine() {
  core_->close();
}

Transfer TransferEngine::to_device(device::Address to, const void* from, std::size_t bytes,
                                   TransferOptions options) {
  check_range(to, bytes, "the device's memory");
  check_range(reinterpret_cast<std::uint64_t>(from), bytes, "the host's memory");
  return Transfer(core_->submit({.direction = TransferDirection::to_device,
                                 .host_from = static_cast<const std::byte*>(from),
                                 .to = to,
                                 .bytes = bytes},
                                std::move(options)));
}

Transfer TransferEngine::to_host(void* to, device::Address from, std::size_t bytes, TransferOptions options) {
  check_range(reinterpret_cast<std::uint64_t>(to), bytes, "the host's memory");
  check_range(from, bytes, "the device's memory");
  return Transfer(core_->submit({.direction = TransferDirection::to_host,
                                 .host_to = static_cast<std::byte*>(to),
                                 .from = from,
                                 .bytes = bytes},
                                std::move(options)));
}

Transfer TransferEngine::on_device(device::Address to, device::Address from, std::size_t bytes,
                                   TransferOptions options) {
  check_range(to, bytes, "the memory to copy to");
  check_range(from, bytes, "the memory to copy from");
  GPUFORGE_CHECK(bytes == 0 || to + bytes <= from || from + bytes <= to,
                 "transfers: {} bytes at {:#x} and at {:#x} overlap; a copy in pieces needs them apart",
                 bytes, from, to);
  return Transfer(
      core_->submit({.direction = TransferDirection::on_device, .from = from, .to = to, .bytes = bytes},
                    std::move(options)));
}

void TransferEngine::wait_all() {
  core_->wait_all();
}

LaneTotals TransferEngine::totals(TransferDirection direction) const {
  return core_->totals(direction);
}

std::string TransferEngine::reason(const Transfer& transfer) const {
  const TransferStatus status = transfer.status();
  return is_over(status.state) ? std::string(name(status.state)) : core_->reason(status.id);
}

device::Device& TransferEngine::device() const {
  return core_->device();
}

}  // namespace gpuforge::memory
