#include "gpuforge/device/host_capture.h"

#include <algorithm>
#include <utility>

namespace gpuforge::device {
namespace {

void raise_to(CaptureClock& clock, const CaptureClock& other) {
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

bool same_kinds(const HostNodes& a, const HostNodes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostNode& x, const HostNode& y) { return x.kind == y.kind; });
}

bool HostCapture::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

std::size_t HostCapture::add_branch(const CaptureClock& from) {
  const std::lock_guard lock(mutex_);
  const std::size_t branch = clocks_.size();
  clocks_.push_back(from);
  if (clocks_.back().size() <= branch) clocks_.back().resize(branch + 1, 0);
  return branch;
}

bool HostCapture::add(std::size_t branch, HostNode node) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  nodes_.push_back(std::move(node));
  ++clocks_[branch][branch];
  return true;
}

bool HostCapture::keep(std::shared_ptr<const void> object) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  kept_.push_back(std::move(object));
  return true;
}

KeptObjects HostCapture::take_kept() {
  const std::lock_guard lock(mutex_);
  return std::exchange(kept_, {});
}

CaptureClock HostCapture::clock(std::size_t branch) const {
  const std::lock_guard lock(mutex_);
  return clocks_[branch];
}

void HostCapture::join(std::size_t branch, const CaptureClock& with) {
  const std::lock_guard lock(mutex_);
  raise_to(clocks_[branch], with);
}

std::optional<HostNodes> HostCapture::finish() {
  // Destroyed after the lock is gone: a closure may hold the last reference to a stream of this capture.
  HostNodes nodes;
  bool joined = true;
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
    nodes = std::exchange(nodes_, {});
    CaptureClock& origin = clocks_[0];
    origin.resize(clocks_.size(), 0);
    for (std::size_t branch = 1; branch < clocks_.size(); ++branch) {
      joined = joined && origin[branch] == clocks_[branch][branch];
    }
  }
  if (!joined) return std::nullopt;
  return nodes;
}

}  // namespace gpuforge::device
