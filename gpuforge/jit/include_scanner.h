// The #include directives of a source text, found without preprocessing: those in inactive #if branches too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::jit {

struct IncludeDirective {
  enum class Form { quotes, angles, computed };
  Form form = Form::quotes;
  std::string name;   // between the quotes or angles; of a computed one the macro text
  bool next = false;  // #include_next
};

// Knows comments, line continuations, string, character and raw string literals. Any bytes are accepted.
std::vector<IncludeDirective> scan_includes(std::string_view text);

}  // namespace gpuforge::jit
