// From a run's configuration to that of the system under simulation at one of its points.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/config/run_config.hpp"
#include "system/system_config.hpp"

namespace qfs {

/// Whether the point's requests are those of workload.request_contexts and request_tokens.
bool has_own_requests(const RunConfig& config, std::size_t context);
/// The contexts of all requests, wave by wave.
std::vector<std::size_t> request_contexts(const RunConfig& config, std::size_t context);
/// Their tokens; empty: workload.tokens each.
std::vector<std::size_t> request_tokens(const RunConfig& config, std::size_t context);
/// The KV caches of all requests at the end of the run, wherever they lie.
Bytes resident_kv_bytes(const RunConfig& config, std::size_t context);
SystemConfig system_config(const RunConfig& config, BlockOrder block, std::size_t context);

/// Requests of a wave that one operation can stand for where no values are computed: all of them,
/// where they have one context and one number of tokens and always go together; else 1.
std::size_t alike_requests(const RunConfig& config, std::size_t context);
/// The same run with one request a wave, which stands for alike_requests: equal times, work and
/// bytes to the last digit (tests/bounds/alike.cpp), in rows with one member a wave.
SystemConfig timing_config(const RunConfig& config, BlockOrder block, std::size_t context);

}  // namespace qfs
