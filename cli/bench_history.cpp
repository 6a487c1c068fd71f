#include "cli/bench_history.h"

#include <sqlite3.h>

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/base/version.h"

namespace gpuforge::cli {
namespace {

constexpr int kSchema = 1;
constexpr int kWaitMs = 5000;  // for another program that writes

}  // namespace

struct BenchHistory::Database {
  sqlite3* raw = nullptr;
  std::string path;

  ~Database() { sqlite3_close(raw); }

  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    throw Error(ErrorCode::unavailable,
                format_text("bench: the history {} cannot be used: {}", path,
                            raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code)));
  }
  void run(const char* sql) const { check(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr)); }
};

namespace {

// A prepared statement, whose parameters are bound in order.
class Statement {
 public:
  template <typename Database>
  Statement(const Database& database, const char* sql) {
    database.check(sqlite3_prepare_v2(database.raw, sql, -1, &raw_, nullptr));
  }
  ~Statement() { sqlite3_finalize(raw_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text) {
    sqlite3_bind_text(raw_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(double value) {
    sqlite3_bind_double(raw_, ++bound_, value);
    return *this;
  }
  template <typename Database>
  bool step(const Database& database) {
    const int code = sqlite3_step(raw_);
    database.check(code);
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(raw_, column));
    return text != nullptr ? text : "";
  }
  double number(int column) const { return sqlite3_column_double(raw_, column); }

 private:
  sqlite3_stmt* raw_ = nullptr;
  int bound_ = 0;
};

}  // namespace

BenchHistory::BenchHistory(const std::filesystem::path& path) : database_(std::make_unique<Database>()) {
  Database& database = *database_;
  database.path = path.string();
  std::error_code ignored;  // SQLite says what is wrong with the folder
  std::filesystem::create_directories(path.parent_path(), ignored);
  database.check(sqlite3_open(database.path.c_str(), &database.raw));
  sqlite3_busy_timeout(database.raw, kWaitMs);
  Statement version(database, "PRAGMA user_version");
  version.step(database);
  const int schema = static_cast<int>(version.number(0));
  if (schema > kSchema) {
    throw Error(ErrorCode::unavailable,
                format_text("bench: the history {} is of version {}; this program knows {}", database.path,
                            schema, kSchema));
  }
  database.run(
      "CREATE TABLE IF NOT EXISTS results (time TEXT, product TEXT, which TEXT, commit_id TEXT, version "
      "TEXT, "
      "p50_ms REAL, gb_per_s REAL, share_of_ceiling REAL);"
      "CREATE INDEX IF NOT EXISTS results_by_case ON results (product, which, time);"
      "PRAGMA user_version = 1");
}

BenchHistory::~BenchHistory() = default;

void BenchHistory::add(const BenchReport& report) {
  const Database& database = *database_;
  const std::string now = time_stamp();
  database.run("BEGIN IMMEDIATE");
  for (const BenchRow& row : report.rows) {
    const lab::BenchResult& result = row.result;
    if (!result.good() || !result.measurement) continue;
    Statement insert(database, "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(now)
        .bind(report.device.product)
        .bind(to_string(result.which))
        .bind(source_commit())
        .bind(version())
        .bind(result.measurement->summary.p50)
        .bind(result.gb_per_s())
        .bind(result.share_of_ceiling());
    insert.step(database);
  }
  database.run("COMMIT");
}

std::vector<HistoryPoint> BenchHistory::find(const std::string& product, const std::string& which, int most) {
  const Database& database = *database_;
  Statement select(database,
                   "SELECT time, commit_id, p50_ms, gb_per_s FROM results WHERE product = ? AND which = ? "
                   "ORDER BY time DESC, rowid DESC LIMIT ?");
  select.bind(product).bind(which).bind(static_cast<double>(most));
  std::vector<HistoryPoint> points;
  while (select.step(database)) {
    points.push_back({select.text(0), select.text(1), which, select.number(2), select.number(3)});
  }
  std::reverse(points.begin(), points.end());
  return points;
}

}  // namespace gpuforge::cli
