#include "gpuforge/ops/backends.h"

#include <algorithm>
#include <utility>

#include "gpuforge/base/convert.h"

namespace gpuforge::ops {
namespace {

constexpr std::string_view kBackward = "_backward";
constexpr std::string_view kKernel = "kernel";
constexpr std::string_view kReference = "ref";

lab::HostTensor host_tensor(const Array& array, device::Stream& stream) {
  const auto count = static_cast<std::size_t>(array.size());
  std::vector<std::byte> bytes(array.bytes());
  array.to_host(bytes, stream);
  lab::HostTensor tensor{array.shape(), std::vector<double>(count)};
  convert_elements(tensor.values.data(), DType::f64, bytes.data(), array.dtype(), count);
  return tensor;
}

void run_reference(const lab::Op& op, const lab::Call& call) {
  const std::vector<lab::Operand> operands = op.operands(call.problem);
  std::vector<lab::HostTensor> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != lab::Role::output) inputs.push_back(host_tensor(call.operands[i], call.stream));
  }
  const std::vector<lab::Expected> expected =
      op.reference(call.problem, inputs, lab::each_row_on_all_threads);
  std::size_t output = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == lab::Role::input) continue;
    Array& array = call.operands[i];
    const std::vector<double>& values = expected[output++].values;
    std::vector<std::byte> bytes(array.bytes());
    convert_elements(bytes.data(), array.dtype(), values.data(), DType::f64, values.size());
    array.assign(
        from_host(array.context().shared_from_this(), bytes, array.shape(), array.dtype(), call.stream),
        call.stream);
  }
}

Backends::Implementation reference_of(const lab::Op& op) {
  return [op](const lab::Call& call) { run_reference(op, call); };
}

// What a result must be, said with the name of who made it.
void check_result(std::string_view op, std::string_view backend, const lab::Operand& operand,
                  const Array& result, const Array& wanted) {
  GPUFORGE_CHECK(&result.device() == &wanted.device(), "{} backend '{}': {} was made on {}; it belongs on {}",
                 op, backend, operand.name, result.device().facts().name, wanted.device().facts().name);
  GPUFORGE_CHECK(result.dtype() == operand.dtype, "{} backend '{}': {} must be {}; it was made {}", op,
                 backend, operand.name, name(operand.dtype), name(result.dtype()));
  GPUFORGE_CHECK(result.shape() == operand.shape, "{} backend '{}': {} must have shape {}; it was made {}",
                 op, backend, operand.name, to_string(operand.shape), to_string(result.shape()));
}

bool is_same_view(const Array& a, const Array& b) {
  return a.shares_storage_with(b) && a.address() == b.address() && a.dtype() == b.dtype() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

void run_checked(const lab::Op& op, std::string_view backend, const Backends::Implementation& implementation,
                 const lab::Call& call) {
  const std::vector<lab::Operand> operands = op.operands(call.problem);
  GPUFORGE_CHECK(call.operands.size() == operands.size(), "{}: {} operands were expected; found {}", op.name,
                 operands.size(), call.operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Array& array = call.operands[i];
    GPUFORGE_CHECK(array.dtype() == operands[i].dtype && array.shape() == operands[i].shape,
                   "{}: {} must be {} {}; found {} {}", op.name, operands[i].name, name(operands[i].dtype),
                   to_string(operands[i].shape), name(array.dtype()), to_string(array.shape()));
  }
  std::vector<Array> arrays(call.operands.begin(), call.operands.end());
  implementation({.problem = call.problem,
                  .variant = call.variant,
                  .config = call.config,
                  .operands = arrays,
                  .stream = call.stream});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == lab::Role::input) continue;
    check_result(op.name, backend, operands[i], arrays[i], call.operands[i]);
    if (!is_same_view(arrays[i], call.operands[i])) call.operands[i].assign(arrays[i], call.stream);
  }
}

std::string names(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& name : list) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Backends::Backends(std::vector<lab::Op> ops) {
  const auto is_backward = [&](const lab::Op& op) {
    return std::any_of(ops.begin(), ops.end(),
                       [&](const lab::Op& other) { return op.name == other.name + std::string(kBackward); });
  };
  for (lab::Op& op : ops) {
    if (is_backward(op)) continue;
    Family family{.forward = op, .backward = {}, .backends = {}};
    for (const lab::Op& other : ops) {
      if (other.name == op.name + std::string(kBackward)) family.backward.push_back(other);
    }
    Backend kernel{.forward = op.run, .backward = {}};
    if (!family.backward.empty()) kernel.backward = family.backward[0].run;
    family.backends.emplace(kKernel, std::move(kernel));
    family.backends.emplace(kReference, Backend{.forward = reference_of(op), .backward = {}});
    families_.emplace(op.name, std::move(family));
  }
}

Backends::Found Backends::find(std::string_view op) const {
  if (const auto found = families_.find(op); found != families_.end())
    return {&found->second, &found->second.forward};
  if (op.ends_with(kBackward)) {
    const auto found = families_.find(op.substr(0, op.size() - kBackward.size()));
    if (found != families_.end() && !found->second.backward.empty())
      return {&found->second, &found->second.backward[0]};
  }
  std::vector<std::string> known;
  for (const auto& [name, family] : families_) known.push_back(name);
  throw Error(ErrorCode::invalid_argument,
              format_text("backends: there is no op '{}'; there are {}", op, names(known)));
}

const Backends::Family& Backends::family(std::string_view op) const {
  const Found found = find(op);
  GPUFORGE_CHECK(found.op == &found.family->forward, "backends: {} has the backend of {}: name that one", op,
                 found.family->forward.name);
  return *found.family;
}

const Backends::Backend& Backends::backend(const Family& family, std::string_view name) {
  const auto found = family.backends.find(name);
  if (found != family.backends.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, value] : family.backends) known.push_back(key);
  throw Error(ErrorCode::invalid_argument,
              format_text("Unknown {} backend '{}'; there are {}", family.forward.name, name, names(known)));
}

Backends::Implementation Backends::implementation(const Found& found, std::string_view name) {
  const Backend& chosen = backend(*found.family, name);
  if (found.op == &found.family->forward) return chosen.forward;
  return chosen.backward ? chosen.backward : reference_of(*found.op);
}

void Backends::add(std::string_view op, std::string_view name, Implementation forward,
                   Implementation backward, Existing existing) {
  const Family& family = this->family(op);
  GPUFORGE_CHECK(!name.empty(), "{}: a backend needs a name; found an empty one", op);
  GPUFORGE_CHECK(static_cast<bool>(forward), "{} backend '{}': a function was expected; found an empty one",
                 op, name);
  GPUFORGE_CHECK(!backward || !family.backward.empty(),
                 "{} backend '{}': a backward was given, and {} has none", op, name, op);
  GPUFORGE_CHECK(name != kKernel && name != kReference, "{} backend '{}' is built in; take another name", op,
                 name);
  GPUFORGE_CHECK(existing == Existing::overwrite || !family.backends.contains(name),
                 "{} backend '{}' is registered already; overwrite it, or take another name", op, name);
  families_.find(op)->second.backends.insert_or_assign(
      std::string(name), Backend{.forward = std::move(forward), .backward = std::move(backward)});
}

void Backends::set(std::string_view op, std::string_view name) {
  backend(family(op), name);  // there is one
  families_.find(op)->second.chosen = name;
}

const std::string& Backends::get(std::string_view op) const {
  return family(op).chosen;
}

std::vector<std::string> Backends::list(std::string_view op) const {
  std::vector<std::string> result;
  for (const auto& [name, backend] : family(op).backends) result.push_back(name);
  return result;
}

void Backends::run(std::string_view op, const lab::Call& call) const {
  const Found found = find(op);
  const std::string& chosen = found.family->chosen;
  run_checked(*found.op, chosen, implementation(found, chosen), call);
}

std::vector<Array> Backends::run(std::string_view op, const lab::Problem& problem,
                                 std::span<const Array> inputs, device::Stream& stream) const {
  const Found found = find(op);
  const lab::Problem complete = lab::complete(*found.op, problem);
  const std::vector<lab::Operand> operands = found.op->operands(complete);
  std::vector<Array> arrays;
  std::size_t next = 0;
  for (const lab::Operand& operand : operands) {
    if (operand.role == lab::Role::output) {
      GPUFORGE_CHECK(!inputs.empty(), "{}: inputs were expected; found none", op);
      arrays.push_back(empty(inputs[0].context().shared_from_this(), operand.shape, operand.dtype, stream));
      continue;
    }
    GPUFORGE_CHECK(next < inputs.size(), "{}: input {} is missing; found {}", op, operand.name,
                   inputs.size());
    const Array& input = inputs[next++];
    arrays.push_back(operand.role == lab::Role::inout ? input.copy(stream) : input);
  }
  GPUFORGE_CHECK(next == inputs.size(), "{}: {} inputs were expected; found {}", op, next, inputs.size());
  run(op, {.problem = complete,
           .variant = found.op->variants.front().name,
           .config = nullptr,
           .operands = arrays,
           .stream = stream});
  std::vector<Array> results;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != lab::Role::input) results.push_back(arrays[i]);
  }
  return results;
}

lab::Op Backends::op(std::string_view name, std::string_view backend_name) const {
  const Found found = find(name);
  const Implementation run = implementation(found, backend_name);
  lab::Op result = *found.op;
  result.run = [op = *found.op, backend = std::string(backend_name), run](const lab::Call& call) {
    run_checked(op, backend, run, call);
  };
  if (backend_name == kKernel) return result;
  result.variants = {{std::string(backend_name), format_text("by the backend {}", backend_name)}};
  result.kernels = [](Context&, const lab::Problem&, std::string_view, const Config*) {
    return std::vector<std::shared_ptr<const jit::Kernel>>{};
  };
  result.choose = [](const lab::Problem&, std::string_view, const device::DeviceFacts&, const TuningTable&) {
    return lab::Choice{.config = {}, .reason = "the backend has no choices"};
  };
  result.configs = [](const lab::Problem&, std::string_view, const device::DeviceFacts&) {
    return std::vector<Config>{};
  };
  return result;
}

}  // namespace gpuforge::ops
