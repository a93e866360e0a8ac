// What the memory is asked for, and what it counts.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/units.hpp"

namespace qfs::dram {

enum class Direction : std::uint8_t { read, write };

/// `length` useful bytes from `address` on, in one of four ways: contiguous; (stride > 0) in pieces
/// of `piece` bytes, one every `stride`; (alternates) in pieces that `address` and `second` deliver
/// in turn, each from contiguous bytes, as K and V of an attention sweep; or, with both, in turn
/// and each strided. Transactions of one `stream` are fed to the memory in the order in which they
/// were given; streams take turns, burst by burst. A memory remembers each stream: reuse numbers.
struct Transaction {
  std::uint64_t address = 0;
  Bytes length;
  std::uint64_t stride = 0;
  std::uint64_t piece = 64;
  Direction direction = Direction::read;
  Femtoseconds arrival;  // not fed before
  std::size_t stream = 0;
  bool alternates = false;
  std::uint64_t second = 0;  // where the other half begins

  [[nodiscard]] bool is_contiguous() const { return stride == 0 && !alternates; }
  [[nodiscard]] std::uint64_t pieces() const {
    const auto bytes = static_cast<std::uint64_t>(length.value());
    return is_contiguous() ? (bytes == 0 ? 0 : 1) : (bytes + piece - 1) / piece;
  }
  /// Bytes of piece `i`; the last may be short.
  [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t i) const {
    const auto bytes = static_cast<std::uint64_t>(length.value());
    assert(i < pieces());
    return is_contiguous() || i + 1 == pieces() ? bytes - i * piece : piece;
  }
  /// From one piece of a half to the next of the same half.
  [[nodiscard]] std::uint64_t piece_step() const { return stride > 0 ? stride : piece; }
  [[nodiscard]] std::uint64_t piece_address(std::uint64_t i) const {
    if (!alternates) {
      return address + i * stride;
    }
    return (i % 2 == 0 ? address : second) + i / 2 * piece_step();
  }
};

/// Whether every block of that many bytes is touched as a whole, but for the ends of a contiguous
/// transaction.
inline bool is_spread_evenly(const Transaction& transaction, std::uint64_t block) {
  return transaction.is_contiguous() ||
         (transaction.address % block == 0 && transaction.second % block == 0 &&
          transaction.piece % block == 0 && transaction.piece_step() % block == 0);
}

/// Bursts that `bytes` bytes from `address` on touch; bytes >= 1.
constexpr std::uint64_t bursts_touched(std::uint64_t address, std::uint64_t bytes,
                                       std::uint64_t burst_bytes) {
  return (address + bytes - 1) / burst_bytes - address / burst_bytes + 1;
}

/// Bursts of `count` pieces of `bytes` bytes, one every `step`, from `address` on: pieces lie alike
/// in their bursts after at most burst_bytes of them.
inline std::uint64_t bursts_of_pieces(std::uint64_t address, std::uint64_t step,
                                      std::uint64_t count, std::uint64_t bytes,
                                      std::uint64_t burst_bytes) {
  const std::uint64_t period = burst_bytes / std::gcd(step, burst_bytes);
  std::uint64_t bursts = 0;
  for (std::uint64_t i = 0; i < std::min(period, count); ++i) {
    const std::uint64_t alike = (count - i + period - 1) / period;
    bursts += alike * bursts_touched(address + i * step, bytes, burst_bytes);
  }
  return bursts;
}

/// Bursts of a transaction: every burst that a piece touches, once a piece. The cost does not
/// depend on the length.
inline std::uint64_t bursts_of(const Transaction& transaction, std::uint64_t burst_bytes) {
  const std::uint64_t pieces = transaction.pieces();
  if (pieces == 0) {
    return 0;
  }
  const std::uint64_t last = pieces - 1;
  const std::uint64_t step = transaction.piece_step();
  const std::uint64_t halves = transaction.alternates ? 2 : 1;
  std::uint64_t bursts =
      bursts_touched(transaction.piece_address(last), transaction.piece_bytes(last), burst_bytes);
  for (std::uint64_t half = 0; half < halves; ++half) {
    bursts += bursts_of_pieces(half == 0 ? transaction.address : transaction.second, step,
                               (last + halves - 1 - half) / halves, transaction.piece, burst_bytes);
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
