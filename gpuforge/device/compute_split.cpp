#include "gpuforge/device/compute_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpuforge/base/error.h"

namespace gpuforge::device {
namespace {

constexpr double kRounding = 1e-9;  // 0.1 + 0.2 + 0.7 is a whole

}  // namespace

std::vector<int> apportion(std::span<const double> shares, int groups) {
  GPUFORGE_CHECK(!shares.empty(), "device: a split of the multiprocessors needs at least one share");
  double sum = 0;
  for (const double share : shares) {
    GPUFORGE_CHECK(share > 0 && share <= 1,
                   "device: a share of the multiprocessors is over 0 and at most 1; found {}", share);
    sum += share;
  }
  GPUFORGE_CHECK(sum <= 1 + kRounding,
                 "device: the shares of the multiprocessors are {:.6g} together; at most 1", sum);
  if (shares.size() > static_cast<std::size_t>(groups)) {
    throw Error(ErrorCode::unsupported,
                format_text("device: {} parts were asked for, and the multiprocessors come in {} groups",
                            shares.size(), groups));
  }
  // Whole groups first, the rest by the largest fraction: the sum comes out as asked.
  std::vector<int> given;
  for (const double share : shares)
    given.push_back(std::max(1, static_cast<int>(std::floor(share * groups + kRounding))));
  const int wanted =
      std::clamp(static_cast<int>(std::lround(sum * groups)), static_cast<int>(shares.size()), groups);
  const auto lacks = [&](std::size_t i) { return shares[i] * groups - given[i]; };
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (std::accumulate(given.begin(), given.end(), 0) < wanted)
    ++given[*std::ranges::max_element(order, {}, lacks)];
  while (std::accumulate(given.begin(), given.end(), 0) > wanted) {
    // Of those that have more than one, whoever has most above its share.
    const auto most = std::ranges::min_element(
        order, {}, [&](std::size_t i) { return given[i] > 1 ? lacks(i) : static_cast<double>(groups); });
    --given[*most];
  }
  return given;
}

}  // namespace gpuforge::device
