#include "analysis/topology.hpp"

#include <stdexcept>

namespace qfs {
namespace {

using Operation = AnalyticOperation;

class Maker {
 public:
  Maker(const AnalyticParameters& parameters, ListSchedule& schedule)
      : parameters_(parameters), schedule_(schedule) {}

  Topology colocated() {
    add_rank(add_device(AnalyticDeviceRole::compute, parameters_.compute));
    return topology_;
  }

  Topology two_device() {
    const Device compute = add_device(AnalyticDeviceRole::compute, parameters_.compute);
    Topology::Rank& rank = add_rank(compute);
    rank.shards.clear();
    for (std::size_t shard = 0; shard < parameters_.split.devices; ++shard) {
      rank.shards.push_back(add_device(AnalyticDeviceRole::cache, parameters_.cache));
    }
    connect(compute, rank.shards, AnalyticPortRole::to_cache, AnalyticPortRole::to_compute);
    return topology_;
  }

  /// The first cache device owns the request.
  Topology pooled() {
    const Device owner = add_device(AnalyticDeviceRole::cache, parameters_.cache);
    const Device pool = add_device(AnalyticDeviceRole::pool, parameters_.compute);
    Topology::Rank& rank = add_rank(owner);
    for (const Operation pooled :
         {Operation::k, Operation::v, Operation::kv, Operation::ffn, Operation::lm_head}) {
      rank.executes[static_cast<std::size_t>(pooled)] = pool;
    }
    if (parameters_.pooled_projections) {
      rank.executes[static_cast<std::size_t>(Operation::q)] = pool;
      rank.executes[static_cast<std::size_t>(Operation::o)] = pool;
    }
    connect(owner, {pool}, AnalyticPortRole::to_pool, AnalyticPortRole::to_cache);
    std::vector<Device> others;
    for (std::size_t shard = 1; shard < parameters_.split.devices; ++shard) {
      others.push_back(add_device(AnalyticDeviceRole::cache, parameters_.cache));
    }
    connect(owner, others, AnalyticPortRole::to_cache_devices, AnalyticPortRole::to_owner);
    rank.shards.insert(rank.shards.end(), others.begin(), others.end());
    topology_.fuses_qkv = false;
    return topology_;
  }

  /// Every rank sends on a port of its own.
  Topology tensor_parallel() {
    for (std::size_t rank = 0; rank < parameters_.ranks; ++rank) {
      add_rank(add_device(AnalyticDeviceRole::rank, parameters_.compute));
    }
    for (const Topology::Rank& from : topology_.ranks) {
      const Topology::Port out = add_port(AnalyticPortRole::between_ranks);
      for (const Topology::Rank& to : topology_.ranks) {
        topology_.port[{from.home(), to.home()}] = out;
      }
    }
    return topology_;
  }

 private:
  using Device = Topology::Device;

  Device add_device(AnalyticDeviceRole role, const AnalyticDevice& device) {
    topology_.device_roles.push_back(role);
    return schedule_.add_device(device);
  }

  Topology::Port add_port(AnalyticPortRole role) {
    topology_.port_roles.push_back(role);
    return schedule_.add_port(parameters_.link_message_overhead, parameters_.link_bandwidth,
                              parameters_.link_latency);
  }

  /// One that executes everything and keeps the whole cache.
  Topology::Rank& add_rank(Device device) {
    Topology::Rank rank;
    rank.executes.fill(device);
    rank.shards = {device};
    topology_.ranks.push_back(rank);
    return topology_.ranks.back();
  }

  /// `hub` with each of the others, over one pair of ports or a pair each.
  void connect(Device hub, const std::vector<Device>& others, AnalyticPortRole out_role,
               AnalyticPortRole in_role) {
    Topology::Port out = 0;
    Topology::Port in = 0;
    for (const Device other : others) {
      if (other == others.front() || parameters_.own_ports) {
        out = add_port(out_role);
        in = add_port(in_role);
      }
      topology_.port[{hub, other}] = out;
      topology_.port[{other, hub}] = in;
    }
  }

  const AnalyticParameters& parameters_;
  ListSchedule& schedule_;
  Topology topology_;
};

}  // namespace

Topology add_topology(AnalyticArrangement arrangement, const AnalyticParameters& parameters,
                      ListSchedule& schedule) {
  Maker maker(parameters, schedule);
  switch (arrangement) {
    case AnalyticArrangement::colocated:
      return maker.colocated();
    case AnalyticArrangement::two_device:
      return maker.two_device();
    case AnalyticArrangement::pooled:
      return maker.pooled();
    case AnalyticArrangement::tensor_parallel:
      return maker.tensor_parallel();
  }
  throw std::logic_error("add_topology: unknown arrangement");
}

}  // namespace qfs
