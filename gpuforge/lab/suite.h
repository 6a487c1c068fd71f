// Suites: named lists of cases, from YAML that people write (bench/suites.yaml says how).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

struct SuiteCase {
  std::string op;
  Problem problem;      // as written: not complete
  std::string variant;  // empty: the op's first
  std::string where;    // "suites.yaml:12"
};

struct Suite {
  std::string name;
  std::string summary;
  std::optional<std::size_t> warmup;
  std::optional<std::size_t> iterations;
  std::vector<SuiteCase> cases;
};

// parse Errors start with file and line. Whether an op exists is for whoever has them to say.
std::vector<Suite> read_suites(std::string_view text, std::string_view name);
// invalid_argument with those there are.
const Suite& find_suite(std::span<const Suite> suites, std::string_view name);

// Those of bench/suites.yaml.
std::vector<Suite> built_in_suites();

}  // namespace gpuforge::lab
