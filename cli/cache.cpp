// gpuforge cache: the compiled kernels on disk.
#include <chrono>
#include <ctime>
#include <filesystem>

#include "cli/lab_session.h"
#include "cli/report.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "gpuforge/base/error.h"
#include "gpuforge/base/quantity.h"
#include "gpuforge/jit/jit.h"
#include "gpuforge/lab/tuning_cache.h"

namespace gpuforge::cli {
namespace {

std::string age(std::int64_t used_unix_s) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t seconds = now.count() - used_unix_s;
  if (seconds < 120) return format_text("{} s ago", seconds < 0 ? 0 : seconds);
  if (seconds < 7200) return format_text("{} min ago", seconds / 60);
  if (seconds < 172800) return format_text("{} h ago", seconds / 3600);
  return format_text("{} days ago", seconds / 86400);
}

Json entry_json(const jit::CacheEntry& entry) {
  Json json = Json::object();
  json.set("name", entry.name);
  json.set("key", entry.key);
  json.set("arch", entry.arch);
  json.set("bytes", std::uint64_t{entry.bytes});
  json.set("used_unix_s", entry.used_unix_s);
  json.set("folder", entry.folder.string());
  json.set("valid", entry.valid);
  json.set("problem", entry.problem);
  return json;
}

std::uint64_t total_bytes(const std::vector<jit::CacheEntry>& entries) {
  std::uint64_t sum = 0;
  for (const auto& entry : entries) sum += entry.bytes;
  return sum;
}

std::string entries_text(std::size_t count) {
  return format_text("{} {}", count, count == 1 ? "entry" : "entries");
}

Json cache_document(const Session& session, const std::string& action, const std::filesystem::path& folder) {
  Json json = document("cache");
  json.set("action", action);
  json.set("folder", folder.string());
  json.set("limit_bytes", session.settings.cache_limit_bytes);
  return json;
}

void list_entries(Session& session, const std::vector<jit::CacheEntry>& entries) {
  if (entries.empty()) return;
  Table table({"kernel", "arch", ">bytes", "used", "key"});
  for (const auto& entry : entries) {
    table.add_row({entry.name, entry.arch, show_bytes(entry.bytes), age(entry.used_unix_s), entry.key});
  }
  session.out.write(table.text());
}

int verify(Session& session, jit::DiskCache& cache, Json json) {
  const auto entries = cache.list(true);
  Json list = Json::array();
  std::size_t bad = 0;
  for (const auto& entry : entries) {
    if (!entry.valid) {
      ++bad;
      if (!session.json)
        session.out.line(format_text("bad: {} ({}): {}", entry.name, entry.key, entry.problem));
    }
    list.push_back(entry_json(entry));
  }
  if (session.json) {
    json.set("entries", std::move(list));
    json.set("bad", std::uint64_t{bad});
    session.out.document(json);
  } else if (bad == 0) {
    session.out.line(
        format_text("all of {} good in {}", entries_text(entries.size()), cache.folder().string()));
  } else {
    session.out.line(format_text("{} of {} bad; they will be rebuilt when they are next needed", bad,
                                 entries_text(entries.size())));
  }
  return bad == 0 ? kDone : kWrong;
}

Json tuning_json(const lab::TuningSize& size) {
  Json json = Json::object();
  json.set("files", std::uint64_t{size.files});
  json.set("records", std::uint64_t{size.records});
  json.set("bytes", size.bytes);
  return json;
}

std::string tuning_text(const lab::TuningSize& size) {
  return format_text("{} {} of tuning, {}", size.records, size.records == 1 ? "result" : "results",
                     show_bytes(size.bytes));
}

// Measured results cost more than a compile, so they go only when they are named.
int clear_tuned(Session& session, const std::filesystem::path& folder, Json json) {
  const lab::TuningSize removed = lab::clear_tuning(folder);
  if (session.json) {
    json.set("removed_tuning", tuning_json(removed));
    session.out.document(json);
  } else {
    session.out.line(format_text("removed {} from {}", tuning_text(removed), folder.string()));
  }
  return kDone;
}

int clear(Session& session, jit::DiskCache& cache, Json json) {
  const std::uint64_t before = total_bytes(cache.list());
  const std::size_t removed = cache.clear();
  const std::uint64_t after = total_bytes(cache.list());
  const std::uint64_t freed = before > after ? before - after : 0;
  if (session.json) {
    json.set("removed", std::uint64_t{removed});
    json.set("removed_bytes", freed);
    session.out.document(json);
  } else {
    session.out.line(format_text("removed {} ({}) from {}", entries_text(removed), show_bytes(freed),
                                 cache.folder().string()));
  }
  return kDone;
}

int run(Session& session, const Invocation& invocation) {
  const std::string action = invocation.positionals.empty() ? "list" : invocation.positionals.front();
  if (!session.settings.cache_dir) {
    throw Error(ErrorCode::unavailable,
                "cache: there is no cache folder, since HOME is not set; name one with --cache-dir");
  }
  const std::filesystem::path folder = *session.settings.cache_dir;
  Json json = cache_document(session, action, folder);
  if (action == "path") {
    session.json ? session.out.document(json) : session.out.line(folder.string());
    return kDone;
  }
  std::error_code failed;
  const auto status = std::filesystem::status(folder, failed);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::io,
                format_text("cache: expected a folder at '{}', found a file", folder.string()));
  }
  const std::filesystem::path tuned = *tuning_folder(session);
  if (invocation.has("tuning")) {
    GPUFORGE_CHECK(action == "clear", "cache: --tuning goes with clear, found {}", action);
    return clear_tuned(session, tuned, std::move(json));
  }
  jit::Jit jit(jit_options(session), session.log);  // it knows where below the folder kernels are
  GPUFORGE_ASSERT(jit.disk_cache() != nullptr, "cache: a folder is set, but there is no cache");
  jit::DiskCache& cache = *jit.disk_cache();
  if (action == "verify") return verify(session, cache, std::move(json));
  if (action == "clear") return clear(session, cache, std::move(json));
  const auto entries = cache.list();
  json.set("count", std::uint64_t{entries.size()});
  json.set("bytes", total_bytes(entries));
  const lab::TuningSize tuning = lab::tuning_size(tuned);
  json.set("tuning", tuning_json(tuning));
  if (action == "list") {
    Json list = Json::array();
    for (const auto& entry : entries) list.push_back(entry_json(entry));
    json.set("entries", std::move(list));
  }
  if (session.json) {
    session.out.document(json);
    return kDone;
  }
  if (action == "list") list_entries(session, entries);
  session.out.line(format_text("{}, {} of {} in {}", entries_text(entries.size()),
                               show_bytes(total_bytes(entries)),
                               show_bytes(session.settings.cache_limit_bytes), folder.string()));
  if (tuning.records > 0) session.out.line(tuning_text(tuning));
  return kDone;
}

constexpr std::string_view kActions[] = {"list", "size", "verify", "clear", "path"};
constexpr Positional kPositionals[] = {
    {.name = "ACTION",
     .help = "list (as it is without one), size, verify (exit code 1 when entries are bad), clear, path",
     .values = kActions,
     .only_values = true}};
constexpr Option kOptions[] = {
    {.name = "tuning", .help = "clear: what `gpuforge tune` has measured, instead of the kernels"}};
constexpr Example kExamples[] = {
    {.line = "gpuforge cache", .meaning = "what was compiled, how large, when last used"},
    {.line = "gpuforge cache verify --json", .meaning = "read every entry and check it against its hashes"},
};

}  // namespace

const Command kCacheCommand = {
    .name = "cache",
    .summary = "list, size, verify, clear the compiled kernels",
    .usage = "[list|size|verify|clear|path]",
    .description =
        "Compiled kernels are kept on disk, one readable folder each. Many processes may share them; the "
        "oldest go when --cache-limit is passed; clearing costs one compile per kernel and nothing else. "
        "Results of tuning "
        "lie beside them and are cleared by --tuning alone.",
    .positionals = kPositionals,
    .options = kOptions,
    .examples = kExamples,
    .run = run,
};

}  // namespace gpuforge::cli
