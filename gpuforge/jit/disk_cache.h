// Compiled kernels on disk. One readable folder per entry, `<name>-<key>/` with kernel.cu, kernel.ptx,
// kernel.cubin, log.txt and meta.json; written beside and renamed whole. Many processes share it. A bad entry
// is a miss and is removed; no failure of the cache fails a compile: nothing here throws, and the first
// failure is logged. Files of others in the folder are left alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/hash.h"
#include "gpuforge/base/log.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

struct CacheEntry {
  std::filesystem::path folder;
  std::string name;
  std::string key;
  std::string arch;
  std::uintmax_t bytes = 0;
  std::int64_t used_unix_s = 0;  // last hit or write
  bool valid = true;             // with verify: the files agree with meta.json's sizes and hashes
  std::string problem;
};

// Usable by several threads at once.
class DiskCache {
 public:
  // Creates the folder when it can. `limit_bytes`: older entries go when the sum exceeds it.
  DiskCache(std::filesystem::path folder, std::uintmax_t limit_bytes, std::shared_ptr<Log> log);

  std::optional<Compiled> find(const Hash128& key, std::string_view source_name);
  void store(const Hash128& key, const Compiled& compiled, std::string_view source_text);

  // Held by one process at a time per key, so that a race compiles once; given up after `timeout_ms` and
  // released by the system when the holder dies. Empty handle when locking does not work here. Hold one at a
  // time: keys share a few lock files.
  class Lock;
  std::shared_ptr<Lock> lock(const Hash128& key, int timeout_ms = 60000);

  // Most recently used first.
  std::vector<CacheEntry> list(bool verify = false) const;
  // Removes entries (all, or those verify finds bad) and leftovers of killed writers; the count of entries
  // removed.
  std::size_t clear();
  std::size_t remove_bad();
  const std::filesystem::path& folder() const { return folder_; }
  std::uintmax_t limit_bytes() const { return limit_bytes_; }

 private:
  void enforce_limit(const std::filesystem::path& just_written);
  void sweep_leftovers();
  bool remove_entry(const std::filesystem::path& folder);
  std::filesystem::path fresh_temporary() const;
  void report(std::string_view what) const;
  std::filesystem::path folder_;
  std::uintmax_t limit_bytes_;
  std::shared_ptr<Log> log_;
  struct Reported;
  std::shared_ptr<Reported> reported_;
  bool usable_ = false;  // there is a folder
};

}  // namespace gpuforge::jit
