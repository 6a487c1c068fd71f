#include "gpuforge/lab/measure.h"

#include <algorithm>
#include <cmath>

namespace gpuforge::lab {
namespace {

constexpr double kSampleMs = 2;  // long enough that the ends of a replay do not show
constexpr std::size_t kMostCalls = 2048;
constexpr std::size_t kBatch = 8;

// Queues pieces of work with events between them, and gives their times. They are queued faster than they
// run, so that the device never waits for the host: but for the first, which is therefore dropped.
class EventChain {
 public:
  EventChain(device::Device& device, std::size_t pieces) {
    for (std::size_t i = 0; i < pieces + 2; ++i) events_.push_back(device.make_event());
  }
  std::vector<double> run(device::Stream& stream, const std::function<void()>& piece) {
    stream.record(*events_[0]);
    for (std::size_t i = 1; i < events_.size(); ++i) {
      piece();
      stream.record(*events_[i]);
    }
    events_.back()->synchronize();
    std::vector<double> times;
    for (std::size_t i = 2; i < events_.size(); ++i) {
      times.push_back(events_[i]->elapsed_ms_since(*events_[i - 1]));
    }
    return times;
  }

 private:
  std::vector<std::unique_ptr<device::Event>> events_;
};

class Measuring {
 public:
  Measuring(const Workload& work, std::shared_ptr<Context> context, const MeasureOptions& options)
      : work_(work), context_(std::move(context)), options_(options), stream_(context_->make_stream()) {
    result_.sets = work.sets;
    const std::size_t cache = context_->device().facts().l2_bytes;
    result_.colder_than_cache = cache > 0 && work.sets * work.set_bytes > cache;
  }

  Measurement run() {
    const device::DeviceFacts& facts = context_->device().facts();
    const bool host = facts.kind == device::DeviceKind::cpu;
    call_every_set();  // compiles and loads what it needs, which nothing may do while it is recorded
    stream_->synchronize();
    const bool graph = options_.method == Method::graph && !work_.prepare;
    Batch batch = host ? host_batch() : graph ? graph_batch() : event_batch();
    if (!host && !graph && options_.method == Method::graph) {
      result_.note =
          "what it reads and writes gets its values back before every call, so calls are timed one by one";
    }
    warm_up(batch);
    std::optional<ClockMeter> meter;
    if (facts.kind == device::DeviceKind::cuda) meter.emplace(context_, *stream_);
    std::vector<double> clocks;
    std::size_t repetitions = static_cast<std::size_t>(std::max(options_.repetitions, 1));
    if (options_.iterations) repetitions = std::clamp<std::size_t>(*options_.iterations, 1, repetitions);
    SamplingOptions sampling{.noise = options_.noise,
                             .seconds = options_.seconds / static_cast<double>(repetitions)};
    for (std::size_t i = 0; i < repetitions; ++i) {
      // As many in all as were asked for.
      if (options_.iterations) {
        sampling.exactly =
            *options_.iterations / repetitions + (i < *options_.iterations % repetitions ? 1 : 0);
      }
      if (i > 0 && graph_ != nullptr) graph_ = capture();  // afresh, as the next run of the program would
      if (meter) meter->start(*stream_);
      result_.samples.push_back(sample_until_quiet(batch, sampling, steady_seconds));
      if (!meter) continue;
      meter->stop(*stream_);
      if (const auto mhz = meter->mhz(*stream_)) clocks.push_back(*mhz);
    }
    if (work_.poison) call_once_more();
    std::vector<double> all;
    for (const auto& samples : result_.samples) all.insert(all.end(), samples.begin(), samples.end());
    result_.summary = summarize(all);
    result_.median = median_interval(all);
    result_.clock = clock_report(clocks, facts.clock_khz);
    return std::move(result_);
  }

 private:
  void prepare(std::size_t set) {
    if (work_.prepare) work_.prepare(set, *stream_);
  }

  void call(std::size_t set) {
    prepare(set);
    work_.enqueue(set, *stream_);
  }

  // For whoever looks at the outputs: the very calls that were measured.
  void call_once_more() {
    work_.poison(*stream_);
    if (graph_ != nullptr) {
      graph_->launch(*stream_);
    } else {
      call_every_set();
    }
    stream_->synchronize();
  }

  void call_every_set() {
    for (std::size_t set = 0; set < work_.sets; ++set) call(set);
  }

  double estimate_call_ms() {
    EventChain chain(context_->device(), 1);
    return chain.run(*stream_, [this] { call_every_set(); })[0] / static_cast<double>(work_.sets);
  }

  void warm_up(const Batch& batch) {
    if (options_.warmup) {
      for (std::size_t i = 0; i < *options_.warmup; ++i) call(i % work_.sets);
      stream_->synchronize();
      return;
    }
    const double start = steady_seconds();
    do batch();
    while (steady_seconds() - start < options_.warmup_seconds);
  }

  std::unique_ptr<device::Graph> capture() {
    stream_->begin_capture();
    try {
      for (std::size_t i = 0; i < result_.calls_per_sample; ++i) work_.enqueue(i % work_.sets, *stream_);
    } catch (const Error& error) {
      try {
        stream_->end_capture();
      } catch (const Error&) {
      }
      throw Error(error.code(), format_text("it cannot be recorded as a graph, and can be measured by events "
                                            "instead: {}",
                                            error.message()));
    }
    return stream_->end_capture();
  }

  Batch graph_batch() {
    result_.method = name(Method::graph);
    const double call_ms = estimate_call_ms();
    const double sets = static_cast<double>(work_.sets);
    // Whole rotations, as many as a sample needs.
    const double rotations = call_ms > 0 ? std::ceil(kSampleMs / (call_ms * sets)) : kMostCalls;
    result_.calls_per_sample =
        work_.sets * static_cast<std::size_t>(std::clamp(rotations, 1.0, std::max(1.0, kMostCalls / sets)));
    const double sample_ms = call_ms * static_cast<double>(result_.calls_per_sample);
    auto chain = std::make_shared<EventChain>(context_->device(), pieces(sample_ms));
    graph_ = capture();
    return [this, chain] {
      std::vector<double> times = chain->run(*stream_, [this] { graph_->launch(*stream_); });
      for (double& time : times) time /= static_cast<double>(result_.calls_per_sample);
      return times;
    };
  }

  Batch event_batch() {
    result_.method = name(Method::events);
    const std::size_t cache = context_->device().facts().l2_bytes;
    const std::size_t bytes = cache > 0 ? 2 * cache : std::size_t{32} << 20;
    const Array flushed = empty(context_, {static_cast<std::int64_t>(bytes)}, DType::u8, *stream_);
    result_.colder_than_cache = true;
    auto next = std::make_shared<std::size_t>(0);
    std::vector<std::shared_ptr<device::Event>> events;
    for (std::size_t i = 0; i < 2 * kBatch; ++i) events.push_back(context_->device().make_event());
    return [this, flushed, next, events] {
      for (std::size_t i = 0; i < events.size(); i += 2) {
        const std::size_t set = (*next)++ % work_.sets;
        prepare(set);
        stream_->fill(flushed.address(), 0, 4, flushed.bytes() / 4);
        stream_->record(*events[i]);
        work_.enqueue(set, *stream_);
        stream_->record(*events[i + 1]);
      }
      events.back()->synchronize();
      std::vector<double> times;
      for (std::size_t i = 0; i < events.size(); i += 2) {
        times.push_back(events[i + 1]->elapsed_ms_since(*events[i]));
      }
      return times;
    };
  }

  Batch host_batch() {
    result_.method = name(Method::host);
    auto next = std::make_shared<std::size_t>(0);
    return [this, next] {
      const std::size_t set = (*next)++ % work_.sets;
      if (work_.prepare) {
        prepare(set);
        stream_->synchronize();
      }
      const double start = steady_seconds();
      work_.enqueue(set, *stream_);
      stream_->synchronize();
      return std::vector<double>{(steady_seconds() - start) * 1000};
    };
  }

  // How many samples to queue at once, so that a slow kernel still gets its repetitions.
  std::size_t pieces(double sample_ms) const {
    const double share_ms = options_.seconds * 1000 / std::max(options_.repetitions, 1);
    const double fitting = sample_ms > 0 ? share_ms / sample_ms : kBatch;
    return static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(kBatch)));
  }

  const Workload& work_;
  std::shared_ptr<Context> context_;
  const MeasureOptions& options_;
  std::shared_ptr<device::Stream> stream_;
  std::unique_ptr<device::Graph> graph_;
  Measurement result_;
};

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::graph:
      return "graph";
    case Method::events:
      return "events";
    case Method::host:
      return "host";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the method enumeration");
}

Measurement measure(const Workload& work, const std::shared_ptr<Context>& context,
                    const MeasureOptions& options) {
  if (context->device().facts().kind == device::DeviceKind::sim) {
    throw Error(ErrorCode::unsupported, "measure: the simulator has no time, only counts");
  }
  return Measuring(work, context, options).run();
}

}  // namespace gpuforge::lab
