// Seeded random runs in every arrangement, for times alone.
#pragma once

#include <cstdint>

#include "sim/config/run_config.hpp"

namespace qfs::test {

/// The run of that number, of a small model: an arrangement in four, on devices that may be made of
/// DRAM or take measured times. The same in every build.
RunConfig drawn_run(std::uint64_t number);

}  // namespace qfs::test
