#include "gpuforge/context/profiler.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

// So many ranges wait for their end before those that have one are looked for.
constexpr std::size_t kCollectAt = 512;

}  // namespace

Profiler::Profiler(std::shared_ptr<device::Device> device, ProfilerOptions options)
    : device_(std::move(device)), options_(std::move(options)), clock_(device_) {
  report_.device = device_->facts().name;
}

void Profiler::name_stream(const device::Stream& stream, std::string name) {
  const std::lock_guard lock(mutex_);
  tracks_[&stream] = std::move(name);
}

const std::string& Profiler::track_of(const device::Stream& stream) {
  const auto [found, is_new] = tracks_.try_emplace(&stream);
  if (is_new) found->second = format_text("stream {}", tracks_.size());
  return found->second;
}

void Profiler::keep(ProfileSpan span) {
  if (report_.spans.size() >= options_.most_spans) {
    drop(format_text("only {} spans are kept", options_.most_spans));
    return;
  }
  report_.spans.push_back(std::move(span));
}

void Profiler::drop(std::string_view why) {
  if (report_.dropped++ == 0) report_.dropped_why = why;
}

void Profiler::add(ProfileSpan span) {
  const std::lock_guard lock(mutex_);
  keep(std::move(span));
}

void Profiler::add(const memory::TransferStatus& transfer) {
  if (transfer.started_us == 0) return;  // cancelled before it began
  ProfileSpan span;
  span.name = transfer.label.empty() ? format_text("transfer {}", transfer.id) : transfer.label;
  if (transfer.state != memory::TransferState::completed) {
    span.name += format_text(" ({})", name(transfer.state));
  }
  span.category = "copy";
  span.track = format_text("copies {}", name(transfer.direction));
  span.start_us = transfer.started_us;
  span.duration_us = transfer.updated_us - transfer.started_us;
  span.bytes = static_cast<double>(transfer.bytes_done);
  add(std::move(span));
}

void Profiler::add(ProfileDecision decision) {
  const std::lock_guard lock(mutex_);
  report_.decisions.push_back(std::move(decision));
}

MemorySnapshot Profiler::snapshot(std::string name) {
  MemorySnapshot made;
  made.name = std::move(name);
  made.at_us = host_clock_us();
  const device::MemoryInfo info = device_->memory_info();
  made.used_bytes = info.total_bytes - std::min(info.free_bytes, info.total_bytes);
  made.total_bytes = info.total_bytes;
  if (options_.bytes_by_tag) made.bytes_by_tag = options_.bytes_by_tag();
  const std::lock_guard lock(mutex_);
  report_.snapshots.push_back(made);
  return made;
}

std::unique_ptr<device::Event> Profiler::take_event() {
  if (spare_events_.empty()) return device_->make_event();
  std::unique_ptr<device::Event> event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

std::unique_ptr<Profiler::Pending> Profiler::begin(device::Stream& stream, std::string_view name,
                                                   std::string_view category, double flops,
                                                   double bytes) noexcept {
  try {
    try {
      auto made = std::make_unique<Pending>();
      {
        const std::lock_guard lock(mutex_);
        made->start = take_event();
        made->end = take_event();
        made->span.track = track_of(stream);
      }
      made->span.name = name;
      made->span.category = category;
      made->span.flops = flops;
      made->span.bytes = bytes;
      stream.record(*made->start);
      return made;
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      drop(error.message());
    }
  } catch (...) {  // no memory left to remember it with
  }
  return nullptr;
}

void Profiler::end(std::unique_ptr<Pending> range, device::Stream& stream) noexcept {
  try {
    try {
      stream.record(*range->end);
      const std::lock_guard lock(mutex_);
      pending_.push_back(std::move(range));
      if (pending_.size() < collect_at_) return;
      collect(false);
      // Those that are still under way are not looked at again for every new one.
      collect_at_ = std::max(kCollectAt, 2 * pending_.size());
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      drop(error.message());
    }
  } catch (...) {  // no memory left to remember it with
  }
}

void Profiler::collect(bool wait) {
  std::vector<std::unique_ptr<Pending>> later;
  for (std::unique_ptr<Pending>& range : pending_) {
    try {
      if (wait) range->end->synchronize();
      if (!range->end->done()) {
        later.push_back(std::move(range));
        continue;
      }
      range->span.start_us = clock_.host_us(*range->start);
      range->span.duration_us = double{range->end->elapsed_ms_since(*range->start)} * 1e3;
      keep(std::move(range->span));
      spare_events_.push_back(std::move(range->start));
      spare_events_.push_back(std::move(range->end));
    } catch (const Error& error) {
      drop(error.message());
    }
  }
  pending_ = std::move(later);
}

ProfileReport Profiler::report() {
  const std::lock_guard lock(mutex_);
  collect(true);
  report_.clock_error_us = clock_.error_us();
  std::ranges::stable_sort(report_.spans, {}, &ProfileSpan::start_us);
  return report_;
}

void Profiler::clear() {
  const std::lock_guard lock(mutex_);
  collect(true);
  report_ = {};
  report_.device = device_->facts().name;
}

void ProfileRange::begin(device::Stream& stream, std::string_view name, double flops, double bytes) noexcept {
  stream_ = &stream;
  range_ = profiler_->begin(stream, name, "range", flops, bytes).release();
}

void ProfileRange::end() noexcept {
  if (range_ == nullptr) return;
  profiler_->end(std::unique_ptr<Profiler::Pending>(range_), *stream_);
}

void* KernelRanges::before(const jit::Kernel& kernel, device::Stream& stream) noexcept {
  const jit::Entry& entry = kernel.entry();
  return profiler_.begin(stream, entry.expression.empty() ? entry.name : entry.expression, "kernel", 0, 0)
      .release();
}

void KernelRanges::after(void* token, device::Stream& stream, bool launched) noexcept {
  std::unique_ptr<Profiler::Pending> range(static_cast<Profiler::Pending*>(token));
  if (range != nullptr && launched) profiler_.end(std::move(range), stream);
}

}  // namespace gpuforge
