// Where a sweep keeps its results as they come: an SQLite database of a row a point, which outlives
// any end of the program. Content: table `points`, ordered by "index"; the names of its columns are
// those of results.csv. It holds nothing that differs between two sweeps that do the same, such as
// a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sim/sweep/sweep_point.hpp"

namespace qfs {

/// What a store's rows are of.
struct StoreIdentity {
  std::string sweep;    // digest of the sweep's file
  std::string program;  // digest of what simulated it
  std::uint64_t points = 0;
  std::string shard = "1/1";

  bool operator==(const StoreIdentity&) const = default;
};

struct StoredPoint {
  std::string key;  // digest of the point's configuration and of the program; none without one
  PointOutcome outcome;
};

/// Every member throws RunError with the store's path if the database cannot be written (a full
/// disk, a folder that is read-only, another process at work on it) or is damaged.
class ResultStore {
 public:
  enum class Access { write, read };

  /// Opens or makes the database; an empty path: one in memory. With Access::read it must be there.
  explicit ResultStore(const std::filesystem::path& file, Access access = Access::write);
  ~ResultStore();  // what is not committed is lost
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// None: nothing has been stored yet.
  [[nodiscard]] std::optional<StoreIdentity> identity() const;
  /// Rows of another identity lose their index but can still be found by their key.
  void begin(const StoreIdentity& identity);

  [[nodiscard]] std::optional<StoredPoint> find(std::uint64_t index) const;
  /// A point of this key that was simulated, or failed for good; also of before begin().
  [[nodiscard]] std::optional<PointOutcome> find_key(const std::string& key) const;
  [[nodiscard]] std::uint64_t count() const;

  /// Part of a transaction that ends by commit(), or by the first put() or tick() after
  /// `transaction_time`.
  void put(std::uint64_t index, const StoredPoint& point);
  void tick();
  void commit();
  /// Commits, and forgets the rows that begin() put aside.
  void finish();

  static constexpr std::chrono::milliseconds transaction_time{50};

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace qfs
