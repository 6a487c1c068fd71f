// What `compile` and `run` share: the options that make a kernel source of a file, and the entries of it as
// text.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "gpuforge/base/dtype.h"
#include "gpuforge/base/json.h"
#include "gpuforge/jit/compiled.h"
#include "gpuforge/jit/source.h"

namespace gpuforge::cli {

inline constexpr Option kInstantiateOption = {.name = "instantiate",
                                              .value = "EXPR",
                                              .help = "a template to instantiate: 'f<float, 32>'",
                                              .repeatable = true};
inline constexpr Option kDefineOption = {.name = "define",
                                         .short_name = 'D',
                                         .value = "NAME[=VALUE]",
                                         .help = "define a macro",
                                         .repeatable = true};
inline constexpr Option kIncludeOption = {.name = "include-dir",
                                          .short_name = 'I',
                                          .value = "DIR",
                                          .help = "look for headers there",
                                          .repeatable = true,
                                          .kind = ValueKind::folder};
inline constexpr Option kNvrtcOption = {.name = "option",
                                        .value = "TEXT",
                                        .help = "pass an option to NVRTC, as in --option=--maxrregcount=32",
                                        .repeatable = true};

bool is_ptx(const std::filesystem::path& path);
jit::KernelSource source_of(const Invocation& invocation, const std::filesystem::path& path);

// "saxpy(const float* x, float* y, float a, int n)", PTX types where nothing better is known.
std::string signature(const jit::Entry& entry);
Json parameters_json(const jit::Entry& entry);

// The entry called `name`, or the only one. Otherwise an invalid_argument that lists those there are.
const jit::Entry& choose_entry(const jit::Compiled& compiled, std::string_view name);

// What is suspicious about an array of `dtype` where `parameter` is declared as a pointer to something else,
// as a sentence; nothing when they agree or when the declaration does not tell.
std::optional<std::string> pointee_mismatch(const jit::Parameter& parameter, DType dtype);

}  // namespace gpuforge::cli
