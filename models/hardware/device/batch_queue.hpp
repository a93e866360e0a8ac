// Which ready operations of a device go together in one launch, and which launch is next.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "hardware/device/policy.hpp"
#include "hardware/program.hpp"

namespace qfs {

/// Operations that go together.
struct Batch {
  std::vector<const Operation*> members;  // by request; of one request, by step
  Femtoseconds first_ready;               // of the first to be there
  Femtoseconds ready;                     // of the last
  Femtoseconds due;                       // the policy let it go, set by take()
  bool awaited_elsewhere = false;         // the result of any of them
};

class BatchQueue {
 public:
  /// `program` outlives it. `residents`: requests still decoding, as others count them.
  BatchQueue(const Program& program, const Batching& batching, const std::size_t& residents);

  /// All inputs of the operation are there now.
  void add(const Operation& operation, Femtoseconds now);
  /// From when on take() has something to give; none: nothing yet.
  [[nodiscard]] std::optional<Femtoseconds> due() const;
  /// The next launch of those that are due by `now`, of which there must be one: first what another
  /// device awaits, then what has been ready longest, then program order, then the lower request.
  Batch take(Femtoseconds now);

 private:
  /// What has to be equal; the policy leaves some of it out.
  struct Key {
    OpKind kind;
    LayerId layer;
    std::size_t shard;
    StepId step;
    std::size_t wave;
    RequestId request;
    auto operator<=>(const Key&) const = default;
  };
  using Batches = std::map<Key, Batch>;

  [[nodiscard]] Gather gather(OpKind kind) const;
  [[nodiscard]] Key key_of(const Operation& operation) const;
  [[nodiscard]] std::optional<Femtoseconds> due(const Batch& batch) const;

  const Program& program_;
  Batching batching_;
  const std::size_t& residents_;
  Batches batches_;
};

}  // namespace qfs
