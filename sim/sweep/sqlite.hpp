// What a store needs of SQLite: a connection of its own to one database, prepared statements, and
// transactions that last no longer than they should.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace qfs::sqlite {

/// The only connection to a database, by no other process either. All throw RunError with the
/// path: it is in use, damaged, or cannot be written.
class Database {
 public:
  /// An empty path: in memory.
  Database(const std::filesystem::path& file, bool create);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);
  /// Lives as long as the database.
  sqlite3_stmt* prepared(const std::string& sql);
  /// Whether there is a row.
  bool step(sqlite3_stmt* statement);
  /// The first column of the first row; none, or the statement makes no sense: nothing.
  [[nodiscard]] std::optional<std::string> text_of(const std::string& sql) const;

  /// Nothing happens where one is open.
  void begin();
  void commit();
  /// If the transaction is as old.
  void commit_if(std::chrono::milliseconds age);

 private:
  using Clock = std::chrono::steady_clock;
  void close();
  void check(int code) const;
  [[noreturn]] void fail() const;

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  bool in_transaction_ = false;
  Clock::time_point began_;
};

/// Puts values into a statement one after the other.
class Binder {
 public:
  explicit Binder(sqlite3_stmt* statement) : statement_(statement) {}
  Binder& operator<<(const std::string& text) {
    sqlite3_bind_text(statement_, next_++, text.c_str(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Binder& operator<<(double number) {
    sqlite3_bind_double(statement_, next_++, number);
    return *this;
  }
  Binder& operator<<(std::uint64_t number) {
    sqlite3_bind_int64(statement_, next_++, static_cast<sqlite3_int64>(number));
    return *this;
  }
  Binder& operator<<(Bytes bytes) {
    sqlite3_bind_int64(statement_, next_++, bytes.value());
    return *this;
  }
  void nulls(int count) {
    for (int i = 0; i < count; ++i) {
      sqlite3_bind_null(statement_, next_++);
    }
  }

 private:
  sqlite3_stmt* statement_;
  int next_ = 1;
};

/// Takes values out of a row one after the other.
class Columns {
 public:
  explicit Columns(sqlite3_stmt* statement, int first) : statement_(statement), next_(first) {}
  Columns& operator>>(std::string& text) {
    text = here() ? reinterpret_cast<const char*>(sqlite3_column_text(statement_, next_)) : "";
    ++next_;
    return *this;
  }
  Columns& operator>>(double& number) {
    number = sqlite3_column_double(statement_, next_++);
    return *this;
  }
  Columns& operator>>(std::size_t& number) {
    number = static_cast<std::size_t>(sqlite3_column_int64(statement_, next_++));
    return *this;
  }
  Columns& operator>>(Bytes& bytes) {
    bytes = Bytes(sqlite3_column_int64(statement_, next_++));
    return *this;
  }
  /// Whether the next value is there.
  [[nodiscard]] bool here() const { return sqlite3_column_type(statement_, next_) != SQLITE_NULL; }

 private:
  sqlite3_stmt* statement_;
  int next_;
};

}  // namespace qfs::sqlite
