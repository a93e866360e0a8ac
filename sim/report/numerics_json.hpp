// numerics.json: everything that the numeric checks found.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/run/result.hpp"

namespace qfs {

/// One entry per point that has a numeric report. An error that is not finite is null.
nlohmann::ordered_json numerics_json(const RunResult& result);

/// The short form for summary.json: passed or not, the first failure, the worst errors.
nlohmann::ordered_json numeric_verdict_json(const NumericReport& report);

}  // namespace qfs
