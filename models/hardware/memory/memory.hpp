// What a device asks of its memory: move a stream of bytes and say when it is done. Tiers and
// adapters stand behind this.
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>

#include "base/units.hpp"

namespace qfs {

enum class AccessDirection { read, write };

/// `length` bytes from `base` on: contiguous, or (stride > 0) one 64-byte piece every `stride`
/// bytes.
struct Stream {
  std::uint64_t base = 0;
  Bytes length;
  std::uint64_t stride = 0;
  AccessDirection direction = AccessDirection::read;
};

/// A stream in flight. `done` is notified when its last byte has moved; look at `finished` before
/// waiting, since a stream of no bytes (or on an unlimited memory) has finished when start()
/// returns.
struct Transfer {
  sc_core::sc_event done;
  bool finished = false;

  void finish() {
    finished = true;
    done.notify(sc_core::SC_ZERO_TIME);
  }
};

class Memory {
 public:
  virtual ~Memory() = default;
  /// Streams in flight share the memory; each is retimed when another joins or leaves. length >= 0.
  virtual std::shared_ptr<Transfer> start(const Stream& stream) = 0;
};

}  // namespace qfs
