// The parts of a head that are read alike wherever they stand. Not installed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/lab/kernel_head.h"

namespace gpuforge::lab {

// A C++ name; parse Error otherwise, and for words the head's language or the source has a meaning for.
std::string read_name(const Yaml& yaml, std::string_view what);
// Names of a list, none twice.
std::vector<std::string> read_names(const Yaml& yaml, std::string_view what);
std::vector<std::string> read_texts(const Yaml& yaml);  // one, or a list
DType read_dtype(const Yaml& yaml);
Expression read_expression(const Yaml& yaml, std::span<const std::string> known);
// One expression or a list of them. A comma inside of parentheses separates nothing, although YAML thinks so.
std::vector<Expression> read_expressions(const Yaml& yaml, std::span<const std::string> known);
// At most three extents.
std::vector<Expression> read_extents(const Yaml& yaml, std::span<const std::string> known);

struct LaunchNames {
  std::vector<std::string> operands;
  std::vector<std::string> values;       // symbols, tunables, options, sizeof(T)
  std::vector<std::string> replaceable;  // in the kernel's name: T, symbols, tunables
};
// kernel, parameters, grid, block, shared, cluster of a map. What it lacks is taken from `other`, or is a
// parse Error.
HeadLaunch read_launch(const Yaml& yaml, const LaunchNames& names, const HeadLaunch* other);
inline constexpr std::string_view kLaunchKeys[] = {"kernel", "parameters", "grid",
                                                   "block",  "shared",     "cluster"};

// x: in T [M, N]    or    x: {role: in, dtype: T, shape: [M, N], centre: 1}
// Symbols in the shape are not looked at; the name is not here.
HeadOperand read_operand(const Yaml& yaml, std::string_view element);
// The rest takes what it reads from keys of `yaml`, the whole head, into `head`, which has op, symbols and
// launch by then.
void read_reference(const Yaml& yaml, const LaunchNames& names, KernelHead& head);
void read_dtypes(const Yaml& yaml, KernelHead& head);
void read_judgement(const Yaml& yaml, const LaunchNames& names, KernelHead& head);

}  // namespace gpuforge::lab
