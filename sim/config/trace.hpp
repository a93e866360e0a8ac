// Requests from a CSV file, one a line: `request,arrival_us,context,tokens` (traces/README.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace qfs::config {

/// In the order of the file.
struct TraceRequests {
  std::vector<std::size_t> contexts;  // cached positions before the first token
  std::vector<std::size_t> tokens;    // to decode
};

/// ConfigError with the line for what is no such file, and for arrivals other than 0: all requests
/// are there from the start.
TraceRequests read_trace(const std::filesystem::path& file);

}  // namespace qfs::config
