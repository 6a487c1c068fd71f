// What tuning found out, on disk: lines of JSON in files that are only ever appended to, so that many
// processes share them and files of other machines are merged by copying their lines. A folder holds a file
// for each device; what a line says about its device counts, not the file it is in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/log.h"
#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

// What a result is a result of: "NVIDIA H200" and "sm_90", wherever that one is plugged in.
struct TunedDevice {
  std::string product;
  std::string arch;
  friend bool operator==(const TunedDevice&, const TunedDevice&) = default;
};
TunedDevice tuned_device(const device::DeviceFacts& facts);

enum class Outcome { good, does_not_compile, does_not_run, wrong_result };
std::string_view name(Outcome outcome);  // "does not compile"

// One configuration, measured or discarded.
struct TuningRecord {
  TunedDevice device;
  TuningKey key;
  Problem problem;  // complete
  Config config;
  bool is_default = false;  // what the op takes when nothing was tuned
  std::string compile_key;  // of the kernels; empty when there are none or they did not compile
  Outcome outcome = Outcome::good;
  std::string reason;    // why it was discarded
  double p50 = 0;        // of a good one
  bool settled = false;  // measured again and longer, since it was among the fastest
  std::string unit;      // "ms"; in the simulator "proxy"
  std::string program;   // the version that measured
  std::string date;      // 2026-11-15T15:04:05Z
  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;
};
// The same configuration on the same problem and device.
bool same_candidate(const TuningRecord& one, const TuningRecord& other);
std::string utc_now();

// Within a cache folder; nothing without one.
std::optional<std::filesystem::path> tuning_folder(const std::optional<std::filesystem::path>& cache_dir);
std::filesystem::path tuning_file(const std::filesystem::path& folder, const TunedDevice& device);

// One write to the device's file. io or unavailable Error.
void append_tuning(const std::filesystem::path& folder, const TuningRecord& record);

// Of all files of the folder, in the order of file names and lines; a folder that is not there has none.
// Lines that are no records are skipped, with one warning for all of them.
std::vector<TuningRecord> read_tuning(const std::filesystem::path& folder, Log& log);

struct TuningSize {
  std::size_t files = 0;
  std::size_t records = 0;
  std::uint64_t bytes = 0;
};
TuningSize tuning_size(const std::filesystem::path& folder);
// The files of the folder; what it removed.
TuningSize clear_tuning(const std::filesystem::path& folder);

struct Merged {
  std::size_t added = 0;
  std::size_t known = 0;    // already there, word for word
  std::size_t skipped = 0;  // no records
};
// Copies the records of a file into the folder. io Error when it cannot be read.
Merged merge_tuning(const std::filesystem::path& folder, const std::filesystem::path& file, Log& log);

// Whether the op still has the configuration.
using StillHas = std::function<bool(const TuningRecord&)>;

// The best verified configuration of each key on this device. Where a configuration was measured more than
// once on a problem, the latest counts. Where a class of shapes has several problems, the least mean of
// log(time / the problem's least time) wins; a problem that a configuration was not measured on counts as if
// it were the default there.
TuningTable tuning_table(std::span<const TuningRecord> records, const TunedDevice& device,
                         const StillHas& still_has = {});

}  // namespace gpuforge::lab
