// What the stream tier remembers of launches saves time and changes nothing.
#include <vector>

#include "hardware/memory/dram/stream_memory.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/dram/stream_draws.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::BurstMemory;
using dram::DramConfig;
using dram::StreamMemory;
using dram::Transaction;

Transaction read_of(std::uint64_t address, std::int64_t bytes) {
  Transaction read;
  read.address = address;
  read.length = Bytes(bytes);
  return read;
}

/// K and V of a layer in turn.
Transaction sweep_of(std::uint64_t address, std::int64_t bytes) {
  Transaction sweep = read_of(address, bytes);
  sweep.alternates = true;
  sweep.piece = 4096;
  sweep.second = address + (std::uint64_t{512} << 20U) + (1U << 19U);
  return sweep;
}

/// A position's row of eight heads.
Transaction append_of(std::uint64_t address, std::size_t stream) {
  Transaction append = read_of(address, 8 * 256);
  append.piece = 256;
  append.stride = 65536;
  append.direction = dram::Direction::write;
  append.stream = stream;
  return append;
}

struct Outcome {
  std::vector<Femtoseconds> ends;
  dram::Counters counters;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Layers whose launches are alike, each when the one before it has ended: weights and activations,
/// a sweep, a row that is written during it.
Outcome run_layers(StreamMemory memory, std::size_t layers) {
  constexpr std::uint64_t layer_apart = std::uint64_t{64} << 20U;
  Outcome outcome;
  Femtoseconds now;
  std::vector<std::size_t> ids;
  const auto start = [&](Transaction transaction) {
    transaction.arrival = now;
    memory.run_until(now);
    ids.push_back(memory.start(transaction));
  };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::uint64_t at = layer * layer_apart;
    start(read_of(at, 3 << 20));
    start(read_of(0, 8192 + 64));
    now = *memory.end(ids.back());
    start(sweep_of(at, 6 << 20));
    start(read_of(0, 4096));
    now += Femtoseconds((*memory.end(ids.back()) - now).value() / 3);
    start(append_of(at + (40U << 20U), 1));
    now = *memory.end(ids.back()) + to_femtoseconds(Seconds(3.3e-7));
  }
  memory.run();
  for (const std::size_t id : ids) {
    outcome.ends.push_back(*memory.end(id));
  }
  outcome.counters = memory.counters();
  return outcome;
}

}  // namespace

TEST_CASE("a memory that remembers and one that does not say the same") {
  constexpr std::size_t layers = 24;
  for (const char* preset : test::all_presets) {
    CAPTURE(preset);
    const DramConfig config = load_dram_named(preset);
    const auto book = std::make_shared<dram::RateBook>(config);
    const Outcome first = run_layers(StreamMemory(config, book), layers);
    const std::size_t endings = book->episodes().endings.size();
    const std::size_t beginnings = book->episodes().beginnings.size();
    CHECK(endings > 0);
    CHECK(beginnings > 0);
    // Most launches found theirs: there were three ends and two beginnings a layer at least.
    CHECK(endings < 2 * layers);
    CHECK(beginnings < layers);
    CHECK(run_layers(StreamMemory(config, book), layers) == first);
    CHECK(book->episodes().endings.size() == endings);
    CHECK(book->episodes().beginnings.size() == beginnings);
    CHECK(run_layers(StreamMemory(config), layers) == first);
  }
}

TEST_CASE("short launches that come again come out as command by command") {
  for (const char* preset : test::all_presets) {
    CAPTURE(preset);
    const DramConfig config = load_dram_named(preset);
    const std::uint64_t stripe =
        dram::AddressMap(config).bursts_of_stripe() * config.organisation.burst_bytes();
    const auto book = std::make_shared<dram::RateBook>(config);
    StreamMemory stream(config, book);
    BurstMemory burst(config);
    const Random random(3, 5);
    Femtoseconds now;
    std::size_t ids = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      const std::uint64_t at = random.below(3 * i, 50) * stripe;
      const bool is_sweep = random.below(3 * i + 1, 2) == 0;
      Transaction one = is_sweep ? sweep_of(at, 6144) : append_of(at + 512, 0);
      one.arrival = now;
      stream.run_until(now);
      burst.run_until(now);
      stream.start(one);
      burst.start(one);
      now = *stream.end(ids++);
      const auto pause = static_cast<double>(random.below(3 * i + 2, 4));  // 0 to 3 times
      now += to_femtoseconds(Seconds(pause * 3e-8));
    }
    stream.run();
    burst.run();
    for (std::size_t id = 0; id < ids; ++id) {
      CAPTURE(id);
      REQUIRE(stream.end(id) == burst.end(id));
    }
    CHECK(stream.counters() == burst.counters());
    CHECK(book->episodes().endings.size() < ids);
  }
}

TEST_CASE("a few rows that are written wait for the end of a read, more do not") {
  constexpr double limit = 0.01;  // of the time that each takes
  const DramConfig config = load_dram_named("ddr4-2400");
  for (const std::size_t appends : {1, 2}) {
    CAPTURE(appends);
    std::vector<Transaction> work{sweep_of(0, 2 << 20)};
    for (std::size_t i = 0; i < appends; ++i) {
      work.push_back(append_of((40U << 20U) + 256 * i, 1 + i));
      work.back().arrival = to_femtoseconds(Seconds(10e-6 + 7e-6 * static_cast<double>(i)));
    }
    BurstMemory burst(config);
    StreamMemory stream(config);
    for (const Transaction& one : work) {
      burst.run_until(one.arrival);
      burst.start(one);
      stream.run_until(one.arrival);
      stream.start(one);
      CHECK(*stream.end(0) > one.arrival);
    }
    burst.run();
    for (std::size_t i = 0; i < work.size(); ++i) {
      const double took = to_microseconds(*burst.end(i) - work[i].arrival);
      CHECK(to_microseconds(*stream.end(i) - work[i].arrival) == Approx(took).epsilon(limit));
    }
    CHECK((*burst.end(1) > *burst.end(0)) == (appends == 1));
  }
}

}  // namespace qfs
