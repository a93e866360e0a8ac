#include "hardware/memory/dram/characterise.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

namespace qfs::dram {
namespace {

std::vector<Transaction> alternating(const Access& access) {
  std::vector<Transaction> reads;
  const std::int64_t chunk = access.chunk.value();
  std::int64_t left = access.bytes.value();
  for (std::int64_t i = 0; left > 0; ++i) {
    Transaction read;
    const std::int64_t place = i % 2 == 0 ? 0 : access.second_place.value();
    read.address = static_cast<std::uint64_t>(place + i / 2 * chunk);
    read.length = Bytes(std::min(chunk, left));
    left -= read.length.value();
    reads.push_back(read);
  }
  return reads;
}

}  // namespace

std::vector<Transaction> reads_of(const DramConfig& config, const Access& access) {
  assert(access.bytes.value() >= 1 && access.chunk.value() >= 1 && access.every >= 1);
  if (access.pattern == Pattern::alternating) {
    return alternating(access);
  }
  Transaction read;
  read.length = access.bytes;
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
    case Tier::burst: {
      const BurstRun run = run_bursts(config, reads_of(config, access));
      result.time = run.end;
      result.counters = run.counters;
      result.single_read = run_bursts(config, std::vector{single}).end;
      return result;
    }
    case Tier::stream:
      break;
  }
  throw std::logic_error("no such tier yet");
}

}  // namespace qfs::dram
