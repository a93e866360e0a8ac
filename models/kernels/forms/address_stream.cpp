#include "kernels/forms/address_stream.hpp"

#include <algorithm>
#include <cassert>

namespace qfs {
namespace {

constexpr std::size_t element_bytes = 4;

/// One axis of V: its length, and how far apart its neighbours lie.
struct Axis {
  std::size_t size;
  std::size_t stride;
};

Axis features(const ValueWalk& walk) { return {walk.value_dim, element_bytes}; }
Axis rows(const ValueWalk& walk) { return {walk.positions, walk.value_dim * element_bytes}; }

Axis lane_axis(const ValueWalk& walk) {
  return walk.lanes == LaneAxis::feature ? features(walk) : rows(walk);
}
Axis outer_axis(const ValueWalk& walk) {
  return walk.lanes == LaneAxis::feature ? rows(walk) : features(walk);
}

std::uint64_t requests_a_step(const ValueWalk& walk) {
  return (lane_axis(walk).size + warp_lanes - 1) / warp_lanes;
}

}  // namespace

std::uint64_t request_count(const ValueWalk& walk) {
  return outer_axis(walk).size * requests_a_step(walk);
}

WarpRequest request_at(const ValueWalk& walk, std::uint64_t index) {
  assert(index < request_count(walk));
  const Axis axis = lane_axis(walk);
  const std::uint64_t step = index / requests_a_step(walk);
  const std::size_t first = index % requests_a_step(walk) * warp_lanes;
  return {walk.base + step * outer_axis(walk).stride + first * axis.stride,
          std::min(warp_lanes, axis.size - first), axis.stride, element_bytes};
}

std::size_t blocks_touched(const WarpRequest& request, std::size_t block_bytes) {
  assert(block_bytes >= 1 && request.stride >= 1 && request.bytes_per_lane >= 1);
  std::size_t blocks = 0;
  std::uint64_t next = 0;  // addresses rise: blocks below this one are counted
  for (std::size_t lane = 0; lane < request.lanes; ++lane) {
    const std::uint64_t address = request.address(lane);
    const std::uint64_t first = std::max(next, address / block_bytes);
    const std::uint64_t end = (address + request.bytes_per_lane - 1) / block_bytes + 1;
    if (end > first) {
      blocks += end - first;
      next = end;
    }
  }
  return blocks;
}

WalkFootprint footprint(const ValueWalk& walk) {
  WalkFootprint sum;
  sum.requests = request_count(walk);
  for (std::uint64_t i = 0; i < sum.requests; ++i) {
    const WarpRequest request = request_at(walk, i);
    sum.useful_bytes += request.useful_bytes();
    sum.sectors += blocks_touched(request, sector_bytes);
    sum.lines += blocks_touched(request, line_bytes);
  }
  return sum;
}

}  // namespace qfs
