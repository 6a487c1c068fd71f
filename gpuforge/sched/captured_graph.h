// A captured graph as one piece of work: recorded once, replayed many times, and held to the rules that make
// a replay mean what the eager run meant. Each is checked when it is made, not believed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpuforge/device/device.h"
#include "gpuforge/sched/executor.h"

namespace gpuforge::sched {

struct ByteRange {
  std::string name;  // what messages call it
  device::Address address = 0;
  std::size_t bytes = 0;
};

struct GraphWork {
  std::string name;
  // Queues the work on the stream it is given, and on no other: the same calls each time, with the same
  // shapes and addresses. What it allocates from an allocator (memory/) belongs to the graph.
  std::function<void(device::Stream&)> queue;
  std::vector<ByteRange> outputs;           // written whole, and read by nothing in the work
  std::vector<ByteRange> protected_ranges;  // such as a KV cache: not to be written by trying the work out
};

// Runs the work eagerly, captures it twice and replays it once, and waits for that. An invalid_argument that
// names the work and the rule when
// - a protected range has other contents after the eager run or the capture than before;
// - the work cannot be captured (it waits, asks the device for memory, or leaves a branch open);
// - the two captures are not the same nodes in the same order: the work took another path;
// - a replay leaves other bytes in an output than the eager run: part of the work is not in the graph,
// because
//   it went to another stream or ran on the host, or it depends on a value that has changed.
std::unique_ptr<device::Graph> capture_graph(const GraphWork& work, device::Stream& stream);

// A body that captures the work with its first piece (it waits then), and replays it `replays` times, each a
// piece.
std::unique_ptr<Body> graph_body(GraphWork work, std::int64_t replays);

}  // namespace gpuforge::sched
