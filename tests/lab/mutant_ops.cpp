#include "tests/lab/mutant_ops.h"

#include <cmath>

#include "gpuforge/base/embedded.h"
#include "gpuforge/kernels/device_type.h"

namespace gpuforge {
std::span<const EmbeddedFile> mutant_files();  // made from mutants.cu when this is built
}

namespace gpuforge::lab_tests {
namespace {

using lab::Expected;
using lab::HostTensor;
using lab::Operand;
using lab::Problem;
using lab::Role;

std::shared_ptr<const jit::Kernel> kernel_of(const std::string& name, DType dtype, Context& context) {
  const std::string_view type = device_type(dtype);
  const std::string expression = format_text("mutants::{}<{}>", name, type);
  jit::KernelSource source{.name = "mutants.cu", .text = std::string(mutant_files()[0].text)};
  source.instantiations = {expression};
  return context.jit().kernel(source, expression, context.device());
}

std::uint32_t blocks(std::int64_t count, std::int64_t each) {
  return static_cast<std::uint32_t>((count + each - 1) / each);
}

std::vector<Operand> one_input(const Problem& problem, const Shape& out) {
  return {{.name = "out", .role = Role::output, .dtype = problem.dtype, .shape = out},
          {.name = "x", .role = Role::input, .dtype = problem.dtype, .shape = problem.shape}};
}

lab::Tolerance tolerance(const Problem& problem, double relative) {
  return {.relative = relative,
          .absolute = problem.dtype == DType::f16 ? 0x1p-24 : 0x1p-149,
          .rounding = problem.dtype == DType::f16 ? 0x1p-11 : 0x1p-24};
}

void make_affine(lab::Op& op, const std::string& kernel) {
  op.check_problems = {{.shape = {257}}, {.shape = {3, 128}}, {.shape = {1000}}};
  op.operands = [](const Problem& problem) { return one_input(problem, problem.shape); };
  op.reference = [](const Problem&, std::span<const HostTensor> inputs, const lab::EachRow&) {
    Expected expected;
    for (const double x : inputs[0].values) {
      expected.values.push_back(2 * x + 1);
      expected.magnitudes.push_back(2 * std::abs(x) + 1);
    }
    return std::vector{expected};
  };
  op.tolerance = [](const Problem& problem, std::size_t) { return tolerance(problem, 4e-7); };
  op.run = [kernel](const lab::Call& call) {
    const Array& x = call.operands[1];
    device::LaunchConfig launch;
    launch.grid.x = blocks(x.size() + 1, 128);
    launch.block.x = 128;
    (*kernel_of(kernel, call.problem.dtype, x.context()))(launch, call.stream, call.operands[0], x,
                                                          static_cast<int>(x.size()));
  };
}

void make_row_sum(lab::Op& op, const std::string& kernel) {
  op.check_problems = {{.shape = {3, 100}}, {.shape = {2, 1025}}, {.shape = {4, 8192}}};
  op.operands = [](const Problem& problem) { return one_input(problem, {problem.shape[0]}); };
  op.reference = [](const Problem& problem, std::span<const HostTensor> inputs, const lab::EachRow&) {
    Expected expected;
    const auto rows = static_cast<std::size_t>(problem.shape[0]);
    const auto n = static_cast<std::size_t>(problem.shape[1]);
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      double size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += inputs[0].values[row * n + i];
        size += std::abs(inputs[0].values[row * n + i]);
      }
      expected.values.push_back(sum);
      expected.magnitudes.push_back(size);
    }
    return std::vector{expected};
  };
  op.tolerance = [](const Problem& problem, std::size_t) { return tolerance(problem, 2e-6); };
  op.run = [kernel](const lab::Call& call) {
    const Array& x = call.operands[1];
    const Array& out = call.operands[0];
    if (kernel == "row_sum_adds_in_any_order") call.stream.fill(out.address(), 0, 1, out.bytes());
    device::LaunchConfig launch;
    launch.grid.x = static_cast<std::uint32_t>(x.shape()[0]);
    launch.block.x = 128;
    (*kernel_of(kernel, call.problem.dtype, x.context()))(launch, call.stream, out, x,
                                                          static_cast<int>(x.shape()[1]));
  };
}

void make_transpose(lab::Op& op, const std::string& kernel) {
  op.check_problems = {{.shape = {32, 48}}, {.shape = {33, 30}}};
  op.operands = [](const Problem& problem) {
    return one_input(problem, {problem.shape[1], problem.shape[0]});
  };
  op.reference = [](const Problem& problem, std::span<const HostTensor> inputs, const lab::EachRow&) {
    const auto rows = static_cast<std::size_t>(problem.shape[0]);
    const auto columns = static_cast<std::size_t>(problem.shape[1]);
    Expected expected;
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < rows; ++i) expected.values.push_back(inputs[0].values[i * columns + j]);
    }
    return std::vector{expected};
  };
  op.tolerance = [](const Problem&, std::size_t) -> lab::Tolerance { return {}; };
  op.run = [kernel](const lab::Call& call) {
    const Array& x = call.operands[1];
    device::LaunchConfig launch;
    launch.grid.x = blocks(x.shape()[0], 16) * blocks(x.shape()[1], 16);
    launch.block = {16, 16, 1};
    (*kernel_of(kernel, call.problem.dtype, x.context()))(launch, call.stream, call.operands[0], x,
                                                          static_cast<int>(x.shape()[0]),
                                                          static_cast<int>(x.shape()[1]));
  };
}

}  // namespace

lab::Op mutant_op(const std::string& kernel) {
  lab::Op op;
  op.name = kernel;
  op.variants = {{"only", ""}};
  op.dtypes = {DType::f16, DType::f32};
  if (kernel == "row_sum_adds_in_any_order" || kernel == "affine_remembers_its_last_run") {
    op.dtypes = {DType::f32};
  }
  op.hard_contents = {lab::Contents::zeros, lab::Contents::constant};
  if (kernel.starts_with("affine")) make_affine(op, kernel);
  if (kernel.starts_with("row_sum")) make_row_sum(op, kernel);
  if (kernel.starts_with("transpose")) make_transpose(op, kernel);
  return op;
}

}  // namespace gpuforge::lab_tests
