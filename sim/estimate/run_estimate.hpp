// The estimate of every point of a run file, without simulation.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/estimate/decode_estimate.hpp"
#include "decode/block_order.hpp"
#include "sim/config/run_config.hpp"

namespace qfs::estimate {

struct PointEstimate {
  BlockOrder block = BlockOrder::standard;
  std::size_t context = 0;
  std::optional<DecodeEstimate> decode;  // none: not covered, for the reasons given
  std::vector<std::string> not_covered;
};

struct RunEstimate {
  std::vector<PointEstimate> points;     // by context, then block order, as `qfsim run` has them
  std::vector<std::string> not_counted;  // what the run does beyond what is counted and timed
};

/// Of what the run leaves to be decided while it goes on, such as which launches gather, nothing is
/// estimated.
RunEstimate run_estimate(const RunConfig& config);

}  // namespace qfs::estimate
