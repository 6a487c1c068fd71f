#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <utility>

#include "gpuforge/base/demangle.h"
#include "gpuforge/base/format.h"
#include "gpuforge/sim/report.h"
#include "gpuforge/sim/report_lines.h"

namespace gpuforge::sim {
namespace {

constexpr int kNarrowest = 40;
constexpr std::size_t kMiddleTable = 64;  // from here the multiple of the least bytes is shown
constexpr std::size_t kWideTable = 90;    // from here bytes too, and not only the part of them that was used
constexpr std::size_t kSourceRoom = 16;  // the source text is shown when at least this much is left of a line

std::string plural(std::uint64_t count, std::string_view what) {
  return format_text("{} {}{}", count, what, count == 1 ? "" : "s");
}

// At most four characters: 999, 1.2k, 34k, 567M.
std::string compact(std::uint64_t value) {
  constexpr std::string_view kUnits = "kMGTPE";
  if (value < 1000) return std::to_string(value);
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  for (scaled /= 1000; scaled >= 999.5; scaled /= 1000) ++unit;
  return format_text(scaled < 9.95 ? "{:.1f}{}" : "{:.0f}{}", scaled, kUnits[unit]);
}

// 512 bytes, 9.3 KiB, 64.0 MiB
std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "KMGTPE";
  if (bytes < 1024) return plural(bytes, "byte");
  double scaled = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1023.95; scaled /= 1024) ++unit;
  return format_text("{:.1f} {}iB", scaled, kUnits[unit]);
}

std::string spaced(std::string_view identifier) {
  std::string words(identifier);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// Where the word at the start of `text` ends. An index such as "(0, 1, 0)" is one word.
std::size_t word_end(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  const std::size_t open = text.substr(0, end).rfind('(');
  if (open == std::string_view::npos) return end;
  const std::size_t close = text.find_first_not_of("0123456789, ", open + 1);
  if (close == std::string_view::npos || text[close] != ')' || close < end) return end;
  return std::min(text.find_first_of(" \t\n", close), text.size());
}

// Words of `paragraph`, broken at `width`, each line after `indent` spaces. A word longer than a line stays
// whole.
void append_wrapped(std::string& out, std::string_view paragraph, std::size_t indent, std::size_t width) {
  std::size_t column = 0;
  while (!paragraph.empty()) {
    const std::size_t end = word_end(paragraph);
    const std::string_view word = paragraph.substr(0, end);
    paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
    if (word.empty()) continue;
    if (column == 0 || column + 1 + word.size() > width) {
      if (column != 0) out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

std::string at_place(const Place& place) {
  const std::string where = source_text(place);
  return where.empty() ? std::string() : " at " + where;
}

void append_finding(std::string& out, const Finding& finding, std::size_t number, std::size_t width) {
  const std::string head = format_text(
      "{}. {}{}, kernel {}, block {}, thread {}", number, spaced(name(finding.kind)), at_place(finding.place),
      readable_name(finding.kernel), text(finding.block), text(finding.thread));
  std::string wrapped;
  append_wrapped(wrapped, head, 3, width);
  out += wrapped.substr(std::min<std::size_t>(3, wrapped.size()));  // the number hangs into the margin
  append_wrapped(out, finding.message, 3, width);
  if (!finding.place.instruction.empty()) {
    append_wrapped(out, format_text("instruction: {}", finding.place.instruction), 3, width);
  }
  if (const std::string other = source_text(finding.other); !other.empty()) {
    append_wrapped(out,
                   format_text("the other access: {}, block {}, thread {}", other, text(finding.other_block),
                               text(finding.other_thread)),
                   3, width);
  }
  if (finding.count > 1) out += format_text("   seen {} times\n", finding.count);
}

void append_findings(std::string& out, const LaunchReport& report, std::size_t width) {
  std::size_t shown = 0;
  std::size_t suppressed = 0;
  std::string suppressed_at;
  for (const Finding& finding : report.findings) {
    if (!finding.suppressed) {
      append_finding(out, finding, ++shown, width);
      continue;
    }
    ++suppressed;
    const std::string where = source_text(finding.place);
    if (where.empty() || suppressed_at.find(where) != std::string::npos) continue;
    suppressed_at += (suppressed_at.empty() ? "" : ", ") + where;
  }
  if (suppressed == 0) return;
  append_wrapped(out,
                 format_text("suppressed: {}{}", plural(suppressed, "finding"),
                             suppressed_at.empty() ? std::string() : " (" + suppressed_at + ")"),
                 0, width);
}

struct Column {
  std::array<std::string_view, 2> head;
  std::function<std::string(const LineReport&)> cell;  // empty: nothing to say
};

std::string fraction(std::uint64_t amount, std::uint64_t of) {
  return of == 0 ? std::string() : format_text("{:.1f}", ratio(amount, of));
}

std::string count_or_nothing(std::uint64_t count) {
  return count == 0 ? std::string() : compact(count);
}

std::vector<Column> columns(std::size_t width) {
  const bool wide = width >= kWideTable;
  std::vector<Column> all;
  all.push_back({{"", "line"}, [](const LineReport& line) { return std::to_string(line.line); }});
  all.push_back(
      {{"warp", "instr"}, [](const LineReport& line) { return compact(line.all.warp_instructions); }});
  all.push_back({{"active", "lanes"}, [](const LineReport& line) {
                   return fraction(line.all.thread_instructions, line.all.warp_instructions);
                 }});
  all.push_back(
      {{"global", "req"}, [](const LineReport& line) { return count_or_nothing(line.global.requests); }});
  all.push_back({{"sect.", "/req"},
                 [](const LineReport& line) { return fraction(line.global.sectors, line.global.requests); }});
  if (wide) {
    all.push_back({{"useful", "bytes"}, [](const LineReport& line) {
                     return line.global.requests == 0 ? "" : compact(line.global.useful_bytes);
                   }});
    all.push_back({{"moved", "bytes"}, [](const LineReport& line) {
                     return count_or_nothing(line.global.sectors * kSectorBytes);
                   }});
  }
  all.push_back({{"bytes", "used"}, [](const LineReport& line) {
                   const std::uint64_t moved = line.global.sectors * kSectorBytes;
                   return moved == 0 ? std::string()
                                     : format_text("{:.0f}%", 100 * ratio(line.global.useful_bytes, moved));
                 }});
  if (width >= kMiddleTable) {
    all.push_back({{"times", "least"}, [](const LineReport& line) {
                     return fraction(line.global.sectors, line.global.least_sectors);
                   }});
  }
  if (wide) {
    all.push_back(
        {{"shared", "req"}, [](const LineReport& line) { return count_or_nothing(line.shared.requests); }});
  }
  all.push_back({{"shared", "wf/req"}, [](const LineReport& line) {
                   return fraction(line.shared.wavefronts, line.shared.requests);
                 }});
  all.push_back({{"atomic", "confl."},
                 [](const LineReport& line) { return count_or_nothing(line.all.atomic_conflicts); }});
  all.push_back(
      {{"div.", "br."}, [](const LineReport& line) { return count_or_nothing(line.all.divergent); }});
  return all;
}

using Row = std::vector<std::string>;

// Right-aligned; columns that say nothing are left out. `notes` stand behind their rows, cut at `width`.
void append_table(std::string& out, const std::vector<Row>& heads, const std::vector<Row>& rows,
                  const std::vector<std::string>& notes = {}, std::size_t width = 0) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (std::size_t column = 0; column < widths.size(); ++column) {
    for (const Row& row : rows) widths[column] = std::max(widths[column], row[column].size());
    if (widths[column] == 0) continue;
    for (const Row& head : heads) widths[column] = std::max(widths[column], head[column].size());
  }
  const auto append_row = [&](const Row& row, std::string_view note) {
    std::string line;
    for (std::size_t column = 0; column < widths.size(); ++column) {
      if (widths[column] == 0) continue;
      if (!line.empty()) line += ' ';
      line.append(widths[column] - row[column].size(), ' ');
      line += row[column];
    }
    if (line.size() + 2 + kSourceRoom <= width) {
      line += "  ";
      line += note.substr(0, width - line.size());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  for (const Row& head : heads) append_row(head, {});
  for (std::size_t i = 0; i < rows.size(); ++i)
    append_row(rows[i], i < notes.size() ? std::string_view(notes[i]) : std::string_view());
}

// The lines of a source file as it is now, without what they are indented by; none when it cannot be read.
std::vector<std::string> source_lines(const std::string& file) {
  constexpr std::size_t kMostLines = 100'000;
  std::vector<std::string> lines;
  std::ifstream text(file);
  for (std::string line; lines.size() < kMostLines && std::getline(text, line);) {
    for (char& c : line)
      if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    lines.push_back(std::move(line));
  }
  return lines;
}

void append_lines(std::string& out, const std::vector<LineReport>& lines, std::size_t width) {
  const std::vector<Column> shown = columns(width);
  std::vector<Row> heads(2);
  for (const Column& column : shown) {
    for (std::size_t i = 0; i < heads.size(); ++i) heads[i].emplace_back(column.head[i]);
  }
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::string& file = lines[begin].file;
    const std::vector<std::string> source = file.empty() ? std::vector<std::string>() : source_lines(file);
    std::vector<Row> rows;
    std::vector<std::string> notes;
    std::size_t end = begin;
    for (; end < lines.size() && lines[end].file == file; ++end) {
      Row& row = rows.emplace_back();
      for (const Column& column : shown) row.push_back(column.cell(lines[end]));
      const std::size_t number = lines[end].line;
      notes.push_back(number >= 1 && number <= source.size() ? source[number - 1] : std::string());
    }
    out += file.empty() ? std::string("\nby line of the PTX\n")
                        : format_text("\nby line of {}\n", last_component(file));
    append_table(out, heads, rows, notes, width);
    begin = end;
  }
}

// "tile.cu:7 (60% of 4.0k)" for the line with the most of something; empty when there is none of it.
template <class Amount>
std::string hottest(const std::vector<LineReport>& lines, Amount amount) {
  const LineReport* most = nullptr;
  std::uint64_t total = 0;
  for (const LineReport& line : lines) {
    total += amount(line);
    if (amount(line) > 0 && (most == nullptr || amount(line) > amount(*most))) most = &line;
  }
  if (most == nullptr) return {};
  const std::string where = most->file.empty() ? format_text("line {} of the PTX", most->line)
                                               : format_text("{}:{}", last_component(most->file), most->line);
  return format_text("{} ({:.0f}% of {})", where, 100 * ratio(amount(*most), total), compact(total));
}

// Where to look first.
void append_hot_spots(std::string& out, const std::vector<LineReport>& lines, std::size_t width) {
  const auto append = [&](std::string_view what, const std::string& where) {
    if (!where.empty()) append_wrapped(out, format_text("most {}: {}", what, where), 0, width);
  };
  if (lines.size() < 2) return;
  out += '\n';
  append("warp instructions",
         hottest(lines, [](const LineReport& line) { return line.all.warp_instructions; }));
  append("global sectors", hottest(lines, [](const LineReport& line) { return line.global.sectors; }));
  append("bank conflicts", hottest(lines, [](const LineReport& line) {
           return line.shared.wavefronts - std::min(line.shared.ideal_wavefronts, line.shared.wavefronts);
         }));
  append("atomic conflicts",
         hottest(lines, [](const LineReport& line) { return line.all.atomic_conflicts; }));
  append("divergent branches", hottest(lines, [](const LineReport& line) { return line.all.divergent; }));
}

void append_totals(std::string& out, const LaunchReport& report, std::size_t width) {
  std::vector<Row> rows;
  for (const ClassReport& sum : by_class(report)) {
    rows.push_back({spaced(name(sum.op_class)), compact(sum.warp_instructions),
                    compact(sum.thread_instructions),
                    fraction(sum.thread_instructions, sum.warp_instructions)});
  }
  if (rows.empty()) return;
  const SiteCounters all = report.at("");
  rows.push_back({"all", compact(all.warp_instructions), compact(all.thread_instructions),
                  fraction(all.thread_instructions, all.warp_instructions)});
  out += "\ntotals by class\n";
  append_table(out, {{"", "warp", "thread", "active"}, {"class", "instr", "instr", "lanes"}}, rows);

  const SiteCounters global = report.in("global");
  if (global.requests > 0) {
    const std::uint64_t moved = global.sectors * kSectorBytes;
    std::string line =
        format_text("global memory: {}, {} of 32 bytes ({:.2f} per request), {:.0f}% of them used",
                    plural(global.requests, "request"), plural(global.sectors, "sector"),
                    ratio(global.sectors, global.requests), 100 * ratio(global.useful_bytes, moved));
    if (report.least_sectors > 0) {
      line += format_text("; moved {}, least {} ({:.1f}x)", bytes_text(moved),
                          bytes_text(report.least_sectors * kSectorBytes), report.moved_over_least());
    }
    append_wrapped(out, line, 0, width);
  }
  const SiteCounters shared = report.in("shared");
  if (shared.requests > 0) {
    append_wrapped(out,
                   format_text("shared memory: {}, {} ({:.2f} per request); without bank conflicts {}",
                               plural(shared.requests, "request"), plural(shared.wavefronts, "wavefront"),
                               ratio(shared.wavefronts, shared.requests), shared.ideal_wavefronts),
                   0, width);
  }
}

}  // namespace

std::string LaunchReport::findings_text(int width) const {
  std::string out;
  append_findings(out, *this, static_cast<std::size_t>(std::max(width, kNarrowest)));
  return out;
}

std::string LaunchReport::text(int width) const {
  const auto columns_wide = static_cast<std::size_t>(std::max(width, kNarrowest));
  const auto unsuppressed = static_cast<std::uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& found) { return !found.suppressed; }));
  std::string head =
      format_text("kernel {}, grid {}, block {}", readable_name(kernel), sim::text(grid), sim::text(block));
  if (cluster != Index3{1, 1, 1}) head += format_text(", cluster {}", sim::text(cluster));
  if (shared_bytes > 0) head += format_text(", {} of shared memory", plural(shared_bytes, "byte"));
  std::string out;
  append_wrapped(out, format_text("{}: {}", head, plural(unsuppressed, "finding")), 0, columns_wide);
  append_findings(out, *this, columns_wide);
  const std::vector<LineReport> lines = by_line(*this);
  append_lines(out, lines, columns_wide);
  append_hot_spots(out, lines, columns_wide);
  append_totals(out, *this, columns_wide);
  return out;
}

}  // namespace gpuforge::sim
