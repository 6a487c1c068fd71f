// Comma-separated values as spreadsheets and NVIDIA's tools write them (RFC 4180).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuforge {

using CsvRow = std::vector<std::string>;

struct CsvTable {
  std::vector<CsvRow> rows;  // of any lengths; blank lines are left out
  bool cut_off = false;      // the text ends inside a quoted field
};

// Fields stand between commas, in quotes where they hold commas, quotes (doubled) or line ends; lines end
// with LF or CRLF. Never fails: a quote in the middle of a field is taken as it is.
CsvTable parse_csv(std::string_view text);

// A field as it must be written to be read back.
std::string csv_field(std::string_view text);

}  // namespace gpuforge
