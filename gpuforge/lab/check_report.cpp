// What a check found, in words.
#include <algorithm>
#include <cmath>

#include "gpuforge/lab/check.h"

namespace gpuforge::lab {
namespace {

std::string amount_text(double allowed) {
  return allowed > 0 ? format_text("at most {:.3g} off", allowed) : std::string("exactly");
}

std::string worst_text(const OutputReport& output) {
  const Comparison& found = output.comparison;
  std::string text =
      format_text("the worst at {}: got {}, expected {} ({})", coordinate_text(output.shape, found.worst),
                  number_text(found.got), number_text(found.want), amount_text(found.allowed));
  if (found.norm_error > 0)
    text += format_text("; the error's norm is {:.2g} of the values'", found.norm_error);
  return text;
}

}  // namespace

std::string number_text(double value) {
  return std::isnan(value) ? std::string("nan") : format_text("{:.9g}", value);
}

std::string to_string(const CheckCase& which) {
  std::string text = format_text("{} {}", which.variant, to_string(which.problem));
  if (which.contents != Contents::normal) text += format_text(", {}", name(which.contents));
  if (which.placement != Placement::contiguous) text += format_text(", {}", name(which.placement));
  if (which.config) text += format_text(", {}", gpuforge::to_string(*which.config));
  return text;
}

bool CheckReport::good() const {
  return faults.empty() && std::all_of(outputs.begin(), outputs.end(),
                                       [](const OutputReport& output) { return output.comparison.good(); });
}

std::vector<std::string> complaints(const CheckReport& report) {
  std::vector<std::string> list = report.faults;
  for (const OutputReport& output : report.outputs) {
    const Comparison& found = output.comparison;
    if (found.wrong > 0) {
      list.push_back(format_text("{} of {} elements of {} are wrong, {}", found.wrong, found.elements,
                                 output.name, worst_text(output)));
    }
    if (found.norm_exceeded) {
      list.push_back(format_text("{} as a whole is off by {:.3g} of its norm, {:.3g} is allowed", output.name,
                                 found.norm_error, found.norm_allowed));
    }
  }
  return list;
}

}  // namespace gpuforge::lab
