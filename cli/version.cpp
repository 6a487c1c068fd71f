// gpuforge version.
#include "gpuforge/base/version.h"

#include "cli/report.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace gpuforge::cli {
namespace {

int run(Session& session, const Invocation&) {
  if (session.json) {
    session.out.document(document("version"));
  } else {
    session.out.line(format_text("gpuforge {}", version()));
  }
  return kDone;
}

constexpr Example kExamples[] = {{.line = "gpuforge version --json", .meaning = "for scripts"}};

}  // namespace

const Command kVersionCommand = {
    .name = "version",
    .summary = "print the version",
    .usage = "[--json]",
    .examples = kExamples,
    .needs_settings = false,
    .run = run,
};

}  // namespace gpuforge::cli
