#include "gpuforge/lab/user_kernel.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "gpuforge/base/convert.h"
#include "gpuforge/jit/pointee.h"
#include "gpuforge/kernels/device_type.h"

namespace gpuforge::lab {
namespace {

constexpr std::size_t kMostConfigs = 100'000;

// What an option's value stands for in expressions, when it is a number.
std::optional<NameValue> option_value(const std::string& text) {
  std::int64_t whole = 0;
  double number = 0;
  const char* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return whole;
  if (const auto read = std::from_chars(text.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return number;
  return std::nullopt;
}

std::string given_text(const Expression& condition, const NameValues& values) {
  std::string text;
  for (const std::string& name : condition.names()) {
    const auto found = values.find(name);
    if (found != values.end())
      text += format_text("{}{} = {}", text.empty() ? "" : ", ", name, to_string(found->second));
  }
  return text;
}

std::string type_name(DType dtype) {
  // gpuforge::bool_t is an array's; a kernel's is bool.
  return dtype == DType::boolean ? "bool" : std::string(device_type(dtype));
}

device::Dim3 dim3(const std::vector<Expression>& extents, const NameValues& values, std::string_view what) {
  device::Dim3 dim;
  std::uint32_t* const parts[] = {&dim.x, &dim.y, &dim.z};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t extent = extents[i].integer(values);
    GPUFORGE_CHECK(extent >= 0 && extent <= std::numeric_limits<std::uint32_t>::max(),
                   "{}: the {} '{}' is {}; expected 0 to 4294967295", extents[i].where(), what,
                   extents[i].text(), extent);
    *parts[i] = static_cast<std::uint32_t>(extent);
  }
  return dim;
}

// The bytes of a number as the kernel, or the head, declares it.
struct Scalar {
  std::uint64_t bits = 0;
  std::size_t bytes = 0;
  std::string_view type;
};

Scalar whole_scalar(const HeadParameter& parameter, const NameValues& values, std::size_t bytes,
                    bool any_sign, bool is_signed, std::string_view type) {
  const std::int64_t value = parameter.value->integer(values);
  const unsigned bits = static_cast<unsigned>(bytes) * 8;
  const bool fits_signed =
      bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1));
  const bool fits_unsigned = value >= 0 && (bits == 64 || value < std::int64_t{1} << bits);
  GPUFORGE_CHECK((any_sign && (fits_signed || fits_unsigned)) || (is_signed ? fits_signed : fits_unsigned),
                 "{}: the parameter '{}' is {}, which does not fit {}", parameter.value->where(),
                 parameter.name, value, type);
  return {static_cast<std::uint64_t>(value), bytes, type};
}

Scalar floating_scalar(const HeadParameter& parameter, const NameValues& values, DType dtype) {
  Scalar scalar{0, element_bytes(dtype), name(dtype)};
  store_double(&scalar.bits, dtype, parameter.value->number(values));
  return scalar;
}

Scalar typed_scalar(const HeadParameter& parameter, const NameValues& values) {
  if (const auto dtype = parse_dtype(parameter.type)) {
    if (is_floating(*dtype)) return floating_scalar(parameter, values, *dtype);
    return whole_scalar(parameter, values, element_bytes(*dtype), false,
                        *dtype != DType::u8 && *dtype != DType::boolean, name(*dtype));
  }
  const std::size_t bytes = parameter.type == "u16" ? 2 : parameter.type == "u32" ? 4 : 8;
  return whole_scalar(parameter, values, bytes, false, false, parameter.type);
}

// As the kernel declares its parameter.
Scalar scalar_like(const HeadParameter& parameter, const NameValues& values, const jit::Parameter& declared) {
  const std::string type = declared.declared_type.empty() ? declared.ptx_type : declared.declared_type;
  switch (jit::kind_of(declared)) {
    case jit::ArgumentKind::floating:
      if (declared.bytes == 4) return floating_scalar(parameter, values, DType::f32);
      if (declared.bytes == 8) return floating_scalar(parameter, values, DType::f64);
      break;
    case jit::ArgumentKind::pointer:
      throw Error(ErrorCode::invalid_argument,
                  format_text("{}: '{}' is a number, and the kernel's parameter {} is a {}",
                              parameter.value->where(), parameter.name, declared.name, type));
    default:
      if (declared.bytes == 1 || declared.bytes == 2 || declared.bytes == 4 || declared.bytes == 8) {
        const bool is_unsigned = type.starts_with("u") || type == "size_t";
        const bool any_sign = declared.declared_type.empty();
        const std::string_view shown = declared.bytes == 1   ? "8-bit integer"
                                       : declared.bytes == 2 ? "i16"
                                       : declared.bytes == 4 ? "i32"
                                                             : "i64";
        return whole_scalar(parameter, values, declared.bytes, any_sign, !is_unsigned, shown);
      }
  }
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: the kernel declares its parameter {} as {}: say the type, as in `{}: f16 = 1`",
                          parameter.value->where(), declared.name, type,
                          declared.name.empty() ? "NAME" : declared.name));
}

}  // namespace

UserKernel::UserKernel(KernelHead head, std::filesystem::path file, std::string text,
                       KernelFileOptions options)
    : head_(std::move(head)),
      file_(std::move(file)),
      name_(file_.filename().string()),
      text_(std::move(text)),
      options_(std::move(options)) {}

NameValues UserKernel::values(const Problem& problem, const Config* config) const {
  GPUFORGE_CHECK(
      problem.shape.size() == head_.symbols.size(), "{}: a shape of {} extent{} ({}) was expected; found {}",
      name_, head_.symbols.size(), head_.symbols.size() == 1 ? "" : "s",
      [&] {
        std::string list;
        for (const std::string& symbol : head_.symbols) list += (list.empty() ? "" : " x ") + symbol;
        return list;
      }(),
      shape_text(problem.shape));
  NameValues values;
  for (const auto& [option, text] : problem.options) {
    if (const auto value = option_value(text)) values[option] = *value;
  }
  for (std::size_t i = 0; i < head_.symbols.size(); ++i) values[head_.symbols[i]] = problem.shape[i];
  if (config != nullptr) {
    for (const auto& [tunable, value] : *config) values[tunable] = value;
  }
  values["sizeof(T)"] = static_cast<std::int64_t>(element_bytes(problem.dtype));
  return values;
}

void UserKernel::check_conditions(const NameValues& values, bool with_tunables) const {
  const Expression* const condition = violated(values, with_tunables);
  if (condition == nullptr) return;
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: the kernel requires {}; here {}", condition->where(), condition->text(),
                          given_text(*condition, values)));
}

// The first condition that does not hold; those on tunables are left out when these have no values yet.
const Expression* UserKernel::violated(const NameValues& values, bool with_tunables) const {
  const auto is_tunable = [&](const std::string& name) {
    return std::any_of(head_.tunables.begin(), head_.tunables.end(),
                       [&](const HeadTunable& tunable) { return tunable.name == name; });
  };
  for (const Expression& condition : head_.conditions) {
    const auto& names = condition.names();
    if (!with_tunables && std::any_of(names.begin(), names.end(), is_tunable)) continue;
    if (!condition.holds(values)) return &condition;
  }
  return nullptr;
}

std::vector<Operand> UserKernel::operands(const Problem& problem) const {
  const NameValues known = values(problem, nullptr);
  check_conditions(known, false);
  if (head_.op) return head_.op->operands(problem);
  std::vector<Operand> list;
  for (const HeadOperand& declared : head_.operands) {
    Operand operand{.name = declared.name,
                    .role = declared.role,
                    .dtype = declared.dtype.value_or(problem.dtype),
                    .centre = declared.centre};
    for (const Expression& extent : declared.shape) {
      const std::int64_t value = extent.integer(known);
      GPUFORGE_CHECK(value >= 0, "{}: the extent '{}' of {} is {}", extent.where(), extent.text(),
                     declared.name, value);
      operand.shape.push_back(value);
    }
    element_count(operand.shape);  // refuses what overflows
    list.push_back(std::move(operand));
  }
  return list;
}

Config UserKernel::checked_config(const Problem& problem, const Config& config) const {
  Config result;
  for (const HeadTunable& tunable : head_.tunables) {
    const auto given = config.find(tunable.name);
    const std::int64_t value = given == config.end() ? tunable.values.front() : given->second;
    GPUFORGE_CHECK(std::find(tunable.values.begin(), tunable.values.end(), value) != tunable.values.end(),
                   "{}: there is no configuration {}={}; the head lists other values", name_, tunable.name,
                   value);
    result[tunable.name] = value;
  }
  for (const auto& [tunable, value] : config)
    GPUFORGE_CHECK(result.contains(tunable), "{}: there is no tunable '{}' in its head", name_, tunable);
  const NameValues known = values(problem, &result);
  check_conditions(known, true);
  return result;
}

std::vector<Config> UserKernel::configs(const Problem& problem, const device::DeviceFacts& facts) const {
  std::vector<Config> list;
  if (head_.tunables.empty()) return list;
  std::size_t count = 1;
  for (const HeadTunable& tunable : head_.tunables) {
    count *= tunable.values.size();
    GPUFORGE_CHECK(count <= kMostConfigs, "{}: its tunables have more than {} configurations", name_,
                   kMostConfigs);
  }
  for (std::size_t number = 0; number < count; ++number) {
    Config config;
    std::size_t rest = number;
    for (auto tunable = head_.tunables.rbegin(); tunable != head_.tunables.rend(); ++tunable) {
      config[tunable->name] = tunable->values[rest % tunable->values.size()];
      rest /= tunable->values.size();
    }
    const NameValues known = values(problem, &config);
    if (violated(known, true) != nullptr) continue;
    const device::LaunchConfig launch = launch_config(head_.launch, known);
    const device::LaunchLimits& limits = facts.launch;
    if (launch.block.count() > limits.max_threads_per_block || launch.block.count() == 0) continue;
    if (limits.max_shared_per_block > 0 && launch.dynamic_shared_bytes > limits.max_shared_per_block)
      continue;
    list.push_back(std::move(config));
  }
  return list;
}

Choice UserKernel::choose(const Problem& problem, const device::DeviceFacts& facts,
                          const TuningTable& table) const {
  if (head_.tunables.empty()) return {checked_config(problem, {}), "the file has no tunables"};
  if (const Config* const tuned = table.find(tuning_key(problem))) {
    try {
      return {checked_config(problem, *tuned), "tuned on this device"};
    } catch (const Error&) {
      // The file has changed since.
    }
  }
  const std::vector<Config> all = configs(problem, facts);
  if (all.empty()) return {checked_config(problem, {}), "the first values of its tunables"};
  return {all.front(), "the first of its configurations that this problem allows"};
}

TuningKey UserKernel::tuning_key(const Problem& problem) const {
  // With the extension: no op of the library has such a name.
  return {name_, "kernel", problem.dtype, shape_class(problem.shape)};
}

device::LaunchConfig UserKernel::launch_config(const HeadLaunch& launch, const NameValues& values) const {
  device::LaunchConfig config;
  config.grid = dim3(launch.grid, values, "grid");
  config.block = dim3(launch.block, values, "block");
  if (!launch.cluster.empty()) config.cluster = dim3(launch.cluster, values, "cluster");
  if (launch.shared) {
    const std::int64_t bytes = launch.shared->integer(values);
    GPUFORGE_CHECK(bytes >= 0, "{}: '{}' is {} bytes of shared memory", launch.shared->where(),
                   launch.shared->text(), bytes);
    config.dynamic_shared_bytes = static_cast<std::size_t>(bytes);
  }
  return config;
}

bool UserKernel::is_template_argument(const std::string& tunable) const {
  bool found = false;
  const auto look = [&](std::string_view name) {
    found = found || name == tunable;
    return std::string();
  };
  substitute(head_.launch.kernel, look);
  if (head_.reference_kernel) substitute(head_.reference_kernel->launch.kernel, look);
  return found;
}

jit::KernelSource UserKernel::source(const std::string& expression, const Config& config,
                                     DType element) const {
  jit::KernelSource source;
  source.name = name_;
  source.directory = file_.parent_path();
  // An alias and no macro: headers have parameters called T. Line numbers stay the file's own.
  if (!head_.element.empty()) {
    if (element != DType::f32 && element != DType::f64 && is_floating(element))
      source.text = "#include \"gpuforge/kernels/half.cuh\"\n";
    source.text += format_text("using {} = {};\n", head_.element, type_name(element));
  }
  source.text += "#line 1\n" + text_;
  if (expression.find('<') != std::string::npos) source.instantiations.push_back(expression);
  source.defines = head_.defines;
  for (const auto& [tunable, value] : config) {
    if (!is_template_argument(tunable)) source.defines.push_back(format_text("{}={}", tunable, value));
  }
  for (const std::string& folder : head_.include_dirs)
    source.include_dirs.push_back(file_.parent_path() / folder);
  source.options = head_.compile_options;
  return source;
}

std::shared_ptr<const jit::Kernel> UserKernel::kernel(Context& context, const HeadLaunch& launch,
                                                      const Problem& problem, const Config& config) const {
  const device::DeviceFacts& facts = context.device().facts();
  if (facts.kind == device::DeviceKind::cpu) {
    throw Error(
        ErrorCode::unsupported,
        format_text("{}: a kernel file runs on a cuda device or on sim, not on cpu (--device sim)", name_));
  }
  const NameValues known = values(problem, &config);
  const std::string expression = substitute(launch.kernel, [&](std::string_view name) {
    if (name == "T" || name == head_.element) return type_name(problem.dtype);
    return to_string(known.find(name)->second);
  });
  const KernelKey key{&context.device(), expression, config, problem.dtype};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  }
  auto made = is_ptx() ? context.jit().kernel_from_ptx(text_, name_, expression, context.device())
                       : context.jit().kernel(source(expression, config, problem.dtype), expression,
                                              context.device());
  const std::lock_guard lock(mutex_);
  return kernels_.emplace(key, std::move(made)).first->second;
}

// A float* that gets an array of halves would compute nonsense, and on a GPU quietly.
void UserKernel::check_pointee(const HeadLaunch& launch, const Operand& operand,
                               const jit::Parameter& parameter, const Problem& problem, DType given) const {
  std::optional<DType> pointee = jit::pointee_dtype(parameter);
  // extern "C" kernels have their parameters as they are written.
  std::string_view type = parameter.declared_type;
  if (type.starts_with("const ")) type.remove_prefix(6);
  if (!head_.element.empty() && (type == head_.element + "*" || type == head_.element + " *"))
    pointee = problem.dtype;
  if (!pointee || !is_floating(*pointee) || !is_floating(given) || *pointee == given) return;
  const bool is_reference = &launch != &head_.launch;
  throw Error(ErrorCode::invalid_argument,
              format_text("{}: the kernel declares {} as {}, and the operand holds {}: {}", launch.where,
                          operand.name, parameter.declared_type, gpuforge::name(given),
                          is_reference ? "write double in a reference kernel, or say `dtype: same`"
                                       : format_text("write {}, or say `dtypes: [{}]`",
                                                     head_.element.empty() ? "a template" : head_.element,
                                                     gpuforge::name(*pointee))));
}

void UserKernel::run(Context& context, const HeadLaunch& launch, const Problem& problem, const Config& config,
                     std::span<Array> arrays, device::Stream& stream) const {
  const std::vector<Operand> declared = operands(problem);
  GPUFORGE_CHECK(arrays.size() == declared.size(), "{}: {} operands were expected; found {}", name_,
                 declared.size(), arrays.size());
  const auto loaded = kernel(context, launch, problem, config);
  const NameValues known = values(problem, &config);
  const device::LaunchConfig configured = launch_config(launch, known);
  const std::vector<jit::Parameter>& parameters = loaded->entry().parameters;
  std::vector<Scalar> scalars(launch.parameters.size());
  std::vector<jit::Argument> arguments;
  for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
    const HeadParameter& parameter = launch.parameters[i];
    if (parameter.value) {
      // One more than the kernel has: the launch says so.
      scalars[i] = !parameter.type.empty() || i >= parameters.size()
                       ? typed_scalar(parameter, known)
                       : scalar_like(parameter, known, parameters[i]);
      arguments.push_back({&scalars[i].bits, scalars[i].bytes, scalars[i].type});
      continue;
    }
    const auto operand = std::find_if(declared.begin(), declared.end(), [&](const Operand& candidate) {
      return candidate.name == parameter.name;
    });
    GPUFORGE_CHECK(operand != declared.end(), "{}: this problem has no operand {}", launch.where,
                   parameter.name);
    const Array& array = arrays[static_cast<std::size_t>(operand - declared.begin())];
    GPUFORGE_CHECK(array.contiguous(), "{}: the operand {} must be contiguous; found strides {}", name_,
                   operand->name, to_string(array.strides()));
    if (i < parameters.size()) check_pointee(launch, *operand, parameters[i], problem, array.dtype());
    arguments.push_back(argument(array));
  }
  if (configured.grid.count() == 0) return;
  std::vector<memory::Hold> uses;
  for (const Array& array : arrays) uses.push_back(array.record_use(stream));
  loaded->launch(configured, arguments, stream);
}

}  // namespace gpuforge::lab
