#include "system/disturbed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace qfs {
namespace {

void require(bool holds, const std::string& key, const std::string& legal) {
  if (!holds) {
    throw ConfigError(fmt::format("faults.{}: {}", key, legal));
  }
}

void require_possible(const Stalls& stalls) {
  require(stalls.probability >= 0 && stalls.probability <= 1, "stalls.probability",
          "must be from 0 to 1");
  require(stalls.longest >= Seconds(0), "stalls.longest", "must not be negative");
}

void require_possible(const SlowDevice& slow, const std::vector<std::string>& names) {
  require(std::find(names.begin(), names.end(), slow.device) != names.end(), "slow",
          fmt::format("no device {}; there are {}", slow.device, fmt::join(names, ", ")));
  require(slow.factor >= 1, "slow", fmt::format("the factor of {} must be 1 or more", slow.device));
}

void require_possible(const MessageFaults& faults) {
  require(faults.lost >= 0 && faults.lost < 1, "messages.lost", "must be 0 or more and below 1");
  require(faults.late >= 0 && faults.late < 1, "messages.late", "must be 0 or more and below 1");
  require(faults.delay >= Seconds(0), "messages.delay", "must not be negative");
  require(!faults.timeout || *faults.timeout > Seconds(0), "messages.timeout", "must be positive");
  require(faults.lost == 0 || faults.timeout, "messages.timeout",
          "without it nobody repeats a lost message");
}

void require_possible(const InstanceFault& fault, std::size_t instances) {
  require(fault.instance < instances, "instances",
          fmt::format("no instance {} in a pool of {}", fault.instance, instances));
  require(fault.at >= Seconds(0), "instances.at", "must not be negative");
  require(!fault.duration || *fault.duration > Seconds(0), "instances.for", "must be positive");
}

bool dies(const InstanceFault& fault) { return !fault.duration; }

}  // namespace

void require_possible(const Disturbances& disturbances, const Layout& layout) {
  std::vector<std::string> names;
  for (const DeviceRole& device : layout.devices()) {
    names.push_back(device.name);
  }
  require_possible(disturbances.stalls);
  for (const SlowDevice& slow : disturbances.slow) {
    require_possible(slow, names);
  }
  require_possible(disturbances.messages);
  const std::vector<InstanceFault>& faults = disturbances.instances;
  require(faults.empty() || layout.is_pooled(), "instances",
          "only a stateless pool has instances that can stand still or die");
  for (const InstanceFault& fault : faults) {
    require_possible(fault, layout.pool_instances());
  }
  const std::optional<Seconds>& timeout = disturbances.call_timeout;
  require(!timeout || layout.is_pooled(), "call_timeout", "only calls of a pool have a time-out");
  require(!timeout || *timeout > Seconds(0), "call_timeout", "must be positive");
  require(timeout || std::none_of(faults.begin(), faults.end(), dies), "call_timeout",
          "without it nobody notices that an instance has died");
}

DeviceConfig slowed(DeviceConfig config, const Disturbances& disturbances,
                    const std::string& name) {
  for (const SlowDevice& slow : disturbances.slow) {
    if (slow.device == name) {
      config.bandwidth = BytesPerSecond(config.bandwidth.value() / slow.factor);
      config.mac_rate = MacsPerSecond(config.mac_rate.value() / slow.factor);
      config.exp_rate = ExpsPerSecond(config.exp_rate.value() / slow.factor);
      config.launch_overhead = slow.factor * config.launch_overhead;
    }
  }
  return config;
}

}  // namespace qfs
