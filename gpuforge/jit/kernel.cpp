#include "gpuforge/jit/kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::jit {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kParametersOnStack = 64;

constexpr std::array kIntegers = {"bool"sv,
                                  "char"sv,
                                  "signed char"sv,
                                  "unsigned char"sv,
                                  "short"sv,
                                  "short int"sv,
                                  "unsigned short"sv,
                                  "unsigned short int"sv,
                                  "int"sv,
                                  "unsigned"sv,
                                  "unsigned int"sv,
                                  "signed"sv,
                                  "long"sv,
                                  "long int"sv,
                                  "unsigned long"sv,
                                  "unsigned long int"sv,
                                  "long long"sv,
                                  "long long int"sv,
                                  "unsigned long long"sv,
                                  "unsigned long long int"sv,
                                  "uint"sv,
                                  "uchar"sv,
                                  "ushort"sv,
                                  "size_t"sv,
                                  "ssize_t"sv,
                                  "ptrdiff_t"sv,
                                  "int8_t"sv,
                                  "int16_t"sv,
                                  "int32_t"sv,
                                  "int64_t"sv,
                                  "uint8_t"sv,
                                  "uint16_t"sv,
                                  "uint32_t"sv,
                                  "uint64_t"sv};
constexpr std::array kFloats = {"float"sv,         "double"sv,        "half"sv,          "__half"sv,
                                "half_t"sv,        "__nv_bfloat16"sv, "nv_bfloat16"sv,   "bfloat16_t"sv,
                                "float8_e4m3_t"sv, "float8_e5m2_t"sv, "__nv_fp8_e4m3"sv, "__nv_fp8_e5m2"sv};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

ArgumentKind kind_of_declared(std::string_view type) {
  if (type.empty()) return ArgumentKind::any;
  if (type.find("(*") != std::string_view::npos || type.find("(&") != std::string_view::npos)
    return ArgumentKind::pointer;
  for (const std::string_view qualifier : {"const "sv, "volatile "sv}) {
    if (type.starts_with(qualifier)) type.remove_prefix(qualifier.size());
  }
  if (type.ends_with(" const")) type.remove_suffix(6);
  if (type.ends_with('*') || type.ends_with('&')) return ArgumentKind::pointer;
  for (const std::string_view space : {"gpuforge::"sv, "std::"sv, "cuda::std::"sv, "::"sv}) {
    if (type.starts_with(space)) type.remove_prefix(space.size());
  }
  if (contains(kIntegers, type)) return ArgumentKind::integer;
  if (contains(kFloats, type)) return ArgumentKind::floating;
  return ArgumentKind::any;  // a struct, an enumeration or someone's alias
}

// What an argument says it is: a dtype's name, or one of argument_type's.
ArgumentKind kind_of_argument(std::string_view type) {
  if (type.empty()) return ArgumentKind::any;
  switch (type.front()) {
    case 'f':
      return ArgumentKind::floating;  // f16 f32 f64 f8e4m3 f8e5m2
    case 'b':
      return type == "bf16" ? ArgumentKind::floating : ArgumentKind::integer;  // bf16, bool
    case 'i':
    case 'u':
      return ArgumentKind::integer;
    case 'p':
      return ArgumentKind::pointer;
    case '8':
    case '1':
      return type.ends_with("float") ? ArgumentKind::floating : ArgumentKind::integer;
    default:
      return ArgumentKind::any;
  }
}

bool kinds_fit(ArgumentKind parameter, const Argument& argument) {
  const ArgumentKind given = kind_of_argument(argument.type);
  if (parameter == ArgumentKind::any || given == ArgumentKind::any || given == parameter) return true;
  return parameter == ArgumentKind::pointer && argument.type == "u64";
}

bool fits(const ParameterShape& shape, const Argument& argument) {
  return argument.bytes == shape.bytes && argument.data != nullptr && kinds_fit(shape.kind, argument);
}

std::string_view shown_type(const Parameter& parameter) {
  return parameter.declared_type.empty() ? std::string_view(parameter.ptx_type)
                                         : std::string_view(parameter.declared_type);
}

std::string signature(const Entry& entry) {
  std::string text;
  for (const Parameter& parameter : entry.parameters) {
    if (!text.empty()) text += ", ";
    text += shown_type(parameter).empty() ? format_text("{} bytes", parameter.bytes)
                                          : std::string(shown_type(parameter));
    if (!parameter.name.empty()) text += " " + parameter.name;
  }
  return text;
}

std::string_view shown_name(const Entry& entry) {
  return entry.expression.empty() ? entry.name : entry.expression;
}

ParameterShape shape_of(const Parameter& parameter) {
  return {parameter.bytes, kind_of(parameter)};
}

// From the name of the entry to the next one.
std::string_view code_of(std::string_view ptx, const Entry& entry) {
  for (std::size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 6)) {
    const std::string_view rest = ptx.substr(at + 6);
    const std::string_view named = rest.substr(std::min(rest.find_first_not_of(" \t\n"), rest.size()));
    const std::size_t end = named.find_first_of("( \t\n");
    if (named.substr(0, end) == entry.name) return named.substr(0, named.find(".entry"));
  }
  return {};
}

// Tells the observer also when the launch throws.
class ObservedLaunch {
 public:
  ObservedLaunch(LaunchObserver& observer, const Kernel& kernel, device::Stream& stream)
      : observer_(observer), stream_(stream), token_(observer.before(kernel, stream)) {}
  ~ObservedLaunch() { observer_.after(token_, stream_, launched); }
  ObservedLaunch(const ObservedLaunch&) = delete;
  ObservedLaunch& operator=(const ObservedLaunch&) = delete;

  bool launched = false;

 private:
  LaunchObserver& observer_;
  device::Stream& stream_;
  void* const token_;
};

}  // namespace

ArgumentKind kind_of(const Parameter& parameter) {
  const ArgumentKind declared = kind_of_declared(parameter.declared_type);
  if (declared != ArgumentKind::any || !parameter.declared_type.empty()) return declared;
  // PTX tells floats from the rest; its u64 may be a pointer, and .b types may be anything.
  const std::string_view type = parameter.ptx_type;
  if (type.starts_with('f') && type.find('[') == std::string_view::npos) return ArgumentKind::floating;
  const bool is_integer = type.starts_with('u') || type.starts_with('s');
  return is_integer && parameter.bytes < 8 && type.find('[') == std::string_view::npos ? ArgumentKind::integer
                                                                                       : ArgumentKind::any;
}

void check_arguments(const Entry& entry, std::span<const Argument> arguments) {
  const std::size_t expected = entry.parameters.size();
  GPUFORGE_CHECK(arguments.size() == expected, "{} takes {} argument{}{}, got {}", shown_name(entry),
                 expected, expected == 1 ? "" : "s",
                 expected == 0 ? std::string() : " (" + signature(entry) + ")", arguments.size());
  for (std::size_t i = 0; i < expected; ++i) {
    const Parameter& parameter = entry.parameters[i];
    const Argument& argument = arguments[i];
    if (fits(shape_of(parameter), argument)) continue;
    const std::string name = parameter.name.empty() ? std::string() : format_text(" '{}'", parameter.name);
    GPUFORGE_CHECK(argument.data != nullptr || argument.bytes != parameter.bytes,
                   "{}: parameter {}{} was given no data", shown_name(entry), i, name);
    const std::string_view type = shown_type(parameter);
    const std::string wanted = type.empty() ? format_text("has {} bytes", parameter.bytes)
                                            : format_text("is {} ({} bytes)", type, parameter.bytes);
    const std::string given = argument.type.empty()
                                  ? format_text("{} bytes", argument.bytes)
                                  : format_text("{} ({} bytes)", argument.type, argument.bytes);
    throw Error(ErrorCode::invalid_argument,
                format_text("{}: parameter {}{} {}, got {}", shown_name(entry), i, name, wanted, given));
  }
}

Kernel::Kernel(std::shared_ptr<const Compiled> compiled, const Entry& entry,
               std::shared_ptr<device::Function> function, std::shared_ptr<const LaunchObserverSlot> observer)
    : compiled_(std::move(compiled)),
      entry_(entry),
      function_(std::move(function)),
      observer_(observer ? std::move(observer) : std::make_shared<const LaunchObserverSlot>(nullptr)) {
  GPUFORGE_ASSERT(compiled_ != nullptr && function_ != nullptr,
                  "a Kernel is made of compiled and loaded code");
  const device::FunctionFacts& facts = function_->facts();
  const bool agree = std::equal(
      entry_.parameters.begin(), entry_.parameters.end(), facts.parameters.begin(), facts.parameters.end(),
      [](const Parameter& ours, const device::ParameterFacts& theirs) { return ours.bytes == theirs.bytes; });
  if (facts.parameters_known && !agree) {
    // The driver knows what it loaded; what the text told is dropped rather than believed.
    entry_.parameters.clear();
    for (const device::ParameterFacts& parameter : facts.parameters) {
      entry_.parameters.push_back(
          {.bytes = parameter.bytes, .ptx_type = {}, .declared_type = {}, .name = {}});
    }
  }
  parameters_known_ = facts.parameters_known || !compiled_->ptx.empty() || !entry_.parameters.empty();
  for (const Parameter& parameter : entry_.parameters) shapes_.push_back(shape_of(parameter));
  begins_early_ =
      code_of(compiled_->ptx, entry_).find("begin_after_previous_kernel") != std::string_view::npos;
}

void Kernel::launch(const device::LaunchConfig& asked, std::span<const Argument> arguments,
                    device::Stream& stream) const {
  device::LaunchConfig config = asked;
  config.programmatic |= begins_early_;
  if (parameters_known_) {
    const bool good = std::equal(shapes_.begin(), shapes_.end(), arguments.begin(), arguments.end(), fits);
    if (!good) [[unlikely]]
      check_arguments(entry_, arguments);
  }
  std::array<void*, kParametersOnStack> on_stack;
  std::vector<void*> on_heap;
  std::span<void*> pointers(on_stack.data(), std::min(arguments.size(), on_stack.size()));
  if (arguments.size() > on_stack.size()) {
    on_heap.resize(arguments.size());
    pointers = on_heap;
  }
  // The driver reads the values; its interface merely lacks the const.
  std::transform(arguments.begin(), arguments.end(), pointers.begin(),
                 [](const Argument& argument) { return const_cast<void*>(argument.data); });
  LaunchObserver* const observer = observer_->load(std::memory_order_acquire);
  if (observer == nullptr) [[likely]] {
    stream.launch(*function_, config, pointers);
    return;
  }
  ObservedLaunch observed(*observer, *this, stream);
  stream.launch(*function_, config, pointers);
  observed.launched = true;
}

}  // namespace gpuforge::jit
