#include "sim/sweep/sqlite.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace qfs::sqlite {
namespace {

constexpr int busy_milliseconds = 2000;  // a program that was just killed may still hold its lock

}  // namespace

Database::Database(const std::filesystem::path& file, bool create)
    : path_(file.empty() ? "results in memory" : file.string()) {
  const std::string name = file.empty() ? ":memory:" : file.string();
  const int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
  try {
    check(sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr));
    check(sqlite3_busy_timeout(handle_, busy_milliseconds));
    // One process at a time: then the log needs no memory shared through the file system.
    execute(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    execute("BEGIN IMMEDIATE; COMMIT");  // takes the lock
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() { close(); }

void Database::close() {
  for (sqlite3_stmt* each : statements_) {
    sqlite3_finalize(each);
  }
  statements_.clear();
  sqlite3_close(handle_);
  handle_ = nullptr;
}

void Database::check(int code) const {
  if (code != SQLITE_OK) {
    fail();
  }
}

void Database::fail() const {
  const int code = sqlite3_errcode(handle_);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw RunError(fmt::format("{} is in use by another process", path_));
  }
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    throw RunError(fmt::format("{} is damaged or no store of a sweep ({}); remove it to begin anew",
                               path_, sqlite3_errmsg(handle_)));
  }
  throw RunError(fmt::format("cannot write {}: {}; what it holds so far is kept", path_,
                             sqlite3_errmsg(handle_)));
}

void Database::execute(const std::string& sql) {
  check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

sqlite3_stmt* Database::prepared(const std::string& sql) {
  sqlite3_stmt* made = nullptr;
  check(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &made, nullptr));
  return statements_.emplace_back(made);
}

bool Database::step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    fail();
  }
  return code == SQLITE_ROW;
}

std::optional<std::string> Database::text_of(const std::string& sql) const {
  sqlite3_stmt* query = nullptr;
  std::optional<std::string> text;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &query, nullptr) == SQLITE_OK &&
      sqlite3_step(query) == SQLITE_ROW) {
    Columns(query, 0) >> text.emplace();
  }
  sqlite3_finalize(query);
  return text;
}

void Database::begin() {
  if (!in_transaction_) {
    execute("BEGIN IMMEDIATE");
    in_transaction_ = true;
    began_ = Clock::now();
  }
}

void Database::commit() {
  if (in_transaction_) {
    execute("COMMIT");
    in_transaction_ = false;
  }
}

void Database::commit_if(std::chrono::milliseconds age) {
  if (in_transaction_ && Clock::now() - began_ >= age) {
    commit();
  }
}

}  // namespace qfs::sqlite
