#include "gpuforge/cuda/nvrtc.h"

#include <utility>

#include "gpuforge/base/error.h"

namespace gpuforge::cuda {
namespace {

constexpr const char* kRequired[] = {
    "nvrtcVersion",        "nvrtcGetErrorString",       "nvrtcCreateProgram",    "nvrtcDestroyProgram",
    "nvrtcCompileProgram", "nvrtcGetProgramLogSize",    "nvrtcGetProgramLog",    "nvrtcAddNameExpression",
    "nvrtcGetLoweredName", "nvrtcGetPTXSize",           "nvrtcGetPTX",           "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",       "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"};

// NVRTC opens its builtins by bare name when it first compiles, and fails there if the loader does not know
// them. Opening the copy beside the library now makes any folder work and shows a broken set-up while others
// can be tried.
bool open_builtins(const SharedLibrary& library, int major, int minor, std::string* why) {
  const std::string name = format_text("libnvrtc-builtins.so.{}.{}", major, minor);
  if (SharedLibrary::open(library.path().parent_path() / name)) return true;
  std::string reason;
  if (SharedLibrary::open(name, &reason)) return true;
  *why = format_text("its {} is missing ({})", name, reason);
  return false;
}

bool is_usable(const SharedLibrary& library, std::string* why) {
  for (const char* symbol : kRequired) {
    if (library.symbol(symbol) == nullptr) {
      *why = format_text("has no {}, so it is not a whole NVRTC", symbol);
      return false;
    }
  }
  int major = 0;
  int minor = 0;
  const auto version = reinterpret_cast<NvrtcResult (*)(int*, int*)>(library.symbol("nvrtcVersion"));
  if (version(&major, &minor) != NvrtcResult::success) {
    *why = "does not tell its version";
    return false;
  }
  return open_builtins(library, major, minor, why);
}

}  // namespace

Nvrtc::Nvrtc(SharedLibrary library) : library_(std::move(library)) {
  bind_calls([this](const char* symbol) { return library_.symbol(symbol); });
  get_version("the library's version", &major_, &minor_);
}

std::unique_ptr<Nvrtc> Nvrtc::load(const SearchOptions& options) {
  std::string tried;
  std::optional<SharedLibrary> library =
      SharedLibrary::open_first(LibraryKind::nvrtc, options, &tried, is_usable);
  if (!library) {
    throw Error(
        ErrorCode::unavailable,
        "NVRTC JIT compiler not available: kernels cannot be compiled; `make demo` sets it up, or install "
        "NVIDIA's NVRTC package or the PyPI wheel nvidia-cuda-nvrtc, or name its folder in "
        "GPUFORGE_LIBRARY_PATH",
        std::move(tried));
  }
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc(std::move(*library)));
  nvrtc->passed_over_ = std::move(tried);
  return nvrtc;
}

std::unique_ptr<Nvrtc> Nvrtc::try_load(const SearchOptions& options, std::string* why) {
  try {
    return load(options);
  } catch (const Error& error) {
    if (why != nullptr) *why = error.message();
    return nullptr;
  }
}

void Nvrtc::fail(const CallBase& call, int code, std::string object) const {
  const NvrtcResult result = static_cast<NvrtcResult>(code);
  const char* text = get_error_string.raw(result);
  std::string message = format_text("{}: {}", call.symbol(), text == nullptr ? "no text" : text);
  if (!object.empty()) message += " [" + object + "]";
  const bool memory = result == NvrtcResult::out_of_memory;
  throw Error(memory ? ErrorCode::out_of_memory : ErrorCode::cuda, std::move(message));
}

void Nvrtc::fail_missing(const CallBase& call) const {
  throw Error(ErrorCode::unavailable,
              format_text("NVRTC too old: version {}.{} has no {}; install a newer NVIDIA NVRTC package",
                          major_, minor_, call.symbol()),
              "library: " + path().string());
}

NvrtcProgram::NvrtcProgram(const Nvrtc& nvrtc, const char* source, const char* name, int header_count,
                           const char* const* headers, const char* const* include_names)
    : nvrtc_(nvrtc), name_(name) {
  nvrtc_.create_program(name_, &program_, source, name, header_count, headers, include_names);
}

NvrtcProgram::~NvrtcProgram() {
  if (program_ != nullptr) static_cast<void>(nvrtc_.destroy_program.raw(&program_));
}

void NvrtcProgram::add_name_expression(const char* expression) {
  nvrtc_.add_name_expression([&] { return format_text("'{}' in {}", expression, name_); }, program_,
                             expression);
}

NvrtcResult NvrtcProgram::compile(int option_count, const char* const* options) {
  const NvrtcResult result = nvrtc_.compile_program.raw(program_, option_count, options);
  if (result == NvrtcResult::success || result == NvrtcResult::compilation) return result;
  const char* text = nvrtc_.get_error_string.raw(result);
  throw Error(result == NvrtcResult::out_of_memory ? ErrorCode::out_of_memory : ErrorCode::compile,
              format_text("nvrtcCompileProgram: {} [{}]", text == nullptr ? "no text" : text, name_), log());
}

std::string NvrtcProgram::lowered_name(const char* expression) const {
  const char* lowered = nullptr;
  nvrtc_.get_lowered_name([&] { return format_text("'{}' in {}", expression, name_); }, program_, expression,
                          &lowered);
  return lowered;
}

std::string NvrtcProgram::text(const SizeCall& size_call, const TextCall& text_call) const {
  std::size_t bytes = 0;
  size_call(name_, program_, &bytes);
  std::string result(bytes, '\0');
  if (bytes > 0) text_call(name_, program_, result.data());
  return result;
}

std::string NvrtcProgram::log() const {
  std::string result = text(nvrtc_.get_program_log_size, nvrtc_.get_program_log);
  while (!result.empty() && result.back() == '\0') result.pop_back();
  return result;
}

std::string NvrtcProgram::ptx() const {
  std::string result = text(nvrtc_.get_ptx_size, nvrtc_.get_ptx);
  while (!result.empty() && result.back() == '\0') result.pop_back();
  return result;
}

std::string NvrtcProgram::cubin() const {
  return text(nvrtc_.get_cubin_size, nvrtc_.get_cubin);
}

}  // namespace gpuforge::cuda
