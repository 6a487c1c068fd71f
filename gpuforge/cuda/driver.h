// NVIDIA's driver API, opened at run time: one line per function, each call checked.
//   driver->mem_alloc_async("4096 bytes on cuda:0", &pointer, 4096, stream);    // Error when it fails
//   driver->stream_query.raw(stream) == Result::not_ready                       // an answer, not a failure
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/cuda/call.h"
#include "gpuforge/cuda/driver_types.h"
#include "gpuforge/cuda/library.h"

namespace gpuforge::cuda {

// The oldest driver with stream-ordered memory and graphs as used here: CUDA 11.4, driver 470.
inline constexpr int kOldestDriverVersion = 11040;

class Driver final : public CallTable {
 public:
  // Opens libcuda, initialises it and finds at least one GPU. Otherwise an Error `unavailable`: "CUDA driver
  // not detected ...", "No GPU devices found (cudaGetDeviceCount == 0) ...", or what the driver said, with
  // advice.
  static std::shared_ptr<const Driver> load(const SearchOptions& options);
  // nullptr instead of an Error; `why` gets its message.
  static std::shared_ptr<const Driver> try_load(const SearchOptions& options, std::string* why = nullptr);

  int version() const { return version_; }  // 13000 for CUDA 13.0
  int device_count() const { return device_count_; }
  const std::filesystem::path& path() const { return library_.path(); }
  std::string_view rule() const { return library_.rule(); }

  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(Result result) const;

  // Driver and devices.
  Call<Result(unsigned flags)> init{*this, "cuInit"};
  Call<Result(int* version)> driver_get_version{*this, "cuDriverGetVersion"};
  Call<Result(Result, const char** text)> get_error_name{*this, "cuGetErrorName"};
  Call<Result(Result, const char** text)> get_error_string{*this, "cuGetErrorString"};
  Call<Result(const char* symbol, void** address, int version, unsigned long long flags, ProcAddressStatus*)>
      get_proc_address{*this, "cuGetProcAddress_v2"};
  Call<Result(int* count)> device_get_count{*this, "cuDeviceGetCount"};
  Call<Result(RawDevice*, int ordinal)> device_get{*this, "cuDeviceGet"};
  Call<Result(char* name, int length, RawDevice)> device_get_name{*this, "cuDeviceGetName"};
  Call<Result(int* value, DeviceAttribute, RawDevice)> device_get_attribute{*this, "cuDeviceGetAttribute"};
  Call<Result(std::size_t* bytes, RawDevice)> device_total_mem{*this, "cuDeviceTotalMem_v2"};
  Call<Result(Uuid*, RawDevice)> device_get_uuid{*this, "cuDeviceGetUuid_v2"};

  // Contexts.
  Call<Result(RawContext*, RawDevice)> device_primary_ctx_retain{*this, "cuDevicePrimaryCtxRetain"};
  Call<Result(RawDevice)> device_primary_ctx_release{*this, "cuDevicePrimaryCtxRelease_v2"};
  Call<Result(RawContext)> ctx_set_current{*this, "cuCtxSetCurrent"};
  Call<Result(RawContext*)> ctx_get_current{*this, "cuCtxGetCurrent"};
  Call<Result(RawContext)> ctx_push_current{*this, "cuCtxPushCurrent_v2"};
  Call<Result(RawContext*)> ctx_pop_current{*this, "cuCtxPopCurrent_v2"};
  Call<Result()> ctx_synchronize{*this, "cuCtxSynchronize"};
  Call<Result(int* least, int* greatest)> ctx_get_stream_priority_range{*this, "cuCtxGetStreamPriorityRange"};

  // Green contexts, from 12.4 on; streams of them from 12.5 on.
  Call<Result(RawDevice, DeviceResource*, DeviceResourceType)> device_get_dev_resource{
      *this, "cuDeviceGetDevResource"};
  Call<Result(DeviceResource* groups, unsigned* count, const DeviceResource* whole, DeviceResource* rest,
              unsigned flags, unsigned least)>
      dev_sm_resource_split_by_count{*this, "cuDevSmResourceSplitByCount"};
  Call<Result(RawResourceDescription*, DeviceResource*, unsigned count)> dev_resource_generate_desc{
      *this, "cuDevResourceGenerateDesc"};
  Call<Result(RawGreenContext*, RawResourceDescription, RawDevice, unsigned flags)> green_ctx_create{
      *this, "cuGreenCtxCreate"};
  Call<Result(RawGreenContext)> green_ctx_destroy{*this, "cuGreenCtxDestroy"};
  Call<Result(RawStream*, RawGreenContext, StreamFlags, int priority)> green_ctx_stream_create{
      *this, "cuGreenCtxStreamCreate"};

  // Memory.
  Call<Result(std::size_t* free, std::size_t* total)> mem_get_info{*this, "cuMemGetInfo_v2"};
  Call<Result(DevicePointer*, std::size_t bytes)> mem_alloc{*this, "cuMemAlloc_v2"};
  Call<Result(DevicePointer)> mem_free{*this, "cuMemFree_v2"};
  Call<Result(DevicePointer*, std::size_t bytes, RawStream)> mem_alloc_async{*this, "cuMemAllocAsync"};
  Call<Result(DevicePointer, RawStream)> mem_free_async{*this, "cuMemFreeAsync"};
  Call<Result(RawMemoryPool*, RawDevice)> device_get_default_mem_pool{*this, "cuDeviceGetDefaultMemPool"};
  Call<Result(RawMemoryPool, MemoryPoolAttribute, void* value)> mem_pool_get_attribute{
      *this, "cuMemPoolGetAttribute"};
  Call<Result(RawMemoryPool, MemoryPoolAttribute, void* value)> mem_pool_set_attribute{
      *this, "cuMemPoolSetAttribute"};
  Call<Result(RawMemoryPool, std::size_t bytes_to_keep)> mem_pool_trim_to{*this, "cuMemPoolTrimTo"};
  Call<Result(void**, std::size_t bytes)> mem_alloc_host{*this, "cuMemAllocHost_v2"};
  Call<Result(void**, std::size_t bytes, HostMemoryFlags)> mem_host_alloc{*this, "cuMemHostAlloc"};
  Call<Result(void*)> mem_free_host{*this, "cuMemFreeHost"};
  Call<Result(void*, std::size_t bytes, HostMemoryFlags)> mem_host_register{*this, "cuMemHostRegister_v2"};
  Call<Result(void*)> mem_host_unregister{*this, "cuMemHostUnregister"};

  // Virtual memory.
  Call<Result(DevicePointer*, std::size_t bytes, std::size_t alignment, DevicePointer wish,
              unsigned long long flags)>
      mem_address_reserve{*this, "cuMemAddressReserve"};
  Call<Result(DevicePointer, std::size_t bytes)> mem_address_free{*this, "cuMemAddressFree"};
  Call<Result(RawPhysicalMemory*, std::size_t bytes, const PhysicalMemoryProperties*,
              unsigned long long flags)>
      mem_create{*this, "cuMemCreate"};
  Call<Result(RawPhysicalMemory)> mem_release{*this, "cuMemRelease"};
  Call<Result(DevicePointer, std::size_t bytes, std::size_t offset, RawPhysicalMemory,
              unsigned long long flags)>
      mem_map{*this, "cuMemMap"};
  Call<Result(DevicePointer, std::size_t bytes)> mem_unmap{*this, "cuMemUnmap"};
  Call<Result(DevicePointer, std::size_t bytes, const MemoryAccessDescription*, std::size_t count)>
      mem_set_access{*this, "cuMemSetAccess"};
  Call<Result(std::size_t* bytes, const PhysicalMemoryProperties*, GranularityOption)>
      mem_get_allocation_granularity{*this, "cuMemGetAllocationGranularity"};

  // Copies and fills.
  Call<Result(DevicePointer to, const void* from, std::size_t bytes)> memcpy_htod{*this, "cuMemcpyHtoD_v2"};
  Call<Result(void* to, DevicePointer from, std::size_t bytes)> memcpy_dtoh{*this, "cuMemcpyDtoH_v2"};
  Call<Result(DevicePointer to, DevicePointer from, std::size_t bytes)> memcpy_dtod{*this, "cuMemcpyDtoD_v2"};
  Call<Result(DevicePointer to, const void* from, std::size_t bytes, RawStream)> memcpy_htod_async{
      *this, "cuMemcpyHtoDAsync_v2"};
  Call<Result(void* to, DevicePointer from, std::size_t bytes, RawStream)> memcpy_dtoh_async{
      *this, "cuMemcpyDtoHAsync_v2"};
  Call<Result(DevicePointer to, DevicePointer from, std::size_t bytes, RawStream)> memcpy_dtod_async{
      *this, "cuMemcpyDtoDAsync_v2"};
  Call<Result(DevicePointer, unsigned char, std::size_t count, RawStream)> memset_d8_async{*this,
                                                                                           "cuMemsetD8Async"};
  Call<Result(DevicePointer, unsigned short, std::size_t count, RawStream)> memset_d16_async{
      *this, "cuMemsetD16Async"};
  Call<Result(DevicePointer, unsigned, std::size_t count, RawStream)> memset_d32_async{*this,
                                                                                       "cuMemsetD32Async"};

  // Streams.
  Call<Result(RawStream*, StreamFlags, int priority)> stream_create_with_priority{
      *this, "cuStreamCreateWithPriority"};
  Call<Result(RawStream)> stream_destroy{*this, "cuStreamDestroy_v2"};
  Call<Result(RawStream)> stream_query{*this, "cuStreamQuery"};
  Call<Result(RawStream)> stream_synchronize{*this, "cuStreamSynchronize"};
  Call<Result(RawStream, RawEvent, EventWaitFlags)> stream_wait_event{*this, "cuStreamWaitEvent"};
  Call<Result(RawStream, HostFunction, void* user_data)> launch_host_func{*this, "cuLaunchHostFunc"};
  Call<Result(RawStream, CaptureMode)> stream_begin_capture{*this, "cuStreamBeginCapture_v2"};
  Call<Result(RawStream, RawGraph*)> stream_end_capture{*this, "cuStreamEndCapture"};
  Call<Result(RawStream, CaptureStatus*)> stream_is_capturing{*this, "cuStreamIsCapturing"};
  Call<Result(CaptureMode*)> thread_exchange_stream_capture_mode{*this, "cuThreadExchangeStreamCaptureMode"};

  // Events. The first version of the elapsed time call: the second exists only from 12.8 on.
  Call<Result(RawEvent*, EventFlags)> event_create{*this, "cuEventCreate"};
  Call<Result(RawEvent)> event_destroy{*this, "cuEventDestroy_v2"};
  Call<Result(RawEvent, RawStream)> event_record{*this, "cuEventRecord"};
  Call<Result(RawEvent)> event_query{*this, "cuEventQuery"};
  Call<Result(RawEvent)> event_synchronize{*this, "cuEventSynchronize"};
  Call<Result(float* ms, RawEvent start, RawEvent end)> event_elapsed_time{*this, "cuEventElapsedTime"};

  // Modules and functions. From 12.3 on: func_get_name; from 12.4 on: the counts, listing and parameters;
  // from 11.8 on: occupancy_max_active_clusters.
  Call<Result(RawModule*, const void* image)> module_load_data{*this, "cuModuleLoadData"};
  Call<Result(RawModule*, const void* image, unsigned count, JitOption*, void** values)> module_load_data_ex{
      *this, "cuModuleLoadDataEx"};
  Call<Result(RawModule)> module_unload{*this, "cuModuleUnload"};
  Call<Result(RawFunction*, RawModule, const char* name)> module_get_function{*this, "cuModuleGetFunction"};
  Call<Result(unsigned* count, RawModule)> module_get_function_count{*this, "cuModuleGetFunctionCount"};
  Call<Result(RawFunction*, unsigned count, RawModule)> module_enumerate_functions{
      *this, "cuModuleEnumerateFunctions"};
  Call<Result(const char** name, RawFunction)> func_get_name{*this, "cuFuncGetName"};
  Call<Result(int* value, FunctionAttribute, RawFunction)> func_get_attribute{*this, "cuFuncGetAttribute"};
  Call<Result(RawFunction, FunctionAttribute, int value)> func_set_attribute{*this, "cuFuncSetAttribute"};
  Call<Result(RawFunction, std::size_t index, std::size_t* offset, std::size_t* bytes)> func_get_param_info{
      *this, "cuFuncGetParamInfo"};
  Call<Result(int* blocks, RawFunction, int threads, std::size_t dynamic_shared_bytes)>
      occupancy_max_active_blocks{*this, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  Call<Result(int* clusters, RawFunction, const LaunchConfig*)> occupancy_max_active_clusters{
      *this, "cuOccupancyMaxActiveClusters"};

  // Launches. launch_kernel_ex (attributes) needs 11.8.
  Call<Result(RawFunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
              unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, RawStream, void** parameters,
              void** extra)>
      launch_kernel{*this, "cuLaunchKernel"};
  Call<Result(const LaunchConfig*, RawFunction, void** parameters, void** extra)> launch_kernel_ex{
      *this, "cuLaunchKernelEx"};

  // Graphs. graph_exec_update needs 12.0.
  Call<Result(RawGraphExec*, RawGraph, GraphInstantiateFlags)> graph_instantiate{
      *this, "cuGraphInstantiateWithFlags"};
  Call<Result(RawGraphExec, RawStream)> graph_launch{*this, "cuGraphLaunch"};
  Call<Result(RawGraphExec, RawGraph, GraphUpdateInfo*)> graph_exec_update{*this, "cuGraphExecUpdate_v2"};
  Call<Result(RawGraph, RawGraphNode* nodes, std::size_t* count)> graph_get_nodes{*this, "cuGraphGetNodes"};
  Call<Result(RawGraph)> graph_destroy{*this, "cuGraphDestroy"};
  Call<Result(RawGraphExec)> graph_exec_destroy{*this, "cuGraphExecDestroy"};

 private:
  explicit Driver(SharedLibrary library);
  void start();  // cuInit, version, device count
  [[noreturn]] void fail(const CallBase& call, int result, std::string object) const override;
  [[noreturn]] void fail_missing(const CallBase& call) const override;

  SharedLibrary library_;
  int version_ = 0;
  int device_count_ = 0;
};

// "13.0" for 13000.
std::string version_text(int cuda_version);

}  // namespace gpuforge::cuda
