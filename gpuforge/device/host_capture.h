// Recording on devices that work on the host: what streams note down between begin and end, and the graph
// made of it. Not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gpuforge::device {

enum class HostNodeKind { copy_to_device, copy_to_host, copy, fill, host_function, kernel };

struct HostNode {
  HostNodeKind kind = HostNodeKind::host_function;
  std::function<void()> work;
};
using HostNodes = std::vector<HostNode>;
using KeptObjects = std::vector<std::shared_ptr<const void>>;

bool same_kinds(const HostNodes& a, const HostNodes& b);

// For each branch of a capture, how many of its nodes come before a point: a vector clock.
using CaptureClock = std::vector<std::size_t>;

// Each stream in a capture is a branch; branch 0 is where it began. Nodes are kept in the order of the calls,
// which is an order their dependencies allow; the clocks only answer whether every branch came back.
// Thread-safe.
class HostCapture {
 public:
  explicit HostCapture(std::uint64_t number) : number_(number), clocks_(1, CaptureClock(1, 0)) {}

  std::uint64_t number() const { return number_; }
  bool open() const;
  std::size_t add_branch(const CaptureClock& from);
  // False when the capture is over.
  bool add(std::size_t branch, HostNode node);
  bool keep(std::shared_ptr<const void> object);
  CaptureClock clock(std::size_t branch) const;
  void join(std::size_t branch, const CaptureClock& with);
  // Ends it. Nothing when branch 0 has not waited for the last work of every other one.
  std::optional<HostNodes> finish();
  // After finish: what the graph is to keep.
  KeptObjects take_kept();

 private:
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  bool open_ = true;
  HostNodes nodes_;
  KeptObjects kept_;
  std::vector<CaptureClock> clocks_;
};

}  // namespace gpuforge::device
