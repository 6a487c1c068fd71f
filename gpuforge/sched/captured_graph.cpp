#include "gpuforge/sched/captured_graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::sched {
namespace {

using Contents = std::vector<std::vector<std::byte>>;

Contents read(const std::vector<ByteRange>& ranges, device::Stream& stream) {
  Contents contents;
  for (const ByteRange& range : ranges) contents.emplace_back(range.bytes);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    stream.copy_to_host(contents[i].data(), ranges[i].address, ranges[i].bytes);
  stream.synchronize();
  return contents;
}

struct Difference {
  std::string name;
  std::size_t byte = 0;
  unsigned before = 0;
  unsigned after = 0;
};

std::optional<Difference> first_difference(const std::vector<ByteRange>& ranges, const Contents& before,
                                           const Contents& after) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [a, b] = std::ranges::mismatch(before[i], after[i]);
    if (a == before[i].end()) continue;
    return Difference{ranges[i].name, static_cast<std::size_t>(a - before[i].begin()),
                      std::to_integer<unsigned>(*a), std::to_integer<unsigned>(*b)};
  }
  return std::nullopt;
}

void check_protected(const GraphWork& work, const Contents& before, device::Stream& stream,
                     const char* when) {
  const auto changed = first_difference(work.protected_ranges, before, read(work.protected_ranges, stream));
  if (!changed) return;
  throw Error(
      ErrorCode::invalid_argument,
      format_text("sched: graph {}: {} wrote to {}, which is protected: byte {} was {} and is {}; give "
                  "the work a stand-in to write to while it is tried out",
                  work.name, when, changed->name, changed->byte, changed->before, changed->after));
}

std::unique_ptr<device::Graph> capture_once(const GraphWork& work, device::Stream& stream) {
  stream.begin_capture();
  try {
    work.queue(stream);
  } catch (const std::exception& error) {
    try {
      stream.end_capture();
    } catch (const Error&) {
      // The first problem is the one to tell.
    }
    throw Error(
        ErrorCode::invalid_argument,
        format_text("sched: graph {}: the work ran, but cannot be captured: {}", work.name, error.what()));
  }
  return stream.end_capture();
}

// Something that neither run would leave there by chance.
void poison(const std::vector<ByteRange>& ranges, const Contents& eager, device::Stream& stream) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto first = ranges[i].bytes > 0 ? std::to_integer<unsigned>(eager[i][0]) : 0u;
    stream.fill(ranges[i].address, ~first & 0xffu, 1, ranges[i].bytes);
  }
}

class GraphBody final : public Body {
 public:
  GraphBody(GraphWork work, std::int64_t replays) : work_(std::move(work)), left_(replays) {}

  void submit(Piece& piece) override {
    if (!graph_) graph_ = capture_graph(work_, piece.stream);
    graph_->launch(piece.stream);
  }
  After done(double) override { return --left_ > 0 ? After::more : After::finished; }

 private:
  const GraphWork work_;
  std::int64_t left_;
  std::unique_ptr<device::Graph> graph_;
};

}  // namespace

std::unique_ptr<device::Graph> capture_graph(const GraphWork& work, device::Stream& stream) {
  GPUFORGE_CHECK(work.queue != nullptr, "sched: graph {} has no work", work.name);
  const Contents before = read(work.protected_ranges, stream);
  work.queue(stream);
  stream.synchronize();
  const Contents eager = read(work.outputs, stream);
  check_protected(work, before, stream, "the eager run");
  auto graph = capture_once(work, stream);
  check_protected(work, before, stream, "the capture");
  GPUFORGE_CHECK(graph->node_count() > 0,
                 "sched: graph {}: nothing was captured; the work must go to the stream it is given",
                 work.name);
  const auto again = capture_once(work, stream);
  GPUFORGE_CHECK(again->node_count() == graph->node_count(),
                 "sched: graph {}: the work took another path the second time: {} nodes, then {}; shapes and "
                 "choices must be fixed",
                 work.name, graph->node_count(), again->node_count());
  try {
    graph->update(*again);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw Error(
        ErrorCode::invalid_argument,
        format_text("sched: graph {}: the work took another path the second time, with as many nodes of "
                    "other kinds ({}); shapes and choices must be fixed",
                    work.name, error.message()));
  }
  poison(work.outputs, eager, stream);
  graph->launch(stream);
  stream.synchronize();
  if (const auto other = first_difference(work.outputs, eager, read(work.outputs, stream))) {
    throw Error(
        ErrorCode::invalid_argument,
        format_text("sched: graph {}: a replay is not the eager run: byte {} of {} was {} and is {}. Part "
                    "of the work is not in the graph (it went to another stream, or ran on the host), "
                    "or it depends on a value that has changed",
                    work.name, other->byte, other->name, other->before, other->after));
  }
  check_protected(work, before, stream, "the first replay");
  return graph;
}

std::unique_ptr<Body> graph_body(GraphWork work, std::int64_t replays) {
  GPUFORGE_CHECK(replays >= 1, "sched: graph {}: at least 1 replay is needed; found {}", work.name, replays);
  return std::make_unique<GraphBody>(std::move(work), replays);
}

}  // namespace gpuforge::sched
