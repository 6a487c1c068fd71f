// Room sim: a virtual machine for PTX. It runs kernels 32 lanes at a time on the host, the same way every
// time, checks every access, and counts what a GPU's memory system would see. It says nothing about speed.
// Here: programs, launches, options. Not here: streams and devices (device/), where PTX comes from (jit/).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/memory.h"
#include "gpuforge/sim/report.h"

namespace gpuforge::sim {

struct Program;  // program.h

struct EntryFacts {
  struct Parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  std::string name;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;       // per thread
  int max_threads_per_block = 0;     // .maxntid or .reqntid; 0: not said
  Index3 required_block{0, 0, 0};    // .reqntid; zero: not said
  Index3 required_cluster{0, 0, 0};  // .reqnctapercluster; zero: not said
  std::vector<Parameter> parameters;
};

// PTX text, parsed; its variables are placed in `memory` until the program goes. A kernel is decoded, with
// all it calls, when it is first launched, so one that the simulator cannot run does not stand in another's
// way. Errors: parse (with line and column) for text that is not PTX; unsupported (with line and opcode),
// from the launch, for instructions the simulator does not know.
std::shared_ptr<const Program> load_program(std::shared_ptr<Memory> memory, std::string ptx,
                                            std::string name);
// Names of its kernels, in the order of the text.
std::vector<std::string> entries(const Program& program);
// Decodes the kernel. invalid_argument for an unknown name.
EntryFacts entry_facts(const Program& program, std::string_view entry);
// The chip its .target names, such as "sm_90a"; empty when it names none.
std::string_view target_chip(const Program& program);

// Findings at this source line, or in a function inlined there, are listed but do not count.
struct Suppression {
  std::string file;  // its last component is enough
  std::uint32_t line = 0;
};

struct Options {
  bool races = true;
  bool initialized = true;  // follow values that were never written
  bool counters = true;
  std::uint64_t step_limit = std::uint64_t{1} << 32;  // warp instructions of a launch
  // 0: blocks and warps in order, lanes of a warp together; else an order of its own, in which lanes may come
  // apart where threads talk to each other (volatile, strong and atomic accesses).
  std::uint64_t schedule_seed = 0;
  // Runs the launch again under this many other orders, from the same memory; a result that differs is a
  // finding.
  unsigned schedules = 0;
  unsigned host_threads = 0;  // at most; results are the same for any number. 0: as many as the host has
  std::vector<Suppression> suppressions;
  std::function<void(std::string_view)> print;  // printf's output as it comes; may be empty
  const std::atomic<bool>* cancel = nullptr;    // set from outside: the launch ends with an Error
};

struct Geometry {
  Index3 grid{1, 1, 1};
  Index3 block{1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
  Index3 cluster{1, 1, 1};  // blocks that can reach each other's shared memory; the grid is whole ones
  std::uint32_t multiprocessors = 132;  // what %nsmid says
  bool cooperative = false;             // blocks may wait for each other: there is a grid barrier
};

// Runs to the end. `arguments[i]` points at the i-th parameter's bytes. invalid_argument for an unknown
// entry; what the kernel does wrong is in the report, not thrown.
LaunchReport launch(const Program& program, std::string_view entry, const Geometry& geometry,
                    std::span<const void* const> arguments, const Options& options = {});

}  // namespace gpuforge::sim
