// What devices made of DRAM really read a second, for closed forms to use instead of the peak.
#pragma once

#include <optional>

#include "base/units.hpp"
#include "sim/config/run_config.hpp"

namespace qfs {

/// Of long reads (64 MiB a part), by the tier that the run uses: the compute device's sequential,
/// as of weights, the cache device's of K and V in turn, as they lie there. Of a device without
/// DRAM its bandwidth.
struct AchievedBandwidth {
  BytesPerSecond compute;
  BytesPerSecond cache;
};

/// None if no device of the arrangement has DRAM that is timed as such.
std::optional<AchievedBandwidth> achieved_bandwidth(const RunConfig& config);

/// The same run on ideal memories of these bandwidths.
RunConfig at_achieved(RunConfig config, const AchievedBandwidth& achieved);

}  // namespace qfs
