// The table of what was executed: one row per launch of an operation (all members of its batch),
// per message, memory write, copy into a staging buffer and wait of a launch for more to join.
// Devices and links write it while they run; everything that is reported is derived from it.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/operation.hpp"
#include "decode/work.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs {

enum class ResourceKind {
  executor,  // runs operations, one at a time
  writes,    // a device's memory writes that take no executor slot; may overlap
  staging,   // a device's copies into its staging buffer
  windows,   // a device's launches that wait for more to join; may overlap
  link,      // one direction; messages may overlap in flight
};

struct Resource {
  std::string name;  // "compute_device", "cache_device.writes", "cache_device.staging",
                     // "link.to_cache_device", ...
  ResourceKind kind = ResourceKind::executor;
};

/// An input of a row: the row that made it and when it was there for the taking (arrival, for a
/// message).
struct Dependency {
  RowId row;
  Femtoseconds arrival;
};

/// Each row once.
inline void add_dependency(std::vector<Dependency>& all, const Dependency& dep) {
  if (std::none_of(all.begin(), all.end(), [&](const Dependency& d) { return d.row == dep.row; })) {
    all.push_back(dep);
  }
}

enum class RowKind {
  operation,
  message,
  prefetch,    // rows of a sweep to come, copied into the staging buffer
  tail_fetch,  // rows of a sweep that its staged block lacks
  window,      // a launch that waits for more to join, from its first operation on
};

template <>
inline constexpr EnumNames<RowKind, 5> enum_names<RowKind>{{
    {RowKind::operation, "operation"},
    {RowKind::message, "message"},
    {RowKind::prefetch, "prefetch"},
    {RowKind::tail_fetch, "tail_fetch"},
    {RowKind::window, "window"},
}};

/// What became of it, in runs with disturbances.
enum class RowFate {
  used,
  lost,     // a message that never arrived; a launch that its device did not live to end
  dropped,  // a message that brought nothing new; a launch whose results had all come from
            // elsewhere
};

template <>
inline constexpr EnumNames<RowFate, 3> enum_names<RowFate>{{
    {RowFate::used, "used"},
    {RowFate::lost, "lost"},
    {RowFate::dropped, "dropped"},
}};

/// Whose operation it is, and of which of its tokens.
struct Member {
  RequestId request;
  StepId step;
  auto operator<=>(const Member&) const = default;
};

struct Row {
  RowId id;
  RowKind kind = RowKind::operation;
  /// The operation, or that of the launch that waits; of a message, its (first) producer; of a
  /// prefetch and a tail fetch, the sweep.
  OpKind op = OpKind::embed;
  std::vector<ValueKind> carries;  // message: the values on board
  LayerId layer;
  std::size_t shard = 0;
  StepId step;  // of the first member
  std::vector<Member> members;
  int attempt = 1;  // the how manieth sending of these values; of a call, the how manieth instance
  RowFate fate = RowFate::used;
  std::size_t resource = 0;  // index into ExecutionTable::resources
  Femtoseconds ready;        // all inputs of all members were there
  Femtoseconds start;
  Femtoseconds end;  // message: arrival (lost: when it would have been); cut off: the death
  std::vector<Dependency> deps;
  Work work;         // what it was charged; of a message nothing
  Bytes wire_bytes;  // of a message

  [[nodiscard]] bool is_operation() const { return kind == RowKind::operation; }
  [[nodiscard]] bool is_message() const { return kind == RowKind::message; }
};

/// What the DRAM of a device has done in a whole run; all its parts alike.
struct MemoryUse {
  std::string device;
  std::size_t parts = 1;
  dram::Counters counters;  // of one part
};

struct ExecutionTable {
  std::vector<Resource> resources;
  std::vector<MemoryUse> memories;  // of devices with DRAM
  /// rows[i].id == i, in the order in which they began; a message where its port got it, a window
  /// before its launch. A deque: a reference to a row stays good while others are added.
  std::deque<Row> rows;

  /// Adds a row with the next id.
  Row& add(Row row) {
    row.id = RowId(rows.size());
    rows.push_back(std::move(row));
    return rows.back();
  }
};

}  // namespace qfs
