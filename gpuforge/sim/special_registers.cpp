#include "gpuforge/sim/special_registers.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gpuforge::sim {
namespace {

using S = SpecialRegister;

constexpr std::array kNames = {
    SpecialName{"%tid.x", S::tid_x},
    SpecialName{"%tid.y", S::tid_y},
    SpecialName{"%tid.z", S::tid_z},
    SpecialName{"%tid.w", S::zero},
    SpecialName{"%ntid.x", S::ntid_x},
    SpecialName{"%ntid.y", S::ntid_y},
    SpecialName{"%ntid.z", S::ntid_z},
    SpecialName{"%ntid.w", S::zero},
    SpecialName{"%ctaid.x", S::ctaid_x},
    SpecialName{"%ctaid.y", S::ctaid_y},
    SpecialName{"%ctaid.z", S::ctaid_z},
    SpecialName{"%ctaid.w", S::zero},
    SpecialName{"%nctaid.x", S::nctaid_x},
    SpecialName{"%nctaid.y", S::nctaid_y},
    SpecialName{"%nctaid.z", S::nctaid_z},
    SpecialName{"%nctaid.w", S::zero},
    SpecialName{"%clusterid.x", S::clusterid_x},
    SpecialName{"%clusterid.y", S::clusterid_y},
    SpecialName{"%clusterid.z", S::clusterid_z},
    SpecialName{"%nclusterid.x", S::nclusterid_x},
    SpecialName{"%nclusterid.y", S::nclusterid_y},
    SpecialName{"%nclusterid.z", S::nclusterid_z},
    SpecialName{"%cluster_ctaid.x", S::cluster_ctaid_x},
    SpecialName{"%cluster_ctaid.y", S::cluster_ctaid_y},
    SpecialName{"%cluster_ctaid.z", S::cluster_ctaid_z},
    SpecialName{"%cluster_nctaid.x", S::cluster_nctaid_x},
    SpecialName{"%cluster_nctaid.y", S::cluster_nctaid_y},
    SpecialName{"%cluster_nctaid.z", S::cluster_nctaid_z},
    SpecialName{"%cluster_ctarank", S::cluster_ctarank},
    SpecialName{"%cluster_nctarank", S::cluster_nctarank},
    SpecialName{"%laneid", S::laneid},
    SpecialName{"%warpid", S::warpid},
    SpecialName{"%nwarpid", S::nwarpid},
    SpecialName{"%smid", S::smid},
    SpecialName{"%nsmid", S::nsmid},
    SpecialName{"%gridid", S::gridid, 8},
    SpecialName{"%lanemask_eq", S::lanemask_eq},
    SpecialName{"%lanemask_le", S::lanemask_le},
    SpecialName{"%lanemask_lt", S::lanemask_lt},
    SpecialName{"%lanemask_ge", S::lanemask_ge},
    SpecialName{"%lanemask_gt", S::lanemask_gt},
    SpecialName{"%clock", S::clock, 4, true},
    SpecialName{"%clock_hi", S::clock_hi, 4, true},
    SpecialName{"%clock64", S::clock64, 8, true},
    SpecialName{"%globaltimer", S::globaltimer, 8, true},
    SpecialName{"%globaltimer_lo", S::globaltimer_lo, 4, true},
    SpecialName{"%globaltimer_hi", S::globaltimer_hi, 4, true},
    SpecialName{"%total_smem_size", S::total_smem_size},
    SpecialName{"%aggr_smem_size", S::total_smem_size},
    SpecialName{"%dynamic_smem_size", S::dynamic_smem_size},
    SpecialName{"%envreg1", S::grid_workspace_high},
    SpecialName{"%envreg2", S::grid_workspace_low},
    SpecialName{"%current_graph_exec", S::zero, 8},
};

// The driver's registers and the counters that nobody programmed: %envreg0 to 31, %pm0 to 7, %pm0_64 to 7_64.
std::optional<SpecialName> numbered_register(std::string_view name) {
  const auto after = [&](std::string_view prefix) {
    return name.substr(std::min(prefix.size(), name.size()));
  };
  const auto is_number = [](std::string_view text, int most) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
  };
  if (name.starts_with("%envreg") && is_number(after("%envreg"), 31)) return SpecialName{name, S::zero};
  if (!name.starts_with("%pm")) return std::nullopt;
  std::string_view number = after("%pm");
  const bool wide = number.ends_with("_64");
  if (wide) number.remove_suffix(3);
  if (!is_number(number, 7)) return std::nullopt;
  return SpecialName{name, S::zero, static_cast<std::uint8_t>(wide ? 8 : 4)};
}

}  // namespace

std::optional<SpecialName> special_register(std::string_view name) {
  if (name.empty() || name.front() != '%') return std::nullopt;
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const SpecialName& one) { return one.name == name; });
  if (found == kNames.end()) return numbered_register(name);
  return *found;
}

}  // namespace gpuforge::sim
