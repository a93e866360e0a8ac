#include "system/layout.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "system/system_config.hpp"

namespace qfs {
namespace {

std::vector<DeviceId> ids(std::size_t first, std::size_t count) {
  std::vector<DeviceId> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.emplace_back(first + i);
  }
  return ids;
}

std::string plural(const std::string& name, std::size_t count) {
  return count == 1 ? name : name + "s";
}

}  // namespace

Layout::Layout(const LayoutConfig& config) : config_(config) {
  switch (config.arrangement) {
    case Arrangement::colocated:
      add_devices("compute_device", 1, DeviceSide::compute);
      break;
    case Arrangement::two_device:
      build_two_device();
      break;
    case Arrangement::pooled:
      build_pooled();
      break;
    case Arrangement::tensor_parallel:
      build_tensor_parallel();
      break;
  }
  fill_holdings();
}

void Layout::add_devices(const std::string& name, std::size_t count, DeviceSide side) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string numbered = count == 1 ? name : fmt::format("{}_{}", name, i);
    devices_.push_back({numbered, side, {}, {}});
  }
}

/// A port each way between the hub and all the leaves together, or a pair for each of them.
void Layout::add_port_pairs(DeviceId hub, const std::string& hub_name,
                            const std::vector<DeviceId>& leaves, const std::string& leaves_name) {
  if (config_.ports == Ports::shared) {
    ports_.push_back({"link.to_" + plural(leaves_name, leaves.size()), {hub}, leaves});
    ports_.push_back({"link.to_" + hub_name, leaves, {hub}});
    return;
  }
  for (const DeviceId leaf : leaves) {
    const std::string& name = devices_[leaf.value()].name;
    ports_.push_back({"link.to_" + name, {hub}, {leaf}});
    ports_.push_back({fmt::format("link.{}_to_{}", name, hub_name), {leaf}, {hub}});
  }
}

/// Each has a port that its messages to all the others share.
void Layout::add_peer_ports(const std::vector<DeviceId>& peers) {
  for (const DeviceId from : peers) {
    std::vector<DeviceId> others = peers;
    std::erase(others, from);
    if (!others.empty()) {
      ports_.push_back({"link.from_" + devices_[from.value()].name, {from}, std::move(others)});
    }
  }
}

void Layout::build_two_device() {
  add_devices("compute_device", 1, DeviceSide::compute);
  add_devices("cache_device", config_.split.devices, DeviceSide::cache);
  for (std::size_t device = 1; device < devices_.size(); ++device) {
    devices_[device].policy.prefetch = config_.cache.prefetch;
    devices_[device].policy.append_delay = config_.cache.append_delay;
  }
  const std::vector<DeviceId> caches = ids(1, config_.split.devices);
  add_port_pairs(DeviceId(0), "compute_device", caches, "cache_device");
  if (config_.exchange) {
    add_peer_ports(caches);
  }
}

/// The first cache device owns the requests; the others have links to it and, for an exchange, to
/// each other.
void Layout::build_pooled() {
  const std::size_t instances = config_.pool.instances;
  add_devices("pool", instances, DeviceSide::compute);
  add_devices("cache_device", config_.split.devices, DeviceSide::cache);
  for (DeviceRole& device : devices_) {
    device.policy.batching = config_.pool.batching;
  }
  const DeviceId owner(instances);
  const std::vector<DeviceId> pool = ids(0, instances);
  ports_.push_back({"link.to_pool", {owner}, pool});
  ports_.push_back({"link.to_" + devices_[owner.value()].name, pool, {owner}});
  if (config_.split.devices > 1) {
    const std::vector<DeviceId> others = ids(instances + 1, config_.split.devices - 1);
    add_port_pairs(owner, "owner", others, "other_cache_device");
    if (config_.exchange) {
      add_peer_ports(others);
    }
  }
}

void Layout::build_tensor_parallel() {
  add_devices("device", config_.ranks, DeviceSide::compute);
  add_peer_ports(ids(0, config_.ranks));
}

bool Layout::on_shard(OpKind kind) const { return is_of_sweep(kind) || kind == OpKind::append; }

bool Layout::on_pool(OpKind kind) const {
  switch (kind) {
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::ffn:
    case OpKind::lm_head:
      return true;
    case OpKind::q:
    case OpKind::o:
      return config_.pool.projections == Projections::pool;
    default:
      return false;
  }
}

bool Layout::called(const Operation& operation) const {
  return config_.arrangement == Arrangement::pooled && on_pool(operation.kind);
}

DeviceId Layout::device_of(const Operation& operation) const {
  switch (config_.arrangement) {
    case Arrangement::colocated:
      return DeviceId(0);
    case Arrangement::two_device:
      return DeviceId(on_shard(operation.kind) ? 1 + operation.shard : 0);
    case Arrangement::pooled:
      if (on_pool(operation.kind)) {
        return DeviceId(0);
      }
      return DeviceId(config_.pool.instances + (on_shard(operation.kind) ? operation.shard : 0));
    case Arrangement::tensor_parallel:
      return DeviceId(operation.shard);
  }
  throw std::logic_error("Layout::device_of: unknown arrangement");
}

/// Between the pool and the other cache devices everything goes through the owner.
std::vector<std::vector<DeviceId>> Layout::next_hops() const {
  std::vector<std::vector<DeviceId>> hops;
  if (config_.arrangement != Arrangement::pooled || config_.split.devices == 1) {
    return hops;
  }
  const DeviceId owner(config_.pool.instances);
  for (DeviceId from{0}; from.value() < devices_.size(); ++from) {
    hops.push_back(ids(0, devices_.size()));
    for (DeviceId to{0}; to.value() < devices_.size(); ++to) {
      if ((from < owner && to > owner) || (to < owner && from > owner)) {
        hops.back()[to.value()] = owner;
      }
    }
  }
  return hops;
}

/// What each device can be asked to execute follows from device_of.
void Layout::fill_holdings() {
  const bool parallel = config_.arrangement == Arrangement::tensor_parallel;
  const std::size_t shards = parallel ? config_.ranks : config_.split.devices;
  for (const auto& [kind, name] : enum_names<OpKind>) {
    for (std::size_t shard = 0; shard < shards; ++shard) {
      Operation operation;
      operation.kind = kind;
      operation.shard = shard;
      const std::size_t first = device_of(operation).value();
      const std::size_t copies = called(operation) ? config_.pool.instances : 1;
      for (std::size_t device = first; device < first + copies; ++device) {
        Holdings& holdings = devices_[device].holdings;
        holdings.operations.insert(kind);
        holdings.weights = parallel ? Part{shard, shards} : Part{};
        holdings.split = config_.split;
        holdings.merge = config_.split.merge;
        if (kind == OpKind::sweep) {
          holdings.shard = shard;
        }
      }
    }
  }
}

Layout layout_of(const SystemConfig& config) {
  return Layout({config.arrangement, config.pool, config.ports, cache_split(config.graph),
                 config.graph.ranks, config.cache,
                 config.graph.softmax.is_calibrated() && config.graph.split.by != SplitBy::heads});
}

}  // namespace qfs
