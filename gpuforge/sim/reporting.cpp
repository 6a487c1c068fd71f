// Where findings get their place, thread and kernel from.
#include <utility>

#include "gpuforge/sim/block.h"
#include "gpuforge/sim/program.h"

namespace gpuforge::sim {

Index3 thread_index(const Launch& launch, std::uint32_t thread) {
  return {thread % launch.block.x, thread / launch.block.x % launch.block.y,
          thread / launch.block.x / launch.block.y};
}

Place place_of(const Launch& launch, std::uint32_t site) {
  Place place;
  if (launch.image == nullptr || site >= launch.image->sites.size()) return place;
  const ptx::Module& module = launch.program->module;
  const Site& known = launch.image->sites[site];
  place.ptx_line = known.position.line;
  place.instruction = known.text;
  if (known.source.line == 0) return place;
  const auto file_name = [&](const ptx::SourceLine& line) -> std::string_view {
    for (const ptx::File& file : module.files)
      if (file.number == line.file) return file.name;
    return {};
  };
  place.file = file_name(known.source);
  if (place.file.empty()) return place;
  place.line = known.source.line;
  for (std::uint32_t next = known.source.inlining; next != 0;) {
    const ptx::Inlining& inlining = module.inlinings[next - 1];
    place.inlined.push_back({std::string(ptx::function_name(module, inlining)),
                             std::string(file_name(inlining.call)), inlining.call.line});
    next = inlining.call.inlining;
  }
  return place;
}

Finding* report(Warp& warp, const Op* op, FindingKind kind, int lane, bool fatal, std::uint32_t other_site) {
  Launch& launch = *warp.block->launch;
  if (fatal) launch.failed = true;
  const auto group = [&](std::uint32_t site) {
    return site < launch.image->sites.size() ? launch.image->sites[site].group : site;
  };
  Finding* const finding = launch.findings.add(kind, group(op->site), group(other_site));
  if (finding == nullptr) return nullptr;
  finding->kernel = launch.image->codes.front().name;
  finding->place = place_of(launch, op->site);
  finding->block = warp.block->index;
  finding->thread = thread_index(launch, warp.index * kLanes + static_cast<std::uint32_t>(lane));
  if (other_site != kNoSite) finding->other = place_of(launch, other_site);
  return finding;
}

void report_wrong(Warp& warp, const Op* op, FindingKind kind, int lane, std::string message) {
  if (Finding* finding = report(warp, op, kind, lane, true)) finding->message = std::move(message);
}

}  // namespace gpuforge::sim
