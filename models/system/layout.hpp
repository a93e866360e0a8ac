// What an arrangement is made of: its devices, the ports between them, and which device executes
// what. An arrangement is known here and nowhere else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "decode/device_numerics.hpp"
#include "decode/graph.hpp"
#include "hardware/device/policy.hpp"
#include "system/arrangement.hpp"

namespace qfs {

/// Which of a run's two kinds of device it is built as.
enum class DeviceSide { compute, cache };

struct DeviceRole {
  std::string name;  // in tables: "compute_device", "cache_device_3", "pool", ...
  DeviceSide side = DeviceSide::compute;
  DevicePolicy policy;
  Holdings holdings;
};

/// One direction of a link: a port that the messages from some devices to some others share.
struct PortRole {
  std::string name;  // in tables: "link.to_cache_device", ...
  std::vector<DeviceId> from;
  std::vector<DeviceId> to;
};

struct LayoutConfig {
  Arrangement arrangement = Arrangement::two_device;
  PoolConfig pool = {};         // pooled
  Ports ports = Ports::shared;  // of several cache devices
  CacheSplit split = {};        // as the graph has it
  std::size_t ranks = 1;        // tensor_parallel
  CachePolicy cache = {};       // two_device
  bool exchange = false;  // cache devices tell each other the extrema of a row that they share
};

class Layout {
 public:
  explicit Layout(const LayoutConfig& config);

  /// By DeviceId: compute devices before cache devices.
  [[nodiscard]] const std::vector<DeviceRole>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<PortRole>& ports() const { return ports_; }
  /// The device that executes the operation; of a pool the first instance.
  [[nodiscard]] DeviceId device_of(const Operation& operation) const;
  /// By device and device: where a message goes first. Empty where every device that another has
  /// anything for can be reached at once.
  [[nodiscard]] std::vector<std::vector<DeviceId>> next_hops() const;
  /// Executed in calls of a stateless pool.
  [[nodiscard]] bool called(const Operation& operation) const;
  [[nodiscard]] bool is_pooled() const { return config_.arrangement == Arrangement::pooled; }
  [[nodiscard]] std::size_t pool_instances() const { return config_.pool.instances; }

 private:
  [[nodiscard]] bool on_shard(OpKind kind) const;
  [[nodiscard]] bool on_pool(OpKind kind) const;
  void add_devices(const std::string& name, std::size_t count, DeviceSide side);
  void add_port_pairs(DeviceId hub, const std::string& hub_name,
                      const std::vector<DeviceId>& leaves, const std::string& leaves_name);
  void add_peer_ports(const std::vector<DeviceId>& peers);
  void build_two_device();
  void build_pooled();
  void build_tensor_parallel();
  void fill_holdings();

  LayoutConfig config_;
  std::vector<DeviceRole> devices_;
  std::vector<PortRole> ports_;
};

}  // namespace qfs
