// The C structures of DLPack 1.x, as its specification lays them out.
#pragma once

#include <cstdint>

namespace gpuforge::python {

struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::int32_t kDlCuda = 2;
inline constexpr std::int32_t kDlCudaHost = 3;
inline constexpr std::int32_t kDlCudaManaged = 13;

struct DlDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* manager;
  void (*deleter)(DlManagedTensor*);
};

struct DlManagedTensorVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* manager;
  void (*deleter)(DlManagedTensorVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};
inline constexpr std::uint64_t kDlReadOnly = 1;
inline constexpr std::uint64_t kDlCopied = 2;

}  // namespace gpuforge::python
