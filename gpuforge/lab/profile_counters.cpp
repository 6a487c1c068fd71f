#include "gpuforge/lab/profile_counters.h"

#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

using sim::LaunchReport;
using sim::OpClass;
using sim::SiteCounters;

constexpr double kSectorBytes = 32;

// A generic access belongs to the space it went to.
double sum(const LaunchReport& report, OpClass op_class, std::uint64_t SiteCounters::*what, bool shared) {
  std::uint64_t total = 0;
  for (const sim::SiteReport& site : report.sites) {
    const bool is_shared = site.counters.wavefronts > 0;
    if (site.op_class != op_class || site.space == "local" || is_shared != shared) continue;
    total += site.counters.*what;
  }
  return static_cast<double>(total);
}

template <OpClass kClass, std::uint64_t SiteCounters::*kWhat>
double global(const LaunchReport& report) {
  return sum(report, kClass, kWhat, false);
}
template <OpClass kClass, std::uint64_t SiteCounters::*kWhat>
double shared(const LaunchReport& report) {
  return sum(report, kClass, kWhat, true);
}

constexpr ProfileCounter kCounters[] = {
    {"global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", Agreement::while_uniform,
     global<OpClass::load, &SiteCounters::requests>},
    {"global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", Agreement::always,
     global<OpClass::load, &SiteCounters::sectors>},
    {"global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", Agreement::while_uniform,
     global<OpClass::store, &SiteCounters::requests>},
    {"global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", Agreement::always,
     global<OpClass::store, &SiteCounters::sectors>},
    // By instruction: the pipe's own count, without smsp__sass, also has replays that depend on timing.
    {"shared_load_wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     Agreement::while_uniform, shared<OpClass::load, &SiteCounters::wavefronts>},
    {"shared_store_wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     Agreement::while_uniform, shared<OpClass::store, &SiteCounters::wavefronts>},
    {"least_read_bytes", "dram__bytes_read.sum", Agreement::cold_caches,
     [](const LaunchReport& report) {
       return static_cast<double>(report.least_read_sectors) * kSectorBytes;
     }},
    {"warp_instructions", "smsp__inst_executed.sum", Agreement::never,
     [](const LaunchReport& report) { return static_cast<double>(report.warp_instructions()); }},
    {"active_lanes", "smsp__thread_inst_executed_per_inst_executed.ratio", Agreement::never,
     [](const LaunchReport& report) { return report.active_lanes(); }},
    {"divergent_branches", "smsp__sass_branch_targets_threads_divergent.sum", Agreement::never,
     [](const LaunchReport& report) { return static_cast<double>(report.at("").divergent); }},
};

}  // namespace

std::string_view name(Agreement agreement) {
  switch (agreement) {
    case Agreement::always:
      return "always";
    case Agreement::while_uniform:
      return "while uniform";
    case Agreement::cold_caches:
      return "cold caches";
    case Agreement::never:
      return "never";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the agreement enumeration");
}

std::span<const ProfileCounter> profile_counters() {
  return kCounters;
}

bool must_agree(const ProfileCounter& counter, const LaunchReport& report) {
  switch (counter.agreement) {
    case Agreement::always:
      return true;
    case Agreement::while_uniform:
      return report.at("").divergent == 0;
    case Agreement::cold_caches:
      return counter.count(report) >= kColdBytes;
    case Agreement::never:
      break;
  }
  return false;
}

}  // namespace gpuforge::lab
