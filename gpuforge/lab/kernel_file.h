// A user's kernel as an Op: FILE.cu with a head (lab/kernel_head.h), or FILE.ptx with the same head in
// FILE.yaml beside it. Nothing is compiled or run by reading it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gpuforge/lab/kernel_head.h"

namespace gpuforge::lab {

struct KernelFileOptions {
  FindOp find_op;
  // Where a reference kernel of the file runs; asked for at the first need.
  std::function<std::shared_ptr<Context>()> reference_context;
  std::optional<std::string> program_path;  // PATH, to find python3
};

// Whether an argument names a file rather than an op: by its extension, .cu .ptx .yaml .yml, or a slash.
bool names_kernel_file(std::string_view argument);

// The one variant is called "kernel". io Error when a file cannot be read, parse Error with file and line
// when a head is wrong. A configuration or shape that `requires` rules out is an invalid_argument of the
// Op's functions that says which condition it is.
Op read_kernel_file(const std::filesystem::path& path, const KernelFileOptions& options);

}  // namespace gpuforge::lab
