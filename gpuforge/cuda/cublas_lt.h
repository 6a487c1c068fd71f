// cuBLASLt, opened at run time. Only its presence and version for now: matmul will add its calls here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/cuda/library.h"

namespace gpuforge::cuda {

class CublasLt {
 public:
  // Empty when there is no usable copy; `why` then lists what was tried.
  static std::optional<CublasLt> try_load(const SearchOptions& options, std::string* why = nullptr);

  std::size_t version() const { return version_; }  // 130002 for 13.0.2; 110000 for 11.0.0
  const std::filesystem::path& path() const { return library_.path(); }
  std::string_view rule() const { return library_.rule(); }

 private:
  CublasLt(SharedLibrary library, std::size_t version) : library_(std::move(library)), version_(version) {}
  SharedLibrary library_;
  std::size_t version_ = 0;
};

}  // namespace gpuforge::cuda
