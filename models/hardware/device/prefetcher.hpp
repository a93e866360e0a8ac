// What a cache device stages of the layers to come while it is idle, and what of it a sweep may use
// (001 section 4). A staged block is a copy of cache rows in a buffer beside the executor; it
// carries the watermark, the number of rows that had landed, so that a sweep does not take a copy
// for complete that was made too early.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <systemc>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "hardware/device/batch_queue.hpp"
#include "hardware/device/policy.hpp"
#include "hardware/program.hpp"

namespace qfs {

/// Rows of one request in a staged block.
struct StagedRows {
  std::size_t asked = 0;  // rows that the copy was to hold: all that the sweep needs, or what fits
  std::size_t held = 0;   // of these, rows that had landed when the copy began
  std::size_t trusted = 0;  // rows that a sweep takes from the block
};

/// The rows of one sweep of a wave, on their way into the buffer or there.
struct StagedBlock {
  std::vector<const Operation*> sweeps;  // by request
  std::vector<StagedRows> rows;          // likewise
  Bytes bytes;                           // copied
  bool copied = false;
  sc_core::sc_event ev_copied;
};

/// What a sweep takes from where.
struct StagedUse {
  Bytes staged;                            // not read again
  Bytes tail;                              // of rows that landed after the copy, to be fetched now
  std::vector<std::size_t> rows_in_sweep;  // by member: those that the sweep really covers
};

class Prefetcher {
 public:
  /// Of the sweeps that `device` executes. `program` outlives it.
  Prefetcher(const Program& program, DeviceId device, const PrefetchConfig& config);

  /// A row of the append's shard has landed.
  void note_landed(const Operation& append);
  /// The next block to stage, if there is one and room for a row of it; its rows and bytes are
  /// filled in from the watermarks as they are now. Stays valid until the sweep has used it.
  StagedBlock* begin_next();
  /// The copy is complete.
  void note_copied(StagedBlock& block) const;
  /// The block that was staged for the sweep; null: none.
  StagedBlock* block_of(const Batch& sweep);
  /// The sweep begins; its block, if any, has been copied and makes room now.
  StagedUse use(const Batch& sweep);

 private:
  /// A request's layer.
  using Rows = std::pair<RequestId, LayerId>;
  /// The sweeps of one wave in the order of its steps and layers.
  struct Traversal {
    std::vector<std::vector<const Operation*>> sweeps;
    std::size_t begun = 0;   // sweeps that have begun
    std::size_t staged = 0;  // sweeps whose block has been staged, or that began without
  };

  [[nodiscard]] Bytes row_bytes(const Operation& sweep) const;
  bool fill(StagedBlock& block) const;
  Traversal* next_wave();
  void take_from(const StagedBlock& block, StagedUse& use) const;

  const Program& program_;
  PrefetchConfig config_;
  std::vector<Traversal> waves_;
  std::map<Rows, std::size_t> landed_;  // the watermarks
  Bytes used_;                          // of the buffer
  std::list<StagedBlock> blocks_;
};

}  // namespace qfs
