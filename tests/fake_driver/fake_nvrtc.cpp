// An NVRTC whose compiles succeed with fixed texts. FAKE_NVRTC_VERSION ("12.4") is the version it tells, and
// so which builtins library must lie beside it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpuforge/cuda/nvrtc.h"

using gpuforge::cuda::NvrtcResult;
using gpuforge::cuda::RawProgram;

namespace {

constexpr char kPtx[] = ".version 8.0\n.target sm_90\n.visible .entry fake()\n{\n ret;\n}\n";
constexpr char kCubin[] = "fake cubin";
constexpr char kLog[] = "fake log";

NvrtcResult copy_out(char* to, const char* text, std::size_t bytes) {
  std::memcpy(to, text, bytes);
  return NvrtcResult::success;
}

}  // namespace

struct _nvrtcProgram {
  int unused;
};

extern "C" {

NvrtcResult nvrtcVersion(int* major, int* minor) {
  const char* const text = std::getenv("FAKE_NVRTC_VERSION");
  if (text == nullptr || std::sscanf(text, "%d.%d", major, minor) != 2) return NvrtcResult::internal_error;
  return NvrtcResult::success;
}

const char* nvrtcGetErrorString(NvrtcResult result) {
  return result == NvrtcResult::invalid_option ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR_OTHER";
}

NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return NvrtcResult::success;
}

NvrtcResult nvrtcGetSupportedArchs(int* archs) {
  *archs = 90;
  return NvrtcResult::success;
}

NvrtcResult nvrtcCreateProgram(RawProgram* program, const char*, const char*, int, const char* const*,
                               const char* const*) {
  *program = new _nvrtcProgram{};
  return NvrtcResult::success;
}

NvrtcResult nvrtcDestroyProgram(RawProgram* program) {
  delete *program;
  *program = nullptr;
  return NvrtcResult::success;
}

NvrtcResult nvrtcAddNameExpression(RawProgram, const char*) {
  return NvrtcResult::success;
}

NvrtcResult nvrtcCompileProgram(RawProgram, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(options[i], "--bad") == 0) return NvrtcResult::invalid_option;
  }
  return NvrtcResult::success;
}

NvrtcResult nvrtcGetLoweredName(RawProgram, const char* expression, const char** lowered) {
  *lowered = expression;
  return NvrtcResult::success;
}

NvrtcResult nvrtcGetProgramLogSize(RawProgram, std::size_t* bytes) {
  *bytes = sizeof(kLog);
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetProgramLog(RawProgram, char* log) {
  return copy_out(log, kLog, sizeof(kLog));
}

NvrtcResult nvrtcGetPTXSize(RawProgram, std::size_t* bytes) {
  *bytes = sizeof(kPtx);
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetPTX(RawProgram, char* ptx) {
  return copy_out(ptx, kPtx, sizeof(kPtx));
}

NvrtcResult nvrtcGetCUBINSize(RawProgram, std::size_t* bytes) {
  *bytes = sizeof(kCubin);
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBIN(RawProgram, char* cubin) {
  return copy_out(cubin, kCubin, sizeof(kCubin));
}
}
