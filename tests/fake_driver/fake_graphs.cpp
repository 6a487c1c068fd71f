// Stream capture and graphs.
#include <algorithm>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

// True when every node comes before the end of the origin stream.
bool all_joined(const Capture& capture) {
  std::vector<bool> reached(capture.nodes.size(), false);
  std::vector<std::size_t> open = capture.origin->tail;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    const std::vector<std::size_t>& after = capture.nodes[node].after;
    open.insert(open.end(), after.begin(), after.end());
  }
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

Result unknown(const void* handle) {
  return handle == nullptr ? Result::invalid_value : Result::invalid_handle;
}

// Nodes are kept in an order that respects their dependencies.
void run_all(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) node.work();
}

}  // namespace

extern "C" {

Result cuStreamBeginCapture_v2(RawStream stream, CaptureMode mode) {
  const Entered entered = enter("cuStreamBeginCapture", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (stream == nullptr) return Result::stream_capture_unsupported;
  if (find_stream(stream) == nullptr) return Result::invalid_handle;
  if (stream->capture != nullptr) return Result::illegal_state;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->capture->streams = {stream};
  stream->tail.clear();
  state().captures.insert(stream->capture);
  return Result::success;
}

Result cuStreamEndCapture(RawStream stream, RawGraph* graph) {
  const Entered entered = enter("cuStreamEndCapture", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (graph == nullptr) return Result::invalid_value;
  *graph = nullptr;
  if (stream == nullptr || find_stream(stream) == nullptr) return Result::invalid_handle;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return Result::illegal_state;
  if (capture->origin != stream) {
    capture->invalid = true;
    return Result::stream_capture_unmatched;
  }
  const bool wrong_thread =
      capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id();
  const bool joined = all_joined(*capture);
  for (const RawStream captured : capture->streams) {
    captured->capture = nullptr;
    captured->tail.clear();
  }
  state().captures.erase(capture);
  if (wrong_thread) return Result::stream_capture_wrong_thread;
  if (capture->invalid) return Result::stream_capture_invalidated;
  if (!joined) return Result::stream_capture_unjoined;
  auto made = std::make_unique<CUgraph_st>();
  made->nodes = std::move(capture->nodes);
  *graph = made.get();
  state().graphs.emplace(*graph, std::move(made));
  return Result::success;
}

Result cuStreamIsCapturing(RawStream handle, CaptureStatus* status) {
  const Entered entered = enter("cuStreamIsCapturing", Needs::object);
  if (entered.result != Result::success) return entered.result;
  const CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return Result::invalid_handle;
  *status = stream->capture == nullptr ? CaptureStatus::none
            : stream->capture->invalid ? CaptureStatus::invalidated
                                       : CaptureStatus::active;
  return Result::success;
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  thread_local CaptureMode current = CaptureMode::global;
  std::swap(current, *mode);
  return Result::success;
}

Result cuGraphInstantiateWithFlags(RawGraphExec* exec, RawGraph graph, GraphInstantiateFlags) {
  const Entered entered = enter("cuGraphInstantiate", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().graphs.contains(graph)) return Result::invalid_handle;
  auto made = std::make_unique<CUgraphExec_st>();
  made->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
  *exec = made.get();
  state().graph_execs.emplace(*exec, std::move(made));
  return Result::success;
}

Result cuGraphLaunch(RawGraphExec exec, RawStream stream) {
  const Entered entered = enter("cuGraphLaunch", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().graph_execs.contains(exec)) return unknown(exec);
  return submit(stream, NodeKind::child_graph, [nodes = exec->nodes] { run_all(*nodes); });
}

Result cuGraphExecUpdate_v2(RawGraphExec exec, RawGraph graph, GraphUpdateInfo* info) {
  const Entered entered = enter("cuGraphExecUpdate", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().graph_execs.contains(exec) || !state().graphs.contains(graph)) return Result::invalid_handle;
  GraphUpdateResult outcome = GraphUpdateResult::success;
  if (exec->nodes->size() != graph->nodes.size()) outcome = GraphUpdateResult::topology_changed;
  for (std::size_t i = 0; outcome == GraphUpdateResult::success && i < graph->nodes.size(); ++i) {
    if ((*exec->nodes)[i].after != graph->nodes[i].after) outcome = GraphUpdateResult::topology_changed;
    if ((*exec->nodes)[i].kind != graph->nodes[i].kind) outcome = GraphUpdateResult::node_type_changed;
  }
  if (info != nullptr) *info = {outcome, nullptr, nullptr};
  if (outcome != GraphUpdateResult::success) return Result::graph_exec_update_failure;
  exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
  return Result::success;
}

Result cuGraphGetNodes(RawGraph graph, RawGraphNode* nodes, std::size_t* count) {
  const Entered entered = enter("cuGraphGetNodes", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!state().graphs.contains(graph)) return Result::invalid_handle;
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < graph->nodes.size() ? reinterpret_cast<RawGraphNode>(&graph->nodes[i]) : nullptr;
    }
  }
  *count = nodes == nullptr ? graph->nodes.size() : std::min(*count, graph->nodes.size());
  return Result::success;
}

Result cuGraphDestroy(RawGraph graph) {
  const Entered entered = enter("cuGraphDestroy", Needs::object);
  if (entered.result != Result::success) return entered.result;
  return state().graphs.erase(graph) == 1 ? Result::success : Result::invalid_handle;
}

Result cuGraphExecDestroy(RawGraphExec exec) {
  const Entered entered = enter("cuGraphExecDestroy", Needs::object);
  if (entered.result != Result::success) return entered.result;
  return state().graph_execs.erase(exec) == 1 ? Result::success : unknown(exec);
}
}
