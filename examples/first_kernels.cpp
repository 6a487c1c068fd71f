// Compiles a tiled transpose and a row sum, runs them on the best device here, checks every element against a
// host loop in double, and only then times them. Without a GPU they run in the simulator, on small matrices:
// nothing is timed, and every access is checked.
//   first_kernels            exit 1 when a result is wrong, 3 when not even the compiler is here
//   first_kernels --strict   exit 3 also when there is no GPU to run on
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpuforge/array/array.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/context/context.h"
#include "gpuforge/device/open_device.h"

namespace gpuforge {
std::span<const EmbeddedFile> example_kernels();  // the .cu files beside this one, compiled in
}

namespace {

using namespace gpuforge;

struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<float> values;
  double at(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(values[static_cast<std::size_t>(row * columns + column)]);
  }
};

Matrix random_matrix(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(20260101);
  Matrix matrix{rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  for (float& value : matrix.values) value = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return matrix;
}

struct Check {
  double worst_error = 0;
  bool right = true;
  void compare(float found, double expected, double tolerance) {
    const double error = std::abs(static_cast<double>(found) - expected);
    if (!(error <= tolerance)) right = false;  // NaN, the poison, is wrong too
    worst_error = std::isnan(error) ? error : std::max(worst_error, error);
  }
};

struct Example {
  const char* file;
  const char* entry;
  Shape (*output_shape)(const Matrix&);
  device::LaunchConfig (*config)(const Matrix&);
  Check (*check)(const Matrix& in, const std::vector<float>& out);
};

std::uint32_t blocks(std::int64_t elements, std::int64_t per_block) {
  return static_cast<std::uint32_t>((elements + per_block - 1) / per_block);
}

// Moving elements must be exact: tolerance 0.
Check check_transpose(const Matrix& in, const std::vector<float>& out) {
  Check check;
  for (std::int64_t row = 0; row < in.rows; ++row) {
    for (std::int64_t column = 0; column < in.columns; ++column) {
      check.compare(out[static_cast<std::size_t>(column * in.rows + row)], in.at(row, column), 0.0);
    }
  }
  return check;
}

// A lane adds columns / 32 values and five shuffles follow; each addition rounds by at most 2^-24 of the sum
// of magnitudes. That bound is the tolerance.
Check check_row_sum(const Matrix& in, const std::vector<float>& out) {
  Check check;
  const double additions = std::ceil(static_cast<double>(in.columns) / 32.0) + 5.0;
  for (std::int64_t row = 0; row < in.rows; ++row) {
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t column = 0; column < in.columns; ++column) {
      sum += in.at(row, column);
      magnitude += std::abs(in.at(row, column));
    }
    check.compare(out[static_cast<std::size_t>(row)], sum, additions * 0x1p-24 * magnitude);
  }
  return check;
}

const Example kExamples[] = {
    {"examples/tiled_transpose.cu", "tiled_transpose",
     [](const Matrix& in) {
       return Shape{in.columns, in.rows};
     },
     [](const Matrix& in) {
       return device::LaunchConfig{.grid = {blocks(in.columns, 32), blocks(in.rows, 32)}, .block = {32, 8}};
     },
     check_transpose},
    {"examples/row_sum.cu", "row_sum", [](const Matrix& in) { return Shape{in.rows}; },
     [](const Matrix& in) {
       return device::LaunchConfig{.grid = {blocks(in.rows, 8)}, .block = {32, 8}};
     },
     check_row_sum},
};

jit::KernelSource source_of(const Example& example) {
  for (const EmbeddedFile& file : example_kernels()) {
    if (file.path == example.file) return {.name = example.file, .text = std::string(file.text)};
  }
  throw Error(ErrorCode::internal, "first_kernels: " + std::string(example.file) + " was not compiled in");
}

struct Outcome {
  Check check;
  double gigabytes_per_s = 0;
  std::size_t findings = 0;  // of the simulator
};

Outcome run(const Example& example, const jit::Kernel& kernel, const Matrix& matrix,
            std::shared_ptr<Context> context) {
  auto stream = context->make_stream();
  const Array in = from_vector<float>(context, matrix.values, {matrix.rows, matrix.columns}, *stream);
  // Poisoned, so that an element the kernel forgets is found.
  const Array out = full(context, example.output_shape(matrix), std::numeric_limits<double>::quiet_NaN(),
                         DType::f32, *stream);
  const auto launch = [&] {
    kernel(example.config(matrix), *stream, out.address(), in.address(),
           static_cast<std::int32_t>(matrix.rows), static_cast<std::int32_t>(matrix.columns));
  };
  launch();
  Outcome outcome{.check = example.check(matrix, out.to_vector<float>(*stream))};
  if (auto* const simulator = dynamic_cast<device::SimDevice*>(&context->device())) {
    for (const sim::LaunchReport& report : simulator->take_reports())
      outcome.findings += report.findings.size();
    return outcome;
  }
  if (!outcome.check.right) return outcome;

  constexpr int kRepeats = 20;
  auto begin = context->device().make_event();
  auto end = context->device().make_event();
  stream->record(*begin);
  for (int i = 0; i < kRepeats; ++i) launch();
  stream->record(*end);
  end->synchronize();
  const double seconds = static_cast<double>(end->elapsed_ms_since(*begin)) * 1e-3 / kRepeats;
  outcome.gigabytes_per_s = static_cast<double>(in.bytes() + out.bytes()) * 1e-9 / seconds;
  return outcome;
}

void print_row(const std::string& kernel, const std::string& shape, const std::string& arch,
               const std::string& registers, const std::string& spills, const std::string& shared,
               const std::string& compile, const std::string& device, const std::string& speed,
               const std::string& result) {
  std::printf("%-16s %-10s %-8s %9s %6s %7s %-16s %-7s %6s  %s\n", kernel.c_str(), shape.c_str(),
              arch.c_str(), registers.c_str(), spills.c_str(), shared.c_str(), compile.c_str(),
              device.c_str(), speed.c_str(), result.c_str());
}

std::string text(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;

// 0: all right; 1: something is wrong; 3: right, but not on a GPU.
int run_examples(std::shared_ptr<Context> context) {
  const device::DeviceFacts& facts = context->device().facts();
  const bool on_gpu = facts.kind == device::DeviceKind::cuda;
  const jit::Arch arch = jit::native_arch(facts);
  const Sizes sizes = on_gpu ? Sizes{{1000, 1023}, {8192, 8192}} : Sizes{{100, 123}, {256, 256}};
  int status = on_gpu ? 0 : 3;

  print_row("kernel", "rows x col", "arch", "registers", "spills", "shared", "compile", "device", "GB/s",
            "result");
  for (const Example& example : kExamples) {
    const jit::KernelSource source = source_of(example);
    const auto compiled = context->jit().compile(source, arch);
    const jit::Entry& entry = compiled->entry(example.entry);
    const std::string compile =
        text("%.0f ms", compiled->compile_ms) + (compiled->from_cache ? ", cached" : "");
    const auto row = [&](const std::string& shape, const std::string& speed, const std::string& result) {
      print_row(example.entry, shape, arch.name(), std::to_string(entry.registers),
                std::to_string(entry.spill_store_bytes), std::to_string(entry.static_shared_bytes), compile,
                facts.name, speed, result);
    };
    const auto kernel = context->jit().kernel(source, example.entry, context->device());
    for (const auto& [rows, columns] : sizes) {
      const Outcome outcome = run(example, *kernel, random_matrix(rows, columns), context);
      const std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
      const bool right = outcome.check.right && outcome.findings == 0;
      row(shape, on_gpu && right ? text("%.0f", outcome.gigabytes_per_s) : "-",
          (right ? "" : "WRONG: ") + text("max error %.3g", outcome.check.worst_error) +
              (on_gpu ? "" : ", findings " + std::to_string(outcome.findings)));
      if (!right) status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const bool strict = argc == 2 && std::string_view(argv[1]) == "--strict";
  if (argc > 1 && !strict) {
    std::fprintf(stderr, "usage: first_kernels [--strict]\n");
    return 2;
  }
  try {
    const Environment environment = read_environment();
    std::string fallback;
    auto device = device::open_default_kernel_device(cuda::search_options(environment), &fallback);
    if (!fallback.empty()) std::fprintf(stderr, "%s\n", fallback.c_str());
    const int status = run_examples(Context::make(device, {.jit = jit_options(environment)}));
    return status == 3 && !strict ? 0 : status;
  } catch (const Error& error) {
    std::fprintf(stderr, "first_kernels: %s\n%s", error.what(), error.detail().c_str());
    return error.code() == ErrorCode::unavailable ? 3 : 1;
  }
}
