// Where what a device holds lies in its memory, and so which streams a launch is. Only memories
// that know addresses need it.
//
// Weights: a run for every operation of a layer, in the order in which they are first used. Cache:
// for every layer its K and then its V, request by request, KV head by KV head, position-major,
// with room for the rows to come (DESIGN.md 8); all layers lie alike in their banks. The rows that
// a launch sweeps are read as one run of K beside one of V: between the rows of two heads or
// requests no gap is left.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/work.hpp"
#include "hardware/config.hpp"
#include "hardware/memory/memory.hpp"
#include "hardware/program.hpp"

namespace qfs {

class MemoryLayout {
 public:
  /// config.dram must be given; `program` outlives the layout.
  MemoryLayout(const Program& program, DeviceId device, const DeviceConfig& config);

  /// All bytes of the work of a launch over `members`, in the order weights, cache rows,
  /// activations. At least one member.
  std::vector<Stream> streams_of(std::span<const Operation* const> members, const Work& work);

 private:
  void take_caches(DeviceId device);
  std::uint64_t allocate(std::uint64_t bytes);
  std::uint64_t weights_at(const Operation& operation, Bytes bytes);
  [[nodiscard]] std::uint64_t k_at(const Operation& operation) const;
  [[nodiscard]] Stream swept(const Operation& first, Bytes bytes) const;
  void add_appends(std::span<const Operation* const> members, std::vector<Stream>& streams) const;
  [[nodiscard]] Stream append_of(const Operation& operation) const;

  const Program& program_;
  std::uint64_t chunk_;
  std::uint64_t same_banks_ = 0;  // so far on, a row conflicts with its like
  KvBanks kv_banks_;
  std::uint64_t kv_heads_ = 0;
  std::uint64_t row_bytes_ = 0;             // of a head
  std::vector<std::uint64_t> rows_;         // by request: room
  std::vector<std::uint64_t> rows_before_;  // by request: of the requests before it
  std::uint64_t v_distance_ = 0;            // from a row of K to that of V
  std::uint64_t caches_ = 0;                // where they begin
  std::uint64_t layer_bytes_ = 0;           // of K and V, with gaps
  std::map<std::pair<OpKind, LayerId>, std::uint64_t> weights_;
  std::uint64_t scratch_ = 0;  // activations
  std::uint64_t end_ = 0;      // of what has its place
};

/// How far apart two addresses at the same place of a bank's row are, at the least, if they lie in
/// different rows of the same bank: what lies below the lowest bit of the row.
std::uint64_t row_distance(const dram::DramConfig& config);

}  // namespace qfs
