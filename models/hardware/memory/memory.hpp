// What a device asks of its memory: move streams of bytes and say when they are done. Tiers and
// adapters stand behind this.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <systemc>

#include "base/units.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs {

enum class AccessDirection { read, write };

/// `length` bytes from `base` on: contiguous, or (stride > 0) in pieces of `piece` bytes, one every
/// `stride`. If it alternates, it has a second half, laid out alike from `second` on, and pieces of
/// the two take turns, as K and V in a sweep; `length` is then that of both.
struct Stream {
  std::uint64_t base = 0;
  Bytes length;
  std::uint64_t stride = 0;
  std::uint64_t piece = 64;
  AccessDirection direction = AccessDirection::read;
  bool alternates = false;
  std::uint64_t second = 0;

  /// Where piece `i` begins. A contiguous stream that does not alternate is one piece.
  [[nodiscard]] std::uint64_t piece_address(std::uint64_t i) const {
    const std::uint64_t step = stride > 0 ? stride : piece;
    return alternates ? (i % 2 == 0 ? base : second) + i / 2 * step : base + i * step;
  }
};

/// Streams in flight. `done` is notified when the last byte has moved; look at `finished` before
/// waiting, since no bytes (or any on an unlimited memory) have moved when start() returns.
struct Transfer {
  sc_core::sc_event done;
  bool finished = false;

  void finish() {
    finished = true;
    done.notify(sc_core::SC_ZERO_TIME);
  }
};

inline Bytes length_of(std::span<const Stream> streams) {
  return std::accumulate(streams.begin(), streams.end(), Bytes(0),
                         [](Bytes sum, const Stream& stream) { return sum + stream.length; });
}

class Memory {
 public:
  virtual ~Memory() = default;
  /// The streams of one launch, in their order. Those of launches in flight share the memory; each
  /// is retimed when another joins or leaves. length >= 0, piece >= 1.
  virtual std::shared_ptr<Transfer> start(std::span<const Stream> streams) = 0;

  std::shared_ptr<Transfer> start(const Stream& stream) { return start(std::span(&stream, 1)); }

  /// What it has done so far; none where no commands are counted.
  [[nodiscard]] virtual std::optional<dram::Counters> counters() const { return std::nullopt; }
};

}  // namespace qfs
