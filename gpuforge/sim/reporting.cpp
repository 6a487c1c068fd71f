// Where findings get their place, thread and kernel from.
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
  const Site& known = launch.image->sites[site];
  place.ptx_line = known.position.line;
  place.instruction = known.text;
  if (known.source.line == 0) return place;
  for (const ptx::File& file : launch.program->module.files)
    if (file.number == known.source.file) {
      place.file = file.name;
      place.line = known.source.line;
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

}  // namespace gpuforge::sim
