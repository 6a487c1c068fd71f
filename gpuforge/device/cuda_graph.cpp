#include "gpuforge/device/cuda_graph.h"

#include <algorithm>
#include <utility>

namespace gpuforge::device {
namespace {

using cuda::Result;

std::string_view reason(cuda::GraphUpdateResult result) {
  switch (result) {
    case cuda::GraphUpdateResult::topology_changed:
      return "their nodes or the order between them differ";
    case cuda::GraphUpdateResult::node_type_changed:
      return "a node is of another kind";
    case cuda::GraphUpdateResult::function_changed:
    case cuda::GraphUpdateResult::unsupported_function_change:
      return "a node has another function that cannot take its place";
    case cuda::GraphUpdateResult::parameters_changed:
      return "a node's parameters changed in a way that cannot be taken over";
    case cuda::GraphUpdateResult::attributes_changed:
      return "a node's launch attributes differ";
    default:
      return "something in the node is not supported";
  }
}

cuda::GraphExecHandle instantiate(const CudaRecordedGraph& recorded) {
  const CudaDevice& device = *recorded.device;
  cuda::RawGraphExec raw = nullptr;
  device.driver().graph_instantiate([&] { return "graph of " + device.name(); }, &raw, recorded.graph.get(),
                                    cuda::GraphInstantiateFlags::none);
  return device.own<cuda::GraphExecHandle>(raw);
}

}  // namespace

void CudaLaunches::add(const std::shared_ptr<CudaStreamOwner>& stream) {
  if (work_->kept.empty()) return;
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) streams_.push_back(stream);
}

CudaLaunches::~CudaLaunches() {
  for (const std::shared_ptr<CudaStreamOwner>& stream : streams_) {
    try {
      const CudaDevice& device = *stream->device;
      const CurrentContext scope = device.current();
      if (device.driver().stream_query.raw(stream->stream.get()) != Result::not_ready) continue;
      auto under_way =
          std::make_unique<GraphLaunch>(GraphLaunch{work_, std::make_shared<WorkErrors>(device.name())});
      if (device.driver().launch_host_func.raw(stream->stream.get(), finish_graph_launch, under_way.get()) ==
          Result::success) {
        static_cast<void>(under_way.release());  // finish_graph_launch deletes it
      }
    } catch (...) {  // a stream that takes no more work runs nothing that could still need it
    }
  }
}

CudaGraph::CudaGraph(std::shared_ptr<const CudaRecordedGraph> recorded)
    : owner_{recorded, {}, std::make_unique<CudaLaunches>(recorded->work)} {
  const CurrentContext scope = owner_.recorded->device->current();
  owner_.exec = instantiate(*owner_.recorded);
}

CudaGraph::~CudaGraph() {
  retire(std::move(owner_));
}

std::shared_ptr<const CudaRecordedGraph> CudaGraph::recorded() const {
  const std::lock_guard lock(mutex_);
  return owner_.recorded;
}

void CudaGraph::launch(Stream& stream) {
  const std::lock_guard lock(mutex_);
  const CudaRecordedGraph& recorded_graph = *owner_.recorded;
  const CudaDevice& device = *recorded_graph.device;
  CudaStream& own = own_stream(stream, device, "graph: launch");
  own.refuse_in_capture("the launch of a graph");
  const auto object = [&] { return "graph on a stream of " + device.name(); };
  const CurrentContext scope = device.current();
  // Everything that can fail for want of memory comes before the launch.
  std::unique_ptr<GraphLaunch> under_way;
  if (!recorded_graph.work->functions.empty()) {
    under_way = std::make_unique<GraphLaunch>(GraphLaunch{recorded_graph.work, own.errors()});
  }
  owner_.launches->add(own.owner());
  device.driver().graph_launch(object, owner_.exec.get(), own.raw());
  if (under_way == nullptr) return;
  // From here on the functions may be running: when the last step fails they are never freed, rather than too
  // early.
  void* const kept = under_way.release();
  device.driver().launch_host_func(object, own.raw(), finish_graph_launch, kept);
}

void CudaGraph::update(const Graph& other) {
  const auto* const own = dynamic_cast<const CudaGraph*>(&other);
  const std::shared_ptr<const CudaRecordedGraph> taken = own != nullptr ? own->recorded() : nullptr;
  const std::lock_guard lock(mutex_);
  const CudaDevice& device = *owner_.recorded->device;
  GPUFORGE_CHECK(taken != nullptr && taken->device.get() == &device,
                 "{}: graph: update got a graph of another device", device.name());
  const CurrentContext scope = device.current();
  cuda::GraphUpdateInfo info;
  const Result result = device.driver().graph_exec_update.raw(owner_.exec.get(), taken->graph.get(), &info);
  if (result == Result::success) {
    owner_.launches = std::make_unique<CudaLaunches>(taken->work);
    owner_.recorded = taken;
    return;
  }
  // Nodes before the one that did not fit may have been taken over already.
  owner_.exec = instantiate(*owner_.recorded);
  if (result != Result::graph_exec_update_failure) {
    throw Error(ErrorCode::cuda, format_text("{}: graph: cuGraphExecUpdate: {}", device.name(),
                                             device.driver().describe(result)));
  }
  throw Error(
      ErrorCode::unsupported,
      format_text("{}: graph: update needs a graph recorded with the same shape; this one has {} nodes, the "
                  "other {}, and {}",
                  device.name(), owner_.recorded->node_count, taken->node_count, reason(info.result)));
}

}  // namespace gpuforge::device
