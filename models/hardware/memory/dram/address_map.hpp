// From a burst's number (address / burst bytes) to its place in the memory, by the ordered fields
// of a configuration.
#pragma once

#include <array>
#include <cstdint>

#include "hardware/memory/dram/config.hpp"

namespace qfs::dram {

/// `bank` counts through a channel: pseudo-channel first, then rank, stack, bank group, bank.
struct Place {
  std::uint32_t bank = 0;
  std::uint32_t row = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

class AddressMap {
 public:
  /// Counts are powers of two and `mapping` names each field once, or logic_error. Numbers beyond
  /// the capacity wrap round.
  explicit AddressMap(const DramConfig& config);

  [[nodiscard]] std::uint32_t channel(std::uint64_t burst) const {
    return static_cast<std::uint32_t>((burst >> channel_shift_) & channel_mask_);
  }
  [[nodiscard]] Place place(std::uint64_t burst) const {
    std::uint64_t bank = 0;
    for (const Slice& slice : bank_slices_) {
      bank |= ((burst >> slice.shift) & slice.mask) << slice.to;
    }
    return {static_cast<std::uint32_t>(bank),
            static_cast<std::uint32_t>((burst >> row_.shift) & row_.mask)};
  }
  /// The first burst of the channel at or after `burst`.
  [[nodiscard]] std::uint64_t next_of_channel(std::uint64_t burst, std::uint32_t channel) const {
    const std::uint64_t here = (burst >> channel_shift_) & channel_mask_;
    if (here == channel) {
      return burst;
    }
    const unsigned above = channel_shift_ + channel_bits_;
    const std::uint64_t block = (burst >> above) + (here > channel ? 1 : 0);
    return (block << above) | (std::uint64_t{channel} << channel_shift_);
  }

  /// The bursts of a channel count from 0: how many of them lie before a burst of any channel.
  [[nodiscard]] std::uint64_t rank_in(std::uint32_t channel, std::uint64_t burst) const {
    const std::uint64_t next = next_of_channel(burst, channel);
    const std::uint64_t low = next & ((std::uint64_t{1} << channel_shift_) - 1);
    return (next >> (channel_shift_ + channel_bits_) << channel_shift_) | low;
  }
  /// The burst of that rank.
  [[nodiscard]] std::uint64_t burst_of(std::uint32_t channel, std::uint64_t rank) const {
    const std::uint64_t low = rank & ((std::uint64_t{1} << channel_shift_) - 1);
    const std::uint64_t block = rank >> channel_shift_;
    return (((block << channel_bits_) | channel) << channel_shift_) | low;
  }
  /// Bursts, a power of two, over which every channel is met alike.
  [[nodiscard]] std::uint64_t bursts_of_block() const {
    return std::uint64_t{1} << (channel_shift_ + channel_bits_);
  }
  /// Bursts, a power of two, beyond which addresses differ in the row only.
  [[nodiscard]] std::uint64_t bursts_of_stripe() const { return stripe_; }
  /// Whether there are several stripes: each has a row of its own in every bank.
  [[nodiscard]] bool has_stripes() const { return row_.mask > 0 && stripe_ == 1ULL << row_.shift; }
  [[nodiscard]] std::uint64_t rows() const { return row_.mask + 1; }
  /// Ranks in a channel, a power of two, after which all of the columns have been met and other
  /// rows come.
  [[nodiscard]] std::uint64_t ranks_of_rows() const { return ranks_of_rows_; }
  /// Rows of different banks whose columns such ranks come to in turn.
  [[nodiscard]] std::uint64_t rows_beside() const { return ranks_of_rows_ / bursts_of_row_; }
  /// One burst of every row of a bank that the channel's bursts of rank from..to come to, `to` not
  /// among them, in order; at the ends some more that share their columns.
  template <class Look>
  void for_rows(std::uint32_t channel, std::uint64_t from, std::uint64_t to, Look&& look) const {
    const std::uint64_t beside = rows_beside();
    for (std::uint64_t first = from / ranks_of_rows_ * ranks_of_rows_; first < to;
         first += ranks_of_rows_) {
      for (std::uint64_t i = 0; i < beside; ++i) {
        const std::uint64_t last = first + i + ranks_of_rows_ - beside;
        if (first + i < to && last >= from) {
          look(burst_of(channel, first + i));
        }
      }
    }
  }

 private:
  struct Slice {
    unsigned shift = 0;
    std::uint64_t mask = 0;
    unsigned to = 0;
  };
  std::array<Slice, 5> bank_slices_{};  // pseudochannel, rank, stack, bankgroup, bank
  Slice row_;
  unsigned channel_shift_ = 0;
  unsigned channel_bits_ = 0;
  std::uint64_t channel_mask_ = 0;
  std::uint64_t stripe_ = 0;
  std::uint64_t ranks_of_rows_ = 0;
  std::uint64_t bursts_of_row_ = 0;
};

}  // namespace qfs::dram
