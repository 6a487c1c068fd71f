#include "cli/session.h"

#include <unistd.h>

#include "gpuforge/base/file.h"
#include "gpuforge/base/version.h"
#include "gpuforge/context/context.h"

namespace gpuforge::cli {

Json document(std::string_view verb) {
  Json json = Json::object();
  json.set("gpuforge", version());
  json.set("verb", verb);
  return json;
}

jit::JitOptions jit_options(const Session& session) {
  jit::JitOptions options = gpuforge::jit_options(session.environment);
  options.cache_dir = session.settings.cache_dir;
  options.cache_limit_bytes = session.settings.cache_limit_bytes;
  options.kernel_dir = session.settings.kernel_dir;
  options.compiler = session.settings.compiler;
  return options;
}

void remove_cache_temporaries(const std::filesystem::path& cache_dir) {
  // As jit/disk_cache.cpp names them. One that is missed is swept by the next process that opens the cache.
  const std::string ours = format_text(".tmp-{}-", ::getpid());
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(cache_dir / "kernels", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with(ours))
      std::filesystem::remove_all(entry->path(), ignored);
  }
}

void write_result(Session& session, const std::filesystem::path& path, std::string_view content) {
  const auto held = session.interrupts.hold();
  write_file(path, content);
}

}  // namespace gpuforge::cli
