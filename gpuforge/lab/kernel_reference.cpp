// A reference kernel of the user's file, run in double.
#include <algorithm>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/user_kernel.h"

namespace gpuforge::lab {
namespace {

using Bytes = std::vector<std::byte>;

Array upload(const std::shared_ptr<Context>& context, const Operand& operand, DType dtype,
             const HostTensor* contents, device::Stream& stream) {
  if (contents == nullptr) {
    Array array = empty(context, operand.shape, dtype, stream);
    // NaNs: what the reference does not write can be no good result.
    if (array.size() > 0) stream.fill(array.address(), 0xff, 1, array.bytes());
    return array;
  }
  Bytes bytes(contents->values.size() * element_bytes(dtype));
  convert_elements(bytes.data(), dtype, contents->values.data(), DType::f64, contents->values.size());
  return from_host(context, bytes, operand.shape, dtype, stream);
}

std::vector<Expected> run_reference_kernel(const UserKernel& kernel, const Problem& problem,
                                           std::span<const HostTensor> inputs) {
  const ReferenceKernel& reference = *kernel.head().reference_kernel;
  GPUFORGE_CHECK(kernel.options().reference_context != nullptr,
                 "{}: there is no device to run its reference kernel on", kernel.name());
  const std::shared_ptr<Context> context = kernel.options().reference_context();
  const auto stream = context->make_stream();
  const std::vector<Operand> operands = kernel.operands(problem);
  const DType element = reference.same_dtype ? problem.dtype : DType::f64;
  std::vector<Array> arrays;
  std::size_t input = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType dtype = kernel.head().operands[i].dtype.value_or(element);
    const HostTensor* const contents = operands[i].role == Role::output ? nullptr : &inputs[input++];
    arrays.push_back(upload(context, operands[i], dtype, contents, *stream));
  }
  const Config config = kernel.choose(problem, context->device().facts(), {}).config;
  kernel.run(*context, reference.launch, problem, config, arrays, *stream);
  stream->synchronize();
  std::vector<Expected> results;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == Role::input) continue;
    Bytes bytes(arrays[i].bytes());
    arrays[i].to_host(bytes, *stream);
    Expected expected;
    expected.values.resize(static_cast<std::size_t>(arrays[i].size()));
    convert_elements(expected.values.data(), DType::f64, bytes.data(), arrays[i].dtype(),
                     expected.values.size());
    results.push_back(std::move(expected));
  }
  return results;
}

}  // namespace

std::vector<Expected> reference_of(const UserKernel& kernel, const Problem& problem,
                                   std::span<const HostTensor> inputs, const EachRow& each_row) {
  const KernelHead& head = kernel.head();
  if (head.op) return head.op->reference(problem, inputs, each_row);
  if (head.python) return python_reference(kernel, problem, inputs);
  try {
    return run_reference_kernel(kernel, problem, inputs);
  } catch (const Error& error) {
    throw Error(
        error.code(),
        format_text("the reference kernel of {}: {}", head.reference_kernel->launch.where, error.message()),
        error.detail(), error.where());
  }
}

}  // namespace gpuforge::lab
