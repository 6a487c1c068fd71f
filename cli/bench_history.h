// Results kept from run to run, in one SQLite file of the user's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench_report.h"

namespace gpuforge::cli {

struct HistoryPoint {
  std::string time;
  std::string commit;
  std::string which;  // the case, as to_string writes it
  double p50_ms = 0;
  double gb_per_s = 0;
};

class BenchHistory {
 public:
  // Makes file and folder when they are not there. unavailable Error with SQLite's reason when it cannot be
  // had: another program's file, a newer version of ours, a disk that is full.
  explicit BenchHistory(const std::filesystem::path& path);
  ~BenchHistory();

  // Those with a time, in one transaction.
  void add(const BenchReport& report);
  // Of one case on one kind of device, oldest first, at most the newest `most`.
  std::vector<HistoryPoint> find(const std::string& product, const std::string& which, int most = 10);

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace gpuforge::cli
