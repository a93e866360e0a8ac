// What an operation costs, counted: bytes by kind, multiply-accumulates, exponentials, launches.
// Weights are read once per launch, everything else once per request of the batch.
#pragma once

#include <span>

#include "base/units.hpp"
#include "decode/accounting.hpp"
#include "decode/attention_method.hpp"
#include "decode/formats.hpp"
#include "decode/model_shape.hpp"
#include "decode/operation.hpp"

namespace qfs {

struct Work {
  Bytes weight_bytes;
  Bytes kv_read_bytes;
  Bytes kv_written_bytes;
  Bytes activation_bytes;
  Macs macs;
  Exps exps;
  int launches = 0;

  /// All bytes that pass through the device's memory.
  [[nodiscard]] Bytes memory_bytes() const {
    return weight_bytes + kv_read_bytes + kv_written_bytes + activation_bytes;
  }
};

/// How values are counted in one run.
struct CountingRules {
  ModelShape shape;
  Formats formats;
  Accounting accounting = Accounting::full;
  AttentionMethod attention = {};
  /// Requests that every operation stands for: of one wave, with the same context and tokens, whose
  /// operations always go together. Above 1 only where no values are computed.
  std::size_t alike = 1;
};

/// Bytes of one value of the requests that an operation stands for, in memory and on the wire
/// alike.
Bytes value_bytes(const CountingRules& rules, const Carried& carried);

/// Whether a device executes such operations one at a time. The others, which are launched with
/// something else or move only a few bytes, happen beside.
bool takes_executor(OpKind kind);

/// The work of one launch over `members` operations of one kind and layer; at least one member.
Work work_of(const CountingRules& rules, std::span<const Operation* const> members);

}  // namespace qfs
