// How the figures of a point get from the process that simulated it to its parent
// (sim/run/isolate.hpp).
#pragma once

#include <optional>

#include "sim/run/serialize.hpp"
#include "sim/sweep/point_figures.hpp"

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, qfs::PointErrors& errors, unsigned /*version*/) {
  bool has_softmax = errors.softmax.has_value();
  double softmax = errors.softmax.value_or(0);
  archive& errors.operation& errors.end_to_end& errors.failure& has_softmax& softmax;
  errors.softmax = has_softmax ? std::optional<double>(softmax) : std::nullopt;
}

template <class Archive>
void serialize(Archive& archive, qfs::PointFigures& figures, unsigned /*version*/) {
  archive& figures.step_us& figures.tpot_us& figures.worst_tpot_us& figures.tokens_per_s;
  archive& figures.exposed_sweep_us& figures.exposed_link_us& figures.wire_bytes;
  archive& figures.blocks_staged& figures.blocks_stale& figures.tail_fetch_us;
  bool computed = figures.errors.has_value();
  archive& computed;
  if (computed) {
    if (!figures.errors) {
      figures.errors.emplace();
    }
    archive&* figures.errors;
  }
}

}  // namespace boost::serialization
