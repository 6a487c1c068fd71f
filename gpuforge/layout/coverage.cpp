#include "gpuforge/layout/coverage.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "gpuforge/layout/flat_modes.h"

namespace gpuforge::layout {
namespace {

struct Step {
  std::int64_t distance;
  std::int64_t size;
};

std::optional<bool> injective(const std::vector<Step>& steps) {
  // Sorted by distance. Each mode steps over all that the smaller ones reach: no index twice.
  Integer reach = 1;
  bool apart = true;
  for (const Step& step : steps) {
    apart = apart && step.distance >= reach.value();
    reach = reach + Integer(step.size - 1) * step.distance;
  }
  if (apart) return true;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t j = i + 1; j < steps.size(); ++j)
      if (steps[j].distance % steps[i].distance == 0 && steps[j].distance / steps[i].distance < steps[i].size)
        return false;
  return std::nullopt;
}

Coverage coverage_of(const Layout& layout) {
  std::vector<Step> steps;
  Integer size = 1, reach = 1;
  bool unknown = false, forward = true;
  for (const FlatMode& mode : flat_modes(layout)) {
    if (mode.shape.is(1)) continue;
    if (mode.shape.is(0)) return {};
    if (mode.shape.known() && mode.stride.is(0)) return {false, false};
    unknown = unknown || !mode.shape.known() || !mode.stride.known();
    if (unknown) continue;
    forward = forward && mode.stride.value() > 0;
    steps.push_back({std::abs(mode.stride.value()), mode.shape.value()});
    size = size * mode.shape;
    reach = reach + (mode.shape - 1) * abs(mode.stride);
  }
  if (unknown) return {};
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.distance < b.distance; });
  // More coordinates than indices to go round.
  if (size.value() > reach.value()) return {false, false};
  const std::optional<bool> once = injective(steps);
  const bool dense = forward && size == reach;
  return {once, dense ? once : std::optional<bool>(false)};
}

}  // namespace

Coverage coverage(const AnyLayout& layout) {
  const auto* const swizzled = std::get_if<SwizzledLayout>(&layout);
  if (swizzled == nullptr) return coverage_of(std::get<Layout>(layout));
  // A swizzle is one-to-one, and keeps 0 .. n-1 where n is a multiple of the range of the bits it changes.
  const Coverage plain = coverage_of(swizzled->layout);
  const Swizzle& swizzle = swizzled->swizzle;
  const int bits = swizzle.base() + swizzle.bits() + std::max(0, -swizzle.shift());
  const bool whole = plain.compact.value_or(false) && swizzled->offset.is(0) && bits < 62 &&
                     (size(swizzled->layout) % (std::int64_t{1} << bits)).is(0);
  return {plain.injective, whole ? std::optional<bool>(true) : std::nullopt};
}

}  // namespace gpuforge::layout
