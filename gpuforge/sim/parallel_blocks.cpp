#include "gpuforge/sim/parallel_blocks.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "gpuforge/sim/block_state.h"
#include "gpuforge/sim/races.h"
#include "gpuforge/sim/schedule.h"
#include "gpuforge/sim/thread_memory.h"

namespace gpuforge::sim {
namespace {

// Warp instructions that one thread runs alone before others are asked for, and how many more must be left
// for each of them: one and two milliseconds' work or less, much more than it takes to start a thread.
constexpr std::uint64_t kAloneSteps = 1 << 16;
constexpr std::uint64_t kStepsPerThread = 1 << 17;
// Host memory for what all threads keep apart.
constexpr std::size_t kApartBytes = std::size_t{2} << 30;
// Threads are compared after this many blocks each, and whenever there are so many times more: blocks that
// touch each other's bytes mostly do so early.
constexpr std::uint64_t kFirstBlocks = 4;
constexpr std::uint64_t kMoreBlocks = 8;

void run_one(BlockState& state, std::uint64_t index) {
  Block& block = state.block();
  RaceDetector* const races = block.launch->races;
  state.start(index, 0);
  if (races != nullptr) races->begin_block(block);
  run_block(block, false);
  if (races != nullptr) races->end_block(block);
}

std::uint64_t stamps(const Launch& launch) {
  return launch.races != nullptr ? launch.races->stamps() : 0;
}

// The blocks of one host thread.
class Worker {
 public:
  explicit Worker(const Launch& from)
      : launch_(from), memory_(from.allocations, ThreadMemory::Writes::apart) {
    launch_.own = &memory_;
    launch_.findings = {};
    launch_.sectors = from.sectors.for_another_thread();
    std::fill(launch_.counters.begin(), launch_.counters.end(), SiteCounters{});
    std::fill(launch_.block_counts.begin(), launch_.block_counts.end(), BlockCount{});
    if (launch_.checks.races) races_ = std::make_unique<RaceDetector>(launch_);
    launch_.races = races_.get();
    state_ = std::make_unique<BlockState>(launch_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(std::uint64_t index) { run_one(*state_, index); }
  Launch& launch() { return launch_; }
  ThreadMemory& memory() { return memory_; }

 private:
  Launch launch_;
  ThreadMemory memory_;
  std::unique_ptr<RaceDetector> races_;
  std::unique_ptr<BlockState> state_;
};

void add(SiteCounters& to, const SiteCounters& from) {
  to.warp_instructions += from.warp_instructions;
  to.thread_instructions += from.thread_instructions;
  to.requests += from.requests;
  to.sectors += from.sectors;
  to.wavefronts += from.wavefronts;
  to.ideal_wavefronts += from.ideal_wavefronts;
  to.useful_bytes += from.useful_bytes;
  to.requested_bytes += from.requested_bytes;
  to.atomic_conflicts += from.atomic_conflicts;
  to.divergent += from.divergent;
}

void add(Launch& to, const Launch& from) {
  for (std::size_t i = 0; i < to.counters.size(); ++i) add(to.counters[i], from.counters[i]);
  for (std::size_t i = 0; i < to.block_counts.size(); ++i) {
    to.block_counts[i].warps += from.block_counts[i].warps;
    to.block_counts[i].threads += from.block_counts[i].threads;
  }
}

// Host threads that work on one launch together. `launch` and `before` are as the first blocks left them.
class Team {
 public:
  Team(const Launch& launch, const ThreadMemory& before, std::size_t threads)
      : steps_(launch.steps_left), stamps_(stamps(launch)), everyone_{&before} {
    for (std::size_t i = 0; i < threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(launch));
      everyone_.push_back(&workers_.back()->memory());
    }
  }

  // False: what was done so far is void.
  bool run(std::uint64_t begin, std::uint64_t end) {
    next_ = begin;
    each([&](Worker& worker) {
      while (!over_) {
        // Neighbours to one thread, as they share lines of memory; fewer and fewer, so that all end together.
        std::uint64_t first = next_, after = 0;
        do after = first + std::max<std::uint64_t>(1, (end - first) / (2 * workers_.size()));
        while (first < end && !next_.compare_exchange_weak(first, after));
        if (first >= end) break;
        for (std::uint64_t i = first; i < after && !over_; ++i) run_one(worker, i);
      }
    });
    return !over_ && !ThreadMemory::conflict(everyone_);
  }

  // Everything into `launch` and memory, as if its blocks had run in order.
  void commit(Launch& launch) {
    std::vector<FindingLog> logs;
    std::uint64_t used = 0;
    for (const auto& worker : workers_) {
      add(launch, worker->launch());
      launch.sectors.add(worker->launch().sectors);
      used += launch.steps_left - worker->launch().steps_left;
      logs.push_back(std::move(worker->launch().findings));
    }
    launch.steps_left -= used;
    launch.findings.merge(std::move(logs), launch.grid);
    each([&](Worker& worker) { worker.memory().commit(launch.checks.initialized); });
    for (const auto& worker : workers_) worker->memory().commit_sums();
  }

 private:
  void run_one(Worker& worker, std::uint64_t index) {
    Launch& launch = worker.launch();
    const std::uint64_t steps = launch.steps_left, stamps_before = stamps(launch);
    worker.run(index);
    // What comes close to a limit is left to one thread, which knows what is reached first.
    const std::uint64_t used = steps - launch.steps_left, stamped = stamps(launch) - stamps_before;
    if (launch.failed || worker.memory().given_up() || steps_.fetch_sub(used) <= used ||
        stamps_.fetch_add(stamped) + stamped >= RaceDetector::kLateStamp ||
        worker.memory().bytes() > kApartBytes / workers_.size())
      over_ = true;
  }

  template <class Work>
  void each(const Work& work) {
    const auto guarded = [&](Worker& worker) {
      try {
        work(worker);
      } catch (...) {  // one thread alone meets it again, if it was not for lack of memory
        over_ = true;
      }
    };
    std::vector<std::jthread> threads;
    threads.reserve(workers_.size());
    std::size_t started = 1;  // the first is this thread's
    try {
      for (; started < workers_.size(); ++started)
        threads.emplace_back([&, started] { guarded(*workers_[started]); });
    } catch (const std::system_error&) {  // the host gives no more
    }
    guarded(*workers_.front());
    for (; started < workers_.size(); ++started) guarded(*workers_[started]);
  }

  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> steps_;   // left for all of them
  std::atomic<std::uint64_t> stamps_;  // of all of them
  std::atomic<bool> over_ = false;
  std::vector<const ThreadMemory*> everyone_;
};

}  // namespace

bool may_run_in_parallel(const Launch& launch) {
  const Image& image = *launch.image;
  const bool prints = std::any_of(image.codes.begin(), image.codes.end(), [](const Code& code) {
    return std::any_of(code.calls.begin(), code.calls.end(),
                       [](const Call& call) { return call.builtin == Builtin::vprintf; });
  });
  return !image.order_matters && !image.has_arrivals && !prints &&
         !(launch.checks.races && image.orders_memory);
}

std::uint64_t run_blocks_in_parallel(Launch& launch, std::uint64_t blocks, unsigned threads) {
  // A first part by one thread: a small launch ends here, and a larger one is known better. Its races with
  // later blocks are seen as bytes that both touched.
  ThreadMemory before(launch.allocations, ThreadMemory::Writes::in_place);
  const std::uint64_t steps = launch.steps_left;
  std::uint64_t done = 0;
  {
    BlockState state(launch);
    launch.own = &before;
    while (done < blocks && !launch.failed && steps - launch.steps_left < kAloneSteps) run_one(state, done++);
    launch.own = nullptr;
  }
  const std::uint64_t left = blocks - done, each = (steps - launch.steps_left) / done;
  const std::uint64_t useful = std::min(left, 1 + left * each / kStepsPerThread);
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, useful));
  if (launch.failed || left == 0 || threads < 2) return done;

  Team team(launch, before, threads);
  for (std::uint64_t begin = done, size = threads * kFirstBlocks; begin < blocks; size *= kMoreBlocks) {
    const std::uint64_t end = std::min(blocks, begin + size);
    if (!team.run(begin, end)) return done;
    begin = end;
  }
  team.commit(launch);
  launch.host_threads = threads;
  return blocks;
}

}  // namespace gpuforge::sim
