#include "gpuforge/sim/report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "gpuforge/base/demangle.h"
#include "gpuforge/base/format.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::sim {
namespace {

constexpr std::size_t kClasses = static_cast<std::size_t>(OpClass::other) + 1;

// "dir/tile.cu:12", "tile.cu:12", "tile.cu" (every line), "" (everything).
class LineFilter {
 public:
  explicit LineFilter(std::string_view source_line) : file_(source_line) {
    const std::size_t colon = source_line.rfind(':');
    if (colon == std::string_view::npos) return;
    const std::string_view digits = source_line.substr(colon + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return;
    file_ = source_line.substr(0, colon);
    line_ = number;
  }

  bool matches(const Place& place) const {
    if (line_ && place.line != *line_) return false;
    return file_.empty() || is_file(place.file, file_);
  }

 private:
  std::string_view file_;
  std::optional<std::uint32_t> line_;
};

}  // namespace

bool is_file(std::string_view path, std::string_view wanted) {
  if (!path.ends_with(wanted)) return false;
  const std::size_t before = path.size() - wanted.size();
  return before == 0 || path[before - 1] == '/' || path[before - 1] == '\\';
}

void add_to(SiteCounters& sum, const SiteCounters& counters) {
  sum.warp_instructions += counters.warp_instructions;
  sum.thread_instructions += counters.thread_instructions;
  sum.requests += counters.requests;
  sum.sectors += counters.sectors;
  sum.least_sectors += counters.least_sectors;
  sum.wavefronts += counters.wavefronts;
  sum.ideal_wavefronts += counters.ideal_wavefronts;
  sum.useful_bytes += counters.useful_bytes;
  sum.requested_bytes += counters.requested_bytes;
  sum.atomic_conflicts += counters.atomic_conflicts;
  sum.divergent += counters.divergent;
}

bool is_in(const SiteReport& site, std::string_view space) {
  if (site.space == space) return true;
  if (site.space != "generic") return false;
  if (space == "global") return site.counters.sectors > 0;
  return space == "shared" && site.counters.wavefronts > 0;
}

double ratio(std::uint64_t amount, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(amount) / static_cast<double>(of);
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);  // npos + 1 is 0
}

std::string text(const Index3& index) {
  return format_text("({}, {}, {})", index.x, index.y, index.z);
}

std::string source_text(const Place& place) {
  if (place.file.empty())
    return place.ptx_line == 0 ? std::string() : format_text("line {} of the PTX", place.ptx_line);
  std::string text = format_text("{}:{}", last_component(place.file), place.line);
  for (const Place::Inlined& call : place.inlined) {
    if (!call.function.empty()) text += format_text(" in {}", readable_name(call.function));
    text += format_text(", inlined at {}:{}", last_component(call.file), call.line);
  }
  return text;
}

std::vector<LineReport> by_line(const LaunchReport& report) {
  std::map<std::string_view, std::size_t> file_order;
  std::map<std::pair<std::size_t, std::uint32_t>, LineReport> lines;
  for (const SiteReport& site : report.sites) {
    if (site.counters.warp_instructions == 0) continue;
    const std::size_t order = file_order.emplace(site.place.file, file_order.size()).first->second;
    const std::uint32_t number = site.place.file.empty() ? site.place.ptx_line : site.place.line;
    LineReport& line = lines[{order, number}];
    line.file = site.place.file;
    line.line = number;
    add_to(line.all, site.counters);
    if (is_in(site, "global")) add_to(line.global, site.counters);
    if (is_in(site, "shared")) add_to(line.shared, site.counters);
  }
  std::vector<LineReport> sorted;
  sorted.reserve(lines.size());
  for (auto& [key, line] : lines) sorted.push_back(std::move(line));
  return sorted;
}

std::vector<ClassReport> by_class(const LaunchReport& report) {
  std::array<ClassReport, kClasses> sums{};
  for (const SiteReport& site : report.sites) {
    ClassReport& sum = sums[std::min(static_cast<std::size_t>(site.op_class), kClasses - 1)];
    sum.warp_instructions += site.counters.warp_instructions;
    sum.thread_instructions += site.counters.thread_instructions;
  }
  std::vector<ClassReport> ran;
  for (std::size_t i = 0; i < kClasses; ++i) {
    sums[i].op_class = static_cast<OpClass>(i);
    if (sums[i].warp_instructions > 0) ran.push_back(sums[i]);
  }
  return ran;
}

bool LaunchReport::clean() const {
  return std::all_of(findings.begin(), findings.end(), [](const Finding& found) { return found.suppressed; });
}

std::uint64_t LaunchReport::count(FindingKind kind) const {
  std::uint64_t sum = 0;
  for (const Finding& finding : findings) {
    if (finding.kind == kind && !finding.suppressed) sum += finding.count;
  }
  return sum;
}

SiteCounters LaunchReport::at(std::string_view source_line) const {
  const LineFilter filter(source_line);
  SiteCounters sum;
  for (const SiteReport& site : sites) {
    if (filter.matches(site.place)) add_to(sum, site.counters);
  }
  return sum;
}

SiteCounters LaunchReport::in(std::string_view space, std::string_view source_line) const {
  const LineFilter filter(source_line);
  SiteCounters sum;
  for (const SiteReport& site : sites) {
    if (is_in(site, space) && filter.matches(site.place)) add_to(sum, site.counters);
  }
  return sum;
}

std::uint64_t LaunchReport::thread_instructions(OpClass op_class) const {
  std::uint64_t sum = 0;
  for (const SiteReport& site : sites) {
    if (site.op_class == op_class) sum += site.counters.thread_instructions;
  }
  return sum;
}

std::uint64_t LaunchReport::warp_instructions() const {
  return at("").warp_instructions;
}

std::uint64_t LaunchReport::thread_instructions() const {
  return at("").thread_instructions;
}

double LaunchReport::active_lanes() const {
  const SiteCounters all = at("");
  return ratio(all.thread_instructions, all.warp_instructions);
}

double LaunchReport::sectors_per_request(std::string_view source_line) const {
  const SiteCounters global = in("global", source_line);
  return ratio(global.sectors, global.requests);
}

double LaunchReport::moved_over_least(std::string_view source_line) const {
  const SiteCounters global = in("global", source_line);
  return ratio(global.sectors, source_line.empty() ? least_sectors : global.least_sectors);
}

double LaunchReport::wavefronts_per_request(std::string_view source_line) const {
  const SiteCounters shared = in("shared", source_line);
  return ratio(shared.wavefronts, shared.requests);
}

bool LaunchReport::bank_conflicts(std::string_view source_line) const {
  const SiteCounters shared = in("shared", source_line);
  return shared.wavefronts > shared.ideal_wavefronts;
}

}  // namespace gpuforge::sim
