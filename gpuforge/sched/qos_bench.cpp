// What a guaranteed task feels of its neighbours: the latency of its requests alone, beside a hog under the
// scheduler, and beside the same hog without it; then how well shares are kept. Runs on cpu too, where the
// figures say nothing about a GPU.
//   sched_qos_bench [--device cuda:0] [--requests 200]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "gpuforge/base/environment.h"
#include "gpuforge/base/error.h"
#include "gpuforge/device/open_device.h"
#include "gpuforge/sched/run_workload.h"
#include "gpuforge/sched/stand_ins.h"

namespace gpuforge::sched {
namespace {

constexpr double kKernelUs = 500;
constexpr int kKernels = 8;
constexpr double kEveryUs = 12'000;
constexpr double kHogKernelUs = 1000;

struct Hog {
  const char* name;
  KernelStep step;
};

Workload beside(const Hog* hog, int requests, int slots) {
  Workload workload{.name = "qos"};
  workload.config.slots = slots;
  workload.config.decisions_kept = 0;
  workload.until_us = requests * kEveryUs;
  workload.tasks.push_back({.task = {.name = "served",
                                     .qos = Qos::guaranteed,
                                     .memory = {1 << 20, 1 << 20},
                                     .bandwidth = {0.5, 1}},
                            .steps = {{.duration_us = kKernelUs, .count = kKernels}},
                            .requests = requests,
                            .every_us = kEveryUs});
  if (hog != nullptr)
    workload.tasks.push_back({.task = {.name = "hog", .memory = {0, std::uint64_t{1} << 30}},
                              .steps = {hog->step},
                              .requests = 1'000'000});
  return workload;
}

// As two programs that know nothing of each other: each queues what it has, the hog eight kernels deep.
std::vector<double> unscheduled(const Hog& hog, const StandIns& kernels, int requests) {
  using Clock = std::chrono::steady_clock;
  device::Device& device = kernels.context()->device();
  std::atomic<bool> stop = false;
  std::thread neighbour([&] {
    const auto stream = device.make_stream();
    memory::Buffer from;
    memory::Buffer to;
    if (hog.step.bytes > 0) {
      from = memory::Buffer(kernels.context()->allocator(), hog.step.bytes, stream);
      to = memory::Buffer(kernels.context()->allocator(), hog.step.bytes, stream);
    }
    while (!stop) {
      for (int i = 0; i < 8; ++i) {
        if (hog.step.bytes > 0) {
          stream->copy(to.address(), from.address(), hog.step.bytes);
        } else {
          kernels.spin(hog.step.duration_us, hog.step.waves, 0, *stream);
        }
      }
      stream->synchronize();
    }
  });
  std::vector<double> latencies;
  {
    const auto stream = device.make_stream();
    auto next = Clock::now();
    for (int i = 0; i < requests; ++i) {
      std::this_thread::sleep_until(next);
      for (int k = 0; k < kKernels; ++k) kernels.spin(kKernelUs, 1, 0, *stream);
      stream->synchronize();
      latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - next).count());
      next +=
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(kEveryUs));
    }
  }
  stop = true;
  neighbour.join();
  return latencies;
}

void print_row(const std::string& what, const std::vector<double>& latencies, double alone_p99_us,
               double hog_share) {
  const double p99_us = percentile(latencies, 0.99);
  std::printf("%-44s %8zu %9.0f %9.0f %9.2f", what.c_str(), latencies.size(), percentile(latencies, 0.5),
              p99_us, alone_p99_us > 0 ? p99_us / alone_p99_us : 1.0);
  if (hog_share >= 0) {
    std::printf(" %9.3f\n", hog_share);
  } else {
    std::printf(" %9s\n", "-");
  }
  std::fflush(stdout);
}

void latencies(const std::shared_ptr<Context>& context, int requests) {
  const StandIns kernels(context);
  std::printf("\nLatency of requests of %d kernels of %.0f us, one every %.0f us (us)\n", kKernels, kKernelUs,
              kEveryUs);
  std::printf("%-44s %8s %9s %9s %9s %9s\n", "", "requests", "p50", "p99", "x alone", "hog got");
  const RunReport alone = run_workload(beside(nullptr, requests, 1), context);
  const double alone_us = percentile(alone.tasks[0].latencies_us, 0.99);
  print_row("alone, scheduled", alone.tasks[0].latencies_us, alone_us, -1);
  const Hog hogs[] = {
      {"hog of 1 ms kernels, one wave of blocks", {.duration_us = kHogKernelUs}},
      {"hog of 1 ms kernels, ten waves of blocks", {.duration_us = kHogKernelUs, .waves = 10}},
      {"hog that copies 256 MiB at a time", {.kind = KernelStep::Kind::stream, .bytes = 256u << 20}},
  };
  for (const Hog& hog : hogs) {
    std::printf("%s\n", hog.name);
    for (const int slots : {1, 2}) {
      const RunReport report = run_workload(beside(&hog, requests, slots), context);
      print_row("  scheduled, slots " + std::to_string(slots), report.tasks[0].latencies_us, alone_us,
                report.tasks[1].status.used_us / report.end_us);
    }
    print_row("  without the scheduler", unscheduled(hog, kernels, requests), alone_us, -1);
  }
}

void shares(const std::shared_ptr<Context>& context, double seconds) {
  std::printf("\nShares of device time over %.1f s\n%-12s %9s %9s %9s\n", seconds, "task", "asked", "got",
              "off by");
  Workload workload{.name = "shares"};
  workload.config.decisions_kept = 0;
  workload.until_us = seconds * 1e6;
  const auto add = [&](const char* name, Qos qos, double share, double us) {
    workload.tasks.push_back({.task = {.name = name, .qos = qos, .bandwidth = {share, 1}},
                              .steps = {{.duration_us = us, .vary = 0.3}},
                              .requests = 1'000'000});
  };
  add("guaranteed", Qos::guaranteed, 0.3, 200);
  add("burstable", Qos::burstable, 0.2, 700);
  add("effort_1", Qos::best_effort, 0, 1000);
  add("effort_2", Qos::best_effort, 0, 100);
  const RunReport report = run_workload(workload, context);
  const double wanted[] = {0.3, 0.2, 0.25, 0.25};
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const double got = report.tasks[i].status.used_us / report.used_us;
    std::printf("%-12s %9.3f %9.3f %+9.3f\n", report.tasks[i].status.task.name.c_str(), wanted[i], got,
                got - wanted[i]);
  }
  std::printf("the device worked %.1f %% of the time, in %zu pieces\n", 100 * report.used_us / report.end_us,
              report.pieces.size());
}

int run(int argc, char** argv) {
  std::string device_name;
  int requests = 200;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--device") == 0) device_name = argv[i + 1];
    if (std::strcmp(argv[i], "--requests") == 0) requests = std::max(1, std::atoi(argv[i + 1]));
  }
  const Environment environment = read_environment();
  const cuda::SearchOptions search = cuda::search_options(environment);
  std::string fallback;
  auto device = device_name.empty() ? device::open_default_device(search, &fallback)
                                    : device::open_device(device_name, search);
  std::printf("%s: %s\n", device->facts().name.c_str(), device->facts().product.c_str());
  ContextOptions options;
  options.jit = jit_options(environment);
  const auto context = Context::make(std::move(device), std::move(options));
  latencies(context, requests);
  shares(context, std::max(0.2, requests * kEveryUs / 1e6));
  return 0;
}

}  // namespace
}  // namespace gpuforge::sched

int main(int argc, char** argv) {
  try {
    return gpuforge::sched::run(argc, argv);
  } catch (const gpuforge::Error& error) {
    std::fprintf(stderr, "sched_qos_bench: %s\n", error.what());
    return 3;
  }
}
