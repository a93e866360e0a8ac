#include "sim/sweep/result_store.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "sim/sweep/sqlite.hpp"

namespace qfs {
namespace {

using sqlite::Binder;
using sqlite::Columns;

/// Of points, and of earlier. Raising the format makes older stores begin anew.
constexpr std::string_view format = "2";
constexpr std::string_view columns =
    "\"index\" INTEGER, key TEXT, status TEXT, reason TEXT, transient INTEGER, batch INTEGER, "
    "in_flight INTEGER, devices INTEGER, resident_kv_bytes INTEGER, step_us REAL, tpot_us REAL, "
    "worst_tpot_us REAL, tokens_per_s REAL, exposed_sweep_us REAL, exposed_link_us REAL, "
    "wire_bytes INTEGER, blocks_staged INTEGER, blocks_stale INTEGER, tail_fetch_us REAL, "
    "simulated_layers INTEGER, "
    "operation_error REAL, end_to_end_error REAL, softmax_error REAL, numerics TEXT";
constexpr std::size_t column_count = 24;
/// Whoever has the same configuration again may have these.
constexpr const char* lasting = "(status = 'ok' OR status = 'failed' AND transient = 0)";

void bind_errors(Binder& row, const std::optional<PointErrors>& errors) {
  if (!errors) {
    row.nulls(4);
    return;
  }
  row << errors->operation << errors->end_to_end;
  if (errors->softmax) {
    row << *errors->softmax;
  } else {
    row.nulls(1);
  }
  row << errors->failure;
}

void bind_point(sqlite3_stmt* statement, std::uint64_t index, const StoredPoint& point) {
  const PointOutcome& outcome = point.outcome;
  const PointFigures& figures = outcome.figures;
  Binder row(statement);
  row << index << point.key << std::string(name_of(outcome.status)) << outcome.reason;
  row << std::uint64_t{outcome.transient} << outcome.facts.batch << outcome.facts.in_flight;
  row << outcome.facts.devices << outcome.facts.resident_kv;
  if (outcome.status != PointStatus::ok) {
    row.nulls(15);
    return;
  }
  row << figures.step_us << figures.tpot_us << figures.worst_tpot_us << figures.tokens_per_s;
  row << figures.exposed_sweep_us << figures.exposed_link_us << figures.wire_bytes;
  row << figures.blocks_staged << figures.blocks_stale << figures.tail_fetch_us;
  row << figures.simulated_layers;
  bind_errors(row, figures.errors);
}

std::optional<PointErrors> errors_of_row(Columns& row) {
  if (!row.here()) {
    return std::nullopt;
  }
  PointErrors errors;
  row >> errors.operation >> errors.end_to_end;
  const bool has_softmax = row.here();
  double softmax = 0;
  row >> softmax >> errors.failure;
  errors.softmax = has_softmax ? std::optional<double>(softmax) : std::nullopt;
  return errors;
}

StoredPoint point_of_row(sqlite3_stmt* statement) {
  StoredPoint point;
  PointOutcome& outcome = point.outcome;
  PointFigures& figures = outcome.figures;
  std::string status;
  std::size_t transient = 0;
  Columns row(statement, 1);
  row >> point.key >> status >> outcome.reason >> transient;
  outcome.status = value_named<PointStatus>(status).value_or(PointStatus::failed);
  outcome.transient = transient != 0;
  row >> outcome.facts.batch >> outcome.facts.in_flight >> outcome.facts.devices;
  row >> outcome.facts.resident_kv;
  row >> figures.step_us >> figures.tpot_us >> figures.worst_tpot_us >> figures.tokens_per_s;
  row >> figures.exposed_sweep_us >> figures.exposed_link_us >> figures.wire_bytes;
  row >> figures.blocks_staged >> figures.blocks_stale >> figures.tail_fetch_us;
  row >> figures.simulated_layers;
  figures.errors = errors_of_row(row);
  return point;
}

}  // namespace

/// The database and its prepared statements.
struct ResultStore::Parts {
  Parts(const std::filesystem::path& file, bool create) : database(file, create) {}

  sqlite::Database database;
  sqlite3_stmt* put = nullptr;
  sqlite3_stmt* find = nullptr;
  sqlite3_stmt* find_key = nullptr;
  sqlite3_stmt* find_earlier = nullptr;

  void make_tables() {
    database.execute(
        "DROP TABLE IF EXISTS points; DROP TABLE IF EXISTS earlier; DELETE FROM about");
    database.execute(fmt::format("CREATE TABLE points ({}, PRIMARY KEY (\"index\"))", columns));
    database.execute("CREATE INDEX points_by_key ON points (key)");
    database.execute(fmt::format("CREATE TABLE earlier ({}, PRIMARY KEY (key))", columns));
    database.execute(fmt::format("INSERT INTO about VALUES ('format', '{}')", format));
  }
  void prepare() {
    std::string places = "?";
    for (std::size_t i = 1; i < column_count; ++i) {
      places += ", ?";
    }
    put = database.prepared(fmt::format("REPLACE INTO points VALUES ({})", places));
    find = database.prepared("SELECT * FROM points WHERE \"index\" = ?");
    find_key = database.prepared(
        fmt::format("SELECT * FROM points WHERE key = ? AND {} LIMIT 1", lasting));
    find_earlier = database.prepared("SELECT * FROM earlier WHERE key = ?");
  }
  [[nodiscard]] std::optional<std::string> about(const char* name) const {
    return database.text_of(fmt::format("SELECT value FROM about WHERE name = '{}'", name));
  }
  template <class Key>
  std::optional<StoredPoint> row(sqlite3_stmt* query, const Key& key) {
    Binder(query) << key;
    std::optional<StoredPoint> point;
    if (database.step(query)) {
      point = point_of_row(query);
    }
    sqlite3_reset(query);
    return point;
  }
};

ResultStore::ResultStore(const std::filesystem::path& file, Access access)
    : parts_(std::make_unique<Parts>(file, access == Access::write)) {
  sqlite::Database& database = parts_->database;
  database.begin();
  if (parts_->about("format") != std::string(format)) {
    if (access == Access::read) {
      throw RunError(fmt::format("{} is of another version of qfsim", file.string()));
    }
    database.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT)");
    parts_->make_tables();
  }
  database.commit();
  parts_->prepare();
}

ResultStore::~ResultStore() = default;

std::optional<StoreIdentity> ResultStore::identity() const {
  const auto sweep = parts_->about("sweep");
  if (!sweep) {
    return std::nullopt;
  }
  return StoreIdentity{*sweep, parts_->about("program").value_or(""),
                       std::stoull(parts_->about("points").value_or("0")),
                       parts_->about("shard").value_or("")};
}

void ResultStore::begin(const StoreIdentity& identity) {
  if (this->identity() == identity) {
    return;
  }
  sqlite::Database& database = parts_->database;
  database.begin();
  database.execute(fmt::format(
      "REPLACE INTO earlier SELECT * FROM points WHERE key <> '' AND {}; DELETE FROM points",
      lasting));
  for (const auto& [name, value] :
       {std::pair{"sweep", identity.sweep}, std::pair{"program", identity.program},
        std::pair{"points", fmt::format("{}", identity.points)},
        std::pair{"shard", identity.shard}}) {
    database.execute(fmt::format("REPLACE INTO about VALUES ('{}', '{}')", name, value));
  }
  database.commit();
}

std::optional<StoredPoint> ResultStore::find(std::uint64_t index) const {
  return parts_->row(parts_->find, index);
}

std::optional<PointOutcome> ResultStore::find_key(const std::string& key) const {
  for (sqlite3_stmt* where : {parts_->find_key, parts_->find_earlier}) {
    if (const std::optional<StoredPoint> point = parts_->row(where, key)) {
      return point->outcome;
    }
  }
  return std::nullopt;
}

std::uint64_t ResultStore::count() const {
  return std::stoull(parts_->database.text_of("SELECT count(*) FROM points").value_or("0"));
}

void ResultStore::put(std::uint64_t index, const StoredPoint& point) {
  parts_->database.begin();
  bind_point(parts_->put, index, point);
  parts_->database.step(parts_->put);
  sqlite3_reset(parts_->put);
  parts_->database.commit_if(transaction_time);
}

void ResultStore::tick() { parts_->database.commit_if(transaction_time); }

void ResultStore::commit() { parts_->database.commit(); }

void ResultStore::finish() {
  parts_->database.begin();
  parts_->database.execute("DELETE FROM earlier");
  parts_->database.commit();
}

}  // namespace qfs
