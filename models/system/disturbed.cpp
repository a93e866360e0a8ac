#include "system/disturbed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.hpp"

namespace qfs {
namespace {

void require(bool holds, const std::string& key, const std::string& given,
             const std::string& legal) {
  if (!holds) {
    throw ImpossibleDisturbance("faults." + key, given, legal);
  }
}

std::string number(double value) { return fmt::format("{:.6g}", value); }
std::string time(Seconds value) { return fmt::format("{:.6g} us", to_microseconds(value)); }

void require_possible(const Stalls& stalls) {
  require(stalls.probability >= 0 && stalls.probability <= 1, "stalls.probability",
          number(stalls.probability), "from 0 to 1");
  require(stalls.longest >= Seconds(0), "stalls.longest", time(stalls.longest), "from 0 s");
}

void require_possible(const SlowDevice& slow, const std::vector<std::string>& names) {
  require(std::find(names.begin(), names.end(), slow.device) != names.end(), "slow",
          fmt::format("no device '{}'", slow.device), fmt::format("{}", fmt::join(names, ", ")));
  require(slow.factor >= 1, "slow", fmt::format("factor {}", number(slow.factor)), "from 1");
}

/// Two factors for one device would be neither.
void require_once(const std::vector<SlowDevice>& slow) {
  std::set<std::string> seen;
  for (const SlowDevice& device : slow) {
    require(seen.insert(device.device).second, "slow", fmt::format("'{}' twice", device.device),
            "each device once");
  }
}

void require_possible(const MessageFaults& faults, const Layout& layout) {
  require(!faults.any() || layout.devices().size() > 1, "messages",
          "given, but one device sends no messages", "nothing here with arrangement colocated");
  require(faults.lost >= 0 && faults.lost < 1, "messages.lost", number(faults.lost),
          "from 0 to below 1");
  require(faults.late >= 0 && faults.late < 1, "messages.late", number(faults.late),
          "from 0 to below 1");
  require(faults.delay >= Seconds(0), "messages.delay", time(faults.delay), "from 0 s");
  require(!faults.timeout || *faults.timeout > Seconds(0), "messages.timeout", "not positive",
          "above 0 s");
  require(faults.lost == 0 || faults.timeout, "messages.timeout", "never",
          fmt::format("a time, since with messages.lost {} nobody would repeat a lost message",
                      number(faults.lost)));
}

void require_possible(const InstanceFault& fault, const Layout& layout) {
  require(layout.is_pooled(), "instances", "given, but only a stateless pool has instances",
          "[] with other arrangements than pooled");
  require(fault.instance < layout.pool_instances(), "instances",
          fmt::format("instance {}", fault.instance),
          fmt::format("below pool.instances ({})", layout.pool_instances()));
  require(fault.at >= Seconds(0), "instances", fmt::format("at {}", time(fault.at)), "from 0 s");
  require(!fault.duration || *fault.duration > Seconds(0), "instances", "for no time", "above 0 s");
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
  require_once(disturbances.slow);
  require_possible(disturbances.messages, layout);
  const std::vector<InstanceFault>& faults = disturbances.instances;
  for (const InstanceFault& fault : faults) {
    require_possible(fault, layout);
  }
  const std::optional<Seconds>& timeout = disturbances.call_timeout;
  require(!timeout || layout.is_pooled(), "call_timeout", "given, but only a pool is called",
          "never with other arrangements than pooled");
  require(!timeout || *timeout > Seconds(0), "call_timeout", "not positive", "above 0 s");
  require(timeout || std::none_of(faults.begin(), faults.end(), dies), "call_timeout", "never",
          "a time, since nobody would notice that an instance has died");
}

DeviceConfig slowed(DeviceConfig config, const Disturbances& disturbances,
                    const std::string& name) {
  for (const SlowDevice& slow : disturbances.slow) {
    if (slow.device == name) {
      config.bandwidth = BytesPerSecond(config.bandwidth.value() / slow.factor);
      config.mac_rate = MacsPerSecond(config.mac_rate.value() / slow.factor);
      config.exp_rate = ExpsPerSecond(config.exp_rate.value() / slow.factor);
      config.launch_overhead = slow.factor * config.launch_overhead;
      if (config.kernels) {
        config.kernels->cost = slowed(config.kernels->cost, slow.factor);
      }
      if (config.dram) {
        config.dram->timing.clock = slow.factor * config.dram->timing.clock;
      }
    }
  }
  return config;
}

// What depends on a row begins after it, so that one walk from behind sees all that it served.
void drop_what_was_in_vain(ExecutionTable& table) {
  std::vector<bool> served(table.rows.size(), false);
  std::vector<bool> served_what_is_used(table.rows.size(), false);
  for (std::size_t id = table.rows.size(); id-- > 0;) {
    Row& row = table.rows[id];
    if (row.fate == RowFate::used && served[id] && !served_what_is_used[id]) {
      row.fate = RowFate::dropped;
    }
    for (const Dependency& dep : row.deps) {
      served[dep.row.value()] = true;
      if (row.fate == RowFate::used) {
        served_what_is_used[dep.row.value()] = true;
      }
    }
  }
}

}  // namespace qfs
