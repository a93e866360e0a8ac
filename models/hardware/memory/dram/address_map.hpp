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
};

}  // namespace qfs::dram
