// What to tell someone whose #include was not found: who ships it, or what takes its place in device code.
#include <algorithm>
#include <array>

#include "gpuforge/jit/compile_log.h"

namespace gpuforge::jit {
namespace {

using std::string_view_literals::operator""sv;

// Standard headers that CCCL repeats for device code as <cuda/std/...>.
constexpr std::array kWithTwin = {"array"sv,    "atomic"sv,      "barrier"sv,         "bit"sv,
                                  "bitset"sv,   "cassert"sv,     "cfloat"sv,          "chrono"sv,
                                  "climits"sv,  "cmath"sv,       "complex"sv,         "concepts"sv,
                                  "cstddef"sv,  "cstdint"sv,     "cstdlib"sv,         "memory"sv,
                                  "cstring"sv,  "ctime"sv,

                                  "expected"sv, "functional"sv,  "inplace_vector"sv,  "initializer_list"sv,
                                  "iterator"sv, "latch"sv,       "limits"sv,          "mdspan"sv,
                                  "numbers"sv,  "numeric"sv,     "optional"sv,        "ranges"sv,
                                  "ratio"sv,    "semaphore"sv,   "source_location"sv, "span"sv,

                                  "tuple"sv,    "type_traits"sv, "utility"sv,         "variant"sv,
                                  "version"sv};

constexpr std::array kHostOnly = {
    "any"sv,        "cctype"sv,        "cerrno"sv,        "condition_variable"sv,
    "csignal"sv,    "cstdio"sv,        "deque"sv,         "exception"sv,
    "filesystem"sv, "format"sv,        "fstream"sv,       "future"sv,
    "iomanip"sv,    "ios"sv,           "iostream"sv,      "istream"sv,
    "list"sv,       "locale"sv,        "map"sv,           "mutex"sv,
    "new"sv,        "ostream"sv,       "queue"sv,         "random"sv,
    "regex"sv,      "set"sv,           "shared_mutex"sv,  "sstream"sv,
    "stack"sv,      "stdexcept"sv,     "string"sv,        "thread"sv,
    "typeinfo"sv,   "unordered_map"sv, "unordered_set"sv, "valarray"sv,
    "vector"sv,     "unistd.h"sv,      "pthread.h"sv,     "errno.h"sv,
    "ctype.h"sv,    "stdio.h"sv,       "signal.h"sv};

constexpr std::array kFromC = {"assert"sv, "float"sv,  "limits"sv, "math"sv, "stddef"sv,
                               "stdint"sv, "stdlib"sv, "string"sv, "time"sv};

constexpr std::array kOfToolkit = {"builtin_types.h"sv,
                                   "channel_descriptor.h"sv,
                                   "common_functions.h"sv,
                                   "device_atomic_functions.h"sv,
                                   "device_functions.h"sv,
                                   "device_launch_parameters.h"sv,
                                   "device_types.h"sv,
                                   "driver_types.h"sv,
                                   "host_defines.h"sv,
                                   "library_types.h"sv,
                                   "math_constants.h"sv,
                                   "math_functions.h"sv,
                                   "mma.h"sv,
                                   "sm_20_intrinsics.h"sv,
                                   "surface_types.h"sv,
                                   "texture_types.h"sv,
                                   "vector_functions.h"sv,
                                   "vector_types.h"sv};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

std::string missing_header_advice(std::string_view header) {
  const bool is_c = header.ends_with(".h") && contains(kFromC, header.substr(0, header.size() - 2));
  const std::string standard =
      is_c ? "c" + std::string(header.substr(0, header.size() - 2)) : std::string(header);
  if (contains(kWithTwin, standard)) {
    return format_text(
        "host headers do not exist in device code; <cuda/std/{}> of CCCL (CUDA toolkit, or the PyPI "
        "wheel nvidia-cuda-cccl) takes its place",
        standard);
  }
  if (header == "stdio.h" || header == "cstdio") {
    return "host headers do not exist in device code; printf works without it";
  }
  if (contains(kHostOnly, header))
    return "host headers do not exist in device code: leave it out of this file";
  if (header.starts_with("cuda/") || header.starts_with("cub/") || header.starts_with("thrust/") ||
      header.starts_with("nv/")) {
    return "it is part of CCCL: install the CUDA toolkit or the PyPI wheel nvidia-cuda-cccl";
  }
  if (header.starts_with("curand")) return "it ships with the CUDA toolkit and the PyPI wheel nvidia-curand";
  if (header.starts_with("cute/") || header.starts_with("cutlass/")) {
    return "it is part of CUTLASS: add the folder 'include' of a CUTLASS checkout to the include folders";
  }
  if (header.starts_with("gpuforge/")) return "this version of gpuforge has no such device header";
  if (header.starts_with("cuda") || header.starts_with("cooperative_groups") || header.starts_with("crt/") ||
      contains(kOfToolkit, header)) {
    return "it ships with the CUDA toolkit and the PyPI wheel nvidia-cuda-runtime: install one of them";
  }
  return "check its name, or add its folder to the include folders";
}

}  // namespace gpuforge::jit
