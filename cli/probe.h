// doctor's questions to the CUDA libraries, each asked in a child process of its own, because loading a
// driver can hang or crash. The child is this program with the hidden verb `probe-library`; its answer is
// JSON.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/session.h"
#include "gpuforge/base/json.h"

namespace gpuforge::cli {

inline constexpr std::chrono::seconds kProbeLimit{10};

struct ProbeAnswer {
  std::optional<Json> json;  // nothing: the child gave none
  std::string problem;       // then: "ended by signal 11 (Segmentation fault)"
};

// `question` is driver, nvrtc, cublas_lt or self_test.
ProbeAnswer ask_probe(Session& session, std::string_view question);

}  // namespace gpuforge::cli
