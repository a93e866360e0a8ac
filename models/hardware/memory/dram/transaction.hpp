// What the memory is asked for, and what it counts.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace qfs::dram {

enum class Direction : std::uint8_t { read, write };

/// `length` useful bytes from `address` on: contiguous, or (stride > 0) in pieces of `piece` bytes,
/// one every `stride`. Transactions of one `stream` are fed to the memory in the order in which
/// they were given; streams take turns, burst by burst.
struct Transaction {
  std::uint64_t address = 0;
  Bytes length;
  std::uint64_t stride = 0;
  std::uint64_t piece = 64;
  Direction direction = Direction::read;
  Femtoseconds arrival;  // not fed before
  std::size_t stream = 0;

  [[nodiscard]] std::uint64_t pieces() const {
    const auto bytes = static_cast<std::uint64_t>(length.value());
    return stride == 0 ? (bytes == 0 ? 0 : 1) : (bytes + piece - 1) / piece;
  }
  /// Bytes of piece `i`; the last may be short.
  [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t i) const {
    const auto bytes = static_cast<std::uint64_t>(length.value());
    assert(i < pieces());
    return stride == 0 || i + 1 == pieces() ? bytes - i * (stride == 0 ? 0 : piece) : piece;
  }
  [[nodiscard]] std::uint64_t piece_address(std::uint64_t i) const { return address + i * stride; }
};

/// Bursts of a transaction: every burst that a piece touches, once a piece.
inline std::uint64_t bursts_of(const Transaction& transaction, std::uint64_t burst_bytes) {
  std::uint64_t bursts = 0;
  if (transaction.stride > 0 && transaction.stride % burst_bytes == 0 && transaction.pieces() > 2) {
    // All pieces but the last lie alike.
    const std::uint64_t first = transaction.piece_address(0);
    bursts = (transaction.pieces() - 1) *
             ((first + transaction.piece - 1) / burst_bytes - first / burst_bytes + 1);
    const std::uint64_t last = transaction.pieces() - 1;
    const std::uint64_t at = transaction.piece_address(last);
    return bursts + (at + transaction.piece_bytes(last) - 1) / burst_bytes - at / burst_bytes + 1;
  }
  for (std::uint64_t i = 0; i < transaction.pieces(); ++i) {
    const std::uint64_t first = transaction.piece_address(i);
    bursts += (first + transaction.piece_bytes(i) - 1) / burst_bytes - first / burst_bytes + 1;
  }
  return bursts;
}

/// Sums over all channels.
struct Counters {
  std::uint64_t read_bursts = 0;
  std::uint64_t write_bursts = 0;
  std::uint64_t activates = 0;       // each for one burst, which misses; the others hit
  std::uint64_t precharges = 0;      // of one bank
  std::uint64_t precharges_all = 0;  // of a rank
  std::uint64_t refreshes_all = 0;   // of a rank
  std::uint64_t refreshes_bank = 0;

  [[nodiscard]] std::uint64_t bursts() const { return read_bursts + write_bursts; }
  [[nodiscard]] std::uint64_t row_hits() const { return bursts() - activates; }
  [[nodiscard]] std::uint64_t refreshes() const { return refreshes_all + refreshes_bank; }

  Counters& operator+=(const Counters& other) {
    read_bursts += other.read_bursts;
    write_bursts += other.write_bursts;
    activates += other.activates;
    precharges += other.precharges;
    precharges_all += other.precharges_all;
    refreshes_all += other.refreshes_all;
    refreshes_bank += other.refreshes_bank;
    return *this;
  }
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace qfs::dram
