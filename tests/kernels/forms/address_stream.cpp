// The addresses of both loop orders, by hand, against all elements of V, and their cost in sectors
// and lines. 003 section 4.2 speaks of 128-bit cache lines; lines of 128 bytes are meant.
#include "kernels/forms/address_stream.hpp"

#include <map>
#include <set>
#include <vector>

#include "tests/support/catch.hpp"

using namespace qfs;

namespace {

std::vector<WarpRequest> requests_of(const ValueWalk& walk) {
  std::vector<WarpRequest> requests;
  for (std::uint64_t i = 0; i < request_count(walk); ++i) {
    requests.push_back(request_at(walk, i));
  }
  return requests;
}

// Element offsets in program order.
std::vector<std::uint64_t> offsets(const ValueWalk& walk) {
  std::vector<std::uint64_t> result;
  for (const WarpRequest& request : requests_of(walk)) {
    for (std::size_t lane = 0; lane < request.lanes; ++lane) {
      result.push_back((request.address(lane) - walk.base) / 4);
    }
  }
  return result;
}

// Byte by byte, with a set.
std::size_t blocks_by_bytes(const WarpRequest& request, std::size_t block_bytes) {
  std::set<std::uint64_t> blocks;
  for (std::size_t lane = 0; lane < request.lanes; ++lane) {
    for (std::size_t byte = 0; byte < request.bytes_per_lane; ++byte) {
      blocks.insert((request.address(lane) + byte) / block_bytes);
    }
  }
  return blocks.size();
}

}  // namespace

TEST_CASE("003's example of three rows of two lies at offsets 0 to 5") {
  CHECK(offsets({LaneAxis::feature, 0, 3, 2}) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(offsets({LaneAxis::position, 0, 3, 2}) == std::vector<std::uint64_t>{0, 2, 4, 1, 3, 5});
}

TEST_CASE("neighbouring lanes are one element or one row apart") {
  const WarpRequest coalesced = request_at({LaneAxis::feature, 4096, 100, 64}, 3);
  // Row 1, features 32 to 63.
  CHECK(coalesced == WarpRequest{4096 + (64 + 32) * 4, 32, 4, 4});
  CHECK(coalesced.address(1) - coalesced.address(0) == 4);
  const WarpRequest apart = request_at({LaneAxis::position, 4096, 100, 64}, 5);
  // Four requests a feature: feature 1, rows 32 to 63.
  CHECK(apart == WarpRequest{4096 + (32 * 64 + 1) * 4, 32, 256, 4});
  CHECK(apart.address(1) - apart.address(0) == 256);
}

TEST_CASE("both orders visit every element of V exactly once") {
  std::size_t checked = 0;
  for (const LaneAxis lanes : {LaneAxis::feature, LaneAxis::position}) {
    for (const std::size_t positions : {0U, 1U, 2U, 31U, 32U, 33U, 65U}) {
      for (const std::size_t dim : {1U, 2U, 31U, 32U, 33U, 64U, 80U}) {
        CAPTURE(name_of(lanes), positions, dim);
        std::map<std::uint64_t, int> visits;
        for (const std::uint64_t offset : offsets({lanes, 256, positions, dim})) {
          ++visits[offset];
        }
        CHECK(visits.size() == positions * dim);
        CHECK((visits.empty() || visits.rbegin()->first == positions * dim - 1));
        bool once = true;
        for (const auto& [offset, count] : visits) {
          once = once && count == 1;
        }
        CHECK(once);
        ++checked;
      }
    }
  }
  CHECK(checked == 2 * 7 * 7);
}

TEST_CASE("the last request of a step holds what is left") {
  // 80 features: 32, 32 and 16 lanes a row.
  const ValueWalk wide{LaneAxis::feature, 0, 5, 80};
  CHECK(request_count(wide) == 15);
  CHECK(request_at(wide, 2) == WarpRequest{64 * 4, 16, 4, 4});
  const ValueWalk tall{LaneAxis::position, 0, 33, 80};
  CHECK(request_count(tall) == 160);
  CHECK(request_at(tall, 1) == WarpRequest{32 * 320, 1, 320, 4});
}

TEST_CASE("a warp's request touches one line or thirty-two") {
  const WarpRequest coalesced = request_at({LaneAxis::feature, 1024, 64, 64}, 0);
  CHECK(blocks_touched(coalesced, sector_bytes) == 4);
  CHECK(blocks_touched(coalesced, line_bytes) == 1);
  const WarpRequest apart = request_at({LaneAxis::position, 1024, 64, 64}, 0);
  CHECK(blocks_touched(apart, sector_bytes) == 32);
  CHECK(blocks_touched(apart, line_bytes) == 32);
  // From a base amid a sector, one more of each.
  const WarpRequest shifted = request_at({LaneAxis::feature, 1024 + 20, 64, 64}, 0);
  CHECK(blocks_touched(shifted, sector_bytes) == 5);
  CHECK(blocks_touched(shifted, line_bytes) == 2);
}

TEST_CASE("blocks are counted as byte by byte") {
  std::size_t checked = 0;
  for (const std::uint64_t base : {0U, 3U, 30U, 100U, 127U, 128U}) {
    for (const std::size_t lanes : {1U, 2U, 31U, 32U}) {
      for (const std::size_t stride : {1U, 4U, 20U, 32U, 33U, 127U, 128U, 256U, 400U}) {
        for (const std::size_t bytes : {1U, 4U, 40U}) {
          const WarpRequest request{base, lanes, stride, bytes};
          CAPTURE(base, lanes, stride, bytes);
          CHECK(blocks_touched(request, 32) == blocks_by_bytes(request, 32));
          CHECK(blocks_touched(request, 128) == blocks_by_bytes(request, 128));
          ++checked;
        }
      }
    }
  }
  CHECK(checked == 6 * 4 * 9 * 3);
}

// Why the loop over d is the inner one: the same bytes asked for, 8 times as many sectors and 32
// times as many lines fetched.
TEST_CASE("what the uncoalesced order fetches without a cache") {
  constexpr std::uint64_t useful = 1024 * 64 * 4;
  const WalkFootprint coalesced = footprint({LaneAxis::feature, 0, 1024, 64});
  const WalkFootprint apart = footprint({LaneAxis::position, 0, 1024, 64});
  CHECK(coalesced.requests == 2048);
  CHECK(apart.requests == 2048);
  CHECK(coalesced.useful_bytes == useful);
  CHECK(apart.useful_bytes == useful);
  CHECK(coalesced.bytes_in_sectors() == useful);
  CHECK(coalesced.bytes_in_lines() == useful);
  CHECK(apart.bytes_in_sectors() == 8 * useful);
  CHECK(apart.bytes_in_lines() == 32 * useful);
}

TEST_CASE("heads of size 8 are four rows to a line") {
  // Lanes along l, 32 bytes apart: a sector each, but only eight lines.
  const WarpRequest request = request_at({LaneAxis::position, 0, 64, 8}, 0);
  CHECK(blocks_touched(request, sector_bytes) == 32);
  CHECK(blocks_touched(request, line_bytes) == 8);
}
