// Every point of a sweep, simulated: in processes of their own, into a store that outlives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/run/isolate.hpp"
#include "sim/sweep/result_store.hpp"
#include "sim/sweep/sweep_config.hpp"
#include "sim/sweep/sweep_point.hpp"

namespace qfs {

/// A part of a sweep: of `count` parts the points whose index is number - 1 modulo count.
struct Shard {
  std::uint64_t number = 1;
  std::uint64_t count = 1;

  [[nodiscard]] std::uint64_t points(std::uint64_t all) const {
    return (all + count - number) / count;
  }
  [[nodiscard]] std::string text() const;  // "3/7"
};

/// What the points of a sweep came to, in a process's own work.
struct SweepTally {
  std::uint64_t points = 0;
  std::uint64_t simulated = 0;  // configurations, that points may share
  std::uint64_t kept = 0;       // points that were in the store already
};

/// Simulates what the store does not hold yet of the shard's points in `jobs` processes at a time,
/// short timing runs several in one (batch_size.hpp); the store then holds all of them and nothing
/// else. A run that fails is a point like others: of a batch that fails or dies each is tried by
/// itself. A process of one point that dies is started again, and after `most_deaths` its point has
/// failed, until the next call.
/// Progress goes to stderr. Throws as check_points does, before anything is simulated, and
/// RunError as the store does.
SweepTally simulate_sweep(const SweepConfig& config, ResultStore& store, const Shard& shard = {},
                          std::size_t jobs = default_jobs());

inline constexpr std::size_t most_deaths = 3;

/// The stores DIR/shard-i-of-n.sqlite. ConfigError unless all n are there and complete, of this
/// sweep and this program.
using Shards = std::vector<std::unique_ptr<ResultStore>>;
Shards open_shards(const SweepConfig& config, const std::filesystem::path& folder);
/// Puts their results into the store, as if it had been simulated in one. ConfigError if one has a
/// point of another configuration.
void merge_shards(const SweepConfig& config, const std::filesystem::path& folder,
                  const Shards& shards, ResultStore& store);

std::filesystem::path shard_store(const std::filesystem::path& folder, const Shard& shard);

struct SweepResult {
  SweepConfig config;
  std::vector<SweepPoint> points;  // by index
  std::size_t simulations = 0;
};

/// What a complete store holds.
SweepResult stored_result(const SweepConfig& config, const ResultStore& store);

/// With a store in memory.
SweepResult run_sweep(const SweepConfig& config, std::size_t jobs = default_jobs());

}  // namespace qfs
