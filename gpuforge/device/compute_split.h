// A device's multiprocessors in parts: kernels on the streams of one run on no others.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace gpuforge::device {

class Stream;

// Keeps its device; its streams keep it.
class ComputePart {
 public:
  virtual ~ComputePart() = default;
  virtual int multiprocessors() const = 0;
  // As Device::make_stream.
  virtual std::shared_ptr<Stream> make_stream(int priority = 0) = 0;
};

// How many of `groups` equal groups each share gets: at least one each, all of them where the shares are a
// whole, and none more than one away from its share unless another's one group takes it. invalid_argument
// when the shares are none, not over 0, or more than a whole; unsupported when they are more than the groups.
std::vector<int> apportion(std::span<const double> shares, int groups);

}  // namespace gpuforge::device
