// Reads what NVRTC, ptxas and clang write, and turns a failure into an Error people can act on. Not
// installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/arch.h"
#include "gpuforge/jit/translation_unit.h"

namespace gpuforge::jit {

// What the list of instantiations is called in the text that clang compiles.
inline constexpr std::string_view kClangInstantiations = "gpuforge_instantiations";

std::vector<std::string_view> lines_of(std::string_view text);
// The text between the first two single quotes; empty when there are none.
std::string_view quoted(std::string_view line);

// One message of the front end: "file(3): error: text" and the lines below it that show the place.
struct Diagnostic {
  std::string file;
  int line = 0;  // 0: none given
  bool is_error = false;
  std::string text;
  std::vector<std::string> excerpt;  // the offending line and the caret, as indented in the log
};
std::vector<Diagnostic> parse_diagnostics(std::string_view log);

// A ptxas line that means slower code than written: a warning, or a note of the C75xx family.
bool is_ptxas_advice(std::string_view line);
// The log without the remarks that add_resources reads.
std::string without_resource_remarks(std::string_view log);

// Line of the generated PTX that ptxas complains about first, and its complaint; line 0 when it did not.
struct PtxasError {
  int ptx_line = 0;
  std::string text;
};
PtxasError first_ptxas_error(std::string_view log);
// The source line a line of PTX belongs to, by the .loc before it; 0 when there is none.
int source_line_of_ptx_line(std::string_view ptx, int ptx_line);

// Who ships a header that was not found, or what takes its place in device code.
std::string missing_header_advice(std::string_view header);

// The Error for a failed compile; `compiler` is "NVRTC 13.0.88", `log` calls the source by its own name.
// `ptx_source_line`: where a ptxas error lies in the source, or 0.
Error compile_failure(const TranslationUnit& unit, const Arch& arch, std::string_view compiler,
                      std::string_view log, int ptx_source_line);

}  // namespace gpuforge::jit
