#include "cli/compile_outputs.h"

#include "gpuforge/base/error.h"

namespace gpuforge::cli {

CompileOutputs::CompileOutputs(const Invocation& invocation, std::size_t count) {
  ptx_ = invocation.has("ptx");
  cubin_ = invocation.has("cubin");
  const auto out = invocation.value("out");
  GPUFORGE_CHECK(out || (!ptx_ && !cubin_),
                 "compile: --ptx and --cubin say what to write, but not where: add -o PATH");
  if (!out) return;
  GPUFORGE_CHECK(!out->empty(), "compile: -o needs a path, found an empty one");
  path_ = *out;
  const std::string extension = path_->extension().string();
  const bool names_kind = extension == ".ptx" || extension == ".cubin";
  std::error_code ignored;
  const bool is_folder = out->ends_with('/') || std::filesystem::is_directory(*path_, ignored);
  if (names_kind && !is_folder) {
    GPUFORGE_CHECK((!ptx_ || extension == ".ptx") && (!cubin_ || extension == ".cubin"),
                   "compile: -o {} does not go with --{}", *out, ptx_ ? "ptx" : "cubin");
    ptx_ = extension == ".ptx";
    cubin_ = !ptx_;
  }
  chosen_ = ptx_ || cubin_;
  if (!chosen_) ptx_ = cubin_ = true;
  is_file_ = !is_folder && (names_kind || (count == 1 && ptx_ != cubin_));
  GPUFORGE_CHECK(!is_file_ || count == 1,
                 "compile: -o {} is one file, but {} results are to be written; name a folder", *out, count);
}

std::vector<std::filesystem::path> CompileOutputs::write(Session& session, const jit::Compiled& compiled,
                                                         const std::filesystem::path& source) const {
  std::vector<std::filesystem::path> written;
  if (!path_) return written;
  GPUFORGE_CHECK(!chosen_ || !cubin_ || !compiled.cubin.empty(),
                 "compile: {} gives PTX and no machine code; use sm_{} for a cubin", compiled.arch.name(),
                 compiled.arch.number());
  if (!is_file_) {
    std::error_code failed;
    std::filesystem::create_directories(*path_, failed);
    std::error_code ignored;
    if (failed && !std::filesystem::is_directory(*path_, ignored)) {
      const bool in_the_way = std::filesystem::exists(*path_, ignored);
      throw Error(in_the_way ? ErrorCode::invalid_argument : ErrorCode::unavailable,
                  format_text("compile: cannot make the folder '{}': {}", path_->string(), failed.message()));
    }
  }
  const auto put = [&](const char* extension, std::string_view content) {
    const std::filesystem::path path =
        is_file_ ? *path_ : *path_ / (source.stem().string() + "." + compiled.arch.name() + extension);
    write_result(session, path, content);
    written.push_back(path);
  };
  if (ptx_) put(".ptx", compiled.ptx);
  if (cubin_ && !compiled.cubin.empty()) put(".cubin", compiled.cubin);
  return written;
}

}  // namespace gpuforge::cli
