// A device's numerics with one deliberate fault (fault.hpp). A dropped edge is not here: it is the
// schedule that lacks it.
#pragma once

#include <utility>

#include "decode/device_numerics.hpp"
#include "decode/fault.hpp"

namespace qfs {

class FaultyNumerics : public DeviceNumerics {
 public:
  FaultyNumerics(const Graph& graph, const Inputs& inputs, Holdings holdings,
                 AttentionMethod attention, const Fault& fault)
      : DeviceNumerics(graph, inputs, std::move(holdings), attention), fault_(fault) {}

  Outputs compute(Members members) override;
  std::span<const std::byte> receive(const Operation& producer, const Carried& carried,
                                     std::span<const std::byte> payload) override;

 private:
  [[nodiscard]] bool strikes(FaultKind kind, const Operation& operation) const;
  Outputs compute_altered(Members members);
  Outputs append_swapped(Members members);

  Fault fault_;
};

}  // namespace qfs
