// A kernel with a seeded bug and its fixed twin, both run in the simulator under several schedules. In the
// .cu file a kernel is a template over `bool kBug`; `// BUG(kernel): race@shared` marks a line where that
// finding is expected in that space, and `race@shared?` one that may follow from the bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/jit/jit.h"
#include "gpuforge/sim/simulator.h"

namespace gpuforge::sim_bugs {

using Words = std::vector<std::uint32_t>;

// `count` words that differ from each other.
Words numbered(std::size_t count, std::uint32_t first = 1);
Words filled(std::size_t count, std::uint32_t value);

// What a launch gave back.
struct Ran {
  sim::LaunchReport report;
  Words out;
  Words in;
  std::uint64_t out_address = 0;
  std::uint64_t in_address = 0;
};

struct Case {
  std::string file;    // in this folder
  std::string kernel;  // its name in the file; template arguments are added
  sim::Geometry geometry;
  Words out = Words(1);  // what it holds before the launch
  Words in = Words(1);
  std::uint32_t n = 0;
  bool out_initialized = true;
  bool in_initialized = true;
  bool in_freed = false;  // freed before the launch
  std::uint64_t step_limit = 20'000'000;
  unsigned schedules = 0;  // other orders whose results are compared
};

// A buffer of device memory.
class Buffer {
 public:
  Buffer(sim::Memory& memory, std::size_t bytes, const std::string& label, bool initialized);
  template <class T>
  Buffer(sim::Memory& memory, const std::vector<T>& values, const std::string& label, bool initialized = true)
      : Buffer(memory, values.size() * sizeof(T), label, initialized) {
    std::memcpy(data_, values.data(), bytes_);
  }
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
  void free();
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    std::memcpy(values.data(), data_, bytes_);
    return values;
  }

 private:
  sim::Memory& memory_;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
  bool freed_ = false;
};

inline constexpr std::uint64_t kSeeds[] = {0, 1, 2};  // schedules

// The text of a file that was compiled into this program.
std::string text_of(const std::string& file);
// Who compiles the kernels here: NVRTC, and clang where there is one.
std::vector<jit::CompilerChoice> front_ends();
std::string_view front_end_name(jit::CompilerChoice front_end);
// PTX for the simulator's chip. `expressions` are kernels with template arguments.
std::shared_ptr<const jit::Compiled> compile(const std::string& file, const std::string& text,
                                             const std::vector<std::string>& expressions,
                                             jit::CompilerChoice front_end);
// `expression` names one kernel (out, in, n).
Ran run(const Case& setup, const jit::Compiled& compiled, const std::string& expression, std::uint64_t seed);

struct SeededBug {
  Case setup;
  Words expected;  // what the fixed kernel leaves in out
  // Asked for each finding of the kernel with the bug.
  std::function<void(const sim::Finding&, const Ran&)> each = {};
  // What the launch with the bug gets otherwise.
  std::function<void(Case&)> seed = {};
  // What the fixed twin prints or leaves besides.
  std::function<void(const Ran&)> fixed = {};
};

// Through every front end: kinds, lines, space, thread and block of the bug's findings; nothing and the right
// result from the twin.
void check(const SeededBug& bug);

// The same for a kernel (without template arguments) that is right: no finding, and the result (empty: any).
// And when one barrier, fence, acquire or release is taken out that is not marked `// spare`, or its scope is
// made the block's in a grid of several, that is found.
void check_silent(const Case& setup, const Words& expected);

}  // namespace gpuforge::sim_bugs
