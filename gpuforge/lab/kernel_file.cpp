#include "gpuforge/lab/kernel_file.h"

#include <algorithm>

#include "gpuforge/base/file.h"
#include "gpuforge/lab/user_kernel.h"

namespace gpuforge::lab {
namespace {

namespace fs = std::filesystem;

// What `check` goes through when the head names no shapes: small, odd, long, and round ones for kernels that
// require them.
std::vector<Shape> usual_shapes(std::size_t rank) {
  if (rank == 1) return {{1}, {31}, {257}, {1000}, {4096}, {65536}, {65537}};
  if (rank == 2) return {{1, 1}, {3, 5}, {33, 31}, {1, 1025}, {257, 7}, {16, 64}, {64, 128}, {128, 1024}};
  std::vector<Shape> shapes;
  for (const Shape& last :
       {Shape{1, 1, 1}, Shape{2, 3, 5}, Shape{7, 17, 33}, Shape{4, 32, 64}, Shape{2, 64, 256}}) {
    Shape shape = Shape::filled(rank - 3, 2);
    for (const std::int64_t extent : last) shape.push_back(extent);
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<Problem> check_problems(const UserKernel& kernel) {
  const KernelHead& head = kernel.head();
  std::vector<Problem> candidates;
  if (!head.check_shapes.empty()) {
    for (const Shape& shape : head.check_shapes)
      candidates.push_back({.shape = shape, .options = head.options});
  } else if (head.op) {
    for (const Problem& problem : head.op->check_problems) {
      const Problem whole = complete(*head.op, {problem.shape, head.op->dtypes.front(), problem.options});
      if (problem.shape.size() == head.symbols.size() && whole.options == head.options)
        candidates.push_back({.shape = problem.shape, .options = head.options});
    }
  } else {
    for (const Shape& shape : usual_shapes(head.symbols.size())) candidates.push_back({.shape = shape});
  }
  std::vector<Problem> problems;
  std::string why;
  for (Problem& problem : candidates) {
    try {
      for (const DType dtype : head.dtypes) {
        problem.dtype = dtype;
        kernel.operands(problem);
        kernel.choose(problem, device::DeviceFacts{}, {});
      }
      problems.push_back(problem);
    } catch (const Error& error) {
      // Shapes the head asks for itself must be possible.
      if (error.code() != ErrorCode::invalid_argument) throw;
      if (!head.check_shapes.empty())
        throw Error(ErrorCode::parse,
                    format_text("{} (check_shapes has {})", error.message(), shape_text(problem.shape)));
      why = error.message();
    }
  }
  if (problems.empty()) {
    throw Error(ErrorCode::parse,
                format_text("{}: the kernel takes none of the usual shapes: list some in `check_shapes`{}",
                            head.where, why.empty() ? why : format_text(" ({})", why)));
  }
  return problems;
}

Tolerance usual_tolerance(DType dtype) {
  const std::string reason = format_text("usual for {}", name(dtype));
  switch (dtype) {
    case DType::f64:
      return {.relative = 1e-12, .absolute = 1e-14, .reason = reason};
    case DType::f32:
      return {.relative = 1e-5, .absolute = 1e-6, .reason = reason};
    case DType::f16:
      return {.relative = 2e-3, .absolute = 1e-4, .reason = reason};
    case DType::bf16:
      return {.relative = 1.6e-2, .absolute = 1e-3, .reason = reason};
    case DType::f8e4m3:
      return {.relative = 0.13, .absolute = 0.02, .reason = reason};
    case DType::f8e5m2:
      return {.relative = 0.26, .absolute = 0.02, .reason = reason};
    default:
      return {.reason = "whole numbers are exact"};
  }
}

Tolerance tolerance_of(const UserKernel& kernel, const Problem& problem, std::size_t output) {
  const KernelHead& head = kernel.head();
  const auto own = head.tolerances.find(problem.dtype);
  if (own != head.tolerances.end()) return own->second;
  if (head.tolerance) return *head.tolerance;
  if (head.op) return head.op->tolerance(problem, output);
  for (const Operand& operand : kernel.operands(problem)) {
    if (operand.role != Role::input && output-- == 0) return usual_tolerance(operand.dtype);
  }
  throw Error(ErrorCode::internal, "kernel file: there is no such output");
}

Cost cost_of(const UserKernel& kernel, const Problem& problem) {
  const KernelHead& head = kernel.head();
  Cost cost;
  if (head.op) {
    cost = head.op->cost(problem);
  } else {
    for (const Operand& operand : kernel.operands(problem)) {
      const double bytes = static_cast<double>(element_count(operand.shape)) *
                           static_cast<double>(element_bytes(operand.dtype));
      if (operand.role != Role::output) cost.bytes_read += bytes;
      if (operand.role != Role::input) cost.bytes_written += bytes;
    }
  }
  const NameValues values = kernel.values(problem, nullptr);
  if (head.cost.read) cost.bytes_read = head.cost.read->number(values);
  if (head.cost.written) cost.bytes_written = head.cost.written->number(values);
  if (head.cost.flops) cost.flops = head.cost.flops->number(values);
  return cost;
}

// The options of the built-in op, each with the one value the kernel is written for.
std::vector<OptionDescription> fixed_options(const KernelHead& head) {
  std::vector<OptionDescription> options;
  if (!head.op) return options;
  for (OptionDescription option : head.op->options) {
    option.fallback = head.options.at(option.name);
    option.values = {option.fallback};
    options.push_back(std::move(option));
  }
  return options;
}

Op make_op(std::shared_ptr<const UserKernel> kernel, const fs::path& named) {
  const KernelHead& head = kernel->head();
  Op op;
  op.name = kernel->file().stem().string();
  op.file = named;
  op.summary = !head.summary.empty() ? head.summary
               : head.op             ? format_text("{}, by {}", head.op->summary, kernel->name())
                                     : format_text("a kernel of {}", kernel->name());
  op.variants = {{"kernel", head.launch.kernel}};
  op.dtypes = head.dtypes;
  op.options = fixed_options(head);
  op.hard_contents = head.contents ? *head.contents
                     : head.op     ? head.op->hard_contents
                                   : std::vector{Contents::zeros, Contents::constant};
  std::erase(op.hard_contents, Contents::normal);
  op.check_problems = check_problems(*kernel);
  op.deterministic = head.deterministic.value_or(true);
  op.operands = [kernel](const Problem& problem) { return kernel->operands(problem); };
  op.reference = [kernel](const Problem& problem, std::span<const HostTensor> inputs,
                          const EachRow& each_row) {
    return reference_of(*kernel, problem, inputs, each_row);
  };
  op.tolerance = [kernel](const Problem& problem, std::size_t output) {
    return tolerance_of(*kernel, problem, output);
  };
  op.cost = [kernel](const Problem& problem) { return cost_of(*kernel, problem); };
  const auto config_of = [kernel](Context& context, const Problem& problem, const Config* config) {
    return config != nullptr ? kernel->checked_config(problem, *config)
                             : kernel->choose(problem, context.device().facts(), context.tuning()).config;
  };
  op.run = [kernel, config_of](const Call& call) {
    GPUFORGE_CHECK(!call.operands.empty(), "{}: no operands were given", kernel->name());
    Context& context = call.operands[0].context();
    kernel->run(context, kernel->head().launch, call.problem, config_of(context, call.problem, call.config),
                call.operands, call.stream);
  };
  op.kernels = [kernel, config_of](Context& context, const Problem& problem, std::string_view,
                                   const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    if (context.device().facts().kind == device::DeviceKind::cpu) return {};
    return {kernel->kernel(context, kernel->head().launch, problem, config_of(context, problem, config))};
  };
  op.choose = [kernel](const Problem& problem, std::string_view, const device::DeviceFacts& facts,
                       const TuningTable& table) { return kernel->choose(problem, facts, table); };
  op.configs = [kernel](const Problem& problem, std::string_view, const device::DeviceFacts& facts) {
    return kernel->configs(problem, facts);
  };
  op.tuning_key = [kernel](const Problem& problem, std::string_view) { return kernel->tuning_key(problem); };
  return op;
}

std::string text_of(const fs::path& path) {
  std::string text = read_file(path);
  GPUFORGE_CHECK(text.find('\0') == std::string::npos, "{}: expected text; found bytes of zero",
                 path.string());
  return text;
}

// The keys may stand below `gpuforge:` in a file of their own too.
Yaml head_of_yaml(const fs::path& path) {
  Yaml yaml = Yaml::parse(text_of(path), path.string());
  if (yaml.is_map() && yaml.map().size() == 1 && yaml.map()[0].first.text() == "gpuforge") {
    const Yaml inner = yaml.map()[0].second;
    return inner;
  }
  return yaml;
}

}  // namespace

bool names_kernel_file(std::string_view argument) {
  for (const std::string_view end : {".cu", ".ptx", ".yaml", ".yml"}) {
    if (argument.ends_with(end)) return true;
  }
  return argument.find('/') != std::string_view::npos;
}

Op read_kernel_file(const fs::path& path, const KernelFileOptions& options) {
  const std::string extension = path.extension().string();
  GPUFORGE_CHECK(extension == ".cu" || extension == ".ptx" || extension == ".yaml" || extension == ".yml",
                 "{}: a kernel file is FILE.cu, FILE.ptx or FILE.yaml", path.string());
  if (extension == ".cu") {
    const std::string text = text_of(path);
    const HeadText found = find_head(text, path.string());
    KernelHead head = parse_head(Yaml::parse(found.yaml, path.string(), found.first_line), options.find_op);
    if (!head.file.empty())
      throw Error(ErrorCode::parse,
                  format_text("{}: `file` is for a head in a YAML file of its own", head.where));
    return make_op(std::make_shared<const UserKernel>(std::move(head), path, text, options), path);
  }
  fs::path yaml = path;
  fs::path source = path;
  if (extension == ".ptx") {
    yaml.replace_extension(".yaml");
    std::error_code failed;
    if (!fs::exists(yaml, failed)) {
      throw Error(ErrorCode::io, format_text("{}: its head is missing: expected {} beside it", path.string(),
                                             yaml.filename().string()));
    }
  } else {
    source.replace_extension(".ptx");
  }
  KernelHead head = parse_head(head_of_yaml(yaml), options.find_op);
  if (!head.file.empty()) source = yaml.parent_path() / head.file;
  if (source.extension() == ".ptx" && head.dtypes.size() != 1) {
    throw Error(ErrorCode::parse,
                format_text("{}: expected `dtypes:` with the one dtype that {} was compiled for", head.where,
                            source.filename().string()));
  }
  return make_op(std::make_shared<const UserKernel>(std::move(head), source, text_of(source), options), path);
}

}  // namespace gpuforge::lab
