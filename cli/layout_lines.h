// `gpuforge layout -`: an expression a line in, a JSON line out.
#pragma once

#include "cli/output.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::cli {

struct LineOptions {
  int input = 0;  // file descriptor
  bool table = false;
};
// Until the input ends. Answers are written as soon as no further line is waiting. A line that cannot be
// answered is answered with its error.
void answer_lines(const LineOptions& options, layout::Bindings bindings, Output& out);

}  // namespace gpuforge::cli
