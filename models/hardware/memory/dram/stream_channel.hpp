// One channel of the stream tier: the command-level channel, which leaves out what repeats itself.
//
// Exact: the first and last few hundred bursts of every transaction, with whatever is in flight
// beside it, and all of a transaction that is not much longer. Of streams that may fight for banks
// some thousand bursts more: it takes them that long to find their pace, which depends on how they
// came to stand to each other. Left out: bursts between, which go by at the rates of the mix of
// active streams (stream_rates.hpp); and but for the last few bursts all of a long transaction that
// nothing is beside, or only writes that are drained in between (stream_lone.cpp). Refreshes fall
// on the clock. A beginning or an end like an earlier one is not simulated again (episodes.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hardware/memory/dram/burst_channel.hpp"
#include "hardware/memory/dram/episodes.hpp"
#include "hardware/memory/dram/outlook.hpp"
#include "hardware/memory/dram/scene.hpp"
#include "hardware/memory/dram/stream_rates.hpp"

namespace qfs::dram {

class StreamChannel {
 public:
  StreamChannel(const DramConfig& config, std::uint32_t number);

  /// Takes a transaction on; the number by which it is known here.
  std::uint32_t start(const Transaction& transaction, Tick arrival);
  /// As BurstChannel::advance. Rates come from the book, which is for this configuration.
  void advance(Tick limit, RateBook& book);
  /// Of the last burst so far.
  [[nodiscard]] Tick end(std::uint32_t transaction) const {
    return offered_.transactions[transaction].end;
  }
  /// Lets another transaction have the number, if all of this one has been served.
  bool forget(std::uint32_t transaction);

  /// Whether writes that arrive later may be told before the channel has come there: it takes them
  /// into account when it looks ahead.
  [[nodiscard]] bool awaits_writes() const;

  /// Bursts left out are not counted; their row commands are estimated.
  [[nodiscard]] Counters counters() const;
  void reset_counters();

  /// Stands for another channel on which the same is under way.
  void renumber(std::uint32_t channel);
  [[nodiscard]] std::uint32_t banks_open() const { return channel_.banks_open(); }

 private:
  void advance_exactly(Tick limit);
  void find_active();
  [[nodiscard]] double least_leap() const;
  [[nodiscard]] bool flows(Direction direction) const;
  [[nodiscard]] bool others_wait() const;
  [[nodiscard]] double writes_of(std::size_t stream) const;
  [[nodiscard]] bool is_worth_while(double bursts) const;
  bool is_settled(RateBook& book);
  /// From where the channel stands, or would after some more bursts.
  [[nodiscard]] std::optional<Leap> leap_from(const Standing& standing, double bursts,
                                              Tick limit) const;
  void take(const Leap& over);
  bool leave_out(Tick limit);
  bool begin_as_before(Tick limit, RateBook& book);
  [[nodiscard]] bool is_beginning() const;
  [[nodiscard]] std::shared_ptr<const Beginning> beginning(const Scene& scene, RateBook& book);
  bool end_as_before(RateBook& book);
  [[nodiscard]] bool is_ending() const;
  void end_exactly(const Scene& scene, RateBook& book);
  void repeat(const Ending& ending, const Scene& scene);
  [[nodiscard]] std::vector<Scene::Name> names_of_rows(const Scene& scene) const;
  [[nodiscard]] std::vector<std::uint32_t> rows_of(std::span<const Scene::Name> names,
                                                   const Scene& scene) const;
  [[nodiscard]] bool is_untouched(std::size_t stream) const;
  [[nodiscard]] bool is_lone() const;
  [[nodiscard]] double least_of_lone() const;
  /// Writes that come while a stream by itself is read, and are too many to be kept until its end.
  struct WritesBetween {
    std::size_t stream = 0;
    Tick arrival = 0;
    std::uint64_t bursts = 0;
    std::shared_ptr<const WriteDrain> drain = nullptr;
  };
  [[nodiscard]] std::optional<WritesBetween> writes_between() const;
  [[nodiscard]] Transaction at_place_of_kind(const Transaction& writes) const;
  bool find_drain(WritesBetween& writes, double left, RateBook& book) const;
  void leave_out(const WritesBetween& writes);
  struct Begun {
    Standing standing;
    std::uint64_t served = 0;
  };
  [[nodiscard]] Standing start_by_rates() const;
  [[nodiscard]] bool starts_by_rates() const;
  std::optional<Begun> begin_lone(RateBook& book);
  bool serve_lone(RateBook& book);
  [[nodiscard]] Tick next_to_heed() const;
  [[nodiscard]] double bursts_to_leave_out() const;
  [[nodiscard]] double rank() const;
  [[nodiscard]] std::vector<bool> finds_open(double rank,
                                             std::span<const std::uint32_t> rows) const;
  [[nodiscard]] Transaction rest_of(std::size_t stream) const;
  [[nodiscard]] std::uint64_t ahead_of_rest(std::size_t stream, std::uint64_t part) const;
  [[nodiscard]] Mix mix() const;

  // Bursts that are worth a leap: about what it costs; of streams that meet in banks now and then,
  // enough that the mean holds. Of those that may fight for banks more have to be left, which cost
  // some milliseconds of host time otherwise.
  static constexpr double least_of_sequential = 128;
  static constexpr double least_of_one = 1024;
  static constexpr double least_of_several = 2048;
  static constexpr double least_of_fight = 6144;
  static constexpr double kept_of_lone = 4;  // bursts, which are simulated and not remembered

  DramConfig config_;
  std::uint32_t number_;
  AddressMap map_;
  BurstChannel channel_;
  Offered offered_;
  std::vector<std::uint32_t> free_;  // numbers
  double settling_ = 0;              // bursts
  Tick settling_ticks_ = 0;

  Tick at_ = 0;                         // nothing is left to be done before
  Tick refreshed_ = 0;                  // from when on a refresh no longer holds anything up
  Tick changed_ = 0;                    // when the mix did, or a leap ended
  std::uint64_t refreshes_ = 0;         // seen
  std::vector<std::size_t> active_;     // streams
  std::vector<std::uint32_t> flowing_;  // their transactions
  std::shared_ptr<const Rates> rates_;  // of the mix, once asked for
  static constexpr std::size_t nothing = SIZE_MAX;
  std::size_t drained_ = nothing;  // the stream whose last writes wait until no reads are left

  double activates_left_out_ = 0;
  double precharges_left_out_ = 0;
  std::uint64_t closings_left_out_ = 0;  // of all banks
};

}  // namespace qfs::dram
