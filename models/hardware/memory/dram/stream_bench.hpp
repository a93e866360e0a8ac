// Measures the rates of a mix of streams on the command-level channel.
#pragma once

#include "hardware/memory/dram/stream_rates.hpp"

namespace qfs::dram {

/// Endless streams. A sequential one is followed through a start without refresh, through six
/// refreshes, and to 32 places in its rows at which a refresh finds it, and on to the next one.
/// Streams that meet in banks now and then have no such order: of them the mean over several starts
/// and refreshes is taken, of those that may fight for banks the mean over the intervals after the
/// twelfth.
Rates measure(const DramConfig& config, const Mix& mix);

/// The mean over several arrivals of the writes, without refresh, beside the one stream of a mix,
/// which comes to all channels.
WriteDrain measure_drain(const DramConfig& config, const Mix& mix, const Transaction& writes);

}  // namespace qfs::dram
