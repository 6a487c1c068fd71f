// What `gpuforge bench` found, as a table for people and as a document.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_request.h"
#include "cli/session.h"
#include "cli/table.h"
#include "gpuforge/lab/change.h"

namespace gpuforge::cli {

struct BenchRow {
  lab::BenchResult result;
  std::optional<lab::Change> change;  // against the baseline; nothing: it has no such case
};

struct BenchReport {
  std::vector<BenchRow> rows;
  bool compared = false;
  std::vector<std::string> gone;  // cases that only the baseline has
  device::DeviceFacts device;
  std::string compiler;  // NVRTC's version, or clang's; empty: none was asked
};

// The sentence that keeps the times from being taken for a GPU's; empty on one.
std::string what_the_numbers_are(const BenchReport& report);
Table bench_table(const BenchReport& report);
std::string bench_csv(const BenchReport& report);  // the same columns always, plain numbers
Json bench_document(const BenchRequest& request, const BenchReport& report);

// Reads --compare's file and fills `change` and `gone`. parse Error when the file is not one of ours;
// invalid_argument when it is from another device or has no times.
void compare_with_baseline(const BenchRequest& request, BenchReport& report);

std::string time_stamp();                    // now: "2026-11-15T14:02:11Z"
std::string_view source_commit();            // of the build; "unknown" outside of a repository
std::string show_time(double milliseconds);  // "12.34 us"
std::string options_text(const lab::Problem& problem);

}  // namespace gpuforge::cli
