// operations.csv: every row of every point's table.
#pragma once

#include <string>

#include "sim/run/result.hpp"

namespace qfs {

/// One line per row after a line of names. `result` is the point's index in summary.json's list.
/// Times are exact: microseconds with nine digits after the point. Lists are separated by spaces;
/// an input in `deps` is row@arrival_us. `kind` is `message` for a message, whose values stand in
/// `carries`.
std::string operations_csv(const RunResult& result);

/// A field of a CSV file, in quotes where it has to be.
std::string csv_field(const std::string& text);

}  // namespace qfs
