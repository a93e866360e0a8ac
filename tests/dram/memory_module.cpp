// A device's DRAM under the kernel against the same transactions given to the model at once.
#include <memory>
#include <systemc>
#include <vector>

#include "hardware/memory/dram/burst_memory.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "hardware/memory/dram_memory.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// Streams of one launch, started together.
struct Launch {
  double start_us = 0;
  std::vector<Stream> streams;
  Femtoseconds end{-1};
};

/// As the launches end on the memory under the kernel.
template <class Model>
dram::Counters run(const dram::DramConfig& config, std::size_t parts,
                   std::vector<Launch>& launches) {
  set_femtosecond_resolution();
  DramMemory<Model> memory("memory", config, parts);
  for (Launch& launch : launches) {
    sc_core::sc_spawn([&memory, &launch] {
      sc_core::wait(launch.start_us, sc_core::SC_US);
      const auto transfer = memory.start(launch.streams);
      if (!transfer->finished) {
        sc_core::wait(transfer->done);
      }
      launch.end = now();
    });
  }
  sc_core::sc_start();
  return *memory.counters();
}

/// The same, a stream of the model for each launch, without the kernel.
std::vector<Femtoseconds> ends_without_kernel(const dram::DramConfig& config, std::size_t parts,
                                              const std::vector<Launch>& launches) {
  std::vector<dram::Transaction> transactions;
  std::vector<std::size_t> owner;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    for (const Stream& stream : launches[i].streams) {
      transactions.push_back(share_of(stream, parts, config));
      transactions.back().arrival = to_femtoseconds(Seconds(launches[i].start_us * 1e-6));
      transactions.back().stream = i;
      owner.push_back(i);
    }
  }
  const dram::BurstRun run = dram::run_bursts(config, transactions);
  std::vector<Femtoseconds> ends(launches.size());
  for (std::size_t i = 0; i < owner.size(); ++i) {
    ends[owner[i]] = std::max(ends[owner[i]], run.ends[i]);
  }
  return ends;
}

Stream read(std::uint64_t base, std::int64_t bytes) {
  return {.base = base, .length = Bytes(bytes)};
}

/// A launch's weights and activations beside another's K and V, and rows written into the midst.
std::vector<Launch> launches_that_overlap() {
  const std::int64_t kib = 1024;
  Stream sweep = read(1 << 24, 600 * kib);
  sweep.alternates = true;
  sweep.piece = 4096;
  sweep.second = (1 << 24) + (1 << 20);
  Stream append = sweep;
  append.length = Bytes(16 * 256);
  append.stride = 65536;
  append.piece = 256;
  append.direction = AccessDirection::write;
  return {{0, {read(0, 900 * kib), read(4096, 8 * kib)}},
          {1.5, {sweep}},
          {2.25, {append}},
          {40, {read(0, 64 * kib)}},  // when all the others are done
          {0, {read(0, 0)}}};
}

/// But for the last, which moves nothing.
void check_ends(const std::vector<Launch>& launches, const std::vector<Femtoseconds>& ends) {
  for (std::size_t i = 0; i + 1 < launches.size(); ++i) {
    CAPTURE(i);
    CHECK(launches[i].end == ends[i]);
  }
}

}  // namespace

TEST_CASE("command by command, launches end under the kernel when they do without it") {
  const dram::DramConfig config = load_dram_named("hbm3-6400");
  std::vector<Launch> launches = launches_that_overlap();
  const dram::Counters counters = run<dram::BurstMemory>(config, 1, launches);
  check_ends(launches, ends_without_kernel(config, 1, launches));
  CHECK(launches.back().end == Femtoseconds(0));
  CHECK(counters.write_bursts == 16 * 256 / 32);
  CHECK(counters.read_bursts == (900 + 8 + 600 + 64) * 1024 / 32);
}

TEST_CASE("likewise on a memory whose written data comes soonest after its command") {
  const dram::DramConfig config = load_dram_named("hbm2");
  std::vector<Launch> launches = launches_that_overlap();
  run<dram::BurstMemory>(config, 1, launches);
  check_ends(launches, ends_without_kernel(config, 1, launches));
}

TEST_CASE("by rows, launches end near the times command by command") {
  const dram::DramConfig config = load_dram_named("hbm3-6400-q64");
  std::vector<Launch> launches = launches_that_overlap();
  run<dram::StreamMemory>(config, 1, launches);
  const std::vector<Femtoseconds> ends = ends_without_kernel(config, 1, launches);
  for (std::size_t i = 0; i + 1 < launches.size(); ++i) {
    CAPTURE(i, launches[i].end.value(), ends[i].value());
    const double start = launches[i].start_us * 1e9;
    const double expected = static_cast<double>(ends[i].value()) - start;
    const double got = static_cast<double>(launches[i].end.value()) - start;
    constexpr double tolerance = 0.10;  // of launches that share the memory
    CHECK(std::abs(got / expected - 1) <= tolerance);
  }
}

TEST_CASE("equal parts side by side share every stream") {
  const dram::DramConfig part = load_dram_named("hbm3-6400");  // bursts of 32 bytes, 16 channels
  const dram::Transaction whole = share_of(read(1000, 1000), 1, part);
  CHECK(whole.address == 1000);
  CHECK(whole.length == Bytes(1000));
  const dram::Transaction fifth = share_of(read(10000, 1000), 5, part);
  CHECK(fifth.address == 3 * 512);    // 2000, from where a burst of every channel begins
  CHECK(fifth.length == Bytes(224));  // 200, in whole bursts
  Stream rows = read(10000, 16 * 256);
  rows.stride = 65536;
  rows.piece = 256;
  const dram::Transaction some = share_of(rows, 5, part);
  CHECK(some.address == 62 * 32);        // 2000, in whole bursts
  CHECK(some.length == Bytes(4 * 256));  // of 16 rows, 3.2
  CHECK(some.stride == 65536);
  Stream sweep = read(0, 1 << 20);
  sweep.alternates = true;
  sweep.piece = 4096;
  CHECK(share_of(sweep, 5, part).piece == 832);  // of 4096, a fifth in whole bursts
}

TEST_CASE("five parts read five times as much in the time of one") {
  const dram::DramConfig config = load_dram_named("hbm3-6400-q64");
  std::vector<Launch> launches{{0, {read(0, 5 << 20)}}};
  run<dram::BurstMemory>(config, 5, launches);
  const dram::BurstRun alone =
      dram::run_bursts(config, std::vector{share_of(read(0, 1 << 20), 1, config)});
  CHECK(launches.front().end == alone.end);
}

}  // namespace qfs
