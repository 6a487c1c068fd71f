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
// For each case the configuration its op chose, and why: wrapped lines, or with a width of 0 a list in
// Markdown.
std::string bench_choices(const BenchReport& report, int width);
Json bench_document(const BenchRequest& request, const BenchReport& report);

// What --compare compares with.
struct Baseline {
  std::string file;
  std::string product;  // of its device; empty: it does not say
  std::vector<lab::BenchResult> results;
};
// Read before anything is measured. parse Error when it is not one of ours.
Baseline read_baseline(const std::filesystem::path& path);
// invalid_argument when it is from another device, or `device` has no times.
void check_baseline(const Baseline& baseline, const device::DeviceFacts& device);
// Fills `change` and `gone`. invalid_argument when a case was measured by another method.
void compare_with_baseline(const Baseline& baseline, double least_change, BenchReport& report);

std::string time_stamp();                    // now: "2026-11-15T14:02:11Z"
std::string_view source_commit();            // of the build; "unknown" outside of a repository
std::string show_time(double milliseconds);  // "12.34 us"
std::string options_text(const lab::Problem& problem);

}  // namespace gpuforge::cli
