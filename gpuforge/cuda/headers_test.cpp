// Compares our declarations with NVIDIA's headers where those are installed: sizes and offsets of the structs
// we pass, and every function's signature. header_values_test.cpp compares the enum values.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <type_traits>

#include "gpuforge/cuda/cuda.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/fake_driver/temporary_tree.h"

#ifdef GPUFORGE_HAS_CUDA_HEADERS

#include <cuda.h>
#include <nvrtc.h>

namespace gpuforge::cuda {
namespace {

template <typename T>
concept Complete = requires {
  sizeof(T);
};

// A parameter agrees when it is passed the same way: integers and enums of one size, structs of one size,
// pointers to things that agree. Opaque handles are the very same types.
template <typename Ours, typename Theirs>
struct Agrees {
  static constexpr bool kNumbers = (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(
      std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
  static constexpr bool kClasses = std::is_class_v<Ours> && std::is_class_v<Theirs>;
  static constexpr bool value() {
    if constexpr (std::is_same_v<Ours, Theirs>) {
      return true;
    } else if constexpr (Complete<Ours> && Complete<Theirs>) {
      return std::is_const_v<Ours> == std::is_const_v<Theirs> && (kNumbers || kClasses) &&
             sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
    } else {
      return false;
    }
  }
};

template <typename Ours, typename Theirs>
struct Agrees<Ours*, Theirs*> {
  static constexpr bool value() { return Agrees<Ours, Theirs>::value(); }
};
template <typename Ours, typename Theirs>
struct Agrees<Ours* const, Theirs* const> : Agrees<Ours*, Theirs*> {};

template <typename Ours, typename Theirs>
struct Agrees<Call<Ours>, Theirs*> : Agrees<Ours, Theirs> {};

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
struct Agrees<OurResult(Ours...), TheirResult(Theirs...)> {
  static constexpr bool value() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return Agrees<OurResult, TheirResult>::value() && (Agrees<Ours, Theirs>::value() && ...);
    } else {
      return false;
    }
  }
};

// The comparison itself must be able to say no.
static_assert(Agrees<int(unsigned*), Result(int*)>::value());
static_assert(!Agrees<int(int*), int(long*)>::value());
static_assert(!Agrees<int(int), int(int, int)>::value());
static_assert(!Agrees<int(const char*), int(char*)>::value());
static_assert(!Agrees<int(float), int(int)>::value());
static_assert(!Agrees<int(int), int(int*)>::value());
static_assert(!Agrees<int(RawStream), int(RawEvent)>::value());

static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr) && sizeof(RawDevice) == sizeof(CUdevice));
static_assert(std::is_same_v<HostFunction, CUhostFn>);

static_assert(sizeof(LaunchAttributeValue) == sizeof(CUlaunchAttributeValue));
static_assert(alignof(LaunchAttributeValue) == alignof(CUlaunchAttributeValue));
static_assert(sizeof(LaunchAttributeValue::cluster) == sizeof(CUlaunchAttributeValue::clusterDim));
static_assert(sizeof(LaunchAttributeValue::cooperative) == sizeof(CUlaunchAttributeValue::cooperative));
static_assert(sizeof(LaunchAttributeValue::programmatic_stream_serialization) ==
              sizeof(CUlaunchAttributeValue::programmaticStreamSerializationAllowed));
static_assert(sizeof(LaunchAttributeValue::priority) == sizeof(CUlaunchAttributeValue::priority));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, id) == offsetof(CUlaunchAttribute, id));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, grid_x) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(LaunchConfig, grid_y) == offsetof(CUlaunchConfig, gridDimY));
static_assert(offsetof(LaunchConfig, grid_z) == offsetof(CUlaunchConfig, gridDimZ));
static_assert(offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, block_y) == offsetof(CUlaunchConfig, blockDimY));
static_assert(offsetof(LaunchConfig, block_z) == offsetof(CUlaunchConfig, blockDimZ));
static_assert(offsetof(LaunchConfig, dynamic_shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

static_assert(sizeof(MemoryLocation) == sizeof(CUmemLocation));
static_assert(offsetof(MemoryLocation, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(PhysicalMemoryProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(PhysicalMemoryProperties, handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(PhysicalMemoryProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(PhysicalMemoryProperties, windows_handle) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(PhysicalMemoryProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(MemoryAccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(MemoryAccessDescription, access) == offsetof(CUmemAccessDesc, flags));

static_assert(sizeof(DeviceResource) == sizeof(CUdevResource));
static_assert(alignof(DeviceResource) == alignof(CUdevResource));
static_assert(offsetof(DeviceResource, multiprocessors) == offsetof(CUdevResource, sm));
static_assert(offsetof(DeviceResource::Multiprocessors, count) == offsetof(CUdevSmResource, smCount));
static_assert(offsetof(DeviceResource::Multiprocessors, least) ==
              offsetof(CUdevSmResource, minSmPartitionSize));
static_assert(offsetof(DeviceResource::Multiprocessors, step) ==
              offsetof(CUdevSmResource, smCoscheduledAlignment));

static_assert(sizeof(GraphUpdateInfo) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(GraphUpdateInfo, result) == offsetof(CUgraphExecUpdateResultInfo, result));
static_assert(offsetof(GraphUpdateInfo, error_node) == offsetof(CUgraphExecUpdateResultInfo, errorNode));
static_assert(offsetof(GraphUpdateInfo, error_from_node) ==
              offsetof(CUgraphExecUpdateResultInfo, errorFromNode));

// Compares one function at compile time, and notes that it was compared.
class Checked {
 public:
  template <typename Theirs, typename Ours>
  void add(const Ours& call, const char* symbol) {
    static_assert(Agrees<Ours, Theirs>::value());
    EXPECT_STREQ(call.symbol(), symbol);
    symbols_.insert(symbol);
  }
  // Every function of the table, none left out.
  void expect_all_of(const CallTable& table) const {
    std::set<std::string> all;
    for (const CallBase* call : table.calls()) all.insert(call->symbol());
    EXPECT_EQ(symbols_, all);
  }

 private:
  std::set<std::string> symbols_;
};

TEST(Headers, EveryDriverFunctionHasItsSignature) {
  fake_driver::FakeDriver fake;
  const std::shared_ptr<const Driver> loaded = Driver::load(fake_driver::FakeDriver::search());
  const Driver& driver = *loaded;
  Checked checked;
  checked.add<decltype(&::cuInit)>(driver.init, "cuInit");
  checked.add<decltype(&::cuDriverGetVersion)>(driver.driver_get_version, "cuDriverGetVersion");
  checked.add<decltype(&::cuGetErrorName)>(driver.get_error_name, "cuGetErrorName");
  checked.add<decltype(&::cuGetErrorString)>(driver.get_error_string, "cuGetErrorString");
  checked.add<decltype(&::cuGetProcAddress_v2)>(driver.get_proc_address, "cuGetProcAddress_v2");
  checked.add<decltype(&::cuDeviceGetCount)>(driver.device_get_count, "cuDeviceGetCount");
  checked.add<decltype(&::cuDeviceGet)>(driver.device_get, "cuDeviceGet");
  checked.add<decltype(&::cuDeviceGetName)>(driver.device_get_name, "cuDeviceGetName");
  checked.add<decltype(&::cuDeviceGetAttribute)>(driver.device_get_attribute, "cuDeviceGetAttribute");
  checked.add<decltype(&::cuDeviceTotalMem_v2)>(driver.device_total_mem, "cuDeviceTotalMem_v2");
  checked.add<decltype(&::cuDeviceGetUuid_v2)>(driver.device_get_uuid, "cuDeviceGetUuid_v2");
  checked.add<decltype(&::cuDevicePrimaryCtxRetain)>(driver.device_primary_ctx_retain,
                                                     "cuDevicePrimaryCtxRetain");
  checked.add<decltype(&::cuDevicePrimaryCtxRelease_v2)>(driver.device_primary_ctx_release,
                                                         "cuDevicePrimaryCtxRelease_v2");
  checked.add<decltype(&::cuCtxSetCurrent)>(driver.ctx_set_current, "cuCtxSetCurrent");
  checked.add<decltype(&::cuCtxGetCurrent)>(driver.ctx_get_current, "cuCtxGetCurrent");
  checked.add<decltype(&::cuCtxPushCurrent_v2)>(driver.ctx_push_current, "cuCtxPushCurrent_v2");
  checked.add<decltype(&::cuCtxPopCurrent_v2)>(driver.ctx_pop_current, "cuCtxPopCurrent_v2");
  checked.add<decltype(&::cuCtxSynchronize)>(driver.ctx_synchronize, "cuCtxSynchronize");
  checked.add<decltype(&::cuCtxGetStreamPriorityRange)>(driver.ctx_get_stream_priority_range,
                                                        "cuCtxGetStreamPriorityRange");
  checked.add<decltype(&::cuDeviceGetDevResource)>(driver.device_get_dev_resource, "cuDeviceGetDevResource");
  checked.add<decltype(&::cuDevSmResourceSplitByCount)>(driver.dev_sm_resource_split_by_count,
                                                        "cuDevSmResourceSplitByCount");
  checked.add<decltype(&::cuDevResourceGenerateDesc)>(driver.dev_resource_generate_desc,
                                                      "cuDevResourceGenerateDesc");
  checked.add<decltype(&::cuGreenCtxCreate)>(driver.green_ctx_create, "cuGreenCtxCreate");
  checked.add<decltype(&::cuGreenCtxDestroy)>(driver.green_ctx_destroy, "cuGreenCtxDestroy");
  checked.add<decltype(&::cuGreenCtxStreamCreate)>(driver.green_ctx_stream_create, "cuGreenCtxStreamCreate");
  checked.add<decltype(&::cuMemGetInfo_v2)>(driver.mem_get_info, "cuMemGetInfo_v2");
  checked.add<decltype(&::cuMemAlloc_v2)>(driver.mem_alloc, "cuMemAlloc_v2");
  checked.add<decltype(&::cuMemFree_v2)>(driver.mem_free, "cuMemFree_v2");
  checked.add<decltype(&::cuMemAllocAsync)>(driver.mem_alloc_async, "cuMemAllocAsync");
  checked.add<decltype(&::cuMemFreeAsync)>(driver.mem_free_async, "cuMemFreeAsync");
  checked.add<decltype(&::cuDeviceGetDefaultMemPool)>(driver.device_get_default_mem_pool,
                                                      "cuDeviceGetDefaultMemPool");
  checked.add<decltype(&::cuMemPoolGetAttribute)>(driver.mem_pool_get_attribute, "cuMemPoolGetAttribute");
  checked.add<decltype(&::cuMemPoolSetAttribute)>(driver.mem_pool_set_attribute, "cuMemPoolSetAttribute");
  checked.add<decltype(&::cuMemPoolTrimTo)>(driver.mem_pool_trim_to, "cuMemPoolTrimTo");
  checked.add<decltype(&::cuMemAllocHost_v2)>(driver.mem_alloc_host, "cuMemAllocHost_v2");
  checked.add<decltype(&::cuMemHostAlloc)>(driver.mem_host_alloc, "cuMemHostAlloc");
  checked.add<decltype(&::cuMemFreeHost)>(driver.mem_free_host, "cuMemFreeHost");
  checked.add<decltype(&::cuMemHostRegister_v2)>(driver.mem_host_register, "cuMemHostRegister_v2");
  checked.add<decltype(&::cuMemHostUnregister)>(driver.mem_host_unregister, "cuMemHostUnregister");
  checked.add<decltype(&::cuMemAddressReserve)>(driver.mem_address_reserve, "cuMemAddressReserve");
  checked.add<decltype(&::cuMemAddressFree)>(driver.mem_address_free, "cuMemAddressFree");
  checked.add<decltype(&::cuMemCreate)>(driver.mem_create, "cuMemCreate");
  checked.add<decltype(&::cuMemRelease)>(driver.mem_release, "cuMemRelease");
  checked.add<decltype(&::cuMemMap)>(driver.mem_map, "cuMemMap");
  checked.add<decltype(&::cuMemUnmap)>(driver.mem_unmap, "cuMemUnmap");
  checked.add<decltype(&::cuMemSetAccess)>(driver.mem_set_access, "cuMemSetAccess");
  checked.add<decltype(&::cuMemGetAllocationGranularity)>(driver.mem_get_allocation_granularity,
                                                          "cuMemGetAllocationGranularity");
  checked.add<decltype(&::cuMemcpyHtoD_v2)>(driver.memcpy_htod, "cuMemcpyHtoD_v2");
  checked.add<decltype(&::cuMemcpyDtoH_v2)>(driver.memcpy_dtoh, "cuMemcpyDtoH_v2");
  checked.add<decltype(&::cuMemcpyDtoD_v2)>(driver.memcpy_dtod, "cuMemcpyDtoD_v2");
  checked.add<decltype(&::cuMemcpyHtoDAsync_v2)>(driver.memcpy_htod_async, "cuMemcpyHtoDAsync_v2");
  checked.add<decltype(&::cuMemcpyDtoHAsync_v2)>(driver.memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2");
  checked.add<decltype(&::cuMemcpyDtoDAsync_v2)>(driver.memcpy_dtod_async, "cuMemcpyDtoDAsync_v2");
  checked.add<decltype(&::cuMemsetD8Async)>(driver.memset_d8_async, "cuMemsetD8Async");
  checked.add<decltype(&::cuMemsetD16Async)>(driver.memset_d16_async, "cuMemsetD16Async");
  checked.add<decltype(&::cuMemsetD32Async)>(driver.memset_d32_async, "cuMemsetD32Async");
  checked.add<decltype(&::cuStreamCreateWithPriority)>(driver.stream_create_with_priority,
                                                       "cuStreamCreateWithPriority");
  checked.add<decltype(&::cuStreamDestroy_v2)>(driver.stream_destroy, "cuStreamDestroy_v2");
  checked.add<decltype(&::cuStreamQuery)>(driver.stream_query, "cuStreamQuery");
  checked.add<decltype(&::cuStreamSynchronize)>(driver.stream_synchronize, "cuStreamSynchronize");
  checked.add<decltype(&::cuStreamWaitEvent)>(driver.stream_wait_event, "cuStreamWaitEvent");
  checked.add<decltype(&::cuLaunchHostFunc)>(driver.launch_host_func, "cuLaunchHostFunc");
  checked.add<decltype(&::cuStreamBeginCapture_v2)>(driver.stream_begin_capture, "cuStreamBeginCapture_v2");
  checked.add<decltype(&::cuStreamEndCapture)>(driver.stream_end_capture, "cuStreamEndCapture");
  checked.add<decltype(&::cuStreamIsCapturing)>(driver.stream_is_capturing, "cuStreamIsCapturing");
  checked.add<decltype(&::cuThreadExchangeStreamCaptureMode)>(driver.thread_exchange_stream_capture_mode,
                                                              "cuThreadExchangeStreamCaptureMode");
  checked.add<decltype(&::cuEventCreate)>(driver.event_create, "cuEventCreate");
  checked.add<decltype(&::cuEventDestroy_v2)>(driver.event_destroy, "cuEventDestroy_v2");
  checked.add<decltype(&::cuEventRecord)>(driver.event_record, "cuEventRecord");
  checked.add<decltype(&::cuEventQuery)>(driver.event_query, "cuEventQuery");
  checked.add<decltype(&::cuEventSynchronize)>(driver.event_synchronize, "cuEventSynchronize");
  // cuda.h maps this name to its second version, with the same signature.
  checked.add<decltype(&::cuEventElapsedTime)>(driver.event_elapsed_time, "cuEventElapsedTime");
  checked.add<decltype(&::cuModuleLoadData)>(driver.module_load_data, "cuModuleLoadData");
  checked.add<decltype(&::cuModuleLoadDataEx)>(driver.module_load_data_ex, "cuModuleLoadDataEx");
  checked.add<decltype(&::cuModuleUnload)>(driver.module_unload, "cuModuleUnload");
  checked.add<decltype(&::cuModuleGetFunction)>(driver.module_get_function, "cuModuleGetFunction");
  checked.add<decltype(&::cuModuleGetFunctionCount)>(driver.module_get_function_count,
                                                     "cuModuleGetFunctionCount");
  checked.add<decltype(&::cuModuleEnumerateFunctions)>(driver.module_enumerate_functions,
                                                       "cuModuleEnumerateFunctions");
  checked.add<decltype(&::cuFuncGetName)>(driver.func_get_name, "cuFuncGetName");
  checked.add<decltype(&::cuFuncGetAttribute)>(driver.func_get_attribute, "cuFuncGetAttribute");
  checked.add<decltype(&::cuFuncSetAttribute)>(driver.func_set_attribute, "cuFuncSetAttribute");
  checked.add<decltype(&::cuFuncGetParamInfo)>(driver.func_get_param_info, "cuFuncGetParamInfo");
  checked.add<decltype(&::cuOccupancyMaxActiveBlocksPerMultiprocessor)>(
      driver.occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  checked.add<decltype(&::cuOccupancyMaxActiveClusters)>(driver.occupancy_max_active_clusters,
                                                         "cuOccupancyMaxActiveClusters");
  checked.add<decltype(&::cuLaunchKernel)>(driver.launch_kernel, "cuLaunchKernel");
  checked.add<decltype(&::cuLaunchKernelEx)>(driver.launch_kernel_ex, "cuLaunchKernelEx");
  checked.add<decltype(&::cuGraphInstantiateWithFlags)>(driver.graph_instantiate,
                                                        "cuGraphInstantiateWithFlags");
  checked.add<decltype(&::cuGraphLaunch)>(driver.graph_launch, "cuGraphLaunch");
  checked.add<decltype(&::cuGraphExecUpdate_v2)>(driver.graph_exec_update, "cuGraphExecUpdate_v2");
  checked.add<decltype(&::cuGraphGetNodes)>(driver.graph_get_nodes, "cuGraphGetNodes");
  checked.add<decltype(&::cuGraphDestroy)>(driver.graph_destroy, "cuGraphDestroy");
  checked.add<decltype(&::cuGraphExecDestroy)>(driver.graph_exec_destroy, "cuGraphExecDestroy");
  checked.expect_all_of(driver);
}

TEST(Headers, EveryNvrtcFunctionHasItsSignature) {
  fake_driver::TemporaryTree tree;
  tree.copy(GPUFORGE_FAKE_NVRTC, "libnvrtc.so.13");
  tree.copy(GPUFORGE_FAKE_NVRTC, "libnvrtc-builtins.so.13.0");
  fake_driver::FakeDriver variables({{"FAKE_NVRTC_VERSION", "13.0"}});
  SearchOptions options;
  options.explicit_path = tree.root().string();
  options.system = false;
  const std::unique_ptr<Nvrtc> loaded = Nvrtc::load(options);
  const Nvrtc& nvrtc = *loaded;
  Checked checked;
  checked.add<decltype(&::nvrtcVersion)>(nvrtc.get_version, "nvrtcVersion");
  checked.add<decltype(&::nvrtcGetNumSupportedArchs)>(nvrtc.get_num_supported_archs,
                                                      "nvrtcGetNumSupportedArchs");
  checked.add<decltype(&::nvrtcGetSupportedArchs)>(nvrtc.get_supported_archs, "nvrtcGetSupportedArchs");
  checked.add<decltype(&::nvrtcGetErrorString)>(nvrtc.get_error_string, "nvrtcGetErrorString");
  checked.add<decltype(&::nvrtcCreateProgram)>(nvrtc.create_program, "nvrtcCreateProgram");
  checked.add<decltype(&::nvrtcDestroyProgram)>(nvrtc.destroy_program, "nvrtcDestroyProgram");
  checked.add<decltype(&::nvrtcAddNameExpression)>(nvrtc.add_name_expression, "nvrtcAddNameExpression");
  checked.add<decltype(&::nvrtcCompileProgram)>(nvrtc.compile_program, "nvrtcCompileProgram");
  checked.add<decltype(&::nvrtcGetLoweredName)>(nvrtc.get_lowered_name, "nvrtcGetLoweredName");
  checked.add<decltype(&::nvrtcGetProgramLogSize)>(nvrtc.get_program_log_size, "nvrtcGetProgramLogSize");
  checked.add<decltype(&::nvrtcGetProgramLog)>(nvrtc.get_program_log, "nvrtcGetProgramLog");
  checked.add<decltype(&::nvrtcGetPTXSize)>(nvrtc.get_ptx_size, "nvrtcGetPTXSize");
  checked.add<decltype(&::nvrtcGetPTX)>(nvrtc.get_ptx, "nvrtcGetPTX");
  checked.add<decltype(&::nvrtcGetCUBINSize)>(nvrtc.get_cubin_size, "nvrtcGetCUBINSize");
  checked.add<decltype(&::nvrtcGetCUBIN)>(nvrtc.get_cubin, "nvrtcGetCUBIN");
  checked.expect_all_of(nvrtc);
}

}  // namespace
}  // namespace gpuforge::cuda

#else

TEST(Headers, EveryDriverFunctionHasItsSignature) {
  GTEST_SKIP() << "NVIDIA's headers are not installed: our declarations were not compared with them";
}

#endif
