#include "gpuforge/lab/tuning_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <system_error>

#include "gpuforge/base/file.h"
#include "gpuforge/lab/tuning_record.h"

namespace gpuforge::lab {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kExtension = ".jsonl";

// The folder's files in the order of their names.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code ignored;
    if (entry->path().extension() == kExtension && entry->is_regular_file(ignored))
      files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Lines {
  std::vector<TuningRecord> records;
  std::size_t skipped = 0;
  std::size_t first_skipped = 0;  // its number
  std::string why;
};

Lines read_lines(const fs::path& file) {
  Lines lines;
  const std::string text = read_file(file);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      lines.records.push_back(tuning_record(Json::parse(line)));
    } catch (const Error& error) {
      if (lines.skipped++ > 0) continue;
      lines.first_skipped = number;
      lines.why = error.message();
    }
  }
  return lines;
}

void warn(Log& log, const fs::path& file, const Lines& lines, std::size_t skipped) {
  log.warning("tuning: {} {} no result of tuning and {} skipped, the first {}:{} ({})", skipped,
              skipped == 1 ? "line is" : "lines are", skipped == 1 ? "is" : "are", file.string(),
              lines.first_skipped, lines.why);
}

[[noreturn]] void fail(const fs::path& file, int error) {
  throw Error(ErrorCode::unavailable, format_text("tuning: cannot write '{}': {}", file.string(),
                                                  std::generic_category().message(error)));
}

}  // namespace

bool same_candidate(const TuningRecord& one, const TuningRecord& other) {
  return one.device == other.device && one.key == other.key && one.problem == other.problem &&
         one.config == other.config;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

TunedDevice tuned_device(const device::DeviceFacts& facts) {
  std::string arch = facts.pretended_arch;
  if (arch.empty() && facts.compute_major > 0)
    arch = format_text("sm_{}{}", facts.compute_major, facts.compute_minor);
  return {facts.product, arch};
}

std::optional<fs::path> tuning_folder(const std::optional<fs::path>& cache_dir) {
  if (!cache_dir) return std::nullopt;
  return *cache_dir / "tuning";
}

fs::path tuning_file(const fs::path& folder, const TunedDevice& device) {
  std::string stem;
  const bool twice = device.product.ends_with(device.arch);  // the simulator's
  for (const char c : twice ? device.product : device.product + "-" + device.arch) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    if (plain || (!stem.empty() && stem.back() != '_')) stem += plain ? c : '_';
  }
  return folder / (stem.substr(0, 120) + std::string(kExtension));
}

void append_tuning(const fs::path& folder, const TuningRecord& record) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) fail(folder, failed.value());
  const fs::path file = tuning_file(folder, record.device);
  const int descriptor = ::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(file, errno);
  std::string line = to_json(record).dump() + "\n";
  // A line that was torn by the end of its writer costs itself and not this one.
  char last = '\n';
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  if (size > 0 && ::pread(descriptor, &last, 1, size - 1) == 1 && last != '\n') line.insert(0, "\n");
  const ssize_t written = ::write(descriptor, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  ::close(descriptor);
  if (written != static_cast<ssize_t>(line.size())) fail(file, error);
}

std::vector<TuningRecord> read_tuning(const fs::path& folder, Log& log) {
  std::vector<TuningRecord> records;
  std::size_t skipped = 0;
  fs::path first_file;
  Lines first;
  for (const fs::path& file : files_of(folder)) {
    Lines lines;
    try {
      lines = read_lines(file);
    } catch (const Error& error) {
      log.warning("tuning: a file is left out: {}", error.message());
      continue;
    }
    records.insert(records.end(), lines.records.begin(), lines.records.end());
    if (lines.skipped > 0 && skipped == 0) {
      first_file = file;
      first = lines;
    }
    skipped += lines.skipped;
  }
  if (skipped > 0) warn(log, first_file, first, skipped);
  return records;
}

TuningSize tuning_size(const fs::path& folder) {
  TuningSize size;
  for (const fs::path& file : files_of(folder)) {
    try {
      const std::string text = read_file(file);
      ++size.files;
      size.bytes += text.size();
      size.records += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    } catch (const Error&) {
      // Gone since, or not for us to read.
    }
  }
  return size;
}

TuningSize clear_tuning(const fs::path& folder) {
  const TuningSize before = tuning_size(folder);
  for (const fs::path& file : files_of(folder)) {
    std::error_code failed;
    fs::remove(file, failed);
    if (failed) {
      throw Error(ErrorCode::unavailable,
                  format_text("tuning: cannot remove '{}': {}", file.string(), failed.message()));
    }
  }
  return before;
}

Merged merge_tuning(const fs::path& folder, const fs::path& file, Log& log) {
  const Lines lines = read_lines(file);
  if (lines.skipped > 0) warn(log, file, lines, lines.skipped);
  std::set<std::string> known;
  for (const TuningRecord& record : read_tuning(folder, log)) known.insert(to_json(record).dump());
  Merged merged{.skipped = lines.skipped};
  for (const TuningRecord& record : lines.records) {
    if (!known.insert(to_json(record).dump()).second) {
      ++merged.known;
      continue;
    }
    append_tuning(folder, record);
    ++merged.added;
  }
  return merged;
}

TuningTable tuning_table(std::span<const TuningRecord> records, const TunedDevice& device,
                         const StillHas& still_has) {
  // By key, by problem, by configuration: the latest.
  using Latest = std::map<Config, const TuningRecord*>;
  std::map<TuningKey, std::map<std::string, Latest>> found;
  for (const TuningRecord& record : records) {
    if (record.device != device) continue;
    const TuningRecord*& latest = found[record.key][to_string(record.problem)][record.config];
    if (latest == nullptr || latest->date <= record.date) latest = &record;
  }
  TuningTable table;
  for (auto& [key, problems] : found) {
    std::map<Config, const TuningRecord*> usable;
    for (auto& [problem, configs] : problems) {
      std::erase_if(configs, [&](const auto& entry) {
        return entry.second->outcome != Outcome::good || (still_has && !still_has(*entry.second));
      });
      usable.insert(configs.begin(), configs.end());
    }
    const Config* best = nullptr;
    double least = 0;
    for (const auto& [config, any] : usable) {
      double sum = 0;
      for (const auto& [problem, configs] : problems) {
        if (configs.empty()) continue;
        double quickest = configs.begin()->second->p50;
        double usual = 0;  // of the default; without one, of the slowest
        bool has_default = false;
        for (const auto& [other, record] : configs) {
          quickest = std::min(quickest, record->p50);
          if (record->is_default) usual = record->p50;
          has_default = has_default || record->is_default;
          if (!has_default) usual = std::max(usual, record->p50);
        }
        const auto measured = configs.find(config);
        const double time = measured != configs.end() ? measured->second->p50 : usual;
        if (time > quickest && quickest > 0) sum += std::log(time / quickest);
      }
      if (best == nullptr || sum < least) {
        best = &config;
        least = sum;
      }
    }
    if (best != nullptr) table.set(key, *best);
  }
  return table;
}

}  // namespace gpuforge::lab
