#include "gpuforge/jit/disk_cache.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <random>
#include <system_error>
#include <utility>

#include "gpuforge/base/error.h"
#include "gpuforge/jit/cache_entry.h"
#include "gpuforge/jit/file_lock.h"

namespace gpuforge::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kLocksFolder = ".locks";
constexpr std::uint64_t kLockFiles = 64;
constexpr std::uintmax_t kEntriesLookedAt = 1000;
constexpr auto kLeftoverAge = std::chrono::hours(1);  // no writer takes that long; process numbers come again

std::string lock_name(std::uint64_t number) {
  return format_text("{:02}", number);
}

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    found.push_back(entry->path());
  }
  return found;
}

// ".tmp-<process>-<random>" of a writer that cannot come back to it.
bool is_leftover(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kTemporaryPrefix)) return false;
  std::int64_t process = 0;
  const char* digits = name.data() + kTemporaryPrefix.size();
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), process);
  if (error != std::errc() || end == name.data() + name.size() || *end != '-') return false;
  if (!process_runs(process)) return true;
  std::error_code failed;
  const fs::file_time_type written = fs::last_write_time(path, failed);
  return !failed && fs::file_time_type::clock::now() - written > kLeftoverAge;
}

fs::file_time_type used_at(const fs::path& folder) {
  std::error_code failed;
  const fs::file_time_type time = fs::last_write_time(folder, failed);
  return failed ? fs::file_time_type::min() : time;
}

std::int64_t unix_seconds(fs::file_time_type time) {
  if (time == fs::file_time_type::min()) return 0;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

struct Found {
  fs::path folder;
  EntryName name;
  fs::file_time_type used;
};

// Our entries, most recently used first. Links are someone else's.
std::vector<Found> entries_in(const fs::path& folder) {
  std::vector<Found> found;
  for (const fs::path& path : children(folder)) {
    std::optional<EntryName> name = parse_entry_name(path.filename().string());
    std::error_code failed;
    if (!name || !fs::is_directory(fs::symlink_status(path, failed))) continue;
    found.push_back({path, std::move(*name), used_at(path)});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.used > b.used; });
  return found;
}

// The words of base's file errors without the room they begin with.
std::string_view without_room(std::string_view message) {
  constexpr std::string_view kRoom = "file: ";
  return message.starts_with(kRoom) ? message.substr(kRoom.size()) : message;
}

}  // namespace

struct DiskCache::Reported {
  std::atomic<bool> done = false;
};

class DiskCache::Lock {
 public:
  explicit Lock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

 private:
  std::unique_ptr<FileLock> lock_;
};

DiskCache::DiskCache(fs::path folder, std::uintmax_t limit_bytes, std::shared_ptr<Log> log)
    : folder_(std::move(folder)),
      limit_bytes_(limit_bytes),
      log_(std::move(log)),
      reported_(std::make_shared<Reported>()) {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  std::error_code ignored;
  usable_ = fs::is_directory(folder_, ignored);
  if (!usable_) {
    const std::string reason = fs::exists(folder_, ignored) ? "it is a file, not a folder" : failed.message();
    report(format_text("cannot use '{}': {}", folder_.string(), reason));
    return;
  }
  sweep_leftovers();
}

std::optional<Compiled> DiskCache::find(const Hash128& key, std::string_view source_name) {
  if (!usable_) return std::nullopt;
  try {
    const fs::path folder = folder_ / entry_name(key, source_name);
    std::error_code failed;
    if (!fs::exists(fs::symlink_status(folder, failed))) return std::nullopt;
    EntryContent content = read_entry(folder, key.hex());
    if (content.compiled) {
      fs::last_write_time(folder, fs::file_time_type::clock::now(), failed);
      content.compiled->source_name = source_name;
      return std::move(content.compiled);
    }
    if (log_) log_->debug("cache: '{}' is not used: {}", folder.string(), content.problem);
    if (content.broken) remove_entry(folder);
  } catch (const std::exception& error) {
    report(error.what());
  }
  return std::nullopt;
}

void DiskCache::store(const Hash128& key, const Compiled& compiled, std::string_view source_text) {
  if (!usable_) return;
  fs::path temporary;
  std::error_code failed;
  try {
    const fs::path folder = folder_ / entry_name(key, compiled.source_name);
    temporary = fresh_temporary();
    fs::create_directories(temporary, failed);
    if (failed) {
      report(format_text("cannot write '{}': {}", folder_.string(), failed.message()));
      return;
    }
    write_entry(temporary, key.hex(), compiled, source_text);
    // Where another process was faster the rename fails, since its folder is not empty, and ours is dropped.
    fs::rename(temporary, folder, failed);
    if (!failed) {
      // Looking at every entry each time would be slow in a large cache: there only some keys lead to it, and
      // the limit is passed by a thousandth on average.
      const std::uintmax_t bytes = std::max<std::uintmax_t>(1, entry_bytes(folder));
      const std::uintmax_t turns = std::max<std::uintmax_t>(1, limit_bytes_ / bytes / kEntriesLookedAt);
      if (key.low % turns == 0) enforce_limit(folder);
      return;
    }
    // The faster one's folder may be gone again by now (evicted, cleared): what the rename said is what
    // counts.
    const bool was_there = failed == std::errc::directory_not_empty || failed == std::errc::file_exists;
    std::error_code ignored;
    if (!was_there && !fs::exists(folder, ignored))
      report(format_text("cannot write '{}': {}", folder.string(), failed.message()));
  } catch (const Error& error) {
    report(without_room(error.message()));
  } catch (const std::exception& error) {
    report(format_text("cannot write '{}': {}", folder_.string(), error.what()));
  }
  fs::remove_all(temporary, failed);
}

std::shared_ptr<DiskCache::Lock> DiskCache::lock(const Hash128& key, int timeout_ms) {
  if (!usable_) return nullptr;
  std::error_code failed;
  fs::create_directory(folder_ / kLocksFolder, failed);
  std::unique_ptr<FileLock> held = FileLock::acquire(folder_ / kLocksFolder / lock_name(key.low % kLockFiles),
                                                     std::chrono::milliseconds(timeout_ms));
  return held ? std::make_shared<Lock>(std::move(held)) : nullptr;
}

std::vector<CacheEntry> DiskCache::list(bool verify) const {
  std::vector<CacheEntry> list;
  if (!usable_) return list;
  for (Found& found : entries_in(folder_)) {
    CacheEntry entry{.folder = found.folder,
                     .name = std::move(found.name.stem),
                     .key = std::move(found.name.key),
                     .arch = entry_arch(found.folder),
                     .bytes = entry_bytes(found.folder),
                     .used_unix_s = unix_seconds(found.used),
                     .problem = {}};
    if (verify) {
      EntryContent content = read_entry(entry.folder, entry.key);
      entry.valid = content.compiled.has_value();
      entry.problem = std::move(content.problem);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::size_t DiskCache::clear() {
  std::size_t removed = 0;
  if (!usable_) return removed;
  for (const Found& found : entries_in(folder_)) removed += remove_entry(found.folder) ? 1 : 0;
  sweep_leftovers();
  std::error_code ignored;
  for (std::uint64_t number = 0; number < kLockFiles; ++number) {
    fs::remove(folder_ / kLocksFolder / lock_name(number), ignored);
  }
  fs::remove(folder_ / kLocksFolder, ignored);  // stays when something else lies in it
  return removed;
}

std::size_t DiskCache::remove_bad() {
  std::size_t removed = 0;
  if (!usable_) return removed;
  for (const Found& found : entries_in(folder_)) {
    if (read_entry(found.folder, found.name.key).broken && remove_entry(found.folder)) ++removed;
  }
  sweep_leftovers();
  return removed;
}

void DiskCache::enforce_limit(const fs::path& just_written) {
  std::uintmax_t sum = entry_bytes(just_written);
  for (const Found& found : entries_in(folder_)) {
    if (found.folder == just_written) continue;
    sum += entry_bytes(found.folder);
    if (sum > limit_bytes_) remove_entry(found.folder);
  }
}

void DiskCache::sweep_leftovers() {
  for (const fs::path& path : children(folder_)) {
    std::error_code ignored;
    if (is_leftover(path)) fs::remove_all(path, ignored);
  }
}

// Renamed away first, so that nobody finds it half removed. False when it was gone already or cannot be
// removed.
bool DiskCache::remove_entry(const fs::path& folder) {
  const fs::path temporary = fresh_temporary();
  std::error_code failed;
  fs::rename(folder, temporary, failed);
  if (failed) return false;
  fs::remove_all(temporary, failed);
  return true;
}

fs::path DiskCache::fresh_temporary() const {
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  return folder_ / format_text("{}{}-{}", kTemporaryPrefix, current_process(), number);
}

void DiskCache::report(std::string_view what) const {
  if (log_ == nullptr || reported_->done.exchange(true)) return;
  log_->warning("cache: {}; kernels are compiled each time", what);
}

}  // namespace gpuforge::jit
