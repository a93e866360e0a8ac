// The addresses that the warps of a GPU ask for in step III of decode, out[d] = sum a[l] V[l][d],
// under both orders of its loops (003 section 4.2). V is positions x value_dim fp32, row-major:
// element (l, d) lies gamma = l * value_dim + d elements from its base. A pure generator: a model
// of memory can take the requests one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/enum_names.hpp"

namespace qfs {

/// What neighbouring lanes of a warp differ in.
enum class LaneAxis {
  feature,  // d: neighbours are 1 element apart (coalesced)
  position  // l: neighbours are value_dim elements apart
};

template <>
inline constexpr EnumNames<LaneAxis, 2> enum_names<LaneAxis>{{
    {LaneAxis::feature, "feature"},
    {LaneAxis::position, "position"},
}};

inline constexpr std::size_t warp_lanes = 32;
inline constexpr std::size_t sector_bytes = 32;  // what DRAM delivers
inline constexpr std::size_t line_bytes = 128;   // a cache line: four sectors

/// One request of a warp: lane i reads bytes_per_lane bytes at base + i * stride.
struct WarpRequest {
  std::uint64_t base = 0;
  std::size_t lanes = 0;  // 1 to warp_lanes
  std::size_t stride = 0;
  std::size_t bytes_per_lane = 0;

  [[nodiscard]] constexpr std::uint64_t address(std::size_t lane) const {
    return base + lane * stride;
  }
  [[nodiscard]] constexpr std::size_t useful_bytes() const { return lanes * bytes_per_lane; }
  constexpr bool operator==(const WarpRequest&) const = default;
};

/// One sweep of V at address `base`. Lanes fill up along their axis; the other axis is the outer
/// loop, and the last request of each of its steps holds what is left.
struct ValueWalk {
  LaneAxis lanes = LaneAxis::feature;
  std::uint64_t base = 0;
  std::size_t positions = 0;
  std::size_t value_dim = 1;
};

std::uint64_t request_count(const ValueWalk& walk);
/// Request number `index` in program order; index < request_count(walk).
WarpRequest request_at(const ValueWalk& walk, std::uint64_t index);

/// Distinct aligned blocks of `block_bytes` that a request touches. Needs stride >= 1.
std::size_t blocks_touched(const WarpRequest& request, std::size_t block_bytes);

/// What a whole walk asks for, no block being kept from one request to the next.
struct WalkFootprint {
  std::uint64_t requests = 0;
  std::uint64_t useful_bytes = 0;
  std::uint64_t sectors = 0;
  std::uint64_t lines = 0;

  [[nodiscard]] constexpr std::uint64_t bytes_in_sectors() const { return sectors * sector_bytes; }
  [[nodiscard]] constexpr std::uint64_t bytes_in_lines() const { return lines * line_bytes; }
};
WalkFootprint footprint(const ValueWalk& walk);

}  // namespace qfs
