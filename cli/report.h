// The one place where an Error becomes a sentence and an exit code.
#pragma once

#include <string_view>

#include "cli/messages.h"
#include "cli/output.h"
#include "gpuforge/base/error.h"

namespace gpuforge::cli {

// 0 done; 1 the thing asked about is wrong; 2 bad usage or input; 3 the environment lacks something; 4 our
// fault.
inline constexpr int kDone = 0;
inline constexpr int kWrong = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kLacking = 3;
inline constexpr int kOurFault = 4;
inline constexpr int kReaderGone = 128 + 13;  // as if SIGPIPE had ended us

int exit_code(ErrorCode code);

// The sentence to stderr, the detail below it when it is a compile error or --verbose; with --json also the
// document
// {"error": {...}} to stdout. The exit code.
int report_error(const Error& error, std::string_view verb, bool json, Output& out, Messages& messages);

}  // namespace gpuforge::cli
