#include "gpuforge/cuda/cublas_lt.h"

#include <utility>

namespace gpuforge::cuda {

std::optional<CublasLt> CublasLt::try_load(const SearchOptions& options, std::string* why) {
  std::string tried;
  std::optional<SharedLibrary> library = SharedLibrary::open_first(
      LibraryKind::cublas_lt, options, &tried, [](const SharedLibrary& copy, std::string* reason) {
        if (copy.symbol("cublasLtGetVersion") != nullptr) return true;
        *reason = "has no cublasLtGetVersion, so it is not a cuBLASLt";
        return false;
      });
  if (!library) {
    if (why != nullptr) *why = std::move(tried);
    return std::nullopt;
  }
  const auto get_version = reinterpret_cast<std::size_t (*)()>(library->symbol("cublasLtGetVersion"));
  const std::size_t version = get_version();
  return CublasLt(std::move(*library), version);
}

}  // namespace gpuforge::cuda
