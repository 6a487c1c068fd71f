#include "gpuforge/base/json.h"

#include <utility>

#include "gpuforge/base/demangle.h"
#include "gpuforge/sim/report.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::sim {
namespace {

Json to_json(const Index3& index) {
  return Json(Json::Array{Json(index.x), Json(index.y), Json(index.z)});
}

Json to_json(const Place& place) {
  Json out = Json::object();
  if (!place.file.empty()) {
    out.set("file", place.file);
    out.set("line", place.line);
  }
  if (!place.inlined.empty()) {
    Json calls = Json::array();
    for (const Place::Inlined& call : place.inlined) {
      Json one = Json::object();
      one.set("function", call.function);
      one.set("name", readable_name(call.function));
      one.set("file", call.file);
      one.set("line", call.line);
      calls.push_back(std::move(one));
    }
    out.set("inlined", std::move(calls));
  }
  out.set("ptx_line", place.ptx_line);
  out.set("instruction", place.instruction);
  return out;
}

Json to_json(const Finding& finding) {
  Json out = Json::object();
  out.set("kind", name(finding.kind));
  out.set("kernel", finding.kernel);
  out.set("kernel_name", readable_name(finding.kernel));
  out.set("place", to_json(finding.place));
  out.set("block", to_json(finding.block));
  out.set("thread", to_json(finding.thread));
  out.set("space", finding.space);
  out.set("address", finding.address);
  out.set("bytes", finding.bytes);
  out.set("message", finding.message);
  if (!source_text(finding.other).empty()) {
    out.set("other_place", to_json(finding.other));
    out.set("other_block", to_json(finding.other_block));
    out.set("other_thread", to_json(finding.other_thread));
  }
  out.set("count", finding.count);
  out.set("suppressed", finding.suppressed);
  return out;
}

// Only what is not zero, after the two every instruction has.
void set_counters(Json& out, const SiteCounters& counters) {
  out.set("warp_instructions", counters.warp_instructions);
  out.set("thread_instructions", counters.thread_instructions);
  const auto set = [&](std::string_view key, std::uint64_t value) {
    if (value != 0) out.set(key, value);
  };
  set("requests", counters.requests);
  set("sectors", counters.sectors);
  set("least_sectors", counters.least_sectors);
  set("wavefronts", counters.wavefronts);
  set("ideal_wavefronts", counters.ideal_wavefronts);
  set("useful_bytes", counters.useful_bytes);
  set("requested_bytes", counters.requested_bytes);
  set("atomic_conflicts", counters.atomic_conflicts);
  set("divergent_branches", counters.divergent);
}

Json memory_json(const SiteCounters& counters, std::string_view space) {
  Json out = Json::object();
  out.set("requests", counters.requests);
  if (space == "global") {
    out.set("sectors", counters.sectors);
    out.set("sectors_per_request", ratio(counters.sectors, counters.requests));
    out.set("moved_bytes", counters.sectors * kSectorBytes);
    out.set("least_bytes", counters.least_sectors * kSectorBytes);
    out.set("useful_bytes", counters.useful_bytes);
  } else {
    out.set("wavefronts", counters.wavefronts);
    out.set("ideal_wavefronts", counters.ideal_wavefronts);
    out.set("wavefronts_per_request", ratio(counters.wavefronts, counters.requests));
  }
  return out;
}

Json to_json(const LineReport& line) {
  Json out = Json::object();
  if (line.file.empty()) {
    out.set("ptx_line", line.line);
  } else {
    out.set("file", line.file);
    out.set("line", line.line);
  }
  out.set("warp_instructions", line.all.warp_instructions);
  out.set("thread_instructions", line.all.thread_instructions);
  out.set("atomic_conflicts", line.all.atomic_conflicts);
  out.set("divergent_branches", line.all.divergent);
  if (line.global.requests > 0) out.set("global", memory_json(line.global, "global"));
  if (line.shared.requests > 0) out.set("shared", memory_json(line.shared, "shared"));
  return out;
}

}  // namespace

std::string LaunchReport::json() const {
  Json out = Json::object();
  out.set("kernel", kernel);
  out.set("kernel_name", readable_name(kernel));
  out.set("grid", to_json(grid));
  if (cluster != Index3{1, 1, 1}) out.set("cluster", to_json(cluster));
  out.set("block", to_json(block));
  out.set("shared_bytes", shared_bytes);
  out.set("seconds", seconds);
  out.set("clean", clean());

  Json found = Json::array();
  for (const Finding& finding : findings) found.push_back(to_json(finding));
  out.set("findings", std::move(found));

  const SiteCounters all = at("");
  Json totals = Json::object();
  totals.set("warp_instructions", all.warp_instructions);
  totals.set("thread_instructions", all.thread_instructions);
  totals.set("active_lanes", active_lanes());
  totals.set("atomic_conflicts", all.atomic_conflicts);
  totals.set("divergent_branches", all.divergent);
  SiteCounters global = in("global");
  global.least_sectors = least_sectors;
  Json moved = memory_json(global, "global");
  moved.set("least_read_bytes", least_read_sectors * kSectorBytes);
  totals.set("global", std::move(moved));
  totals.set("shared", memory_json(in("shared"), "shared"));
  out.set("totals", std::move(totals));

  Json classes = Json::object();
  for (const ClassReport& sum : by_class(*this)) {
    Json counts = Json::object();
    counts.set("warp_instructions", sum.warp_instructions);
    counts.set("thread_instructions", sum.thread_instructions);
    classes.set(name(sum.op_class), std::move(counts));
  }
  out.set("classes", std::move(classes));

  Json lines = Json::array();
  for (const LineReport& line : by_line(*this)) lines.push_back(to_json(line));
  out.set("lines", std::move(lines));

  Json all_sites = Json::array();
  for (const SiteReport& site : sites) {
    Json entry = to_json(site.place);
    entry.set("class", name(site.op_class));
    if (!site.space.empty()) entry.set("space", site.space);
    set_counters(entry, site.counters);
    all_sites.push_back(std::move(entry));
  }
  out.set("sites", std::move(all_sites));
  if (!printed.empty()) out.set("printed", printed);
  return out.dump();
}

}  // namespace gpuforge::sim
