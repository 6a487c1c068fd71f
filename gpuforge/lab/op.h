// Room lab: measures and judges kernels without knowing which. Everything it works on is an Op: a value that
// says what a kernel computes (operands, a reference in double, a tolerance), what it costs, which variants
// and configurations it has, and how it is run. The ops of the library (ops/registry.h) and the files of
// users come in the same form, so that check, bench, tune and profile treat them alike. Not here: a formula
// (ops/), what is printed (cli/).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/jit/kernel.h"

namespace gpuforge::lab {

// What an op is asked besides shape and dtype: dim = "-1", op = "amax". Every option of the op has a value
// once the problem went through complete().
using Options = std::map<std::string, std::string, std::less<>>;

// One thing to compute. `shape` is that of the op's first input; for a user's kernel, the values of its
// symbols in the order the file declares them.
struct Problem {
  Shape shape;
  DType dtype = DType::f32;
  Options options;
  friend bool operator==(const Problem&, const Problem&) = default;
};
std::string to_string(const Problem& problem);  // "f16 4096x1024 dim=-1"

enum class Role { input, output, inout };

struct Operand {
  std::string name;
  Role role = Role::input;
  DType dtype = DType::f32;
  Shape shape;
  double centre = 0;  // of random values: a weight lies around 1, most inputs around 0
};

// Elements on the host in row-major order, as doubles: exact for every floating dtype but f64 and i64 past
// 2^53.
struct HostTensor {
  Shape shape;
  std::vector<double> values;
};

// What an output should be. An error is judged against `magnitudes`, the size of the numbers that went into
// each element: a sum whose terms cancel cannot be better than its terms. Empty: the values' own size.
struct Expected {
  std::vector<double> values;
  std::vector<double> magnitudes;
};

// How a reference goes over its rows: row(i) is called once for every i below `rows`, in any order and maybe
// at the same time. A reference is a plain loop over one row; threads are not its business. `row_elements`
// says how much there is to do for one.
using EachRow = std::function<void(std::size_t rows, std::size_t row_elements,
                                   const std::function<void(std::size_t row)>& row)>;
void each_row_in_order(std::size_t rows, std::size_t row_elements,
                       const std::function<void(std::size_t row)>& row);
void each_row_on_all_threads(std::size_t rows, std::size_t row_elements,
                             const std::function<void(std::size_t row)>& row);

// |got - want| <= absolute + relative * magnitude for every element, and norm(got - want) <= norm *
// norm(magnitudes) + norm(absolute), before the output is rounded: that may add `rounding` of the value
// itself, which is less than of what went into it. All zero: the same value. A norm of zero is not looked at.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double norm = 0;
  double rounding = 0;
  std::string reason;
};

// What the formula needs: every input once, every output once.
struct Cost {
  double bytes_read = 0;
  double bytes_written = 0;
  double flops = 0;
};

// Contents of inputs that have broken kernels before. `normal` is always tried.
enum class Contents { normal, zeros, constant, huge, tiny, infinities, nans };
std::string_view name(Contents contents);

struct Variant {
  std::string name;
  std::string summary;
};

struct OptionDescription {
  std::string name;
  std::string fallback;             // its value when none is given
  std::vector<std::string> values;  // empty: any integer
  std::string summary;
};

// A configuration, and why it was taken.
struct Choice {
  Config config;
  std::string reason;
};

// One run, queued on the stream and not waited for.
struct Call {
  const Problem& problem;
  std::string_view variant;
  const Config* config = nullptr;  // nullptr: the op chooses
  std::span<Array> operands;       // in the order of Op::operands
  device::Stream& stream;
};

struct Op {
  std::string name;
  std::filesystem::path file;  // of a user's kernel; empty: one of the library's
  std::string summary;
  std::vector<Variant> variants;  // the first is the one taken when none is named
  std::vector<DType> dtypes;
  std::vector<OptionDescription> options;
  std::vector<Contents> hard_contents;  // for which the result is defined
  std::vector<Problem>
      check_problems;            // what `check` goes through; their dtype is replaced by each of `dtypes`
  bool accepts_strides = false;  // operands may be any view
  bool deterministic = true;     // two runs give the same bits

  // invalid_argument when the op cannot have this problem.
  std::function<std::vector<Operand>(const Problem&)> operands;
  // Of inputs and inouts, in order, to one Expected for each output and inout, in order. The same bits
  // whatever goes over the rows.
  std::function<std::vector<Expected>(const Problem&, std::span<const HostTensor>, const EachRow&)> reference;
  // `output` counts outputs and inouts.
  std::function<Tolerance(const Problem&, std::size_t output)> tolerance;
  std::function<Cost(const Problem&)> cost;
  std::function<void(const Call&)> run;

  // The rest is for devices that run kernels. What run() would launch, compiled and loaded; empty on cpu.
  std::function<std::vector<std::shared_ptr<const jit::Kernel>>(
      Context&, const Problem&, std::string_view variant, const Config* config)>
      kernels;
  // What run() takes when no configuration is given.
  std::function<Choice(const Problem&, std::string_view variant, const device::DeviceFacts&,
                       const TuningTable&)>
      choose;
  // Those worth trying; empty when the variant has no choices.
  std::function<std::vector<Config>(const Problem&, std::string_view variant, const device::DeviceFacts&)>
      configs;
  // Where the table keeps what was best.
  std::function<TuningKey(const Problem&, std::string_view variant)> tuning_key;
};

// The problem with every option of the op set, by its fall-back where it was not given. invalid_argument when
// an option, its value or the dtype is not one of the op's, with what there is.
Problem complete(const Op& op, Problem problem);
// The variant of that name, or the first for an empty name; invalid_argument with those there are.
const Variant& find_variant(const Op& op, std::string_view name);

// "4096x1024", "7", "" (rank 0). invalid_argument.
Shape parse_shape(std::string_view text);
std::string shape_text(const Shape& shape);
// Where the element at this row-major place is: "[3, 4]".
Dims coordinate(const Shape& shape, std::size_t place);
std::string coordinate_text(const Shape& shape, std::size_t place);

}  // namespace gpuforge::lab
