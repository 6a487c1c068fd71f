#include "gpuforge/ops/elementwise/elementwise.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/elementwise/host_functions.h"

namespace gpuforge::ops {
namespace {

constexpr std::size_t kMostOperands = 3;  // the arity of any function in the table

struct IntegerRange {
  std::int64_t lowest, highest;
};
IntegerRange integers_of(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DType::i16:
      return {-32768, 32767};
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

bool is_integer_number(const OperandType& operand) {
  return !operand.dtype && operand.kind == ScalarKind::integer;
}

bool holds(DType dtype, const OperandType& operand) {
  if (!is_integer(dtype) || !is_integer_number(operand)) return true;
  const IntegerRange range = integers_of(dtype);
  return operand.integer >= range.lowest && operand.integer <= range.highest;
}

DType promoted(std::span<const OperandType> operands) {
  std::array<DType, kMostOperands> arrays;
  std::array<ScalarKind, kMostOperands> numbers;
  std::size_t array_count = 0, number_count = 0;
  for (const OperandType& operand : operands) {
    if (operand.dtype) {
      arrays[array_count++] = *operand.dtype;
    } else {
      numbers[number_count++] = operand.kind;
    }
  }
  return promote(std::span(arrays).first(array_count), std::span(numbers).first(number_count));
}

void refuse(const Function& function, std::string_view taken, DType found) {
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: {} were expected; found {}", function.name, taken, name(found)));
}

void check_arity(const Function& function, std::size_t found) {
  GPUFORGE_CHECK(found == static_cast<std::size_t>(function.arity), "{}: {} operands were expected; found {}",
                 function.name, function.arity, found);
}

const Array* first_array(std::span<const Operand> operands, const ApplyOptions& options) {
  for (const Operand& operand : operands) {
    if (const Array* const array = std::get_if<Array>(&operand)) return array;
  }
  return options.out;
}

}  // namespace

OperandType type_of(const Operand& operand) {
  if (const Array* const array = std::get_if<Array>(&operand)) return {.dtype = array->dtype()};
  if (std::holds_alternative<bool>(operand)) return {.dtype = {}, .kind = ScalarKind::boolean};
  if (std::holds_alternative<double>(operand)) return {.dtype = {}, .kind = ScalarKind::floating};
  return {.dtype = {}, .kind = ScalarKind::integer, .integer = std::get<std::int64_t>(operand)};
}

Resolution resolve(const Function& function, std::span<const OperandType> operands) {
  check_arity(function, operands.size());
  Resolution how{.function = &function};
  const auto counted = function.rule == Rule::choice ? operands.subspan(1) : operands;
  how.operation = promoted(counted);
  how.result = how.operation;
  switch (function.rule) {
    case Rule::number:
      break;
    case Rule::signed_only:
      if (how.operation == DType::boolean) refuse(function, "numbers", DType::boolean);
      break;
    case Rule::not_bool:
      if (how.operation == DType::boolean) how.operation = how.result = DType::i8;
      break;
    case Rule::floating:
      how.operation = how.result = floating_for(how.operation);
      break;
    case Rule::division:
      if (!is_floating(how.operation)) how.operation = how.result = DType::f64;
      break;
    case Rule::comparison:
      how.result = DType::boolean;
      for (const OperandType& operand : operands) {
        if (!holds(how.operation, operand)) how.operation = DType::i64;
      }
      break;
    case Rule::question:
      how.result = DType::boolean;
      break;
    case Rule::logical:
      how.operation = how.result = DType::boolean;
      how.truth.fill(true);
      break;
    case Rule::bits:
      if (is_floating(how.operation)) refuse(function, "integers or bools", how.operation);
      if (how.operation == DType::boolean && function.arity == 1) {
        how.function = &find_function("logical_not");
        how.truth[0] = true;
      }
      break;
    case Rule::choice:
      how.truth[0] = true;
      break;
  }
  for (const OperandType& operand : counted) {
    GPUFORGE_CHECK(how.truth[1] || holds(how.operation, operand),
                   "{}: the number {} does not fit {}, the dtype of the array it meets", function.name,
                   operand.integer, name(how.operation));
  }
  GPUFORGE_CHECK(!(function.name == "pow" && is_integer(how.operation) && is_integer_number(operands[1]) &&
                   operands[1].integer < 0),
                 "pow: integers to the power of {}, a negative integer, are no integers; make them floats",
                 operands[1].integer);
  return how;
}

ConstantBits constant_bits(const Operand& number, DType operation, bool truth) {
  double real = 0;
  std::int64_t whole = 0;
  const bool is_real = std::holds_alternative<double>(number);
  if (is_real) {
    real = std::get<double>(number);
  } else if (const bool* const flag = std::get_if<bool>(&number)) {
    whole = *flag;
  } else {
    whole = std::get<std::int64_t>(number);
  }
  ConstantBits result{truth ? DType::i32 : compute_dtype(operation), 0};
  if (truth) {
    result.bits = is_real ? real != 0 : whole != 0;
    return result;
  }
  std::uint64_t element = 0;
  if (is_real) {
    store_double(&element, operation, real);
  } else {
    store_int64(&element, operation, whole);
  }
  convert_elements(&result.bits, result.compute, &element, operation, 1);
  return result;
}

Shape broadcast_operands(std::string_view who, std::span<const Operand> operands, const Array* out) {
  Shape shape;
  const Array* first = nullptr;
  for (const Operand& operand : operands) {
    const Array* const array = std::get_if<Array>(&operand);
    if (array == nullptr) continue;
    if (first == nullptr) first = array;
    GPUFORGE_CHECK(&array->device() == &first->device(),
                   "{}: one operand is on {}, another on {}; bring one over through the host", who,
                   first->device().facts().name, array->device().facts().name);
    shape = broadcast_shapes(shape, array->shape());
  }
  if (out != nullptr && first != nullptr) {
    GPUFORGE_CHECK(&out->device() == &first->device(), "{}: out is on {}, the operands are on {}", who,
                   out->device().facts().name, first->device().facts().name);
  }
  return shape;
}

void check_out(std::string_view who, const Array& out, const Shape& shape, DType result) {
  GPUFORGE_CHECK(out.shape() == shape, "{}: out must have shape {}; found {}", who, to_string(shape),
                 to_string(out.shape()));
  GPUFORGE_CHECK(can_cast_same_kind(result, out.dtype()),
                 "{}: the result is {}, which out's {} cannot take without losing its kind", who,
                 name(result), name(out.dtype()));
  GPUFORGE_CHECK(!may_overlap_itself(out.shape(), out.strides()),
                 "{}: two elements of out are one place in memory (strides {})", who,
                 to_string(out.strides()));
}

bool overlaps_otherwise(const Array& out, const Array& input) {
  if (!out.shares_storage_with(input)) return false;
  if (out.dtype() == input.dtype() && out.address() == input.address()) {
    bool same = true;
    for (std::size_t d = 0; d < out.rank(); ++d) {
      same = same && (out.shape()[d] == 1 || out.strides()[d] == input.strides()[d]);
    }
    if (same) return false;
  }
  const auto lies = [](const Array& view) {
    const OffsetRange range = offset_range(view.shape(), view.strides());
    const auto bytes = static_cast<std::int64_t>(element_bytes(view.dtype()));
    const auto base = static_cast<std::int64_t>(view.address());
    return std::pair(base + range.lowest * bytes, base + (range.highest + 1) * bytes);
  };
  const auto [out_begin, out_end] = lies(out);
  const auto [in_begin, in_end] = lies(input);
  return out_begin < in_end && in_begin < out_end;
}

std::shared_ptr<const jit::Kernel> elementwise_kernel(Context& context, const Resolution& how,
                                                      const ElementWalk& walk,
                                                      std::span<const KernelInput> inputs,
                                                      const ElementwisePlan& plan) {
  return context.jit().embedded_kernel(elementwise_kernel_id(&how, walk, inputs, plan), context.device());
}

Array apply(const Function& function, std::span<const Operand> operands, const ApplyOptions& options,
            device::Stream& stream) {
  check_arity(function, operands.size());
  std::array<OperandType, kMostOperands> types;
  std::transform(operands.begin(), operands.end(), types.begin(), type_of);
  const Resolution how = resolve(function, std::span(types).first(operands.size()));
  const Array* const like = first_array(operands, options);
  GPUFORGE_CHECK(like != nullptr, "{}: an array among the operands, or out, was expected", function.name);
  GPUFORGE_CHECK(&like->device() == &stream.device(), "{}: the operands are on {}, the stream is of {}",
                 function.name, like->device().facts().name, stream.device().facts().name);
  const Shape shape = broadcast_operands(function.name, operands, options.out);
  if (options.out != nullptr) check_out(function.name, *options.out, shape, how.result);

  std::vector<Array> arrays;  // the output, then the inputs that are arrays
  arrays.reserve(1 + operands.size());
  std::vector<KernelInput> inputs;
  inputs.reserve(operands.size());
  bool direct = options.out != nullptr && options.out->dtype() == how.result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    KernelInput& input = inputs.emplace_back();
    if (const Array* const array = std::get_if<Array>(&operands[i])) {
      if (arrays.empty()) arrays.push_back(*array);  // its place is taken below
      arrays.push_back(array->broadcast_to(shape));
      input.array = arrays.size() - 1;
      direct = direct && !overlaps_otherwise(*options.out, arrays.back());
    } else {
      input.constant = true;
      input.bits = constant_bits(operands[i], how.operation, how.truth[i]);
    }
  }
  const Array out =
      direct ? *options.out : empty(like->context().shared_from_this(), shape, how.result, stream);
  if (arrays.empty()) {
    arrays.push_back(out);
  } else {
    arrays[0] = out;
  }
  const device::DeviceFacts& facts = like->device().facts();
  const ElementwiseConfig config =
      options.config != nullptr
          ? elementwise_config(options.variant, *options.config)
          : choose_elementwise(out.size(), how.result, options.variant, facts, like->context().tuning())
                .config;
  if (out.size() > 0) {
    std::vector<memory::Hold> uses;
    uses.reserve(arrays.size());
    for (const Array& array : arrays) uses.push_back(array.record_use(stream));
    const ElementWalk walk = make_element_walk(arrays);
    if (facts.kind == device::DeviceKind::cpu) {
      Program program;
      Step step{how, {}};
      for (const KernelInput& input : inputs) {
        if (input.constant) {
          step.sources.push_back({Source::Kind::constant, program.constants.size()});
          program.constants.push_back(input.bits);
        } else {
          step.sources.push_back({Source::Kind::input, program.inputs.size()});
          program.inputs.push_back(walk.arrays[input.array].dtype);
        }
      }
      program.steps.push_back(std::move(step));
      stream.enqueue([program, walk, arrays] { run_on_host(program, walk); });
    } else {
      const ElementwisePlan plan = plan_elementwise(walk, config);
      launch_elementwise(*elementwise_kernel(like->context(), how, walk, inputs, plan), walk, inputs, plan,
                         stream);
    }
  }
  if (options.out == nullptr || direct) return out;
  Array given = *options.out;
  given.assign(out, stream);
  return given;
}

Array apply(std::string_view function, std::span<const Operand> operands, const ApplyOptions& options,
            device::Stream& stream) {
  return apply(find_function(function), operands, options, stream);
}

}  // namespace gpuforge::ops
