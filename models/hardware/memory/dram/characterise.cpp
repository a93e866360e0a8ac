#include "hardware/memory/dram/characterise.hpp"

#include <cassert>

#include "hardware/memory/dram/stream_memory.hpp"

namespace qfs::dram {
std::vector<Transaction> reads_of(const DramConfig& config, const Access& access) {
  assert(access.bytes.value() >= 1 && access.chunk.value() >= 1 && access.every >= 1);
  Transaction read;
  read.length = access.bytes;
  if (access.pattern == Pattern::alternating) {
    read.alternates = true;
    read.piece = static_cast<std::uint64_t>(access.chunk.value());
    read.second = static_cast<std::uint64_t>(access.second_place.value());
  }
  if (access.pattern == Pattern::stride) {
    read.piece = config.organisation.burst_bytes();
    read.stride = access.every * read.piece;
  }
  return {read};
}

Characterisation characterise(const DramConfig& config, const Access& access, Tier tier) {
  Characterisation result;
  result.peak = peak_bandwidth(config);
  Transaction single;
  single.length = Bytes(static_cast<std::int64_t>(config.organisation.burst_bytes()));
  switch (tier) {
    case Tier::ideal:
      result.time = to_femtoseconds(access.bytes / result.peak);
      result.single_read = to_femtoseconds(single.length / result.peak);
      return result;
    case Tier::stream:
    case Tier::burst:
      break;
  }
  const auto run_of = tier == Tier::stream ? run_streams : run_bursts;
  const BurstRun run = run_of(config, reads_of(config, access));
  result.time = run.end;
  result.counters = run.counters;
  result.single_read = run_of(config, std::vector{single}).end;
  return result;
}

}  // namespace qfs::dram
