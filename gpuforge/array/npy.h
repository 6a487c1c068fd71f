// NumPy's .npy files: host elements with dtype and shape.
//
// Read: versions 1.0, 2.0 and 3.0; any byte order; C and Fortran order (made row-major); f8 f4 f2 i8 i4 i2 i1
// u1 b1. Written: version 1.0, little-endian, C order, byte for byte what NumPy writes. NumPy lacks bf16 and
// fp8 and stores them as raw bytes. We write what ml_dtypes writes where NumPy can load it:
// '<V2' for bf16 and '<V1' for both fp8 types. np.load gives them as raw bytes, which
// .view(ml_dtypes.bfloat16) and the like turn back. On reading, V2 is bf16; V1 says nothing about which fp8
// it is, so `raw` must say it; '<f1', which ml_dtypes writes for e5m2 and NumPy itself cannot load, is
// f8e5m2.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/dtype.h"
#include "gpuforge/base/shape.h"

namespace gpuforge {

struct HostArray {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> elements;  // row-major
};

// `raw`: the dtype that elements of type V1 or V2 are. A file that is not whole and right, or of a type we
// lack, is a parse Error naming `what`, what was expected and what was found; nothing past the bytes given is
// read.
HostArray parse_npy(std::span<const std::byte> bytes, std::string_view what, std::optional<DType> raw = {});
HostArray read_npy(const std::filesystem::path& path, std::optional<DType> raw = {});
std::string npy_bytes(const HostArray& array);
void write_npy(const std::filesystem::path& path, const HostArray& array);

}  // namespace gpuforge
