// Seeded random parameters over everything that the closed forms take: small shapes, rates that
// make memory, arithmetic, launches or the link the bottleneck by turns, and now and then an
// unlimited one.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/parameters.hpp"

namespace qfs::test {

/// The case of that number; the same in every build.
AnalyticParameters random_case(std::uint64_t number);
std::vector<AnalyticParameters> random_cases(std::uint64_t count);

}  // namespace qfs::test
