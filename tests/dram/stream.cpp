// The stream tier against the command-level model, on random work of the kinds that a device gives
// its memory. The tables are printed.
#include <cmath>
#include <map>

#include "hardware/memory/dram/stream_memory.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/dram/stream_draws.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::BurstMemory;
using dram::Counters;
using dram::DramConfig;
using dram::StreamMemory;
using dram::Transaction;
using test::Step;
using test::StreamDraws;
using test::Work;

/// A scenario under both models.
struct Pair {
  std::vector<Transaction> work;
  std::vector<Femtoseconds> burst;  // ends
  std::vector<Femtoseconds> stream;
  Counters burst_counters;
  Counters stream_counters;

  /// Of how long the transaction takes.
  [[nodiscard]] double deviation(std::size_t i) const {
    return to_seconds(stream[i] - work[i].arrival).value() /
               to_seconds(burst[i] - work[i].arrival).value() -
           1;
  }
};

/// Starts the steps under the command-level model. What starts after an end waits a fiftieth of the
/// time more, so that under the other model the end has come as well.
std::vector<Femtoseconds> run_steps(BurstMemory& memory, const std::vector<Step>& steps,
                                    std::vector<Transaction>& work) {
  constexpr std::int64_t slack = 50;
  Femtoseconds now;
  for (const Step& step : steps) {
    if (step.after_end && !work.empty()) {
      memory.run();
      for (std::size_t i = 0; i < work.size(); ++i) {
        now = std::max(now, *memory.end(i));
      }
      now += Femtoseconds((now - work.back().arrival).value() / slack);
    }
    now += to_femtoseconds(step.pause);
    memory.run_until(now);
    work.push_back(step.transaction);
    work.back().arrival = now;
    memory.start(work.back());
  }
  memory.run();
  std::vector<Femtoseconds> ends;
  for (std::size_t i = 0; i < work.size(); ++i) {
    ends.push_back(*memory.end(i));
  }
  return ends;
}

/// `fresh` has seen nothing, but its copies remember what they have measured.
Pair run_pair(const DramConfig& config, const StreamMemory& fresh, const std::vector<Step>& steps) {
  Pair pair;
  BurstMemory burst(config);
  pair.burst = run_steps(burst, steps, pair.work);
  pair.burst_counters = burst.counters();
  StreamMemory stream = fresh;
  for (const Transaction& one : pair.work) {
    stream.run_until(one.arrival);
    const std::size_t id = stream.start(one);
    CHECK(*stream.end(id) >= one.arrival);
  }
  stream.run();
  for (std::size_t i = 0; i < pair.work.size(); ++i) {
    pair.stream.push_back(*stream.end(i));
  }
  pair.stream_counters = stream.counters();
  return pair;
}

/// Deviations of one kind of work.
class Spread {
 public:
  void add(double deviation) {
    sizes_.push_back(std::abs(deviation));
    sum_ += deviation;
  }
  [[nodiscard]] double quantile(double share) {
    std::ranges::sort(sizes_);
    const double rank = std::ceil(share * static_cast<double>(sizes_.size()));
    return sizes_.empty() ? 0 : sizes_[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  }
  [[nodiscard]] std::string row(const std::string& name) {
    return fmt::format("    {:22} {:5} {:+8.3f} {:7.3f} {:7.3f} {:7.3f}\n", name, sizes_.size(),
                       100 * sum_ / static_cast<double>(sizes_.size()), 100 * quantile(0.5),
                       100 * quantile(0.99), 100 * quantile(1));
  }
  void add(const Spread& other) {
    sizes_.insert(sizes_.end(), other.sizes_.begin(), other.sizes_.end());
    sum_ += other.sum_;
  }

 private:
  std::vector<double> sizes_;
  double sum_ = 0;
};

/// What the limits tell apart, with the limit of the 99th percentile: reads and writes of 64 KiB
/// and more in sequence, two streams that fight for banks, the rest.
struct Group {
  const char* name;
  double limit;
};
constexpr Group long_sequential{"sequential, 64 KiB on", 0.01};
constexpr Group rest{"the rest", 0.03};
constexpr Group fights{"fights for banks", 0.05};

struct Kind {
  const char* name;
  Group group;
};
const std::map<Work, Kind> kinds{{Work::sequential, {"sequential, shorter", rest}},
                                 {Work::strided, {"strided", rest}},
                                 {Work::alternating, {"K and V, other banks", rest}},
                                 {Work::same_banks, {"K and V, same banks", fights}},
                                 {Work::appends, {"appends and sweeps", rest}},
                                 {Work::beside, {"two sweeps at once", fights}}};
constexpr double median_limit = 0.003;

struct Table {
  std::map<std::string, Spread> by_kind;
  std::map<std::string, Spread> by_group;
  Spread activates;
  Spread refreshes;
  std::size_t transactions = 0;

  void add(const Pair& pair, Work work) {
    for (std::size_t i = 0; i < pair.work.size(); ++i) {
      const bool is_long = work == Work::sequential && pair.work[i].length >= Bytes(1 << 16);
      const Kind kind = is_long ? Kind{long_sequential.name, long_sequential} : kinds.at(work);
      by_kind[kind.name].add(pair.deviation(i));
      by_group[kind.group.name].add(pair.deviation(i));
      ++transactions;
    }
    const auto ratio = [](std::uint64_t ours, std::uint64_t theirs) {
      return static_cast<double>(ours + 1) / static_cast<double>(theirs + 1) - 1;
    };
    activates.add(ratio(pair.stream_counters.activates, pair.burst_counters.activates));
    refreshes.add(ratio(pair.stream_counters.refreshes(), pair.burst_counters.refreshes()));
  }
  void add(const Table& other) {
    for (const auto& [name, spread] : other.by_kind) {
      by_kind[name].add(spread);
    }
    for (const auto& [name, spread] : other.by_group) {
      by_group[name].add(spread);
    }
    activates.add(other.activates);
    refreshes.add(other.refreshes);
  }
  [[nodiscard]] std::string text() {
    std::string text;
    for (auto& [name, spread] : by_kind) {
      text += spread.row(name);
    }
    return text + activates.row("activates") + refreshes.row("refreshes");
  }
};

Table compare(const char* preset, std::size_t scenarios, double most) {
  const DramConfig config = load_dram_named(preset);
  const StreamMemory fresh(config);
  StreamDraws draws(config, 1, most);
  const double peak = peak_bandwidth(config).value();
  Table table;
  constexpr std::size_t sequential_share = 6;  // they are cheap and their limit is tight
  for (std::size_t i = 0; i < sequential_share * scenarios; ++i) {
    for (const auto& [work, kind] : kinds) {
      if (i >= scenarios && work != Work::sequential) {
        continue;
      }
      const Pair pair = run_pair(config, fresh, draws.scenario(work, i));
      table.add(pair, work);
      CHECK(pair.stream_counters.read_bursts == pair.burst_counters.read_bursts);
      CHECK(pair.stream_counters.write_bursts == pair.burst_counters.write_bursts);
      for (std::size_t k = 0; k < pair.work.size(); ++k) {
        const double took = to_seconds(pair.stream[k] - pair.work[k].arrival).value();
        CHECK(took * (1 + 1e-9) >= static_cast<double>(pair.work[k].length.value()) / peak);
      }
    }
  }
  return table;
}

const char* const head = "  deviations in %              n     mean  median  99 of 100  most\n";

void check_limits(const std::string& preset, Table& table) {
  for (const Group& group : {long_sequential, rest, fights}) {
    Spread& spread = table.by_group[group.name];
    INFO(preset << " " << group.name);
    CHECK(spread.quantile(0.5) <= median_limit);
    CHECK(spread.quantile(0.99) <= group.limit);
  }
}

TEST_CASE("streams take the time that their commands take") {
  constexpr std::size_t scenarios = 15;
  constexpr double most = 1 << 21;
  std::string text = head;
  Table all;
  Table lpddr5;
  for (const char* preset : test::all_presets) {
    Table table = compare(preset, scenarios, most);
    text += fmt::format("  {}\n{}", preset, table.text());
    Table& like = std::string(preset).starts_with("lpddr5") ? lpddr5 : all;
    like.add(table);
  }
  text += "  all but LPDDR5\n" + all.text() + "  LPDDR5\n" + lpddr5.text();
  WARN(text);
  check_limits("all", all);
  check_limits("lpddr5", lpddr5);
  CHECK(all.activates.quantile(0.5) <= 0.01);
  CHECK(all.refreshes.quantile(0.9) <= 0.001);
}

// Of each standard by itself. Some minutes: by hand, all or one (-c hbm2).
// Lengths up to 64 MiB, 1,000 transactions of each standard and more.
TEST_CASE("streams take the time that their commands take, at length", "[.][long]") {
  constexpr std::size_t scenarios = 60;
  constexpr double most = 1 << 26;
  for (const char* preset : test::all_presets) {
    DYNAMIC_SECTION(preset) {
      Table table = compare(preset, scenarios, most);
      WARN(fmt::format("{}  {}: {} transactions\n{}", head, preset, table.transactions,
                       table.text()));
      CHECK(table.transactions >= 1000);
      check_limits(preset, table);
    }
  }
}

TEST_CASE("what is short comes out as command by command") {
  for (const char* preset : test::all_presets) {
    const DramConfig config = load_dram_named(preset);
    const StreamMemory fresh(config);
    constexpr double bursts_of_channel = 100;
    const dram::Organisation& parts = config.organisation;
    StreamDraws draws(
        config, 2, bursts_of_channel * static_cast<double>(parts.channels * parts.burst_bytes()));
    for (std::size_t i = 0; i < 20; ++i) {
      for (const auto& [work, kind] : kinds) {
        const Pair pair = run_pair(config, fresh, draws.scenario(work, i));
        INFO(preset << ", " << kind.name << " " << i);
        CHECK(pair.stream == pair.burst);
        CHECK(pair.stream_counters == pair.burst_counters);
      }
    }
    CHECK(fresh.measured() == 0);
  }
}

TEST_CASE("a longer read takes no less") {
  constexpr double step = 1.05;
  for (const char* preset : test::all_presets) {
    const DramConfig config = load_dram_named(preset);
    const StreamMemory fresh(config);
    for (const double arrival : {0.0, 1.7e-6}) {
      Femtoseconds last;
      for (double bytes = 64; bytes < 1e13; bytes *= step) {
        Transaction read;
        read.address = 4096 * 77;
        read.arrival = to_femtoseconds(Seconds(arrival));
        read.length = Bytes(static_cast<std::int64_t>(bytes));
        StreamMemory memory = fresh;
        memory.start(read);
        INFO(preset << " " << read.length.value() << " bytes at " << arrival);
        CHECK(*memory.end(0) >= last);
        last = *memory.end(0);
      }
    }
  }
}

TEST_CASE("other refreshes, pages and mappings have streams as well") {
  const std::vector<std::vector<std::string>> variants{
      {"controller.refresh=off"},
      {"controller.refresh=per_bank", "timing.rfc_bank=200"},
      {"controller.page_policy=closed"},
      {"organisation.ranks=2", "timing.rank_switch=2"},
      {"controller.mapping=[channel, column, pseudochannel, rank, stack, bankgroup, bank, row]"},
      {"controller.mapping=[column, bankgroup, bank, rank, stack, pseudochannel, row, channel]"},
      {"controller.mapping=[bank, channel, row, column, stack, rank, bankgroup, pseudochannel]"}};
  constexpr double limit = 0.02;
  std::string text;
  for (const char* preset : {"ddr4-3200", "lpddr5-6400", "hbm2", "hbm3-6400"}) {
    for (const std::vector<std::string>& variant : variants) {
      const DramConfig config = load_dram_named(preset, variant);
      for (const bool alternates : {false, true}) {
        Transaction sweep;
        sweep.length = Bytes(4 << 20);
        sweep.alternates = alternates;
        sweep.piece = 4096;
        sweep.second = (512 << 20) + 81920;
        const dram::BurstRun burst = dram::run_bursts(config, std::vector{sweep});
        const dram::BurstRun stream = dram::run_streams(config, std::vector{sweep});
        const double deviation = to_microseconds(stream.end) / to_microseconds(burst.end) - 1;
        text += fmt::format("  {:12} {:12} {:+7.3f} %  {}\n", preset,
                            alternates ? "alternating" : "sequential", 100 * deviation,
                            variant.front());
        INFO(text);
        CHECK(std::abs(deviation) <= limit);
        CHECK(stream.counters.bursts() == burst.counters.bursts());
      }
    }
  }
  WARN(text);
}

TEST_CASE("an end changes when another transaction joins, and is final once it has come") {
  const DramConfig config = load_dram_named("hbm3-6400");
  Transaction sweep;
  sweep.length = Bytes(8 << 20);
  StreamMemory memory(config);
  memory.start(sweep);
  const Femtoseconds alone = *memory.end(0);
  const Femtoseconds half(alone.value() / 2);
  memory.run_until(half);
  Transaction other = sweep;
  other.address = std::uint64_t{1} << 33U;
  other.arrival = half;
  other.stream = 1;
  memory.start(other);
  const double shared = to_microseconds(*memory.end(0));
  // Half of it alone, the other half at no more than half of the peak.
  const double peak = peak_bandwidth(config).value();
  CHECK(shared >=
        to_microseconds(half) + 1e6 * static_cast<double>(sweep.length.value()) / peak * 0.99);
  CHECK(shared > 1.3 * to_microseconds(alone));
  CHECK(*memory.end(1) > *memory.end(0));
  memory.run_until(*memory.end(0));
  const Femtoseconds final = *memory.end(0);
  Transaction third = sweep;
  third.arrival = final;
  third.stream = 2;
  memory.start(third);
  CHECK(memory.end(0) == final);
  CHECK(*memory.end(1) > final);
}

TEST_CASE("the same is asked twice and the answer is the same, whatever was asked between") {
  const DramConfig config = load_dram_named("lpddr5-6400");
  StreamDraws draws(config, 5, 1 << 20);
  const StreamMemory fresh(config);
  const std::vector<Step> steps = draws.scenario(Work::appends, 3);
  const Pair first = run_pair(config, fresh, steps);
  for (std::size_t i = 0; i < 10; ++i) {
    run_pair(config, fresh, draws.scenario(Work::beside, i));
  }
  CHECK(run_pair(config, fresh, steps).stream == first.stream);
  CHECK(run_pair(config, StreamMemory(config), steps).stream == first.stream);
}

TEST_CASE("thousands of transactions come and go") {
  const DramConfig config = load_dram_named("ddr5-4800");
  StreamMemory memory(config);
  Femtoseconds now;
  std::uint64_t bursts = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    Transaction one;
    one.address = i * 12345 * 64;
    one.length = Bytes(i % 7 == 0 ? 0 : 64 * static_cast<std::int64_t>(1 + i % 300));
    one.arrival = now;
    one.stream = i % 3;
    memory.run_until(now);
    memory.start(one);
    bursts += dram::bursts_of(one, 64);
    now += to_femtoseconds(Seconds(i % 100 == 0 ? 1e-5 : 2e-7));
  }
  memory.run();
  CHECK(memory.counters().bursts() == bursts);
  CHECK(memory.end(0) == Femtoseconds(0));
}

}  // namespace
}  // namespace qfs
