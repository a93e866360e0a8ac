// How fast a channel serves streams that are active together: measured once on the command-level
// channel for each kind of mix (stream_bench.hpp), then looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "hardware/memory/dram/burst_channel.hpp"
#include "hardware/memory/dram/config.hpp"
#include "hardware/memory/dram/course.hpp"
#include "hardware/memory/dram/episodes.hpp"

namespace qfs::dram {

/// Streams as they lie on a channel, moved to where all mixes with the same rates lie.
struct Mix {
  std::vector<Transaction> streams;
  std::vector<std::uint64_t> ahead;  // bursts of the channel that each begins with left out
  std::uint32_t channel = 0;

  /// One contiguous stream.
  [[nodiscard]] bool is_sequential() const {
    return streams.size() == 1 && streams.front().is_contiguous();
  }
};

/// Whether an alternating stream may fight with itself for banks: what a piece of one half and the
/// queue reach of it lies, but for whole stripes, where the other half is.
bool halves_meet(const DramConfig& config, const AddressMap& map, const Transaction& stream);

/// What depends, of a sequential stream, on where in its rows it is.
struct ByPhase {
  double mean = 0;
  std::vector<double> by_phase;  // equal parts of a period; or none

  [[nodiscard]] double at(double share_of_period) const {
    if (by_phase.empty()) {
      return mean;
    }
    const double part = share_of_period * static_cast<double>(by_phase.size());
    return by_phase[static_cast<std::size_t>(part)];
  }
};

/// How many row commands of a kind go with bursts, and how many more with a refresh of a rank,
/// which may be fewer.
struct RowCommands {
  double of_burst = 0;
  double of_refresh = 0;

  [[nodiscard]] double of(double bursts, double refreshes) const {
    return bursts * of_burst + refreshes * of_refresh;
  }
};

/// Of one channel; times are ticks. A start finds all banks closed and nothing waiting.
struct Rates {
  bool is_known = false;   // the channel gets bursts of every stream
  Course course;           // after a start, without refresh
  double period = 1;       // bursts after which a sequential stream changes rows; 1: another mix
  double interval = 0;     // from one refresh of all banks to the next; 0: there are none
  ByPhase of_interval;     // bursts in it, by where the refresh finds the stream
  double lost_before = 0;  // bursts that the next refresh delays
  ByPhase restarts;        // a refresh is a start that much after its instant: a row just opened
                           // has to stay so for a while
  std::vector<double> catches_up;  // by how many ticks that becomes less, by parts of an interval
  double apart = 0;                // the last rank restarts that much later than all do on average
  double seam = 0;                 // what a leap costs
  double most_open = 0;            // banks
  double opened_after = 0;         // bursts after a start until about as many are
  std::vector<double> open_at;     // banks, by grains of the course
  RowCommands activates;
  RowCommands precharges;
  std::vector<double> shares;  // of the bursts, by stream

  [[nodiscard]] double bursts_after_refresh(double phase) const {
    return of_interval.at(phase / period);
  }
  /// For the burst that is so many after the refresh.
  [[nodiscard]] double restart(double phase, double bursts) const;
  [[nodiscard]] bool is_opened(double banks) const { return banks >= 0.9 * most_open; }
};

/// What it does to reads that go on and on that more writes come than the controller keeps waiting:
/// those that it drains delay the reads (or, for which it has opened rows, are drained by the next
/// refresh), the last few wait until no reads are left.
struct WriteDrain {
  bool is_known = false;   // or none are left
  double ticks = 0;        // of delay
  std::uint64_t left = 0;  // writes
  double activates = 0;    // more than without
  double precharges = 0;
};

/// Mixes that have been measured: a pure function that remembers, so that results do not depend on
/// what was asked before. A measurement simulates some dozen refresh intervals of one channel: some
/// milliseconds.
class RateBook {
 public:
  explicit RateBook(const DramConfig& config) : config_(config) {}
  std::shared_ptr<const Rates> of(const Mix& mix);
  /// Of writes beside the one stream of a mix, which lie where all of their kind do.
  std::shared_ptr<const WriteDrain> drain(const Mix& mix, const Transaction& writes);
  /// Whether what times hang on is equal.
  [[nodiscard]] bool is_for(const DramConfig& config) const {
    return config.organisation == config_.organisation && config.timing == config_.timing &&
           config.controller == config_.controller;
  }
  [[nodiscard]] std::size_t measured() const { return measured_; }
  [[nodiscard]] Episodes& episodes() { return episodes_; }

 private:
  using Key = std::vector<std::uint64_t>;
  DramConfig config_;
  std::map<Key, std::shared_ptr<const Rates>> rates_;
  std::map<Key, std::shared_ptr<const WriteDrain>> drains_;
  std::size_t measured_ = 0;
  Episodes episodes_;
};

/// The book of a configuration that all of this process share, and children that it forks begin
/// with. Not for several threads.
std::shared_ptr<RateBook> shared_rate_book(const DramConfig& config);

/// Where bursts are left out: those of the streams, in their shares, from the served ones on, until
/// an instant. The last `pretended` of them leave their rows open.
struct Leap {
  Tick to = 0;
  double bursts = 0;
  bool rows_closed = false;
  double pretended = 0;
};
/// `streams` are the active streams of the channel's feed, in the order of the rates.
void leap(BurstChannel& channel, const Offered& offered, std::span<const std::size_t> streams,
          const Rates& rates, const Leap& over);

/// Where a sequential stream may be taken up without a trace: it is not about to change rows, and
/// has not just done so. The last such place up to `rank`, within a period.
double good_place(const DramConfig& config, const Rates& rates, double rank);

/// Clocks, and bursts, after which a disturbed channel runs as ever: the timing rules have been met
/// anew and the queue has been filled and emptied.
std::size_t settling_clocks(const DramConfig& config);
double settling_bursts(const DramConfig& config);

}  // namespace qfs::dram
