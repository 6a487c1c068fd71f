// A sequence of allocations and frees as a value: written by the log adaptor (adaptor.h), made up by
// llm_trace, read back from text, and replayed on any allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/memory/allocator.h"

namespace gpuforge::memory {

struct TraceStep {
  enum class Kind : std::uint8_t { allocate, free };
  Kind kind = Kind::allocate;
  std::uint32_t id = 0;      // of the block: its free has the same
  std::uint32_t stream = 0;  // numbers, from 0 on
  std::size_t bytes = 0;
  bool operator==(const TraceStep&) const = default;
};
using Trace = std::vector<TraceStep>;

// One line a step: "a ID BYTES STREAM" or "f ID STREAM"; without a stream, number 0; from # on, a remark.
// parse: a parse Error names the line and what is wrong with it: a size that is no number, a block that is
// not live, an id that is used twice.
std::string to_text(std::span<const TraceStep> trace);
Trace parse_trace(std::string_view text);

// The most bytes live at once.
std::size_t peak_bytes(std::span<const TraceStep> trace);
std::uint32_t stream_count(std::span<const TraceStep> trace);

// Carries every step out, then frees what is still live. An Error of the allocator comes out after that.
void replay(std::span<const TraceStep> trace, Allocator& allocator,
            std::span<const std::shared_ptr<device::Stream>> streams);

// What an inference server does with memory: weights once; per request a KV cache that grows in pieces and
// goes with the request; per step activations of a batch that varies, a few at a time, and workspaces. The
// same for the same options.
struct LlmTraceOptions {
  std::size_t weight_bytes = std::size_t{1} << 30;
  std::size_t layers = 32;
  std::size_t steps = 200;
  std::size_t most_requests = 32;
  std::uint64_t seed = 1;
};
Trace llm_trace(const LlmTraceOptions& options);

}  // namespace gpuforge::memory
