#include "gpuforge/lab/ncu_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "gpuforge/base/csv.h"
#include "gpuforge/base/error.h"

namespace gpuforge::lab {
namespace {

struct Scale {
  std::string_view unit;
  std::string_view base;
  double factor;
};
constexpr Scale kScales[] = {
    {"ns", "ns", 1},         {"nsecond", "ns", 1},   {"us", "ns", 1e3},      {"usecond", "ns", 1e3},
    {"ms", "ns", 1e6},       {"msecond", "ns", 1e6}, {"s", "ns", 1e9},       {"second", "ns", 1e9},
    {"byte", "byte", 1},     {"Kbyte", "byte", 1e3}, {"Mbyte", "byte", 1e6}, {"Gbyte", "byte", 1e9},
    {"Tbyte", "byte", 1e12}, {"hz", "hz", 1},        {"Khz", "hz", 1e3},     {"Mhz", "hz", 1e6},
    {"Ghz", "hz", 1e9},
};

std::optional<double> read_number(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ',' && c != ' ') digits += c;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) return {};
  return value;
}

// One header with the units below it.
class Columns {
 public:
  Columns() = default;
  explicit Columns(CsvRow header) : header_(std::move(header)), units_(header_.size()) {
    for (std::size_t i = 0; i < header_.size(); ++i) places_.emplace(header_[i], i);
  }
  std::size_t size() const { return header_.size(); }
  bool has(std::string_view name) const { return places_.contains(std::string(name)); }
  void set_units(const CsvRow& row) { units_ = row; }

  std::string text(const CsvRow& row, std::string_view name) const {
    const auto found = places_.find(std::string(name));
    return found == places_.end() ? std::string() : row[found->second];
  }
  std::optional<Measured> measured(const CsvRow& row, std::string_view name) const {
    const auto found = places_.find(std::string(name));
    if (found == places_.end()) return std::nullopt;
    return read_measured(row[found->second], units_[found->second]);
  }

 private:
  CsvRow header_;
  CsvRow units_;
  std::unordered_map<std::string, std::size_t> places_;
};

std::optional<Measured> measured(const Columns& columns, const CsvRow& row, std::string_view name) {
  constexpr std::string_view kOver = " / ";
  const std::size_t over = name.find(kOver);
  if (over == std::string_view::npos) return columns.measured(row, name);
  const auto amount = columns.measured(row, name.substr(0, over));
  const auto of = columns.measured(row, name.substr(over + kOver.size()));
  if (!amount || !of || of->value == 0) return std::nullopt;
  return Measured{amount->value / of->value, {}};
}

ProfiledValue read_value(const Columns& columns, const CsvRow& row, const NcuMetric& metric) {
  ProfiledValue value{.metric = &metric, .measured = {}, .name = {}};
  for (const std::string_view pattern : metric.names) {
    if (pattern.empty()) break;
    std::string name(pattern);
    if (const std::size_t star = name.find('*'); star != std::string::npos)
      name.replace(star, 1, metric.reason);
    value.measured = measured(columns, row, name);
    if (!value.measured) continue;
    value.name = std::move(name);
    break;
  }
  return value;
}

ProfiledLaunch read_launch(const Columns& columns, const CsvRow& row) {
  ProfiledLaunch launch;
  launch.id = columns.text(row, "ID");
  launch.kernel = columns.text(row, "Kernel Name");
  launch.grid = columns.text(row, "Grid Size");
  launch.block = columns.text(row, "Block Size");
  launch.device = columns.text(row, "device__attribute_display_name");
  for (const NcuMetric& metric : ncu_metrics()) launch.values.push_back(read_value(columns, row, metric));
  return launch;
}

bool is_header(const CsvRow& row) {
  return row.size() > 1 && row[0] == "ID" && std::find(row.begin(), row.end(), "Kernel Name") != row.end();
}

// The table's own rows start with a launch's number; other lines are the program's output.
bool starts_like_a_launch(const CsvRow& row) {
  return row.size() > 1 && !row[0].empty() && row[0].find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::optional<Measured> read_measured(std::string_view text, std::string_view unit) {
  const std::optional<double> number = read_number(text);
  if (!number) return std::nullopt;
  const std::size_t slash = std::min(unit.find('/'), unit.size());
  for (const Scale& scale : kScales) {
    if (unit.substr(0, slash) != scale.unit) continue;
    return Measured{*number * scale.factor, std::string(scale.base) + std::string(unit.substr(slash))};
  }
  return Measured{*number, std::string(unit)};
}

const ProfiledValue& ProfiledLaunch::value(std::string_view group, std::string_view label) const {
  for (const ProfiledValue& each : values)
    if (each.metric->group == group && each.metric->label == label) return each;
  throw Error(ErrorCode::internal, format_text("lab: there is no metric '{}' in '{}'", label, group));
}

NcuReport read_ncu_report(std::string_view text, std::string_view what) {
  // Other output may hold quotes that would swallow the header: start with the line it is on.
  constexpr std::string_view kHeader = "\"ID\",";
  std::size_t begin = text.starts_with(kHeader) ? 0 : text.find(std::string("\n") + std::string(kHeader));
  if (begin == std::string_view::npos) begin = text.size();
  const CsvTable table = parse_csv(text.substr(begin));
  NcuReport report;
  Columns columns;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow& row = table.rows[i];
    const bool is_last = i + 1 == table.rows.size();
    if (is_header(row)) {
      columns = Columns(row);
      if (columns.has("Metric Name"))
        throw Error(ErrorCode::parse,
                    format_text("{}: this is ncu's table with one line for each metric; export it with --csv "
                                "--page raw",
                                what));
    } else if (columns.size() > 0 && row.size() == columns.size() && !(is_last && table.cut_off)) {
      if (starts_like_a_launch(row)) {
        report.launches.push_back(read_launch(columns, row));
      } else if (row[0].empty()) {
        columns.set_units(row);
      }
    } else if (is_last && columns.size() > 0 && (starts_like_a_launch(row) || row[0].empty())) {
      report.cut_off = true;
    }
  }
  if (columns.size() == 0)
    throw Error(
        ErrorCode::parse,
        format_text("{}: this is no table of ncu's: a line that starts with \"ID\",\"Process ID\" was "
                    "expected, as `ncu --import REPORT --csv --page raw` prints it",
                    what));
  if (report.launches.empty())
    throw Error(ErrorCode::parse,
                format_text("{}: {}", what,
                            report.cut_off || table.cut_off ? "it ends before the first launch is complete"
                                                            : "it has the table's head and no launch"));
  return report;
}

void keep_kernel(NcuReport& report, std::string_view kernel) {
  std::vector<std::string> names;
  for (const ProfiledLaunch& launch : report.launches)
    if (std::find(names.begin(), names.end(), launch.kernel) == names.end()) names.push_back(launch.kernel);
  std::erase_if(report.launches, [&](const ProfiledLaunch& launch) {
    return launch.kernel.find(kernel) == std::string::npos;
  });
  if (!report.launches.empty()) return;
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::invalid_argument,
              format_text("no launch of a kernel with '{}' in its name; the report has {}", kernel, list));
}

}  // namespace gpuforge::lab
