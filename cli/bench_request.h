// What `gpuforge bench` was asked: which cases, how to measure, what to do with the results.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "gpuforge/lab/bench.h"
#include "gpuforge/ops/backends.h"

namespace gpuforge::cli {

struct BenchRequest {
  std::string suite;  // empty: cases from the command line
  std::map<std::string, lab::Op, std::less<>> ops;
  std::vector<lab::BenchCase> cases;
  lab::MeasureOptions measure;
  bool quick = false;
  bool isolate = false;
  double time_limit_seconds = 300;  // of an isolated case
  bool markdown = false;
  bool csv = false;
  bool history = false;
  bool explain = false;
  std::optional<std::filesystem::path> save;
  std::optional<std::filesystem::path> page;  // HTML
  std::optional<std::filesystem::path> baseline;
  bool fail_on_regression = false;
  double least_change = 0;  // what counts as one
};

// The op of that name, or of that kernel file; invalid_argument or a parse Error.
using FindOp = std::function<lab::Op(const std::string& name)>;

// Every mistake that can be seen before anything runs: invalid_argument, or a parse Error with file and line
// for a suites file. The ops are run by the backend that is asked for: one of `backends`, and of a kernel
// file `kernel` or `ref`.
BenchRequest read_bench_request(const Invocation& invocation, const FindOp& find,
                                const ops::Backends& backends);

// The options of the verb.
std::span<const Option> bench_options();

}  // namespace gpuforge::cli
