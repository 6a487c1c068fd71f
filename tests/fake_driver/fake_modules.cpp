// Modules, functions and launches. A kernel does what fake_cuda_on_launch says: nothing by default.
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

// Lines "entry NAME BYTES BYTES ...".
std::vector<Entry> entries_of_fake(std::string_view text) {
  std::vector<Entry> entries;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    Entry entry;
    if (!(words >> word) || word != "entry" || !(words >> entry.name)) continue;
    for (std::size_t bytes = 0; words >> bytes;) entry.parameter_bytes.push_back(bytes);
    entry.parameters_known = true;
    entries.push_back(entry);
  }
  return entries;
}

// ".param .align 8 .b8 name[24]" is 24 bytes; ".param .u64 name" is 8.
std::size_t parameter_bytes(std::string_view declaration) {
  std::size_t element_bits = 0;
  std::size_t elements = 1;
  for (std::size_t dot = declaration.find('.'); dot != std::string_view::npos;
       dot = declaration.find('.', dot + 1)) {
    const std::string_view word = declaration.substr(dot + 1);
    if (word.size() > 1 && std::string_view("bsuf").find(word[0]) != std::string_view::npos &&
        word[1] >= '0' && word[1] <= '9') {
      element_bits = static_cast<std::size_t>(std::atoi(std::string(word.substr(1, 2)).c_str()));
    }
  }
  const std::size_t bracket = declaration.find('[');
  if (bracket != std::string_view::npos) {
    elements = static_cast<std::size_t>(std::atoi(std::string(declaration.substr(bracket + 1)).c_str()));
  }
  return element_bits / 8 * elements;
}

std::vector<Entry> entries_of_ptx(std::string_view text) {
  std::vector<Entry> entries;
  constexpr std::string_view kMark = ".entry ";
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    const std::size_t name_end = text.find_first_of("( \t\n", at);
    Entry entry;
    entry.name = text.substr(at, name_end - at);
    entry.parameters_known = true;
    const std::size_t open = text.find_first_of("({", at);
    if (open != std::string_view::npos && text[open] == '(') {
      std::string_view list = text.substr(open + 1, text.find(')', open) - open - 1);
      while (list.find(".param") != std::string_view::npos) {
        const std::string_view one = list.substr(0, list.find(','));
        entry.parameter_bytes.push_back(parameter_bytes(one));
        list.remove_prefix(std::min(list.size(), one.size() + 1));
      }
    }
    entries.push_back(entry);
  }
  return entries;
}

CUfunc_st* add_function(CUmod_st& module, Entry entry) {
  module.functions.push_back(std::make_unique<CUfunc_st>());
  module.functions.back()->entry = std::move(entry);
  return module.functions.back().get();
}

bool is_function(RawFunction function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& known : module->functions) {
      if (known.get() == function) return true;
    }
  }
  return false;
}

// Of one multiprocessor.
std::size_t resident_blocks(std::size_t threads, std::size_t dynamic_shared_bytes) {
  return std::min({std::size_t{32}, 2048 / threads, (228 * 1024) / (dynamic_shared_bytes + 1024)});
}

Result launch(const char* name, const LaunchConfig& config, RawFunction function, void** parameters) {
  const Entered entered = enter(name, Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  FakeCudaLaunch call{};
  const unsigned grid[] = {config.grid_x, config.grid_y, config.grid_z};
  const unsigned block[] = {config.block_x, config.block_y, config.block_z};
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0) return Result::invalid_value;
    call.grid[i] = grid[i];
    call.block[i] = block[i];
    call.cluster[i] = 1;
  }
  if (std::size_t{block[0]} * block[1] * block[2] > 1024) return Result::invalid_value;
  if (config.dynamic_shared_bytes > static_cast<unsigned>(function->max_dynamic_shared_bytes)) {
    return Result::invalid_value;
  }
  call.dynamic_shared_bytes = config.dynamic_shared_bytes;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == LaunchAttributeId::cluster_dimension) {
      call.cluster[0] = attribute.value.cluster.x;
      call.cluster[1] = attribute.value.cluster.y;
      call.cluster[2] = attribute.value.cluster.z;
      for (int d = 0; d < 3; ++d) {
        if (call.cluster[d] == 0 || call.grid[d] % call.cluster[d] != 0) return Result::invalid_cluster_size;
      }
      if (call.cluster[0] * call.cluster[1] * call.cluster[2] > (function->wide_clusters ? 16u : 8u))
        return Result::invalid_cluster_size;
    } else if (attribute.id == LaunchAttributeId::cooperative) {
      call.cooperative = attribute.value.cooperative;
    } else if (attribute.id == LaunchAttributeId::programmatic_stream_serialization) {
      call.programmatic = attribute.value.programmatic_stream_serialization;
    }
  }
  // Arguments are copied now, as the real launch does.
  const std::vector<std::size_t>& sizes = function->entry.parameter_bytes;
  if (!sizes.empty() && parameters == nullptr) return Result::invalid_value;
  std::vector<std::vector<char>> copies;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const char* const bytes = static_cast<const char*>(parameters[i]);
    copies.emplace_back(bytes, bytes + sizes[i]);
  }
  const CUstream_st* const on = find_stream(config.stream);
  const std::vector<int> multiprocessors = on != nullptr ? on->multiprocessors : std::vector<int>{};
  const FakeCudaKernel kernel = state().kernel;
  void* const user_data = state().kernel_user_data;
  return submit(
      config.stream, NodeKind::kernel,
      [call, copies, kernel, user_data, multiprocessors, entry_name = function->entry.name]() mutable {
        if (kernel == nullptr) return;
        std::vector<void*> pointers;
        for (std::vector<char>& copy : copies) pointers.push_back(copy.data());
        call.function = entry_name.c_str();
        call.parameters = pointers.data();
        call.parameter_count = pointers.size();
        call.multiprocessors = multiprocessors.data();
        call.multiprocessor_count = multiprocessors.size();
        kernel(&call, user_data);
      });
}

}  // namespace

extern "C" {

Result cuModuleLoadDataEx(RawModule* module, const void* image, unsigned count, JitOption* options,
                          void** values) {
  const Entered entered = enter("cuModuleLoadData");
  if (entered.result != Result::success) return entered.result;
  if (image == nullptr) return Result::invalid_value;
  const std::string_view text(static_cast<const char*>(image));
  if (text.empty() || text.starts_with("BAD")) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] != JitOption::error_log_buffer) continue;
      std::strcpy(static_cast<char*>(values[i]), "fake: image starts with BAD");
    }
    return Result::invalid_image;
  }
  auto made = std::make_unique<CUmod_st>();
  const bool is_ptx = text.find(".version") != std::string_view::npos;
  if (text.starts_with("FAKE") || is_ptx) {
    for (Entry& entry : is_ptx ? entries_of_ptx(text) : entries_of_fake(text))
      add_function(*made, std::move(entry));
  } else {
    made->any_name = true;
  }
  *module = made.get();
  state().modules.emplace(*module, std::move(made));
  return Result::success;
}

Result cuModuleLoadData(RawModule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

Result cuModuleUnload(RawModule module) {
  const Entered entered = enter("cuModuleUnload", Needs::object);
  if (entered.result != Result::success) return entered.result;
  return state().modules.erase(module) == 1 ? Result::success : Result::invalid_handle;
}

Result cuModuleGetFunction(RawFunction* function, RawModule module, const char* name) {
  const Entered entered = enter("cuModuleGetFunction", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().modules.contains(module)) return Result::invalid_handle;
  for (const auto& known : module->functions) {
    if (known->entry.name != name) continue;
    *function = known.get();
    return Result::success;
  }
  if (!module->any_name) return Result::not_found;
  *function = add_function(*module, {name, {}, false});
  return Result::success;
}

Result cuModuleGetFunctionCount(unsigned* count, RawModule module) {
  const Entered entered = enter("cuModuleGetFunctionCount", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().modules.contains(module)) return Result::invalid_handle;
  *count = static_cast<unsigned>(module->functions.size());
  return Result::success;
}

Result cuModuleEnumerateFunctions(RawFunction* functions, unsigned count, RawModule module) {
  const Entered entered = enter("cuModuleEnumerateFunctions", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!state().modules.contains(module)) return Result::invalid_handle;
  for (std::size_t i = 0; i < module->functions.size() && i < count; ++i)
    functions[i] = module->functions[i].get();
  return Result::success;
}

Result cuFuncGetName(const char** name, RawFunction function) {
  const Entered entered = enter("cuFuncGetName", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  *name = function->entry.name.c_str();
  return Result::success;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute which, RawFunction function) {
  const Entered entered = enter("cuFuncGetAttribute", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  switch (which) {
    case FunctionAttribute::max_threads_per_block:
      *value = 1024;
      break;
    case FunctionAttribute::registers:
      *value = 32;
      break;
    case FunctionAttribute::binary_version:
      *value = state().sm;
      break;
    case FunctionAttribute::max_dynamic_shared_size_bytes:
      *value = function->max_dynamic_shared_bytes;
      break;
    default:
      *value = 0;
      break;
  }
  return Result::success;
}

Result cuFuncSetAttribute(RawFunction function, FunctionAttribute which, int value) {
  const Entered entered = enter("cuFuncSetAttribute", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  if (which == FunctionAttribute::max_dynamic_shared_size_bytes) {
    if (value < 0 || value > 227 * 1024) return Result::invalid_value;
    function->max_dynamic_shared_bytes = value;
  }
  if (which == FunctionAttribute::non_portable_cluster_size_allowed) function->wide_clusters = value != 0;
  return Result::success;
}

Result cuFuncGetParamInfo(RawFunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  const Entered entered = enter("cuFuncGetParamInfo", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  if (!function->entry.parameters_known) return Result::not_supported;
  const std::vector<std::size_t>& sizes = function->entry.parameter_bytes;
  if (index >= sizes.size()) {
    ++state().parameters_past_the_last;
    return Result::invalid_value;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    const std::size_t alignment = sizes[i] >= 8 ? 8 : sizes[i];
    if (alignment > 0) at = (at + alignment - 1) / alignment * alignment;
    if (i < index) at += sizes[i];
  }
  *offset = at;
  if (bytes != nullptr) *bytes = sizes[index];
  return Result::success;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, RawFunction function, int threads,
                                                   std::size_t dynamic_shared_bytes) {
  const Entered entered = enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  if (threads <= 0 || threads > 1024) return Result::invalid_value;
  *blocks = static_cast<int>(resident_blocks(static_cast<std::size_t>(threads), dynamic_shared_bytes));
  return Result::success;
}

// Seven groups of 16 multiprocessors and one of 20, of which a cluster has one.
Result cuOccupancyMaxActiveClusters(int* clusters, RawFunction function, const LaunchConfig* config) {
  const Entered entered = enter("cuOccupancyMaxActiveClusters", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!is_function(function)) return Result::invalid_handle;
  if (config == nullptr || config->attribute_count != 1 ||
      config->attributes[0].id != LaunchAttributeId::cluster_dimension)
    return Result::invalid_value;
  const auto& cluster = config->attributes[0].value.cluster;
  const unsigned size = cluster.x * cluster.y * cluster.z;
  if (size == 0 || size > (function->wide_clusters ? 16u : 8u)) return Result::invalid_cluster_size;
  const std::size_t threads = std::size_t{config->block_x} * config->block_y * config->block_z;
  if (threads == 0 || threads > 1024) return Result::invalid_value;
  const std::size_t each = resident_blocks(threads, config->dynamic_shared_bytes);
  *clusters = static_cast<int>(7 * (16 * each / size) + 20 * each / size);
  return Result::success;
}

Result cuLaunchKernel(RawFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
                      RawStream stream, void** parameters, void**) {
  const LaunchConfig config{grid_x, grid_y,  grid_z, block_x, block_y, block_z, dynamic_shared_bytes,
                            stream, nullptr, 0};
  return launch("cuLaunchKernel", config, function, parameters);
}

Result cuLaunchKernelEx(const LaunchConfig* config, RawFunction function, void** parameters, void**) {
  if (config == nullptr) return Result::invalid_value;
  return launch("cuLaunchKernelEx", *config, function, parameters);
}
}
