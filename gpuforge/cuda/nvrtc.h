// NVRTC, NVIDIA's run-time compiler, opened at run time. The jit room turns sources into options and
// programs; here are the checked calls and the program's owner.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "gpuforge/cuda/call.h"
#include "gpuforge/cuda/library.h"

struct _nvrtcProgram;

namespace gpuforge::cuda {

using RawProgram = ::_nvrtcProgram*;

enum class NvrtcResult : int {
  success = 0,
  out_of_memory = 1,
  program_creation_failure = 2,
  invalid_input = 3,
  invalid_program = 4,
  invalid_option = 5,
  compilation = 6,
  builtin_operation_failure = 7,
  no_name_expressions_after_compilation = 8,
  no_lowered_names_before_compilation = 9,
  name_expression_not_valid = 10,
  internal_error = 11,
};

class Nvrtc final : public CallTable {
 public:
  // The first copy that has every required function and its builtins library. Otherwise an Error
  // `unavailable`: "NVRTC JIT compiler not available ...", with what was tried and why it was passed over as
  // detail.
  static std::unique_ptr<Nvrtc> load(const SearchOptions& options);
  // nullptr instead of an Error; `why` gets its message.
  static std::unique_ptr<Nvrtc> try_load(const SearchOptions& options, std::string* why = nullptr);

  int major() const { return major_; }  // 13 and 0 for CUDA 13.0
  int minor() const { return minor_; }
  const std::filesystem::path& path() const { return library_.path(); }
  std::string_view rule() const { return library_.rule(); }
  // Copies passed over before this one, a line each with the reason; empty when the first was good.
  const std::string& passed_over() const { return passed_over_; }

  Call<NvrtcResult(int* major, int* minor)> get_version{*this, "nvrtcVersion"};
  Call<NvrtcResult(int* count)> get_num_supported_archs{*this, "nvrtcGetNumSupportedArchs"};
  Call<NvrtcResult(int* archs)> get_supported_archs{*this, "nvrtcGetSupportedArchs"};
  Call<const char*(NvrtcResult)> get_error_string{*this, "nvrtcGetErrorString"};  // raw() only

  Call<NvrtcResult(RawProgram*, const char* source, const char* name, int header_count,
                   const char* const* headers, const char* const* include_names)>
      create_program{*this, "nvrtcCreateProgram"};
  Call<NvrtcResult(RawProgram*)> destroy_program{*this, "nvrtcDestroyProgram"};
  Call<NvrtcResult(RawProgram, const char* expression)> add_name_expression{*this, "nvrtcAddNameExpression"};
  Call<NvrtcResult(RawProgram, int count, const char* const* options)> compile_program{*this,
                                                                                       "nvrtcCompileProgram"};
  Call<NvrtcResult(RawProgram, const char* expression, const char** lowered)> get_lowered_name{
      *this, "nvrtcGetLoweredName"};
  Call<NvrtcResult(RawProgram, std::size_t* bytes)> get_program_log_size{*this, "nvrtcGetProgramLogSize"};
  Call<NvrtcResult(RawProgram, char* log)> get_program_log{*this, "nvrtcGetProgramLog"};
  Call<NvrtcResult(RawProgram, std::size_t* bytes)> get_ptx_size{*this, "nvrtcGetPTXSize"};
  Call<NvrtcResult(RawProgram, char* ptx)> get_ptx{*this, "nvrtcGetPTX"};
  Call<NvrtcResult(RawProgram, std::size_t* bytes)> get_cubin_size{*this, "nvrtcGetCUBINSize"};
  Call<NvrtcResult(RawProgram, char* cubin)> get_cubin{*this, "nvrtcGetCUBIN"};

 private:
  explicit Nvrtc(SharedLibrary library);
  [[noreturn]] void fail(const CallBase& call, int result, std::string object) const override;
  [[noreturn]] void fail_missing(const CallBase& call) const override;

  SharedLibrary library_;
  std::string passed_over_;
  int major_ = 0;
  int minor_ = 0;
};

// Owns one program; must not outlive its Nvrtc.
class NvrtcProgram {
 public:
  // `headers[i]` is the text of the header that the source includes as `include_names[i]`.
  NvrtcProgram(const Nvrtc& nvrtc, const char* source, const char* name, int header_count,
               const char* const* headers, const char* const* include_names);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  RawProgram get() const { return program_; }

  void add_name_expression(const char* expression);
  // success or compilation; anything else is an Error whose detail is the log.
  NvrtcResult compile(int option_count, const char* const* options);
  std::string lowered_name(const char* expression) const;
  std::string log() const;
  std::string ptx() const;
  std::string cubin() const;

 private:
  using SizeCall = Call<NvrtcResult(RawProgram, std::size_t*)>;
  using TextCall = Call<NvrtcResult(RawProgram, char*)>;
  std::string text(const SizeCall& size_call, const TextCall& text_call) const;

  const Nvrtc& nvrtc_;
  std::string name_;
  RawProgram program_ = nullptr;
};

}  // namespace gpuforge::cuda
