// What doctor finds: a status, a sentence, and for what is missing its price and its cure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::cli {

enum class Status { pass, info, warn, fail };
std::string_view name(Status status);  // "PASS", "INFO", "WARN", "FAIL"

struct Finding {
  std::string section;
  Status status = Status::pass;
  std::string text;
  std::string costs;  // what is not possible because of it
  std::string fix;    // what to do
};
using Findings = std::vector<Finding>;

// "what is wrong; what to do" of a library's message as text and fix.
Finding missing(std::string section, Status status, std::string_view message, std::string costs);

}  // namespace gpuforge::cli
