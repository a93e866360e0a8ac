// Host speed of the command-level DRAM model: bursts a second of one core.
#include <benchmark/benchmark.h>

#include "hardware/memory/dram/characterise.hpp"
#include "sim/config/dram_load.hpp"

namespace qfs {
namespace {

void bursts(benchmark::State& state, const char* preset, dram::Pattern pattern) {
  const dram::DramConfig config = load_dram_named(preset);
  dram::Access access;
  access.pattern = pattern;
  access.bytes = Bytes(std::int64_t{32} << 20U);
  const std::vector<dram::Transaction> reads = dram::reads_of(config, access);
  std::uint64_t served = 0;
  for (auto _ : state) {
    served += dram::run_bursts(config, reads).counters.bursts();
  }
  state.counters["bursts_per_s"] =
      benchmark::Counter(static_cast<double>(served), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(bursts, ddr4_3200, "ddr4-3200", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, ddr5_4800, "ddr5-4800", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, lpddr5_6400, "lpddr5-6400", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, hbm2, "hbm2", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, hbm3_6400, "hbm3-6400", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, hbm3_6400_q64, "hbm3-6400-q64", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, gddr6_14000, "gddr6-14000", dram::Pattern::sequential);
BENCHMARK_CAPTURE(bursts, hbm3_6400_q64_alternating, "hbm3-6400-q64", dram::Pattern::alternating);
BENCHMARK_CAPTURE(bursts, ddr5_4800_alternating, "ddr5-4800", dram::Pattern::alternating);

}  // namespace
}  // namespace qfs
