// Host time of the stream tier: a read of any length, against the command-level model on the same;
// what the first of its kind costs; a decode step's worth of transactions.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "hardware/memory/dram/characterise.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "sim/config/dram_load.hpp"

namespace qfs {
namespace {

dram::Transaction read_of(std::int64_t mebibytes, dram::Pattern pattern) {
  dram::Transaction read;
  read.length = Bytes(mebibytes << 20U);
  if (pattern == dram::Pattern::alternating) {
    read.alternates = true;
    read.piece = 4096;
    read.second = std::uint64_t{8} << 30U;
  }
  return read;
}

/// On a fresh memory whose rates are known.
void stream_read(benchmark::State& state, const char* preset, dram::Pattern pattern) {
  const dram::StreamMemory fresh(load_dram_named(preset));
  const dram::Transaction read = read_of(state.range(0), pattern);
  for (auto _ : state) {
    dram::StreamMemory memory = fresh;
    memory.start(read);
    benchmark::DoNotOptimize(memory.end(0));
  }
}

void burst_read(benchmark::State& state, const char* preset, dram::Pattern pattern) {
  const dram::DramConfig config = load_dram_named(preset);
  const dram::Transaction read = read_of(state.range(0), pattern);
  for (auto _ : state) {
    benchmark::DoNotOptimize(dram::run_bursts(config, {&read, 1}));
  }
}

void first_of_its_kind(benchmark::State& state, const char* preset, dram::Pattern pattern) {
  const dram::DramConfig config = load_dram_named(preset);
  const dram::Transaction read = read_of(64, pattern);
  for (auto _ : state) {
    dram::StreamMemory memory(config);
    memory.start(read);
    benchmark::DoNotOptimize(memory.end(0));
  }
}

/// 28 layers: the appends of K and V, then the sweep of both, in eight KV heads of 128 elements of
/// two bytes; `positions` of them.
void decode_step(benchmark::State& state, const char* preset) {
  const dram::StreamMemory fresh(load_dram_named(preset));
  const std::int64_t positions = state.range(0);
  constexpr std::int64_t row = 8 * 128 * 2;
  constexpr std::uint64_t layer_apart = std::uint64_t{64} << 20U;
  for (auto _ : state) {
    dram::StreamMemory memory = fresh;
    Femtoseconds now;
    const auto wait_for = [&](const dram::Transaction& transaction) {
      const std::size_t id = memory.start(transaction);
      now = *memory.end(id);
      memory.run_until(now);
    };
    for (std::uint64_t layer = 0; layer < 28; ++layer) {
      dram::Transaction sweep = read_of(0, dram::Pattern::alternating);
      sweep.address = layer * layer_apart;
      sweep.second += sweep.address;
      sweep.length = Bytes(2 * positions * row);
      for (const std::uint64_t half : {sweep.address, sweep.second}) {
        dram::Transaction append;
        append.address = half + static_cast<std::uint64_t>(positions) * 256;
        append.piece = 256;
        append.stride = layer_apart / 8;
        append.length = Bytes(row);
        append.direction = dram::Direction::write;
        append.arrival = now;
        wait_for(append);
      }
      sweep.arrival = now;
      wait_for(sweep);
    }
  }
  state.counters["kinds"] = static_cast<double>(fresh.measured());
}

constexpr std::int64_t mib = 1;
constexpr std::int64_t tib = std::int64_t{1} << 20U;

#define STREAM_READS(name, preset, pattern)                                                  \
  BENCHMARK_CAPTURE(stream_read, name, preset, pattern)->Arg(mib)->Arg(256 * mib)->Arg(tib); \
  BENCHMARK_CAPTURE(burst_read, name, preset, pattern)->Arg(256 * mib)->Iterations(1);       \
  BENCHMARK_CAPTURE(first_of_its_kind, name, preset, pattern)

STREAM_READS(ddr4_3200, "ddr4-3200", dram::Pattern::sequential);
STREAM_READS(ddr5_4800, "ddr5-4800", dram::Pattern::sequential);
STREAM_READS(lpddr5_6400, "lpddr5-6400", dram::Pattern::sequential);
STREAM_READS(hbm2, "hbm2", dram::Pattern::sequential);
STREAM_READS(hbm3_6400, "hbm3-6400", dram::Pattern::sequential);
STREAM_READS(gddr6_14000, "gddr6-14000", dram::Pattern::sequential);
STREAM_READS(ddr5_4800_alternating, "ddr5-4800", dram::Pattern::alternating);
STREAM_READS(hbm3_6400_alternating, "hbm3-6400", dram::Pattern::alternating);

BENCHMARK_CAPTURE(decode_step, ddr5_4800, "ddr5-4800")->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24);
BENCHMARK_CAPTURE(decode_step, hbm3_6400, "hbm3-6400")->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24);

}  // namespace
}  // namespace qfs
