// When refreshes fall due and which bank or rank is next.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/config.hpp"

namespace qfs::dram {

/// Of one channel: all its ranks are due at the same instant and take their turns; of per_bank,
/// one bank of each. A refresh that could not be issued in time is not forgotten.
class RefreshDuty {
 public:
  explicit RefreshDuty(const DramConfig& config) {
    const Organisation& parts = config.organisation;
    ranks_ = static_cast<std::uint32_t>(parts.pseudochannels * parts.ranks);
    banks_of_rank_ = static_cast<std::uint32_t>(parts.banks_of_rank());
    mode_ = config.timing.refi == 0 ? RefreshMode::off : config.controller.refresh;
    refi_ = static_cast<Tick>(config.timing.refi * config.timing.ticks_per_clock);
    instants_per_refi_ = of_one_bank() ? banks_of_rank_ : 1;
    due_ = mode_ == RefreshMode::off ? never : instant(1);
  }

  [[nodiscard]] Tick due() const { return due_; }
  /// The instant has come.
  void raise() {
    owed_ += ranks_;
    ++raised_;
    due_ = instant(raised_ + 1);
  }
  /// No more of them.
  void stop() {
    mode_ = RefreshMode::off;
    due_ = never;
  }
  [[nodiscard]] bool is_owed() const { return owed_ > 0; }
  [[nodiscard]] bool of_one_bank() const { return mode_ == RefreshMode::per_bank; }
  /// The first bank of the rank whose turn it is, or the bank.
  [[nodiscard]] std::uint32_t bank() const {
    return rank_ * banks_of_rank_ + (of_one_bank() ? bank_ : 0);
  }
  [[nodiscard]] std::uint32_t banks() const { return of_one_bank() ? 1 : banks_of_rank_; }
  void done() {
    --owed_;
    next(1);
  }

  /// Leaves out the instants before `until` but for the last few, while nothing is owed and nothing
  /// else happens; returns the refreshes left out.
  std::uint64_t skip(Tick until) {
    constexpr Tick kept = 8;  // more than are in flight at once
    if (mode_ == RefreshMode::off || until <= due_) {
      return 0;
    }
    const Tick instants = std::max<Tick>(0, (until - due_) / refi_ * instants_per_refi_ - kept);
    raised_ += instants;
    due_ = instant(raised_ + 1);
    const auto refreshes = static_cast<std::uint64_t>(instants) * ranks_;
    next(refreshes);
    return refreshes;
  }

  /// Leaves out all instants before `tick`, while nothing is owed; returns the refreshes left out.
  std::uint64_t leave_out_until(Tick tick) {
    if (mode_ == RefreshMode::off || tick <= due_) {
      return 0;
    }
    const Tick first = raised_ + 1;
    Tick next = std::max(first, tick / refi_ * instants_per_refi_);
    while (instant(next) < tick) {
      ++next;
    }
    raised_ = next - 1;
    due_ = instant(next);
    const auto refreshes = static_cast<std::uint64_t>(next - first) * ranks_;
    this->next(refreshes);
    return refreshes;
  }

 private:
  /// The counter has run for a tick when the first command can be issued, as in Ramulator 2.1.
  [[nodiscard]] Tick instant(Tick number) const { return number * refi_ / instants_per_refi_ - 1; }
  void next(std::uint64_t refreshes) {
    const std::uint64_t turns = rank_ + refreshes;
    rank_ = static_cast<std::uint32_t>(turns % ranks_);
    bank_ = static_cast<std::uint32_t>((bank_ + turns / ranks_) % banks_of_rank_);
  }

  RefreshMode mode_ = RefreshMode::off;
  std::uint32_t ranks_ = 1;
  std::uint32_t banks_of_rank_ = 1;
  std::uint32_t rank_ = 0;
  std::uint32_t bank_ = 0;
  std::uint64_t owed_ = 0;
  Tick refi_ = 0;
  Tick instants_per_refi_ = 1;
  Tick raised_ = 0;
  Tick due_ = never;
};

}  // namespace qfs::dram
