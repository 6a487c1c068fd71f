#include "gpuforge/ops/elementwise/fuse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "gpuforge/kernels/device_type.h"
#include "gpuforge/ops/elementwise/elementwise_kernels.h"
#include "gpuforge/ops/elementwise/host_functions.h"

namespace gpuforge::ops {

struct Expression::Node {
  enum class Kind : std::uint8_t { argument, number, call } kind = Kind::argument;
  std::size_t argument = 0;
  std::variant<bool, std::int64_t, double> number = false;
  const Function* function = nullptr;
  std::vector<Expression> operands;
  int depth = 0;
};

namespace {

using Node = Expression::Node;
constexpr int kMostDepth = 500;
constexpr std::size_t kMostArguments = 16;
constexpr std::size_t kMostInputs = 28;  // of a kernel, whose parameters have 4 KB

Operand as_operand(const std::variant<bool, std::int64_t, double>& number) {
  return std::visit([](auto value) { return Operand(value); }, number);
}

// Calls f once for every node, operands first.
void for_each_node(const Node& node, std::map<const Node*, bool>& seen, const auto& f) {
  if (seen[&node]) return;
  seen[&node] = true;
  for (const Expression& operand : node.operands) for_each_node(operand.node(), seen, f);
  f(node);
}

// An expression for arguments of known types: the steps, and where their numbers come from.
struct Lowered {
  Program program;
  std::vector<std::size_t> input_arguments;  // the argument that is input i
  struct Number {
    bool given = false;  // with the call; else written in the expression
    std::size_t argument = 0;
    DType operation = DType::f32;
    bool truth = false;
  };
  std::vector<Number> numbers;  // of the program's constants
};

class Lowering {
 public:
  explicit Lowering(std::span<const OperandType> arguments) : arguments_(arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      places_.push_back(lowered_.program.inputs.size());
      if (!arguments[i].dtype) continue;
      lowered_.program.inputs.push_back(*arguments[i].dtype);
      lowered_.input_arguments.push_back(i);
    }
  }

  Lowered lower(const Expression& result) {
    std::map<const Node*, bool> seen;
    for_each_node(result.node(), seen, [&](const Node& node) {
      if (node.kind == Node::Kind::call) add_step(node);
    });
    return std::move(lowered_);
  }

 private:
  OperandType type(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::argument:
        return arguments_[node.argument];
      case Node::Kind::number:
        return type_of(as_operand(node.number));
      case Node::Kind::call:
        return {.dtype = lowered_.program.steps[steps_.at(&node)].how.result};
    }
    throw Error(ErrorCode::internal, "fuse: not a value of the node enumeration");
  }

  void add_step(const Node& node) {
    std::vector<OperandType> types;
    for (const Expression& operand : node.operands) types.push_back(type(operand.node()));
    Step step{resolve(*node.function, types), {}};
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      step.sources.push_back(source(node.operands[k].node(), step.how, k));
    }
    steps_[&node] = lowered_.program.steps.size();
    lowered_.program.steps.push_back(std::move(step));
  }

  Source source(const Node& node, const Resolution& how, std::size_t place) {
    if (node.kind == Node::Kind::call) return {Source::Kind::step, steps_.at(&node)};
    const bool given = node.kind == Node::Kind::argument;
    if (given && arguments_[node.argument].dtype) return {Source::Kind::input, places_[node.argument]};
    const bool truth = how.truth[place];
    // A number that was given is an input of the kernel, once for each dtype it takes.
    for (std::size_t i = 0; given && i < lowered_.numbers.size(); ++i) {
      const Lowered::Number& known = lowered_.numbers[i];
      if (known.given && known.argument == node.argument && known.operation == how.operation &&
          known.truth == truth)
        return {Source::Kind::constant, i};
    }
    lowered_.numbers.push_back({given, node.argument, how.operation, truth});
    ConstantBits bits{truth ? DType::i32 : compute_dtype(how.operation), 0};
    if (!given) bits = constant_bits(as_operand(node.number), how.operation, truth);
    lowered_.program.constants.push_back(bits);
    return {Source::Kind::constant, lowered_.program.constants.size() - 1};
  }

  std::span<const OperandType> arguments_;
  std::vector<std::size_t> places_;  // of each argument among the inputs
  std::map<const Node*, std::size_t> steps_;
  Lowered lowered_;
};

std::string literal(const ConstantBits& constant) {
  const auto low = static_cast<std::uint32_t>(constant.bits);
  switch (constant.compute) {
    case DType::f32: {
      const auto value = std::bit_cast<float>(low);
      if (!std::isfinite(value)) return format_text("narrow::float_of({:#x}u)", low);
      return format_text("{:#}f", value);
    }
    case DType::f64: {
      const auto value = std::bit_cast<double>(constant.bits);
      if (!std::isfinite(value)) return format_text("__longlong_as_double({:#x}ll)", constant.bits);
      return format_text("{:#}", value);
    }
    case DType::i64:
      return format_text("static_cast<long long>({}ull)", constant.bits);
    default:
      return format_text("static_cast<int>({}u)", low);
  }
}

bool is_truth(const Resolution& how) {
  switch (how.function->rule) {
    case Rule::comparison:
    case Rule::question:
    case Rule::logical:
      return true;
    default:
      return false;
  }
}

// The numbers given with the call are the kernel's inputs after the arrays.
std::vector<std::size_t> given_numbers(const Lowered& lowered) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < lowered.numbers.size(); ++i) {
    if (lowered.numbers[i].given) list.push_back(i);
  }
  return list;
}

std::string kernel_text(const Lowered& lowered) {
  const Program& program = lowered.program;
  const std::vector<std::size_t> given = given_numbers(lowered);
  std::string text =
      "#include \"gpuforge/ops/elementwise/elementwise.cuh\"\n\nnamespace gpuforge {\n\nstruct Fused {\n"
      "  template <typename Lanes>\n  __device__ static auto of(const Lanes& lanes, int lane) {\n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    text += format_text("    const {} x{} = lanes.template get<{}>(lane);\n",
                        device_type(compute_dtype(program.inputs[i])), lowered.input_arguments[i], i);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    text +=
        format_text("    const {} n{} = lanes.template get<{}>(lane);\n",
                    device_type(program.constants[given[i]].compute), given[i], program.inputs.size() + i);
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const DType compute = compute_dtype(step.how.operation);
    std::string arguments;
    for (std::size_t k = 0; k < step.sources.size(); ++k) {
      const Source& source = step.sources[k];
      std::string operand;
      DType held = compute;
      if (source.kind == Source::Kind::input) {
        operand = format_text("x{}", lowered.input_arguments[source.index]);
        held = compute_dtype(program.inputs[source.index]);
      } else if (source.kind == Source::Kind::step) {
        operand = format_text("t{}", source.index);
        held = compute_dtype(program.steps[source.index].how.result);
      } else {
        operand = lowered.numbers[source.index].given ? format_text("n{}", source.index)
                                                      : literal(program.constants[source.index]);
      }
      const bool constant = source.kind == Source::Kind::constant;
      if (step.how.truth[k] && !constant) {
        operand = format_text("Given<Truth>::as({})", operand);
      } else if (held != compute && !constant) {
        operand = format_text("static_cast<{}>({})", device_type(compute), operand);
      }
      arguments += (k > 0 ? ", " : "") + operand;
    }
    const DType result = step.how.result;
    std::string value = format_text("fn::{}::of({})", step.how.function->name, arguments);
    if (!is_floating(result) && compute_dtype(result) != result && !is_truth(step.how)) {
      value = format_text("number(store_as<{}>({}))", device_type(result), value);
    }
    text += format_text("    const {} t{} = {};\n", device_type(compute_dtype(result)), s, value);
  }
  return text +
         format_text("    return t{};\n  }}\n}};\n\n}}  // namespace gpuforge\n", program.steps.size() - 1);
}

}  // namespace

Expression Expression::argument(std::size_t index) {
  return Expression(std::make_shared<const Node>(Node{.kind = Node::Kind::argument, .argument = index}));
}
Expression::Expression(bool number)
    : node_(std::make_shared<const Node>(Node{.kind = Node::Kind::number, .number = number})) {}
Expression::Expression(std::int64_t number)
    : node_(std::make_shared<const Node>(Node{.kind = Node::Kind::number, .number = number})) {}
Expression::Expression(double number)
    : node_(std::make_shared<const Node>(Node{.kind = Node::Kind::number, .number = number})) {}

std::string Expression::text() const {
  switch (node_->kind) {
    case Node::Kind::argument:
      return format_text("x{}", node_->argument);
    case Node::Kind::number:
      return std::visit([](auto value) { return format_text("{}", value); }, node_->number);
    case Node::Kind::call:
      break;
  }
  std::string text = std::string(node_->function->name) + "(";
  for (std::size_t i = 0; i < node_->operands.size(); ++i) {
    text += (i > 0 ? ", " : "") + node_->operands[i].text();
  }
  return text + ")";
}

Expression call(const Function& function, std::span<const Expression> operands) {
  GPUFORGE_CHECK(operands.size() == static_cast<std::size_t>(function.arity),
                 "{}: {} operands were expected; found {}", function.name, function.arity, operands.size());
  int depth = 1;
  for (const Expression& operand : operands) depth = std::max(depth, operand.node().depth + 1);
  GPUFORGE_CHECK(depth <= kMostDepth, "fuse: an expression of over {} calls inside of each other",
                 kMostDepth);
  return Expression(std::make_shared<const Node>(Node{.kind = Node::Kind::call,
                                                      .function = &function,
                                                      .operands = {operands.begin(), operands.end()},
                                                      .depth = depth}));
}

Expression call(std::string_view function, std::span<const Expression> operands) {
  return call(find_function(function), operands);
}

Fused::Fused(Expression result, std::size_t arguments) : result_(std::move(result)), arguments_(arguments) {
  GPUFORGE_CHECK(result_.node().kind == Node::Kind::call, "fuse: a call of a function was expected; found {}",
                 result_.text());
  GPUFORGE_CHECK(arguments <= kMostArguments, "fuse: at most {} arguments were expected; found {}",
                 kMostArguments, arguments);
  std::map<const Node*, bool> seen;
  for_each_node(result_.node(), seen, [&](const Node& node) {
    GPUFORGE_CHECK(node.kind != Node::Kind::argument || node.argument < arguments,
                   "fuse: argument {} is used, and there are {}", node.argument, arguments);
  });
}

std::string Fused::source(std::span<const OperandType> arguments) const {
  GPUFORGE_CHECK(arguments.size() == arguments_, "fuse: {} arguments were expected; found {}", arguments_,
                 arguments.size());
  return kernel_text(Lowering(arguments).lower(result_));
}

Array Fused::operator()(std::span<const Operand> arguments, const ApplyOptions& options,
                        device::Stream& stream) const {
  GPUFORGE_CHECK(arguments.size() == arguments_, "fuse: {} arguments were expected; found {}", arguments_,
                 arguments.size());
  std::vector<OperandType> types;
  for (const Operand& argument : arguments) types.push_back(type_of(argument));
  Lowered lowered = Lowering(types).lower(result_);
  for (std::size_t i = 0; i < lowered.numbers.size(); ++i) {
    const Lowered::Number& number = lowered.numbers[i];
    if (!number.given) continue;
    lowered.program.constants[i] = constant_bits(arguments[number.argument], number.operation, number.truth);
  }
  const Array* like = options.out;
  if (!lowered.input_arguments.empty()) like = &std::get<Array>(arguments[lowered.input_arguments[0]]);
  GPUFORGE_CHECK(like != nullptr, "fuse: an array among the arguments, or out, was expected");
  GPUFORGE_CHECK(&like->device() == &stream.device(), "fuse: the arguments are on {}, the stream is of {}",
                 like->device().facts().name, stream.device().facts().name);
  const Shape shape = broadcast_operands("fuse", arguments, options.out);
  const DType result = lowered.program.result();
  if (options.out != nullptr) check_out("fuse", *options.out, shape, result);

  bool direct = options.out != nullptr && options.out->dtype() == result;
  std::vector<Array> inputs;
  for (const std::size_t argument : lowered.input_arguments) {
    inputs.push_back(std::get<Array>(arguments[argument]).broadcast_to(shape));
    direct = direct && !overlaps_otherwise(*options.out, inputs.back());
  }
  Array out = direct ? *options.out : empty(like->context().shared_from_this(), shape, result, stream);
  std::vector<Array> arrays{out};
  arrays.insert(arrays.end(), inputs.begin(), inputs.end());
  if (out.size() > 0) {
    std::vector<memory::Hold> uses;
    for (const Array& array : arrays) uses.push_back(array.record_use(stream));
    const ElementWalk walk = make_element_walk(arrays);
    if (like->device().facts().kind == device::DeviceKind::cpu) {
      stream.enqueue([program = lowered.program, walk, arrays] { run_on_host(program, walk); });
    } else {
      std::vector<KernelInput> kernel_inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) kernel_inputs.push_back({.array = i + 1});
      for (const std::size_t i : given_numbers(lowered)) {
        kernel_inputs.push_back({.constant = true, .bits = lowered.program.constants[i]});
      }
      GPUFORGE_CHECK(kernel_inputs.size() <= kMostInputs,
                     "fuse: {} arrays and numbers of a dtype are more than the {} a kernel can have",
                     kernel_inputs.size(), kMostInputs);
      Context& context = like->context();
      ElementwiseConfig config = options.config != nullptr
                                     ? elementwise_config(options.variant, *options.config)
                                     : choose_elementwise(out.size(), result, options.variant,
                                                          context.device().facts(), context.tuning())
                                           .config;
      if (inputs.size() > 3) config.flight = std::min(config.flight, 2);  // registers
      const ElementwisePlan plan = plan_elementwise(walk, config);
      const std::string expression = elementwise_kernel_id(nullptr, walk, kernel_inputs, plan).expression();
      const jit::KernelSource source{
          .name = "fused.cu", .text = kernel_text(lowered), .instantiations = {expression}};
      launch_elementwise(*context.jit().kernel(source, expression, context.device()), walk, kernel_inputs,
                         plan, stream);
    }
  }
  if (options.out == nullptr || direct) return out;
  Array given = *options.out;
  given.assign(out, stream);
  return given;
}

}  // namespace gpuforge::ops
