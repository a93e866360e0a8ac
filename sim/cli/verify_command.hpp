// What `qfsim verify` does once the figures are there.
#pragma once

#include <filesystem>
#include <optional>

#include "sim/verify/verify.hpp"

namespace qfs {

/// Prints the page and writes the folder, if one is given. Returns the exit status: done, or, with
/// one line on stderr, numerics failed where a figure differs.
int report_verification(const verify::Verification& verification,
                        const std::optional<std::filesystem::path>& folder);

}  // namespace qfs
