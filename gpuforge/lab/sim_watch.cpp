#include "gpuforge/lab/sim_watch.h"

#include <algorithm>
#include <string_view>

#include "gpuforge/base/format.h"

namespace gpuforge::lab {
namespace {

std::string place_text(const sim::Place& place) {
  if (place.file.empty())
    return place.ptx_line == 0 ? std::string() : format_text("PTX line {}", place.ptx_line);
  const std::string_view file = place.file;
  return format_text("{}:{}", file.substr(file.rfind('/') + 1), place.line);
}

std::string sentence_of(const sim::Finding& finding) {
  std::string text(name(finding.kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (const std::string where = place_text(finding.place); !where.empty()) text += " at " + where;
  return text + ": " + finding.message;
}

}  // namespace

SimWatch::SimWatch(device::Device& device) : device_(dynamic_cast<device::SimDevice*>(&device)) {
  if (device_ == nullptr) return;
  options_ = device_->options();
  device_->set_report_sink([this](const sim::LaunchReport& report) { add(report); });
}

SimWatch::~SimWatch() {
  if (device_ == nullptr) return;
  device_->set_report_sink(nullptr);
  device_->set_options(options_);
}

void SimWatch::set_order(std::uint64_t seed) {
  if (device_ == nullptr) return;
  device::SimOptions options = options_;
  options.schedule_seed = seed;
  device_->set_options(std::move(options));
}

void SimWatch::add(const sim::LaunchReport& report) {
  const std::lock_guard lock(mutex_);
  for (const sim::Finding& finding : report.findings) {
    if (finding.suppressed) continue;
    // Another order meets the same mistake in another thread: one sentence is enough.
    std::string place = format_text("{} {} {} {}", name(finding.kind), finding.kernel, finding.place.ptx_line,
                                    place_text(finding.place));
    const bool known =
        std::any_of(found_.begin(), found_.end(), [&](const Found& found) { return found.place == place; });
    if (!known) found_.push_back({std::move(place), sentence_of(finding)});
  }
}

std::vector<std::string> SimWatch::sentences() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const Found& found : found_) list.push_back(found.sentence);
  return list;
}

}  // namespace gpuforge::lab
