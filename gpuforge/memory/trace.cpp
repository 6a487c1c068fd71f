#include "gpuforge/memory/trace.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <random>
#include <unordered_map>

#include "gpuforge/base/error.h"

namespace gpuforge::memory {
namespace {

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw Error(ErrorCode::parse, format_text("trace: line {}: {}", line, what));
}

// Fields between single blanks.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t blank = line.find(' ');
    fields.push_back(line.substr(0, blank));
    if (blank == std::string_view::npos) return fields;
    line.remove_prefix(blank + 1);
  }
}

template <typename Number>
Number number(std::string_view text, std::size_t line, const char* what) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    fail(line, format_text("{} was expected to be a number, and is \"{}\"", what, text.substr(0, 40)));
  }
  return value;
}

class LlmTraceMaker {
 public:
  explicit LlmTraceMaker(const LlmTraceOptions& options) : options_(options), random_(options.seed) {}

  Trace make() {
    make_weights();
    for (std::size_t step = 0; step < options_.steps; ++step) {
      admit();
      run_step();
      finish();
    }
    for (const Request& request : requests_) drop(request);
    for (const std::uint32_t id : weights_) free(id);
    return std::move(trace_);
  }

 private:
  struct Request {
    std::size_t tokens = 0;
    std::size_t end = 0;
    std::vector<std::uint32_t> pieces;  // of the KV cache
  };
  static constexpr std::size_t kTokensPerPiece = 256;

  std::uint32_t allocate(std::size_t bytes) {
    trace_.push_back({TraceStep::Kind::allocate, next_, 0, std::max<std::size_t>(bytes, 1)});
    return next_++;
  }
  void free(std::uint32_t id) { trace_.push_back({TraceStep::Kind::free, id, 0, 0}); }
  std::size_t below(std::size_t bound) { return random_() % bound; }

  // The shares of a decoder layer's matrices: q k v o of 1/4, 1/8, 1/8, 1/4 of a unit, three of the MLP.
  void make_weights() {
    const std::size_t layer = options_.weight_bytes / (options_.layers + 1);
    weights_.push_back(allocate(layer));  // the embedding
    hidden_bytes_ = std::max<std::size_t>(layer / 16384, 256);
    for (std::size_t i = 0; i < options_.layers; ++i) {
      for (const std::size_t share : {20, 10, 10, 20, 60, 60, 60})
        weights_.push_back(allocate(layer * share / 240));
      weights_.push_back(allocate(hidden_bytes_));
      weights_.push_back(allocate(hidden_bytes_));
    }
  }

  void admit() {
    if (requests_.size() >= options_.most_requests || below(3) == 0) return;
    Request request;
    request.tokens = 16 + below(1000);
    request.end = request.tokens + 16 + below(300);
    requests_.push_back(std::move(request));
    grow(requests_.back());
    run_layers(requests_.back().tokens);  // the prompt
  }

  void grow(Request& request) {
    const std::size_t pieces = (request.tokens + kTokensPerPiece - 1) / kTokensPerPiece;
    while (request.pieces.size() < pieces) {
      request.pieces.push_back(allocate(hidden_bytes_ / 4 * kTokensPerPiece * options_.layers / 8));
    }
  }

  // Activations live for a layer or two: the residual, and what the layer makes of it.
  void run_layers(std::size_t rows) {
    const std::uint32_t residual = allocate(rows * hidden_bytes_);
    for (std::size_t i = 0; i < options_.layers; ++i) {
      const std::uint32_t norm = allocate(rows * hidden_bytes_);
      const std::uint32_t qkv = allocate(rows * hidden_bytes_ * 3 / 2);
      const std::uint32_t attention = allocate(rows * hidden_bytes_);
      const std::uint32_t workspace = allocate(4096 + rows * 64);
      free(workspace);
      free(qkv);
      free(norm);
      const std::uint32_t up = allocate(rows * hidden_bytes_ * 7 / 2);
      const std::uint32_t down = allocate(rows * hidden_bytes_);
      free(up);
      free(attention);
      free(down);
    }
    const std::uint32_t logits = allocate(rows * 32);
    free(residual);
    free(logits);
  }

  void run_step() {
    if (requests_.empty()) return;
    run_layers(requests_.size());
    for (Request& request : requests_) {
      ++request.tokens;
      grow(request);
    }
  }

  void drop(const Request& request) {
    for (const std::uint32_t id : request.pieces) free(id);
  }

  void finish() {
    for (const Request& request : requests_) {
      if (request.tokens >= request.end) drop(request);
    }
    std::erase_if(requests_, [](const Request& request) { return request.tokens >= request.end; });
  }

  const LlmTraceOptions options_;
  std::mt19937_64 random_;
  Trace trace_;
  std::uint32_t next_ = 0;
  std::size_t hidden_bytes_ = 0;
  std::vector<std::uint32_t> weights_;
  std::vector<Request> requests_;
};

}  // namespace

std::string to_text(std::span<const TraceStep> trace) {
  std::string text;
  for (const TraceStep& step : trace) {
    text += step.kind == TraceStep::Kind::allocate
                ? format_text("a {} {} {}\n", step.id, step.bytes, step.stream)
                : format_text("f {} {}\n", step.id, step.stream);
  }
  return text;
}

Trace parse_trace(std::string_view text) {
  Trace trace;
  std::unordered_map<std::uint32_t, bool> live;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    if (whole.starts_with('#')) continue;
    const std::vector<std::string_view> fields = split(whole);
    TraceStep step;
    const bool allocates = fields[0] == "a";
    const std::size_t least = allocates ? 3 : 2;
    if ((!allocates && fields[0] != "f") || fields.size() < least || fields.size() > least + 1) {
      fail(line, format_text("\"a ID BYTES STREAM\" or \"f ID STREAM\" was expected, found \"{}\"",
                             whole.substr(0, 60)));
    }
    if (allocates) {
      step.bytes = number<std::size_t>(fields[2], line, "the size");
    } else {
      step.kind = TraceStep::Kind::free;
    }
    step.id = number<std::uint32_t>(fields[1], line, "the block");
    if (fields.size() > least) step.stream = number<std::uint32_t>(fields.back(), line, "the stream");
    if (step.stream >= 1024) fail(line, format_text("stream {}: numbers go from 0 to 1023", step.stream));
    bool& is_live = live[step.id];
    if (step.kind == TraceStep::Kind::allocate) {
      if (is_live) fail(line, format_text("block {} is allocated twice", step.id));
    } else if (!is_live) {
      fail(line, format_text("block {} is freed and not live", step.id));
    }
    is_live = step.kind == TraceStep::Kind::allocate;
    trace.push_back(step);
  }
  return trace;
}

std::size_t peak_bytes(std::span<const TraceStep> trace) {
  std::unordered_map<std::uint32_t, std::size_t> live;
  std::size_t now = 0;
  std::size_t most = 0;
  for (const TraceStep& step : trace) {
    if (step.kind == TraceStep::Kind::allocate) {
      live[step.id] = step.bytes;
      now += step.bytes;
      most = std::max(most, now);
    } else {
      now -= live[step.id];
      live.erase(step.id);
    }
  }
  return most;
}

std::uint32_t stream_count(std::span<const TraceStep> trace) {
  std::uint32_t count = 0;
  for (const TraceStep& step : trace) count = std::max(count, step.stream + 1);
  return count;
}

void replay(std::span<const TraceStep> trace, Allocator& allocator,
            std::span<const std::shared_ptr<device::Stream>> streams) {
  GPUFORGE_CHECK(stream_count(trace) <= streams.size(), "trace: it has {} streams, and {} were given",
                 stream_count(trace), streams.size());
  struct Live {
    device::Address address = 0;
    std::size_t bytes = 0;
    std::uint32_t stream = 0;
  };
  std::uint32_t ids = 0;
  for (const TraceStep& step : trace) ids = std::max(ids, step.id + 1);
  std::vector<Live> live(ids);
  std::exception_ptr failure;
  try {
    for (const TraceStep& step : trace) {
      Live& block = live[step.id];
      device::Stream& stream = *streams[step.stream];
      if (step.kind == TraceStep::Kind::allocate) {
        block = {allocator.allocate(step.bytes, stream), step.bytes, step.stream};
      } else {
        allocator.free(block.address, block.bytes, stream);
        block = {};
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  for (const Live& block : live) {
    if (block.address != 0) allocator.free(block.address, block.bytes, *streams[block.stream]);
  }
  if (failure) std::rethrow_exception(failure);
}

Trace llm_trace(const LlmTraceOptions& options) {
  GPUFORGE_CHECK(options.layers > 0 && options.weight_bytes >= options.layers * 1024,
                 "trace: {} bytes of weights for {} layers is too little", options.weight_bytes,
                 options.layers);
  return LlmTraceMaker(options).make();
}

}  // namespace gpuforge::memory
