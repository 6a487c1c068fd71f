// Graphs of the cuda device. Not installed.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpuforge/device/cuda_objects.h"

namespace gpuforge::device {

// What a capture recorded; immutable, and shared with the graphs that take it over.
struct CudaRecordedGraph {
  std::shared_ptr<CudaDevice> device;
  std::shared_ptr<const RecordedWork> work;
  cuda::GraphHandle graph;
  std::size_t node_count = 0;
};

// The streams that launched a recording. When it goes, what the work needs stays until they have passed; so a
// launch itself costs no host function for it.
class CudaLaunches {
 public:
  explicit CudaLaunches(std::shared_ptr<const RecordedWork> work) : work_(std::move(work)) {}
  ~CudaLaunches();
  CudaLaunches(const CudaLaunches&) = delete;
  CudaLaunches& operator=(const CudaLaunches&) = delete;
  void add(const std::shared_ptr<CudaStreamOwner>& stream);

 private:
  std::shared_ptr<const RecordedWork> work_;
  std::vector<std::shared_ptr<CudaStreamOwner>> streams_;
};

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(std::shared_ptr<const CudaRecordedGraph> recorded);
  ~CudaGraph() override;

  std::size_t node_count() const override { return recorded()->node_count; }
  void launch(Stream& stream) override;
  void update(const Graph& other) override;

 private:
  std::shared_ptr<const CudaRecordedGraph> recorded() const;

  struct Owner {
    std::shared_ptr<const CudaRecordedGraph> recorded;
    cuda::GraphExecHandle exec;
    std::unique_ptr<CudaLaunches> launches;
  };
  mutable std::mutex mutex_;  // the driver wants one thread at a time on a graph
  Owner owner_;
};

}  // namespace gpuforge::device
