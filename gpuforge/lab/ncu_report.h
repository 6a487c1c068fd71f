// What NVIDIA Nsight Compute measured: its table of all metrics (`ncu --import R --csv --page raw`, one
// column a metric, one row a launch, units in a row of their own) read into the few that tell where a
// kernel's time goes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/ncu_metrics.h"

namespace gpuforge::lab {

struct Measured {
  double value = 0;
  std::string unit;  // without prefixes: "ns", "byte", "%", "register/thread", ""
};
// A cell of the table: thousands separators go, time becomes ns, Kbyte, Mbyte.. (of 1000) become byte, Ghz
// becomes hz. Nothing for an empty cell, "n/a", "nan" and what is no number.
std::optional<Measured> read_measured(std::string_view text, std::string_view unit);

struct ProfiledValue {
  const NcuMetric* metric = nullptr;  // of ncu_metrics(); all of them, in its order
  std::optional<Measured> measured;   // nothing: the report does not have it
  std::string name;                   // ncu's, where it was measured
};

struct ProfiledLaunch {
  std::string id;
  std::string kernel;
  std::string grid;  // "(512, 1, 1)", as ncu writes it
  std::string block;
  std::string device;  // "NVIDIA H200"; empty where the report does not say
  std::vector<ProfiledValue> values;
  const ProfiledValue& value(std::string_view group,
                             std::string_view label) const;  // internal Error if absent
};

struct NcuReport {
  std::vector<ProfiledLaunch> launches;
  bool cut_off = false;  // the table ends in the middle of a row: that launch is not in it
};

// `text` may have other output before, between and after the table's lines, as when ncu prints it live.
// `what` names it in messages. parse Error when there is no such table; it says so when it is another page.
NcuReport read_ncu_report(std::string_view text, std::string_view what);

// Launches of kernels whose name has `kernel` in it; invalid_argument with the names there are for none.
void keep_kernel(NcuReport& report, std::string_view kernel);

}  // namespace gpuforge::lab
