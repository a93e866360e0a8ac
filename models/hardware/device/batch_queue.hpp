// Which ready operations of a device go together in one launch, and which launch is next.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "hardware/program.hpp"

namespace qfs {

/// Which operations of one kind, layer and shard share a launch.
enum class Gather {
  wave,     // all requests of a wave, of one step: the launch waits for the last of them
  ready,    // whatever is there, of any wave and step
  request,  // each alone
};

template <>
inline constexpr EnumNames<Gather, 3> enum_names<Gather>{{
    {Gather::wave, "wave"},
    {Gather::ready, "ready"},
    {Gather::request, "request"},
}};

/// The batching policy of a device.
struct Batching {
  Gather products = Gather::wave;  // all operations but sweeps
  Gather sweeps = Gather::wave;
  /// `ready`: a launch waits so long for more after its first operation is there, or until every
  /// request that is still decoding has joined.
  Seconds window{0};
};

/// Operations that go together.
struct Batch {
  std::vector<const Operation*> members;  // by request; of one request, by step
  Femtoseconds first_ready;               // of the first to be there
  Femtoseconds ready;                     // of the last
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
