// For tests: a libcuda.so.1 on host memory, so that everything above the driver is tested without a GPU.
//
// Behaviour is chosen by environment variables that cuInit reads each time it is called:
//   FAKE_CUDA_DEVICES=1  FAKE_CUDA_SM=90  FAKE_CUDA_NAME="Fake GPU"  FAKE_CUDA_VERSION=13000
//   FAKE_CUDA_MEMORY_BYTES=8589934592  FAKE_CUDA_INIT_RESULT=0
//   FAKE_CUDA_FAIL=cuMemAllocAsync:2,cuStreamSynchronize:700    (names without _v2; see fail())
// Work is done in stream order by one thread per stream. What it keeps of the real driver: unknown handles
// and pointers are refused, calls without a current context fail, host functions may not call the driver,
// sticky errors stick, capture follows forks and joins. Modules: an image is PTX text, or lines "entry NAME
// BYTES BYTES ..." after a first line "FAKE"; other images accept every function name and know no parameters;
// "BAD..." is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "gpuforge/cuda/library.h"

extern "C" {

struct FakeCudaCounters {
  std::size_t allocations;  // device memory, plain and stream-ordered
  std::size_t allocated_bytes;
  std::size_t pinned;
  std::size_t streams;
  std::size_t events;
  std::size_t modules;
  std::size_t graphs;
  std::size_t graph_execs;
  std::size_t contexts;                  // primary contexts retained, summed over devices
  std::size_t synchronizes;              // calls that wait: stream, event, context
  std::size_t parameters_past_the_last;  // asked for with cuFuncGetParamInfo
  std::size_t physical_blocks;           // of virtual memory: with a handle or mapped
  std::size_t address_ranges;
  std::size_t green_contexts;
};

struct FakeCudaLaunch {
  const char* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned cluster[3];
  unsigned dynamic_shared_bytes;
  int cooperative;
  int programmatic;
  void* const* parameters;  // copies of the arguments; none when their sizes are not known
  std::size_t parameter_count;
  const int* multiprocessors;  // that its stream has; none: all
  std::size_t multiprocessor_count;
};

// Runs where the kernel would, on the stream's thread.
using FakeCudaKernel = void (*)(const FakeCudaLaunch* launch, void* user_data);
}

namespace gpuforge::fake_driver {

// Sets the variables, and undoes everything at the end: one per test, made before Driver::load.
class FakeDriver {
 public:
  explicit FakeDriver(std::initializer_list<std::pair<const char*, std::string>> variables = {})
      : library_(cuda::SharedLibrary::open(GPUFORGE_FAKE_DRIVER_DIR "/libcuda.so.1").value()) {
    call<void()>("fake_cuda_reset");
    for (const auto& [name, value] : variables) {
      ::setenv(name, value.c_str(), 1);
      names_.emplace_back(name);
    }
  }
  ~FakeDriver() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    call<void()>("fake_cuda_reset");
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // Finds the fake and nothing else.
  static cuda::SearchOptions search() {
    cuda::SearchOptions options;
    options.explicit_path = GPUFORGE_FAKE_DRIVER_DIR;
    options.system = false;
    return options;
  }

  // From now on `function` (its name without _v2) answers `code`; 0 lets it work again. A sticky code makes
  // every later call answer the same, and nothing is copied or filled any more.
  void fail(const char* function, int code) {
    call<void(const char*, int)>("fake_cuda_fail", function, code);
  }
  // As at process exit: every call answers CUDA_ERROR_DEINITIALIZED.
  void shut_down() { call<void()>("fake_cuda_shut_down"); }
  FakeCudaCounters counters() {
    FakeCudaCounters result{};
    call<void(FakeCudaCounters*)>("fake_cuda_counters", &result);
    return result;
  }
  // `kernel` stands in for every kernel launched.
  void on_launch(FakeCudaKernel kernel, void* user_data) {
    call<void(FakeCudaKernel, void*)>("fake_cuda_on_launch", kernel, user_data);
  }

 private:
  template <typename Signature, typename... Arguments>
  void call(const char* symbol, Arguments... arguments) {
    reinterpret_cast<Signature*>(library_.symbol(symbol))(arguments...);
  }

  cuda::SharedLibrary library_;
  std::vector<std::string> names_;
};

}  // namespace gpuforge::fake_driver
