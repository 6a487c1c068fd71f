// The fake driver's objects and its one state. The opaque tags of the driver API get their bodies here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpuforge/cuda/driver_types.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::fake_driver {

using cuda::Result;
using Work = std::function<void()>;

// A point in a queue that others wait for.
class Completion {
 public:
  void finish();
  void wait();
  bool is_done();
  std::chrono::steady_clock::time_point time();  // of finish

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
};

// Ordered work with a thread of its own, which starts with the first work and ends when closed and empty.
// Work is pushed with the state's lock held.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  void push(Work work);
  void wait_idle();
  bool is_idle();
  void close();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  bool started_ = false;
  bool busy_ = false;
  bool closed_ = false;
};

enum class NodeKind { kernel, copy, fill, host, allocate, free, child_graph };

struct Node {
  NodeKind kind;
  Work work;
  std::vector<std::size_t> after;  // indices of earlier nodes
};

struct Capture {
  std::vector<Node> nodes;
  cuda::RawStream origin = nullptr;
  cuda::CaptureMode mode = cuda::CaptureMode::global;
  std::thread::id thread;
  std::set<cuda::RawStream> streams;
  bool invalid = false;
};

struct Entry {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
  bool parameters_known = false;
};

}  // namespace gpuforge::fake_driver

struct CUctx_st {
  int device = 0;
  std::size_t retained = 0;
};

struct CUstream_st {
  int device = 0;
  std::shared_ptr<gpuforge::fake_driver::Queue> queue = std::make_shared<gpuforge::fake_driver::Queue>();
  bool blocking = false;
  std::shared_ptr<gpuforge::fake_driver::Capture> capture;
  std::vector<std::size_t> tail;     // nodes the next captured work comes after
  std::vector<int> multiprocessors;  // of its green context; none: all
};

struct CUdevResourceDesc_st {
  std::vector<int> multiprocessors;
};

struct CUgreenCtx_st {
  int device = 0;
  std::vector<int> multiprocessors;
};

struct CUevent_st {
  bool timing = true;
  std::shared_ptr<gpuforge::fake_driver::Completion> recorded;
  std::shared_ptr<gpuforge::fake_driver::Capture> capture;  // last recorded in this capture
  std::vector<std::size_t> nodes;
};

struct CUmod_st {
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  bool any_name = false;
};

struct CUfunc_st {
  gpuforge::fake_driver::Entry entry;
  int max_dynamic_shared_bytes = 48 * 1024;
  bool wide_clusters = false;
};

struct CUgraph_st {
  std::vector<gpuforge::fake_driver::Node> nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const std::vector<gpuforge::fake_driver::Node>> nodes;
};

struct CUmemPoolHandle_st {
  std::uint64_t release_threshold = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t used_bytes_high = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t reserved_bytes_high = 0;
};

namespace gpuforge::fake_driver {

struct Allocation {
  std::size_t bytes = 0;
  CUmemPoolHandle_st* pool = nullptr;  // null for plain allocations
  bool captured = false;               // belongs to a graph: stays for its replays
};

// A physical block: a piece of the file, kept while it has a handle or a mapping.
struct Physical {
  std::size_t bytes = 0;
  std::int64_t offset = 0;
  bool released = false;
  std::size_t mappings = 0;
};
struct Mapping {
  std::size_t bytes = 0;
  std::uint64_t handle = 0;
  bool accessible = false;
};

struct State {
  std::mutex mutex;

  // Configuration, read by cuInit.
  bool initialized = false;
  Result init_result = Result::success;
  int devices = 1;
  int sm = 90;
  int version = 13000;
  std::string name = "Fake GPU";
  std::size_t memory_bytes = std::size_t{8} << 30;

  // Trouble.
  std::map<std::string, Result> failures;
  Result sticky = Result::success;  // the context is lost to it; set with `moving` held as well
  std::shared_mutex moving;         // held shared by each copy and fill that runs
  bool shut_down = false;

  // Objects.
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::vector<std::unique_ptr<CUmemPoolHandle_st>> pools;
  std::map<std::uint64_t, Allocation> allocations;
  std::size_t allocated_bytes = 0;
  int memory_file = -1;  // of physical blocks, in memory alone
  std::uint64_t next_physical = 1;
  std::map<std::uint64_t, Physical> physical;  // by handle
  std::map<std::uint64_t, std::size_t> address_ranges;
  std::map<std::uint64_t, Mapping> mappings;  // by address
  std::map<void*, std::size_t> pinned;
  std::map<void*, std::size_t> registered;
  std::map<cuda::RawStream, std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUdevResourceDesc_st>> descriptions;
  std::map<cuda::RawGreenContext, std::unique_ptr<CUgreenCtx_st>> green_contexts;
  std::map<cuda::RawEvent, std::unique_ptr<CUevent_st>> events;
  std::map<cuda::RawModule, std::unique_ptr<CUmod_st>> modules;
  std::map<cuda::RawGraph, std::unique_ptr<CUgraph_st>> graphs;
  std::map<cuda::RawGraphExec, std::unique_ptr<CUgraphExec_st>> graph_execs;
  std::set<std::shared_ptr<Capture>> captures;  // active ones
  CUstream_st default_stream;
  std::vector<std::thread> workers;  // one for each queue that had work; joined by the reset
  std::size_t synchronizes = 0;
  std::size_t parameters_past_the_last = 0;

  FakeCudaKernel kernel = nullptr;
  void* kernel_user_data = nullptr;
};
// Never destroyed: a stream's thread may still run when main ends.
State& state();

// `object`: the handle given brings its context, so none need be current (most such calls were
// measured on a real driver).
enum class Needs { nothing, init, object, context };
// Calls that wait or allocate at once are refused while a stream is captured, globally or by this thread, and
// end that capture; waiting for the whole context ends every one.
enum class During { allowed, ends_capture, ends_every_capture };

// Held for the length of a call. `result` other than success is to be returned at once.
struct Entered {
  std::unique_lock<std::mutex> lock;
  Result result;
};
Entered enter(const char* function, Needs needs = Needs::context, During capture = During::allowed);

// success, or the refusal after ending the captures that forbid such a call. With the lock held.
Result end_captures(During during);

// Of virtual memory. With the lock held.
bool is_mapped_range(std::uint64_t address, std::size_t bytes);
void reset_virtual_memory();

// The driver's contexts are a stack per thread.
std::vector<cuda::RawContext>& context_stack();

// With the lock held. Null is the default stream; an unknown handle gives null.
CUstream_st* find_stream(cuda::RawStream stream);
// Queues the work, or adds a node when the stream is captured.
Result submit(cuda::RawStream stream, NodeKind kind, Work work);
// Runs `work` as a host function: calls to the driver from it are refused.
void run_host_function(const Work& work);

}  // namespace gpuforge::fake_driver
