#include "sim/memory/studies.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <stdexcept>

#include "hardware/device/memory_layout.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

using dram::DramConfig;
using dram::Tier;
using dram::Transaction;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::array<std::size_t, 2> append_batches{1, 32};

std::vector<Femtoseconds> ends_of(const DramConfig& config, Tier tier,
                                  std::span<const Transaction> transactions) {
  switch (tier) {
    case Tier::stream:
      return run_streams(config, transactions).ends;
    case Tier::burst:
      return run_bursts(config, transactions).ends;
    case Tier::ideal:
      break;
  }
  throw std::logic_error("ends_of: the ideal tier knows no addresses");
}

Seconds end_of(const DramConfig& config, Tier tier, const Transaction& transaction) {
  return to_seconds(ends_of(config, tier, std::span(&transaction, 1)).front());
}

BytesPerSecond rate(double bytes, Seconds time) { return BytesPerSecond(bytes / time.value()); }

Transaction sweep_of(const DramConfig& config) {
  constexpr std::int64_t bytes = 16 * mib;
  const std::uint64_t rows = row_distance(config);
  Transaction sweep;
  sweep.length = Bytes(bytes);
  sweep.alternates = true;
  sweep.piece = 4096;
  const std::uint64_t half = static_cast<std::uint64_t>(bytes) / 2;
  sweep.second = (half + rows - 1) / rows * rows + rows / 2;
  return sweep;
}

/// Into another layer, whose caches lie behind.
Transaction append_of(const Transaction& sweep, std::size_t requests) {
  constexpr std::uint64_t row = 256;
  constexpr std::uint64_t rows_of_request = 16;  // of K and V
  Transaction append;
  append.stream = 1;
  append.direction = dram::Direction::write;
  append.alternates = true;
  append.piece = row;
  append.stride = 4097 * row;  // room for 4,097 positions
  append.address = 2 * sweep.second + 4096 * row;
  append.second = append.address + sweep.second;
  append.length = Bytes(static_cast<std::int64_t>(requests * rows_of_request * row));
  return append;
}

std::string coalescing_table(const std::vector<DramConfig>& configs, Tier tier) {
  TextTable table("lrrrrr", {"memory", "peak GB/s", "coalesced GB/s", "of peak", "uncoalesced GB/s",
                             "of peak"});
  const auto gb = [](BytesPerSecond value) { return fmt::format("{:.2f}", value.value() / 1e9); };
  for (const DramConfig& config : configs) {
    const Coalescing found = study_coalescing(config, tier);
    const auto share = [&](BytesPerSecond value) {
      return percent_text(value.value() / found.peak.value());
    };
    table.add({config.preset, gb(found.peak), gb(found.coalesced), share(found.coalesced),
               gb(found.uncoalesced), share(found.uncoalesced)});
  }
  return table.text();
}

std::string append_table(const std::vector<DramConfig>& configs, Tier tier) {
  TextTable table("lrrrrrr", {"memory", "sweep us", "requests", "written KiB", "with append us",
                              "cost us", "write alone us"});
  for (const DramConfig& config : configs) {
    for (const std::size_t requests : append_batches) {
      const AppendCost found = study_append(config, tier, requests);
      const auto us = [](Seconds time) { return fmt::format("{:.3f}", to_microseconds(time)); };
      table.add({config.preset, us(found.sweep), std::to_string(requests),
                 std::to_string(found.written.value() / 1024), us(found.with_append),
                 us(found.with_append - found.sweep), us(found.write)});
    }
  }
  return table.text();
}

}  // namespace

Coalescing study_coalescing(const DramConfig& config, Tier tier) {
  constexpr std::int64_t bytes = 16 * mib;
  constexpr std::int64_t row = 256;
  constexpr std::int64_t value = 4;
  Transaction whole;
  whole.length = Bytes(bytes);
  Transaction column;
  column.length = Bytes(bytes / row * value);
  column.stride = row;
  column.piece = value;
  const Seconds apart = end_of(config, tier, column);
  constexpr std::int64_t bursts = bytes / row;
  return {peak_bandwidth(config), rate(bytes, end_of(config, tier, whole)),
          rate(static_cast<double>(column.length.value()), apart),
          rate(static_cast<double>(bursts) * static_cast<double>(config.organisation.burst_bytes()),
               apart)};
}

AppendCost study_append(const DramConfig& config, Tier tier, std::size_t requests) {
  const Transaction sweep = sweep_of(config);
  Transaction append = append_of(sweep, requests);
  AppendCost cost;
  cost.sweep = end_of(config, tier, sweep);
  cost.write = end_of(config, tier, append);
  cost.written = append.length;
  append.arrival = to_femtoseconds(0.5 * cost.sweep);
  cost.with_append = to_seconds(ends_of(config, tier, std::array{sweep, append}).front());
  return cost;
}

std::string study_table(MemoryStudy study, const std::vector<DramConfig>& configs, Tier tier) {
  return study == MemoryStudy::coalescing ? coalescing_table(configs, tier)
                                          : append_table(configs, tier);
}

}  // namespace qfs
