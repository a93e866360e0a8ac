// Who executes what, and over which port a message goes: all that tells one arrangement of
// DESIGN.md 5 from another.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "analysis/arrangement.hpp"
#include "analysis/list_schedule.hpp"
#include "analysis/parameters.hpp"

namespace qfs {

/// In program order within a layer. `hold` keeps the residual beside the cache while the stateless
/// pool is away from it.
enum class AnalyticOperation {
  embed,
  q,
  k,
  v,
  kv,
  qkv,
  sweep,
  merge,
  hold,
  o,
  ffn,
  reduce,
  lm_head
};
inline constexpr std::size_t analytic_operations = 13;

enum class AnalyticDeviceRole { compute, cache, pool, rank };
enum class AnalyticPortRole {
  to_cache,
  to_compute,
  to_pool,
  to_cache_devices,
  to_owner,
  between_ranks
};

struct Topology {
  using Device = ListSchedule::Device;
  using Port = ListSchedule::Port;

  struct Rank {
    std::array<Device, analytic_operations> executes{};  // by AnalyticOperation, but for sweeps
    std::vector<Device> shards;                          // who sweeps, and keeps the appended rows

    [[nodiscard]] Device device(AnalyticOperation operation) const {
      return executes[static_cast<std::size_t>(operation)];
    }
    /// Of the request: where the token comes in and partial results are merged.
    [[nodiscard]] Device home() const { return device(AnalyticOperation::merge); }
  };

  std::vector<Rank> ranks;                         // one, but in tensor_parallel
  std::map<std::pair<Device, Device>, Port> port;  // from, to; several may share one
  bool fuses_qkv = true;                           // if append_first asks for it
  std::vector<AnalyticDeviceRole> device_roles;    // by device
  std::vector<AnalyticPortRole> port_roles;        // by port
};

/// The devices and ports of the arrangement, in `schedule`, which has none yet.
Topology add_topology(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                      ListSchedule& schedule);

}  // namespace qfs
