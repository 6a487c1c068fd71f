// Initialisation, error texts, devices and contexts.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/fake_driver/fake_state.h"

using namespace gpuforge::cuda;
using namespace gpuforge::fake_driver;

namespace {

long long number(const char* variable, long long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

void read_configuration(State& s) {
  s.init_result = static_cast<Result>(number("FAKE_CUDA_INIT_RESULT", 0));
  s.devices = static_cast<int>(number("FAKE_CUDA_DEVICES", 1));
  s.sm = static_cast<int>(number("FAKE_CUDA_SM", 90));
  s.memory_bytes = static_cast<std::size_t>(number("FAKE_CUDA_MEMORY_BYTES", 8LL << 30));
  const char* const name = std::getenv("FAKE_CUDA_NAME");
  s.name = name == nullptr ? "Fake GPU" : name;
  const char* const list = std::getenv("FAKE_CUDA_FAIL");
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos) continue;
    s.failures[std::string(item.substr(0, colon))] =
        static_cast<Result>(std::atoi(std::string(item.substr(colon + 1)).c_str()));
  }
  // Kept from an earlier cuInit: contexts of objects that still live.
  while (s.contexts.size() < static_cast<std::size_t>(std::max(s.devices, 0))) {
    s.contexts.push_back(std::make_unique<CUctx_st>());
    s.contexts.back()->device = static_cast<int>(s.contexts.size()) - 1;
    s.pools.push_back(std::make_unique<CUmemPoolHandle_st>());
  }
}

bool has_device(int device) {
  return device >= 0 && device < state().devices;
}

struct ErrorText {
  Result result;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {Result::success, "CUDA_SUCCESS", "no error"},
    {Result::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Result::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Result::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {Result::deinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {Result::stub_library, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {Result::no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Result::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Result::invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {Result::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Result::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Result::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Result::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Result::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {Result::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Result::not_permitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {Result::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {Result::system_driver_mismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {Result::stream_capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {Result::stream_capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {Result::stream_capture_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {Result::stream_capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {Result::stream_capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {Result::captured_event, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {Result::graph_exec_update_failure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints specific to "
     "instantiated graph update"},
    {Result::unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(Result result) {
  const auto* const found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                         [&](const ErrorText& e) { return e.result == result; });
  return found == std::end(kErrors) ? nullptr : found;
}

int attribute(const State& s, DeviceAttribute which) {
  switch (which) {
    case DeviceAttribute::max_threads_per_block:
    case DeviceAttribute::max_block_dim_x:
    case DeviceAttribute::max_block_dim_y:
      return 1024;
    case DeviceAttribute::max_block_dim_z:
      return 64;
    case DeviceAttribute::max_grid_dim_x:
      return 2147483647;
    case DeviceAttribute::max_grid_dim_y:
    case DeviceAttribute::max_grid_dim_z:
      return 65535;
    case DeviceAttribute::max_shared_memory_per_block:
      return 48 * 1024;
    case DeviceAttribute::warp_size:
      return 32;
    case DeviceAttribute::max_registers_per_block:
    case DeviceAttribute::max_registers_per_multiprocessor:
      return 65536;
    case DeviceAttribute::clock_rate:
      return 1980000;
    case DeviceAttribute::multiprocessor_count:
      return 132;
    case DeviceAttribute::memory_clock_rate:
      return 3201000;
    case DeviceAttribute::global_memory_bus_width:
      return 6144;
    case DeviceAttribute::l2_cache_size:
      return 60 << 20;
    case DeviceAttribute::max_threads_per_multiprocessor:
      return 2048;
    case DeviceAttribute::compute_capability_major:
      return s.sm / 10;
    case DeviceAttribute::compute_capability_minor:
      return s.sm % 10;
    case DeviceAttribute::max_shared_memory_per_multiprocessor:
      return 228 * 1024;
    case DeviceAttribute::max_shared_memory_per_block_optin:
      return 227 * 1024;
    case DeviceAttribute::max_blocks_per_multiprocessor:
      return 32;
    case DeviceAttribute::reserved_shared_memory_per_block:
      return 1024;
    case DeviceAttribute::cooperative_launch:
    case DeviceAttribute::memory_pools_supported:
    case DeviceAttribute::virtual_memory_supported:
      return 1;
    case DeviceAttribute::cluster_launch:
      return s.sm >= 90 ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

Result cuInit(unsigned) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.shut_down) return Result::deinitialized;
  read_configuration(s);
  if (s.init_result != Result::success) return s.init_result;
  if (s.devices <= 0) return Result::no_device;
  s.initialized = true;
  return Result::success;
}

Result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("FAKE_CUDA_VERSION", 13000));
  return Result::success;
}

Result cuGetErrorName(Result result, const char** text) {
  const ErrorText* const error = find_error(result);
  *text = error == nullptr ? nullptr : error->name;
  return error == nullptr ? Result::invalid_value : Result::success;
}

Result cuGetErrorString(Result result, const char** text) {
  const ErrorText* const error = find_error(result);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? Result::invalid_value : Result::success;
}

Result cuGetProcAddress_v2(const char* symbol, void** address, int, unsigned long long,
                           ProcAddressStatus* status) {
  Dl_info self{};
  ::dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* const library = ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *address = ::dlsym(library, symbol);
  for (const char* suffix : {"_v2", "_v3"}) {
    void* const newer = ::dlsym(library, (std::string(symbol) + suffix).c_str());
    if (newer != nullptr) *address = newer;
  }
  ::dlclose(library);
  if (status != nullptr) {
    *status = *address == nullptr ? ProcAddressStatus::symbol_not_found : ProcAddressStatus::success;
  }
  return *address == nullptr ? Result::not_found : Result::success;
}

Result cuDeviceGetCount(int* count) {
  const Entered entered = enter("cuDeviceGetCount", Needs::init);
  if (entered.result == Result::success) *count = state().devices;
  return entered.result;
}

Result cuDeviceGet(RawDevice* device, int ordinal) {
  const Entered entered = enter("cuDeviceGet", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(ordinal)) return Result::invalid_device;
  *device = ordinal;
  return Result::success;
}

Result cuDeviceGetName(char* name, int length, RawDevice device) {
  const Entered entered = enter("cuDeviceGetName", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  if (length <= 0) return Result::invalid_value;
  const std::size_t kept = std::min(state().name.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, state().name.data(), kept);
  name[kept] = '\0';
  return Result::success;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute which, RawDevice device) {
  const Entered entered = enter("cuDeviceGetAttribute", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  *value = attribute(state(), which);
  return Result::success;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, RawDevice device) {
  const Entered entered = enter("cuDeviceTotalMem", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  *bytes = state().memory_bytes;
  return Result::success;
}

Result cuDeviceGetUuid_v2(Uuid* uuid, RawDevice device) {
  const Entered entered = enter("cuDeviceGetUuid", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(i + device);
  return Result::success;
}

Result cuDevicePrimaryCtxRetain(RawContext* context, RawDevice device) {
  const Entered entered = enter("cuDevicePrimaryCtxRetain", Needs::object);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  *context = state().contexts[static_cast<std::size_t>(device)].get();
  ++(*context)->retained;
  return Result::success;
}

Result cuDevicePrimaryCtxRelease_v2(RawDevice device) {
  const Entered entered = enter("cuDevicePrimaryCtxRelease", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (!has_device(device)) return Result::invalid_device;
  CUctx_st& context = *state().contexts[static_cast<std::size_t>(device)];
  if (context.retained == 0) return Result::invalid_context;
  --context.retained;
  return Result::success;
}

Result cuCtxSetCurrent(RawContext context) {
  const Entered entered = enter("cuCtxSetCurrent", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (context != nullptr && context->retained == 0) return Result::context_is_destroyed;
  if (!context_stack().empty()) context_stack().pop_back();
  if (context != nullptr) context_stack().push_back(context);
  return Result::success;
}

Result cuCtxGetCurrent(RawContext* context) {
  const Entered entered = enter("cuCtxGetCurrent", Needs::init);
  if (entered.result == Result::success)
    *context = context_stack().empty() ? nullptr : context_stack().back();
  return entered.result;
}

Result cuCtxPushCurrent_v2(RawContext context) {
  const Entered entered = enter("cuCtxPushCurrent", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (context == nullptr) return Result::invalid_context;
  if (context->retained == 0) return Result::context_is_destroyed;
  context_stack().push_back(context);
  return Result::success;
}

Result cuCtxPopCurrent_v2(RawContext* context) {
  const Entered entered = enter("cuCtxPopCurrent", Needs::init);
  if (entered.result != Result::success) return entered.result;
  if (context_stack().empty()) return Result::invalid_context;
  if (context != nullptr) *context = context_stack().back();
  context_stack().pop_back();
  return Result::success;
}

Result cuCtxSynchronize() {
  Entered entered = enter("cuCtxSynchronize", Needs::context, During::ends_every_capture);
  if (entered.result != Result::success) return entered.result;
  State& s = state();
  ++s.synchronizes;
  std::vector<std::shared_ptr<Queue>> queues = {s.default_stream.queue};
  for (const auto& [handle, stream] : s.streams) queues.push_back(stream->queue);
  entered.lock.unlock();
  for (const auto& queue : queues) queue->wait_idle();
  return Result::success;
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  const Entered entered = enter("cuCtxGetStreamPriorityRange");
  if (entered.result != Result::success) return entered.result;
  *least = 0;
  *greatest = -5;
  return Result::success;
}
}
