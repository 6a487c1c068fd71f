// The only files that include NVIDIA's headers are this one and headers_test.cpp: here every enum value of
// ours is compared with theirs, at compile time.
#include <gtest/gtest.h>

#include "gpuforge/cuda/driver_types.h"
#include "gpuforge/cuda/nvrtc.h"

#ifdef GPUFORGE_HAS_CUDA_HEADERS

#include <cuda.h>
#include <nvrtc.h>

namespace gpuforge::cuda {
namespace {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

static_assert(same(Result::success, CUDA_SUCCESS));
static_assert(same(Result::invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(same(Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(same(Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(same(Result::deinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(same(Result::stub_library, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(Result::device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE));
static_assert(same(Result::no_device, CUDA_ERROR_NO_DEVICE));
static_assert(same(Result::invalid_device, CUDA_ERROR_INVALID_DEVICE));
static_assert(same(Result::invalid_image, CUDA_ERROR_INVALID_IMAGE));
static_assert(same(Result::invalid_context, CUDA_ERROR_INVALID_CONTEXT));
static_assert(same(Result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(same(Result::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE));
static_assert(same(Result::invalid_ptx, CUDA_ERROR_INVALID_PTX));
static_assert(same(Result::nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE));
static_assert(same(Result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(same(Result::contained, CUDA_ERROR_CONTAINED));
static_assert(same(Result::operating_system, CUDA_ERROR_OPERATING_SYSTEM));
static_assert(same(Result::invalid_handle, CUDA_ERROR_INVALID_HANDLE));
static_assert(same(Result::illegal_state, CUDA_ERROR_ILLEGAL_STATE));
static_assert(same(Result::not_found, CUDA_ERROR_NOT_FOUND));
static_assert(same(Result::not_ready, CUDA_ERROR_NOT_READY));
static_assert(same(Result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(same(Result::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(same(Result::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(same(Result::primary_context_active, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE));
static_assert(same(Result::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(same(Result::assertion, CUDA_ERROR_ASSERT));
static_assert(same(Result::host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED));
static_assert(same(Result::host_memory_not_registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
static_assert(same(Result::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(same(Result::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
static_assert(same(Result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(same(Result::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE));
static_assert(same(Result::invalid_pc, CUDA_ERROR_INVALID_PC));
static_assert(same(Result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(same(Result::cooperative_launch_too_large, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
static_assert(same(Result::tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK));
static_assert(same(Result::not_permitted, CUDA_ERROR_NOT_PERMITTED));
static_assert(same(Result::not_supported, CUDA_ERROR_NOT_SUPPORTED));
static_assert(same(Result::system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY));
static_assert(same(Result::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(same(Result::compat_not_supported_on_device, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE));
static_assert(same(Result::mps_client_terminated, CUDA_ERROR_MPS_CLIENT_TERMINATED));
static_assert(same(Result::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
static_assert(same(Result::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
static_assert(same(Result::stream_capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE));
static_assert(same(Result::stream_capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED));
static_assert(same(Result::stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
static_assert(same(Result::stream_capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
static_assert(same(Result::stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
static_assert(same(Result::captured_event, CUDA_ERROR_CAPTURED_EVENT));
static_assert(same(Result::stream_capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
static_assert(same(Result::graph_exec_update_failure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE));
static_assert(same(Result::external_device, CUDA_ERROR_EXTERNAL_DEVICE));
static_assert(same(Result::invalid_cluster_size, CUDA_ERROR_INVALID_CLUSTER_SIZE));
static_assert(same(Result::unknown, CUDA_ERROR_UNKNOWN));

static_assert(same(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(DeviceAttribute::max_block_dim_x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
static_assert(same(DeviceAttribute::max_block_dim_y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
static_assert(same(DeviceAttribute::max_block_dim_z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
static_assert(same(DeviceAttribute::max_grid_dim_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(same(DeviceAttribute::max_grid_dim_y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
static_assert(same(DeviceAttribute::max_grid_dim_z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(same(DeviceAttribute::max_shared_memory_per_block,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(same(DeviceAttribute::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(same(DeviceAttribute::max_registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
static_assert(same(DeviceAttribute::clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(same(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(DeviceAttribute::integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED));
static_assert(same(DeviceAttribute::compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(same(DeviceAttribute::ecc_enabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED));
static_assert(same(DeviceAttribute::pci_bus_id, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(same(DeviceAttribute::pci_device_id, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(same(DeviceAttribute::memory_clock_rate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(same(DeviceAttribute::global_memory_bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(same(DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(DeviceAttribute::max_threads_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::pci_domain_id, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(same(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(DeviceAttribute::max_shared_memory_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::max_registers_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
static_assert(same(DeviceAttribute::max_shared_memory_per_block_optin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(DeviceAttribute::virtual_memory_supported,
                   CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
static_assert(same(DeviceAttribute::max_blocks_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::reserved_shared_memory_per_block,
                   CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
static_assert(same(DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(same(DeviceAttribute::cluster_launch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));

static_assert(same(FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(same(FunctionAttribute::const_size_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
static_assert(same(FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(same(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(same(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION));
static_assert(same(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
static_assert(same(FunctionAttribute::max_dynamic_shared_size_bytes,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same(FunctionAttribute::preferred_shared_memory_carveout,
                   CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));
static_assert(same(FunctionAttribute::cluster_size_must_be_set, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET));
static_assert(same(FunctionAttribute::required_cluster_width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
static_assert(same(FunctionAttribute::required_cluster_height, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT));
static_assert(same(FunctionAttribute::required_cluster_depth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH));
static_assert(same(FunctionAttribute::non_portable_cluster_size_allowed,
                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));

static_assert(same(MemoryPoolAttribute::reuse_follow_event_dependencies,
                   CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES));
static_assert(same(MemoryPoolAttribute::reuse_allow_opportunistic,
                   CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC));
static_assert(same(MemoryPoolAttribute::reuse_allow_internal_dependencies,
                   CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES));
static_assert(same(MemoryPoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
static_assert(same(MemoryPoolAttribute::reserved_bytes, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
static_assert(same(MemoryPoolAttribute::reserved_bytes_high, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
static_assert(same(MemoryPoolAttribute::used_bytes, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
static_assert(same(MemoryPoolAttribute::used_bytes_high, CU_MEMPOOL_ATTR_USED_MEM_HIGH));

static_assert(same(PhysicalMemoryType::invalid, CU_MEM_ALLOCATION_TYPE_INVALID));
static_assert(same(PhysicalMemoryType::pinned, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(same(MemoryHandleType::none, CU_MEM_HANDLE_TYPE_NONE));
static_assert(same(MemoryLocationType::invalid, CU_MEM_LOCATION_TYPE_INVALID));
static_assert(same(MemoryLocationType::device, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(same(MemoryAccess::none, CU_MEM_ACCESS_FLAGS_PROT_NONE));
static_assert(same(MemoryAccess::read, CU_MEM_ACCESS_FLAGS_PROT_READ));
static_assert(same(MemoryAccess::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(same(GranularityOption::minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
static_assert(same(GranularityOption::recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
static_assert(same(DeviceResourceType::invalid, CU_DEV_RESOURCE_TYPE_INVALID));
static_assert(same(DeviceResourceType::multiprocessors, CU_DEV_RESOURCE_TYPE_SM));
static_assert(kGreenContextDefaultStream == CU_GREEN_CTX_DEFAULT_STREAM);
static_assert(same(StreamFlags::none, CU_STREAM_DEFAULT));
static_assert(same(StreamFlags::non_blocking, CU_STREAM_NON_BLOCKING));

static_assert(same(EventFlags::none, CU_EVENT_DEFAULT));
static_assert(same(EventFlags::blocking_sync, CU_EVENT_BLOCKING_SYNC));
static_assert(same(EventFlags::disable_timing, CU_EVENT_DISABLE_TIMING));

static_assert(same(EventWaitFlags::none, CU_EVENT_WAIT_DEFAULT));

static_assert(same(HostMemoryFlags::portable, CU_MEMHOSTALLOC_PORTABLE));

static_assert(same(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL));
static_assert(same(CaptureMode::per_thread, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(same(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));

static_assert(same(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(same(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
static_assert(same(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));

static_assert(same(GraphInstantiateFlags::auto_free_on_launch,
                   CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));

static_assert(same(GraphUpdateResult::success, CU_GRAPH_EXEC_UPDATE_SUCCESS));
static_assert(same(GraphUpdateResult::error, CU_GRAPH_EXEC_UPDATE_ERROR));
static_assert(same(GraphUpdateResult::topology_changed, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED));
static_assert(same(GraphUpdateResult::node_type_changed, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
static_assert(same(GraphUpdateResult::function_changed, CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED));
static_assert(same(GraphUpdateResult::parameters_changed, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED));
static_assert(same(GraphUpdateResult::not_supported, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED));
static_assert(same(GraphUpdateResult::unsupported_function_change,
                   CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE));
static_assert(same(GraphUpdateResult::attributes_changed, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED));

static_assert(same(JitOption::max_registers, CU_JIT_MAX_REGISTERS));
static_assert(same(JitOption::wall_time, CU_JIT_WALL_TIME));
static_assert(same(JitOption::info_log_buffer, CU_JIT_INFO_LOG_BUFFER));
static_assert(same(JitOption::info_log_buffer_size_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES));
static_assert(same(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER));
static_assert(same(JitOption::error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(same(JitOption::optimization_level, CU_JIT_OPTIMIZATION_LEVEL));
static_assert(same(JitOption::log_verbose, CU_JIT_LOG_VERBOSE));

static_assert(same(ProcAddressStatus::success, CU_GET_PROC_ADDRESS_SUCCESS));
static_assert(same(ProcAddressStatus::symbol_not_found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
static_assert(same(ProcAddressStatus::version_not_sufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));

static_assert(same(LaunchAttributeId::ignore, CU_LAUNCH_ATTRIBUTE_IGNORE));
static_assert(same(LaunchAttributeId::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(same(LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
static_assert(same(LaunchAttributeId::programmatic_stream_serialization,
                   CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(same(LaunchAttributeId::priority, CU_LAUNCH_ATTRIBUTE_PRIORITY));

static_assert(same(NvrtcResult::success, NVRTC_SUCCESS));
static_assert(same(NvrtcResult::out_of_memory, NVRTC_ERROR_OUT_OF_MEMORY));
static_assert(same(NvrtcResult::program_creation_failure, NVRTC_ERROR_PROGRAM_CREATION_FAILURE));
static_assert(same(NvrtcResult::invalid_input, NVRTC_ERROR_INVALID_INPUT));
static_assert(same(NvrtcResult::invalid_program, NVRTC_ERROR_INVALID_PROGRAM));
static_assert(same(NvrtcResult::invalid_option, NVRTC_ERROR_INVALID_OPTION));
static_assert(same(NvrtcResult::compilation, NVRTC_ERROR_COMPILATION));
static_assert(same(NvrtcResult::builtin_operation_failure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
static_assert(same(NvrtcResult::no_name_expressions_after_compilation,
                   NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION));
static_assert(same(NvrtcResult::no_lowered_names_before_compilation,
                   NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION));
static_assert(same(NvrtcResult::name_expression_not_valid, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID));
static_assert(same(NvrtcResult::internal_error, NVRTC_ERROR_INTERNAL_ERROR));

TEST(HeaderValues, AgreeWithTheInstalledHeaders) {
  // The comparison is the static_asserts above; this says which headers they were.
  RecordProperty("CUDA_VERSION", CUDA_VERSION);
  EXPECT_GE(CUDA_VERSION, 12040);
}

}  // namespace
}  // namespace gpuforge::cuda

#else

TEST(HeaderValues, AgreeWithTheInstalledHeaders) {
  GTEST_SKIP() << "NVIDIA's headers are not installed: our declarations were not compared with them";
}

#endif
