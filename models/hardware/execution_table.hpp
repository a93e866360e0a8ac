// The table of what was executed: one row per launch of an operation (all members of its batch),
// per message and per memory write. Devices and links write it while they run; everything that is
// reported is derived from it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/operation.hpp"
#include "decode/work.hpp"

namespace qfs {

enum class ResourceKind {
  executor,  // runs operations, one at a time
  writes,    // a device's memory writes that take no executor slot; may overlap
  link,      // one direction; messages may overlap in flight
};

struct Resource {
  std::string name;  // "compute_device", "cache_device.writes", "link.to_cache_device", ...
  ResourceKind kind = ResourceKind::executor;
};

/// An input of a row: the row that made it and when it was there for the taking (arrival, for a
/// message).
struct Dependency {
  RowId row;
  Femtoseconds arrival;
};

enum class RowKind {
  operation,
  message,
};

/// Whose operation it is, and of which of its tokens.
struct Member {
  RequestId request;
  StepId step;
  auto operator<=>(const Member&) const = default;
};

struct Row {
  RowId id;
  RowKind kind = RowKind::operation;
  OpKind op = OpKind::embed;       // the operation; of a message, its (first) producer
  std::vector<ValueKind> carries;  // message: the values on board
  LayerId layer;
  std::size_t shard = 0;
  StepId step;  // of the first member
  std::vector<Member> members;
  int attempt = 1;
  std::size_t resource = 0;  // index into ExecutionTable::resources
  Femtoseconds ready;        // all inputs of all members were there
  Femtoseconds start;
  Femtoseconds end;  // message: arrival
  std::vector<Dependency> deps;
  Work work;         // of an operation: what it was charged
  Bytes wire_bytes;  // of a message

  [[nodiscard]] bool is_operation() const { return kind == RowKind::operation; }
  [[nodiscard]] bool is_message() const { return kind == RowKind::message; }
};

struct ExecutionTable {
  std::vector<Resource> resources;
  /// rows[i].id == i, in the order in which they began. A deque: a reference to a row stays good
  /// while others are added.
  std::deque<Row> rows;

  /// Adds a row with the next id.
  Row& add(Row row) {
    row.id = RowId(rows.size());
    rows.push_back(std::move(row));
    return rows.back();
  }
};

}  // namespace qfs
