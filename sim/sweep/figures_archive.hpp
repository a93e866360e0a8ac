// How the figures of a point get from the process that simulated it to its parent
// (sim/run/isolate.hpp).
#pragma once

#include "sim/run/serialize.hpp"
#include "sim/sweep/point_figures.hpp"

namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, qfs::PointErrors& errors, unsigned /*version*/) {
  archive& errors.operation& errors.end_to_end& errors.softmax& errors.failure;
}

template <class Archive>
void serialize(Archive& archive, qfs::PointFigures& figures, unsigned /*version*/) {
  archive& figures.step_us& figures.tpot_us& figures.worst_tpot_us& figures.tokens_per_s;
  archive& figures.exposed_sweep_us& figures.exposed_link_us& figures.wire_bytes;
  archive& figures.blocks_staged& figures.blocks_stale& figures.tail_fetch_us;
  archive& figures.simulated_layers& figures.errors;
}

}  // namespace boost::serialization
