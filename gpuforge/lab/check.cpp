#include "gpuforge/lab/check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/contents.h"

namespace gpuforge::lab {
namespace {

using Bytes = std::vector<std::byte>;

// Two patterns, so that a result that happens to be one of them is not taken for an element never written:
// NaNs in every floating dtype, and a finite number.
constexpr std::uint8_t kPoisons[] = {0xff, 0x53};

Shape reversed(Shape shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

// Memory with more than the operand in it where the placement asks for that, and the view that is the
// operand.
struct Placed {
  Array storage;
  Array view;
};

Placed place(const std::shared_ptr<Context>& context, const Operand& operand, Placement placement,
             device::Stream& stream) {
  const std::int64_t last = static_cast<std::int64_t>(operand.shape.size()) - 1;
  Shape shape = operand.shape;
  if (placement == Placement::transposed) shape = reversed(shape);
  if (last >= 0 && placement == Placement::spread) shape[shape.size() - 1] *= 2;
  if (last >= 0 && placement == Placement::shifted) shape[shape.size() - 1] += 1;
  Array storage = empty(context, shape, operand.dtype, stream);
  Array view = storage;
  if (placement == Placement::transposed) view = storage.transpose();
  if (last >= 0 && placement == Placement::spread)
    view = storage.slice(last, {.start = 0, .stop = {}, .step = 2});
  if (last >= 0 && placement == Placement::shifted)
    view = storage.slice(last, {.start = 1, .stop = {}, .step = 1});
  return {std::move(storage), std::move(view)};
}

Bytes host_bytes(const Array& array, device::Stream& stream) {
  Bytes bytes(array.bytes());
  array.to_host(bytes, stream);
  return bytes;
}

void poison(const Array& storage, std::uint8_t pattern, device::Stream& stream) {
  if (storage.size() > 0) stream.fill(storage.address(), pattern, 1, storage.bytes());
}

Bytes stored(const HostTensor& tensor, DType dtype) {
  Bytes bytes(tensor.values.size() * element_bytes(dtype));
  convert_elements(bytes.data(), dtype, tensor.values.data(), DType::f64, tensor.values.size());
  return bytes;
}

bool holds_only(std::span<const std::byte> element, std::uint8_t pattern) {
  return std::all_of(element.begin(), element.end(),
                     [&](std::byte byte) { return byte == std::byte{pattern}; });
}

// Elements that still hold the poison of each run.
std::size_t count_unwritten(std::span<const Bytes> runs, std::size_t element) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < runs[0].size(); at += element) {
    bool untouched = true;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      untouched = untouched && holds_only(std::span(runs[run]).subspan(at, element), kPoisons[run]);
    }
    count += untouched;
  }
  return count;
}

}  // namespace

std::string_view name(Placement placement) {
  switch (placement) {
    case Placement::contiguous:
      return "contiguous";
    case Placement::transposed:
      return "transposed";
    case Placement::spread:
      return "spread";
    case Placement::shifted:
      return "shifted";
  }
  throw Error(ErrorCode::internal, "lab: not a value of the placement enumeration");
}

bool CheckReport::good() const {
  return faults.empty() && std::all_of(outputs.begin(), outputs.end(),
                                       [](const OutputReport& output) { return output.comparison.good(); });
}

CheckReport check(const Op& op, const CheckCase& which, const std::shared_ptr<Context>& context) {
  const auto stream = context->make_stream();
  const std::vector<Operand> operands = op.operands(which.problem);
  std::vector<Placed> placed;
  std::vector<Array> arrays;
  std::vector<HostTensor> inputs;
  std::vector<Bytes> originals(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    placed.push_back(place(context, operands[i], which.placement, *stream));
    arrays.push_back(placed.back().view);
    if (operands[i].role == Role::output) continue;
    inputs.push_back(make_input(operands[i], which.contents, which.seed));
    originals[i] = stored(inputs.back(), operands[i].dtype);
  }
  const std::vector<Expected> expected = op.reference(which.problem, inputs);

  CheckReport report;
  std::vector<std::vector<Bytes>> results(operands.size());
  for (const std::uint8_t pattern : kPoisons) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      poison(placed[i].storage, pattern, *stream);
      if (operands[i].role == Role::output) continue;
      arrays[i].assign(from_host(context, originals[i], operands[i].shape, operands[i].dtype, *stream),
                       *stream);
    }
    op.run({.problem = which.problem,
            .variant = which.variant,
            .config = which.config ? &*which.config : nullptr,
            .operands = arrays,
            .stream = *stream});
    stream->synchronize();
    for (std::size_t i = 0; i < operands.size(); ++i) results[i].push_back(host_bytes(arrays[i], *stream));
  }

  std::size_t output = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.role == Role::input) {
      if (results[i][0] != originals[i] || results[i][1] != originals[i]) {
        report.faults.push_back(format_text("input {} was changed", operand.name));
      }
      continue;
    }
    const std::size_t unwritten =
        operand.role == Role::output ? count_unwritten(results[i], element_bytes(operand.dtype)) : 0;
    if (unwritten > 0) {
      report.faults.push_back(format_text("{} of {} elements of {} were never written", unwritten,
                                          element_count(operand.shape), operand.name));
    } else if (op.deterministic && results[i][0] != results[i][1]) {
      report.faults.push_back(format_text("{} differs between two runs on the same input", operand.name));
    }
    report.outputs.push_back(
        {operand.name, operand.shape,
         compare(expected[output], results[i][0], operand.dtype, op.tolerance(which.problem, output))});
    ++output;
  }
  return report;
}

}  // namespace gpuforge::lab
