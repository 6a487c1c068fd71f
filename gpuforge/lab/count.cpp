#include "gpuforge/lab/count.h"

#include "gpuforge/device/sim_device.h"

namespace gpuforge::lab {
namespace {

void add(Counts& counts, const sim::LaunchReport& report) {
  const sim::SiteCounters global = report.in("global");
  const sim::SiteCounters shared = report.in("shared");
  ++counts.launches;
  counts.thread_instructions += report.thread_instructions();
  counts.warp_instructions += report.warp_instructions();
  counts.global_requests += global.requests;
  counts.global_sectors += global.sectors;
  counts.least_sectors += report.least_sectors;
  counts.shared_wavefronts += shared.wavefronts;
  counts.ideal_wavefronts += shared.ideal_wavefronts;
  counts.divergent_branches += report.at("").divergent;
}

}  // namespace

double Counts::moved_over_least() const {
  return least_sectors > 0 ? static_cast<double>(global_sectors) / static_cast<double>(least_sectors) : 1;
}

Counts count(const Workload& work, const std::shared_ptr<Context>& context) {
  auto* const device = dynamic_cast<device::SimDevice*>(&context->device());
  GPUFORGE_CHECK(device != nullptr, "count: the simulator counts; {} does not",
                 context->device().facts().name);
  Counts counts;
  const auto stream = context->make_stream();
  device->set_report_sink([&counts](const sim::LaunchReport& report) { add(counts, report); });
  try {
    work.enqueue(0, *stream);
    stream->synchronize();
  } catch (...) {
    device->set_report_sink(nullptr);
    throw;
  }
  device->set_report_sink(nullptr);
  return counts;
}

}  // namespace gpuforge::lab
