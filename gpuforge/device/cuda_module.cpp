#include "gpuforge/device/cuda_module.h"

#include <array>
#include <utility>

namespace gpuforge::device {
namespace {

using cuda::FunctionAttribute;
using cuda::JitOption;
using cuda::Result;

// The driver's options are an array of pointers in which numbers are stored as pointers.
void* as_option(std::size_t number) {
  return reinterpret_cast<void*>(number);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void fail_load(Result result, const CudaDevice& device, std::string_view name, std::string log) {
  const DeviceFacts& facts = device.facts();
  const std::string told = device.driver().describe(result);
  switch (result) {
    case Result::invalid_ptx:
      throw Error(ErrorCode::compile,
                  format_text("{}: module {}: the driver cannot compile this PTX: {}", facts.name, name,
                              log.empty() ? std::string_view(told) : first_line(log)),
                  std::move(log));
    case Result::unsupported_ptx_version:
      throw Error(
          ErrorCode::unsupported,
          format_text("{}: module {}: this PTX is of a newer version than the driver (CUDA {}) knows; update "
                      "NVIDIA's driver or compile with an older NVRTC",
                      facts.name, name, cuda::version_text(facts.driver_version)),
          std::move(log));
    case Result::no_binary_for_gpu:
      throw Error(ErrorCode::unsupported,
                  format_text("{}: module {}: it was compiled for another GPU; this one is sm_{}{}",
                              facts.name, name, facts.compute_major, facts.compute_minor),
                  std::move(log));
    case Result::out_of_memory:
      throw Error(ErrorCode::out_of_memory,
                  format_text("{}: module {}: no memory to load it", facts.name, name), std::move(log));
    case Result::invalid_image:
      throw Error(
          ErrorCode::invalid_argument,
          format_text("{}: module {}: the driver does not take this for a cubin or PTX", facts.name, name),
          std::move(log));
    default:
      throw Error(ErrorCode::cuda,
                  format_text("{}: module {}: cuModuleLoadDataEx: {}", facts.name, name, told),
                  std::move(log));
  }
}

}  // namespace

CudaModule::CudaModule(std::shared_ptr<CudaDevice> device, std::span<const std::byte> image,
                       std::string_view name)
    : owner_{std::move(device), {}}, name_(name) {
  const CudaDevice& own = *owner_.device;
  const void* start = image.data();
  std::string text;
  if (check_module_image(image, name, own.name()) == ImageKind::text) {
    text.assign(reinterpret_cast<const char*>(image.data()), image.size());  // which ends it with a zero
    start = text.data();
  }

  std::string log(16 * 1024, '\0');
  std::array options = {JitOption::error_log_buffer, JitOption::error_log_buffer_size_bytes};
  std::array<void*, 2> values = {log.data(), as_option(log.size() - 1)};
  const CurrentContext scope = own.current();
  cuda::RawModule raw = nullptr;
  const Result result = own.driver().module_load_data_ex.raw(
      &raw, start, static_cast<unsigned>(options.size()), options.data(), values.data());
  if (result != Result::success) {
    log.resize(log.find('\0'));
    fail_load(result, own, name, std::move(log));
  }
  owner_.module = own.own<cuda::ModuleHandle>(raw);
}

CudaModule::~CudaModule() {
  retire(std::move(owner_));
}

// "; it has a, b", or nothing from a driver that cannot tell.
std::string CudaModule::entries() const {
  const cuda::Driver& driver = owner_.device->driver();
  unsigned count = 0;
  if (!driver.module_get_function_count.available() || !driver.module_enumerate_functions.available() ||
      !driver.func_get_name.available() ||
      driver.module_get_function_count.raw(&count, owner_.module.get()) != Result::success) {
    return {};
  }
  std::vector<cuda::RawFunction> functions(count);
  if (count == 0) return "; it has none";
  if (driver.module_enumerate_functions.raw(functions.data(), count, owner_.module.get()) != Result::success)
    return {};
  std::string text;
  for (const cuda::RawFunction function : functions) {
    const char* function_name = nullptr;
    if (driver.func_get_name.raw(&function_name, function) != Result::success || function_name == nullptr)
      continue;
    text += text.empty() ? "; it has " : ", ";
    text += function_name;
  }
  return text;
}

std::shared_ptr<Function> CudaModule::function(std::string_view entry,
                                               std::optional<std::size_t> parameter_count) {
  const CudaDevice& own = *owner_.device;
  const CurrentContext scope = own.current();
  const std::string entry_name(entry);
  cuda::RawFunction raw = nullptr;
  const Result result = own.driver().module_get_function.raw(&raw, owner_.module.get(), entry_name.c_str());
  GPUFORGE_CHECK(result != Result::not_found, "{}: module {} has no kernel {}{}", own.name(), name_, entry,
                 entries());
  if (result != Result::success) {
    throw Error(ErrorCode::cuda, format_text("{}: module {}: cuModuleGetFunction of {}: {}", own.name(),
                                             name_, entry, own.driver().describe(result)));
  }
  return std::make_shared<CudaFunction>(shared_from_this(), raw, entry, parameter_count);
}

CudaFunction::CudaFunction(std::shared_ptr<CudaModule> module, cuda::RawFunction raw, std::string_view entry,
                           std::optional<std::size_t> parameter_count)
    : module_(std::move(module)), raw_(raw) {
  const cuda::Driver& driver = device().driver();
  const auto object = [&] { return format_text("kernel {} on {}", entry, device().name()); };
  const auto value = [&](FunctionAttribute attribute) {
    int answer = 0;
    driver.func_get_attribute(object, &answer, attribute, raw_);
    return answer;
  };
  facts_.name = entry;
  facts_.registers = value(FunctionAttribute::registers);
  facts_.static_shared_bytes = static_cast<std::size_t>(value(FunctionAttribute::shared_size_bytes));
  facts_.local_bytes = static_cast<std::size_t>(value(FunctionAttribute::local_size_bytes));
  facts_.max_threads_per_block = value(FunctionAttribute::max_threads_per_block);
  allowed_dynamic_shared_ = static_cast<std::size_t>(value(FunctionAttribute::max_dynamic_shared_size_bytes));
  if (!driver.func_get_param_info.available()) return;
  facts_.parameters_known = true;
  for (std::size_t index = 0; index != parameter_count; ++index) {
    ParameterFacts parameter;
    if (driver.func_get_param_info.raw(raw_, index, &parameter.offset, &parameter.bytes) != Result::success)
      break;
    facts_.parameters.push_back(parameter);
  }
}

void CudaFunction::raise_dynamic_shared(std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (bytes <= allowed_dynamic_shared_.load(std::memory_order_relaxed)) return;
  device().driver().func_set_attribute(
      [&] {
        return format_text("{} bytes of shared memory for kernel {} on {}", bytes, facts_.name,
                           device().name());
      },
      raw_, FunctionAttribute::max_dynamic_shared_size_bytes, static_cast<int>(bytes));
  allowed_dynamic_shared_.store(bytes, std::memory_order_release);
}

void CudaFunction::allow_wide_clusters() const {
  device().driver().func_set_attribute(
      [&] {
        return format_text("more than {} blocks a cluster for kernel {} on {}", kPortableClusterBlocks,
                           facts_.name, device().name());
      },
      raw_, FunctionAttribute::non_portable_cluster_size_allowed, 1);
  allowed_wide_clusters_.store(true, std::memory_order_release);
}

int CudaFunction::max_active_blocks(int threads_per_block, std::size_t dynamic_shared_bytes) const {
  const CudaDevice& own = device();
  GPUFORGE_CHECK(threads_per_block >= 1 && static_cast<std::uint32_t>(threads_per_block) <=
                                               own.facts().launch.max_threads_per_block,
                 "{}: kernel {}: {} threads per block asked about, between 1 and {} are possible", own.name(),
                 facts_.name, threads_per_block, own.facts().launch.max_threads_per_block);
  const std::size_t most = own.facts().launch.max_shared_per_block;
  if (facts_.static_shared_bytes > most || dynamic_shared_bytes > most - facts_.static_shared_bytes) return 0;
  const CurrentContext scope = own.current();
  allow_dynamic_shared(dynamic_shared_bytes);
  int blocks = 0;
  own.driver().occupancy_max_active_blocks(
      [&] { return format_text("kernel {} on {}", facts_.name, own.name()); }, &blocks, raw_,
      threads_per_block, dynamic_shared_bytes);
  return blocks;
}

int CudaFunction::max_active_clusters(const LaunchConfig& config) const {
  const CudaDevice& own = device();
  if (!own.facts().cluster_launch || !own.driver().occupancy_max_active_clusters.available()) return 0;
  LaunchConfig one = config;
  one.grid = one.cluster;
  check_launch(one, facts_, own.facts().launch, own.name());
  const CurrentContext scope = own.current();
  allow_dynamic_shared(one.dynamic_shared_bytes);
  allow_cluster(one.cluster);
  cuda::LaunchAttribute attribute;
  attribute.id = cuda::LaunchAttributeId::cluster_dimension;
  attribute.value.cluster = {one.cluster.x, one.cluster.y, one.cluster.z};
  const cuda::LaunchConfig asked = {one.grid.x,
                                    one.grid.y,
                                    one.grid.z,
                                    one.block.x,
                                    one.block.y,
                                    one.block.z,
                                    static_cast<unsigned>(one.dynamic_shared_bytes),
                                    nullptr,
                                    &attribute,
                                    1};
  int clusters = 0;
  own.driver().occupancy_max_active_clusters(
      [&] { return format_text("kernel {} on {}", facts_.name, own.name()); }, &clusters, raw_, &asked);
  return clusters;
}

}  // namespace gpuforge::device
