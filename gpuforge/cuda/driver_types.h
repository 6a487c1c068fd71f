// Our own declarations of the driver API's types, so that building needs no CUDA headers. Only what is used.
// Pointers are the real global tags, so they are the same types as cuda.h's; headers_test.cpp compares
// values, sizes and offsets with the real headers where they are installed. `Raw...` names own nothing.
#pragma once

#include <cstddef>

struct CUctx_st;
struct CUevent_st;
struct CUdevResourceDesc_st;
struct CUfunc_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUgraph_st;
struct CUgreenCtx_st;
struct CUmemPoolHandle_st;
struct CUmod_st;
struct CUstream_st;

namespace gpuforge::cuda {

using RawDevice = int;
using RawContext = ::CUctx_st*;
using RawStream = ::CUstream_st*;
using RawEvent = ::CUevent_st*;
using RawModule = ::CUmod_st*;
using RawFunction = ::CUfunc_st*;
using RawGraph = ::CUgraph_st*;
using RawGraphNode = ::CUgraphNode_st*;
using RawGraphExec = ::CUgraphExec_st*;
using RawGreenContext = ::CUgreenCtx_st*;
using RawResourceDescription = ::CUdevResourceDesc_st*;
using RawMemoryPool = ::CUmemPoolHandle_st*;
using DevicePointer = unsigned long long;
using RawPhysicalMemory = unsigned long long;
using HostFunction = void (*)(void* user_data);

enum class Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  stub_library = 34,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  nvlink_uncorrectable = 220,
  unsupported_ptx_version = 222,
  contained = 226,
  operating_system = 304,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  primary_context_active = 708,
  context_is_destroyed = 709,
  assertion = 710,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  cooperative_launch_too_large = 720,
  tensor_memory_leak = 721,
  not_permitted = 800,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported_on_device = 804,
  mps_client_terminated = 810,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_merge = 902,
  stream_capture_unmatched = 903,
  stream_capture_unjoined = 904,
  stream_capture_isolation = 905,
  stream_capture_implicit = 906,
  captured_event = 907,
  stream_capture_wrong_thread = 908,
  graph_exec_update_failure = 910,
  external_device = 911,
  invalid_cluster_size = 912,
  unknown = 999,
};

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_dim_x = 2,
  max_block_dim_y = 3,
  max_block_dim_z = 4,
  max_grid_dim_x = 5,
  max_grid_dim_y = 6,
  max_grid_dim_z = 7,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  max_registers_per_block = 12,
  clock_rate = 13,
  multiprocessor_count = 16,
  integrated = 18,
  compute_mode = 20,
  ecc_enabled = 32,
  pci_bus_id = 33,
  pci_device_id = 34,
  memory_clock_rate = 36,
  global_memory_bus_width = 37,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  pci_domain_id = 50,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,
  virtual_memory_supported = 102,
  max_blocks_per_multiprocessor = 106,
  reserved_shared_memory_per_block = 111,
  memory_pools_supported = 115,
  cluster_launch = 120,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  const_size_bytes = 2,
  local_size_bytes = 3,
  registers = 4,
  ptx_version = 5,
  binary_version = 6,
  max_dynamic_shared_size_bytes = 8,
  preferred_shared_memory_carveout = 9,
  cluster_size_must_be_set = 10,
  required_cluster_width = 11,
  required_cluster_height = 12,
  required_cluster_depth = 13,
  non_portable_cluster_size_allowed = 14,
};

enum class MemoryPoolAttribute : int {
  reuse_follow_event_dependencies = 1,
  reuse_allow_opportunistic = 2,
  reuse_allow_internal_dependencies = 3,
  release_threshold = 4,    // 64-bit bytes
  reserved_bytes = 5,       // 64-bit
  reserved_bytes_high = 6,  // 64-bit, write 0 to reset
  used_bytes = 7,           // 64-bit
  used_bytes_high = 8,      // 64-bit, write 0 to reset
};

enum class StreamFlags : unsigned { none = 0, non_blocking = 1 };
enum class EventFlags : unsigned { none = 0, blocking_sync = 1, disable_timing = 2 };
enum class EventWaitFlags : unsigned { none = 0 };
enum class HostMemoryFlags : unsigned { none = 0, portable = 1 };
enum class PhysicalMemoryType : int { invalid = 0, pinned = 1 };
enum class MemoryHandleType : int { none = 0 };
enum class MemoryLocationType : int { invalid = 0, device = 1 };
enum class MemoryAccess : int { none = 0, read = 1, read_write = 3 };
enum class GranularityOption : int { minimum = 0, recommended = 1 };
enum class CaptureMode : int { global = 0, per_thread = 1, relaxed = 2 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class GraphInstantiateFlags : unsigned long long { none = 0, auto_free_on_launch = 1 };

enum class GraphUpdateResult : int {
  success = 0,
  error = 1,
  topology_changed = 2,
  node_type_changed = 3,
  function_changed = 4,
  parameters_changed = 5,
  not_supported = 6,
  unsupported_function_change = 7,
  attributes_changed = 8,
};

enum class JitOption : int {
  max_registers = 0,
  wall_time = 2,
  info_log_buffer = 3,
  info_log_buffer_size_bytes = 4,
  error_log_buffer = 5,
  error_log_buffer_size_bytes = 6,
  optimization_level = 7,
  log_verbose = 12,
};

enum class ProcAddressStatus : int { success = 0, symbol_not_found = 1, version_not_sufficient = 2 };

enum class LaunchAttributeId : int {
  ignore = 0,
  cooperative = 2,
  cluster_dimension = 4,
  programmatic_stream_serialization = 6,
  priority = 8,
};

enum class DeviceResourceType : int { invalid = 0, multiprocessors = 1 };
inline constexpr unsigned kGreenContextDefaultStream = 1;  // the one flag, which must be given

// Part of a device, as the driver hands it out: read, and given back, but not written.
struct DeviceResource {
  DeviceResourceType type = DeviceResourceType::invalid;
  unsigned char reserved[92] = {};
  struct Multiprocessors {
    unsigned count = 0;
    unsigned least = 0;  // that can be split off
    unsigned step = 0;
  } multiprocessors;
  unsigned char more[36] = {};
};

struct Uuid {
  char bytes[16];
};

struct MemoryLocation {
  MemoryLocationType type = MemoryLocationType::device;
  int id = 0;  // the device's number
};

struct PhysicalMemoryProperties {
  PhysicalMemoryType type = PhysicalMemoryType::pinned;
  MemoryHandleType handle_types = MemoryHandleType::none;
  MemoryLocation location;
  void* windows_handle = nullptr;
  struct Flags {
    unsigned char compression = 0;
    unsigned char rdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};

struct MemoryAccessDescription {
  MemoryLocation location;
  MemoryAccess access = MemoryAccess::read_write;
};

union alignas(8) LaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct Cluster {
    unsigned x;
    unsigned y;
    unsigned z;
  } cluster;
  int programmatic_stream_serialization;
  int priority;
};

struct LaunchAttribute {
  LaunchAttributeId id = LaunchAttributeId::ignore;
  LaunchAttributeValue value = {};
};

struct LaunchConfig {
  unsigned grid_x = 1;
  unsigned grid_y = 1;
  unsigned grid_z = 1;
  unsigned block_x = 1;
  unsigned block_y = 1;
  unsigned block_z = 1;
  unsigned dynamic_shared_bytes = 0;
  RawStream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct GraphUpdateInfo {
  GraphUpdateResult result = GraphUpdateResult::success;
  RawGraphNode error_node = nullptr;
  RawGraphNode error_from_node = nullptr;
};

// After these every later call fails with the same code: only a new process gets a working context.
constexpr bool is_sticky(Result result) {
  switch (result) {
    case Result::ecc_uncorrectable:
    case Result::nvlink_uncorrectable:
    case Result::contained:
    case Result::illegal_address:
    case Result::launch_timeout:
    case Result::assertion:
    case Result::hardware_stack_error:
    case Result::illegal_instruction:
    case Result::misaligned_address:
    case Result::invalid_address_space:
    case Result::invalid_pc:
    case Result::launch_failed:
    case Result::tensor_memory_leak:
    case Result::mps_client_terminated:
    case Result::external_device:
      return true;
    default:
      return false;
  }
}

}  // namespace gpuforge::cuda
