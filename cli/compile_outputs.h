// Where `compile -o` writes, decided before anything is compiled.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::cli {

class CompileOutputs {
 public:
  // --out, --ptx and --cubin for `count` results. PATH is a file when it ends in .ptx or .cubin, or when
  // exactly one thing is written and it is no existing folder; otherwise a folder of <stem>.<arch>.ptx and
  // .cubin.
  CompileOutputs(const Invocation& invocation, std::size_t count);
  // The files written; none without --out.
  std::vector<std::filesystem::path> write(Session& session, const jit::Compiled& compiled,
                                           const std::filesystem::path& source) const;

 private:
  std::optional<std::filesystem::path> path_;
  bool is_file_ = false;
  bool ptx_ = false;
  bool cubin_ = false;
  bool chosen_ = false;  // the user said which kinds
};

}  // namespace gpuforge::cli
