// What a verb gets to work with: the settings, where to print, and how libraries are found. Made once, by
// main.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "gpuforge/base/environment.h"
#include "gpuforge/base/json.h"
#include "gpuforge/cuda/library.h"
#include "gpuforge/jit/jit.h"

namespace gpuforge::cli {

struct Session {
  Output& out;
  Messages& messages;
  InterruptWatcher& interrupts;
  std::span<const Command* const> commands;
  Environment environment;
  Settings settings;
  Terminal terminal;
  Style style{false};  // for stdout
  bool json = false;
  bool tuning = true;        // false: --no-tuning, whatever was tuned is left alone
  std::shared_ptr<Log> log;  // for the library
};

// A document's first members: which program, which verb.
Json document(std::string_view verb);

jit::JitOptions jit_options(const Session& session);

// What this process has begun to write into the cache, for an interrupt; never fails.
void remove_cache_temporaries(const std::filesystem::path& cache_dir);

// Writes a file that was asked for: whole or not at all, also when interrupted.
void write_result(Session& session, const std::filesystem::path& path, std::string_view content);

}  // namespace gpuforge::cli
