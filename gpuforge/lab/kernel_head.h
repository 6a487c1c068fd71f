// The head of a user's kernel file: a YAML comment that says what the kernel computes and how it is launched.
// docs/guide/kernels.md has the table of its keys. Every complaint is a parse Error with file and line.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuforge/base/yaml.h"
#include "gpuforge/lab/expression.h"
#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

// A built-in op by its name; invalid_argument with those there are when there is none.
using FindOp = std::function<Op(std::string_view name)>;

struct HeadText {
  std::string yaml;
  int first_line = 1;  // in the file
};
// The first comment (/* */ or // lines) that begins with a line "gpuforge:", without its decoration. `name`
// is for messages; parse Error when there is none.
HeadText find_head(std::string_view source, std::string_view name);

struct HeadOperand {
  std::string name;
  Role role = Role::input;
  std::optional<DType> dtype;  // nothing: T
  std::vector<Expression> shape;
  double centre = 0;
};

// One parameter of a kernel: an operand's address, or a number.
struct HeadParameter {
  std::string name;                 // of the operand, or for messages
  std::optional<Expression> value;  // nothing: it is an operand
  std::string type;                 // of the number: a dtype, u16, u32, u64; empty: as the kernel declares it
};

struct HeadLaunch {
  std::string where;   // "file:line"
  std::string kernel;  // a name, or a template's: softmax<{T}, {BLOCK}>
  std::vector<HeadParameter> parameters;
  std::vector<Expression> grid;
  std::vector<Expression> block;
  std::vector<Expression> cluster;  // empty: none
  std::optional<Expression> shared;
};

struct PythonReference {
  std::string where;
  std::string file;  // as written, relative to the kernel file
  std::string function;
  bool lists = false;  // nested lists instead of NumPy arrays
  int seconds = 60;
};

struct ReferenceKernel {
  HeadLaunch launch;
  bool same_dtype = false;  // operands of dtype T hold T; otherwise double
};

struct HeadTunable {
  std::string name;
  std::vector<std::int64_t> values;  // the first is taken when nothing is known
};

struct HeadCost {
  std::optional<Expression> read, written, flops;
};

struct KernelHead {
  std::string where;
  std::string file;  // of a YAML file: the kernel's, when it is named
  std::string summary;
  std::optional<Op> op;  // whose reference, operands, cost, tolerance are taken
  Options options;       // of that op
  std::vector<std::string> symbols;
  std::vector<HeadOperand> operands;  // without an op
  HeadLaunch launch;
  std::optional<ReferenceKernel> reference_kernel;
  std::optional<PythonReference> python;
  std::vector<DType> dtypes;
  std::vector<HeadTunable> tunables;
  std::vector<Expression> conditions;  // `requires`
  std::map<DType, Tolerance> tolerances;
  std::optional<Tolerance> tolerance;  // of every other dtype
  HeadCost cost;
  std::vector<Shape> check_shapes;
  std::optional<std::vector<Contents>> contents;
  std::optional<bool> deterministic;
  std::string element = "T";  // the name of the element type in the source; empty: none is made
  std::vector<std::string> defines;
  std::vector<std::string> include_dirs;
  std::vector<std::string> compile_options;
};

KernelHead parse_head(const Yaml& head, const FindOp& find_op);

// The op's operands on the first of its check problems that has as many extents as there are symbols.
std::vector<Operand> operands_of_op(const KernelHead& head);
// "kernel<{T}, {BLOCK}>" with what the names stand for; `text_of` answers for a name.
std::string substitute(const std::string& text, const std::function<std::string(std::string_view)>& text_of);

}  // namespace gpuforge::lab
