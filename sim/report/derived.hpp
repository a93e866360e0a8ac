// What follows from the rows of one point besides its ledger: traffic, utilisation, the two sides
// of a layer, and which resource bounds the step.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/config.hpp"
#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"
#include "sim/report/places.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/waves.hpp"

namespace qfs {

/// All work charged to one device (its executor and what it does beside), or all messages of one
/// port.
struct PlaceTraffic {
  std::string place;  // "compute_device", "cache_device", "link.to_cache_device", ...
  bool is_link = false;
  std::size_t resource = 0;  // the first of it
  Work work;
  Bytes wire_bytes;
  std::size_t messages = 0;
};

/// By place, in the order of the table's resources; of the rows of one step, or of all. A launch
/// over tokens of several steps counts for that of its first member.
std::vector<PlaceTraffic> traffic_of(const ExecutionTable& table,
                                     std::optional<StepId> step = std::nullopt);
PlaceTraffic total_of(std::span<const PlaceTraffic> traffic);

/// Time of the port that a message took: message_overhead + bytes / bandwidth, which is its row
/// less latency and jitter.
Femtoseconds port_time(const Row& message, const LinkConfig& link);

/// Whether a resource was in use: an operation, a memory write or a message on its port.
struct ResourceUse {
  std::string name;
  Femtoseconds busy;  // within the step
  double share = 0;   // of the step time
};
std::vector<ResourceUse> use_of(const ExecutionTable& table, const StepTime& step,
                                const LinkConfig& link);

/// Means over the layers of a wave's first step, as attention-FFN simulators name them: A is the
/// attention or cache side, F the side with the feed-forward. Each is the time in which at least
/// one such row of the layer is under way, so that messages in flight together and shards swept
/// together count once.
struct LayerSides {
  Seconds t_a;                          // sweep
  Seconds t_f;                          // ffn
  Seconds t_a2f;                        // messages from the cache side to the compute side
  Seconds t_f2a;                        // the other way
  std::optional<double> balance_ratio;  // t_a / t_f: below 1 a sweep fits beside a feed-forward
};
LayerSides sides_of(const WaveRows& rows, const Places& places);

/// How long what was done within a step would keep a resource busy if it ran at its peak: bytes /
/// bandwidth, MACs / rate, exponentials / rate, launches x overhead, time of the port.
struct PeakLoad {
  std::string
      resource;  // "cache_device memory", "cache_device compute", "link.to_cache_device", ...
  Seconds time;
  double share = 0;  // of the step time: of a memory, its bandwidth utilisation; of compute, its
                     // MAC utilisation
};
/// Those that take time, by place; of all rows that end within the first step of a wave.
std::vector<PeakLoad> loads_of(const ExecutionTable& table, const StepTime& first,
                               const RunConfig& config, const Places& places);
/// The longest, which bounds the step; the first of equals. A step without any has no bound: an
/// empty name.
PeakLoad bound_of(std::span<const PeakLoad> loads);

}  // namespace qfs
