// Results of the .approx instructions: made by running each over its inputs, kept as a text file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/approx_functions.h"
#include "tests/ptx/kernel_run.h"

namespace gpuforge::ptx_files {

struct ApproxRecord {
  std::string machine;                                        // whose results these are
  std::map<std::string, std::vector<std::uint64_t>> inputs;   // by name_of_inputs
  std::map<std::string, std::vector<std::uint64_t>> results;  // by instruction; one for each input
};

// Which list of inputs a function is run over: "f32 1" for one operand of type f32.
std::string name_of_inputs(const ApproxFunction& function);
// The inputs as the instruction takes them: of a packed one, a pair of its list each.
std::vector<std::uint64_t> operands_of(const ApproxFunction& function,
                                       const std::vector<std::uint64_t>& inputs);

// A module with a kernel for each function, and how to run it.
std::string approx_module();
using RunKernel = std::function<void(std::string_view entry, const Shape&, std::vector<Bytes>&)>;
std::vector<std::uint64_t> approx_results(const ApproxFunction& function,
                                          const std::vector<std::uint64_t>& inputs, const RunKernel& run);

ApproxRecord make_record(std::string machine, const RunKernel& run);
std::string record_text(const ApproxRecord& record);
// parse Error with the line for a text that is no record.
ApproxRecord read_record(std::string_view text);

}  // namespace gpuforge::ptx_files
