// The stream tier where streams fight for banks, and where a stream finds rows that others have
// left open, against the command-level model.
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::DramConfig;
using dram::StreamMemory;
using dram::Transaction;

constexpr std::uint64_t apart = std::uint64_t{512} << 20U;  // other rows of the same banks

double interval_of(const DramConfig& config) {
  return static_cast<double>(config.timing.refi) * config.timing.clock.value();
}

/// K and V in turn, from the same banks.
Transaction fight(double bytes, double arrival) {
  Transaction sweep;
  sweep.length = Bytes(static_cast<std::int64_t>(bytes));
  sweep.alternates = true;
  sweep.piece = 4096;
  sweep.second = apart;
  sweep.arrival = to_femtoseconds(Seconds(arrival));
  return sweep;
}

std::vector<Femtoseconds> ends_of(StreamMemory memory, const std::vector<Transaction>& work) {
  std::vector<Femtoseconds> ends;
  for (const Transaction& one : work) {
    memory.run_until(one.arrival);
    memory.start(one);
  }
  memory.run();
  for (std::size_t i = 0; i < work.size(); ++i) {
    ends.push_back(*memory.end(i));
  }
  return ends;
}

/// Of how long the last one takes.
double deviation(const DramConfig& config, const StreamMemory& fresh,
                 const std::vector<Transaction>& work) {
  const Femtoseconds arrival = work.back().arrival;
  const double burst = to_seconds(dram::run_bursts(config, work).ends.back() - arrival).value();
  return to_seconds(ends_of(fresh, work).back() - arrival).value() / burst - 1;
}

TEST_CASE("streams that fight for banks for a while come out command by command") {
  for (const char* preset : test::all_presets) {
    const DramConfig config = load_dram_named(preset);
    const StreamMemory fresh(config);
    const double interval = interval_of(config);
    const dram::Organisation& parts = config.organisation;
    constexpr double bursts_of_channel = 4096;
    const double some =
        bursts_of_channel * static_cast<double>(parts.channels * parts.burst_bytes());
    for (const double phase : {0.0, 0.3, 0.8}) {
      std::vector<Transaction> work{fight(some, phase * interval)};
      for (const bool is_beside : {false, true}) {
        if (is_beside) {
          work.push_back(work.front());
          work.back().address += 2 * apart;
          work.back().second = work.back().address + apart;
          work.back().stream = 1;
          work.front().length = Bytes(static_cast<std::int64_t>(some / 2));
          work.back().length = work.front().length;
        }
        const std::vector<Femtoseconds> burst = dram::run_bursts(config, work).ends;
        INFO(preset << " at " << phase << " of an interval, " << work.size());
        CHECK(ends_of(fresh, work) == burst);
      }
    }
    CHECK(fresh.measured() == 0);
  }
}

// The command-level model serves 977 or 992 bursts from refresh to refresh, on average, once K and
// V have found their pace, up to 1260 in some of ten and more intervals before.
TEST_CASE("K and V in the same banks keep the pace that they find") {
  const DramConfig config = load_dram_named("lpddr5-6400");
  const StreamMemory fresh(config);
  constexpr double limit = 0.02;
  std::string text;
  for (const double phase : {0.0, 0.2, 0.4, 0.6, 0.8}) {
    const double off = deviation(config, fresh, {fight(8 << 20, phase * interval_of(config))});
    text += fmt::format("  from {} of an interval on {:+.3f} %\n", phase, 100 * off);
    CHECK(std::abs(off) <= limit);
  }
  WARN(text);
}

/// Writes from anywhere in a row, on fresh memories or after a transaction that has left some rows
/// open: how far they are off, the largest last.
std::vector<double> deviations_of_writes(const DramConfig& config, bool is_fresh) {
  const StreamMemory fresh(config);
  Random random(7, 3);
  std::uint64_t at = 0;
  std::vector<double> off;
  for (std::size_t i = 0; i < 40; ++i) {
    Transaction before;
    before.address = random.below(at++, apart) * 64;
    before.length = Bytes(4096 + static_cast<std::int64_t>(random.below(at++, 300'000)));
    Transaction write;
    write.address = random.below(at++, apart) * 64;
    write.length = Bytes(600'000 + static_cast<std::int64_t>(random.below(at++, 1'200'000)));
    write.direction = dram::Direction::write;
    write.arrival = to_femtoseconds(Seconds(0.3 * interval_of(config)));
    off.push_back(std::abs(
        deviation(config, fresh, is_fresh ? std::vector{write} : std::vector{before, write})));
  }
  std::ranges::sort(off);
  return off;
}

TEST_CASE("a write waits for the rows that it has to close") {
  const DramConfig config = load_dram_named("hbm3e");
  const std::vector<double> fresh = deviations_of_writes(config, true);
  const std::vector<double> after = deviations_of_writes(config, false);
  const auto row = [](const std::vector<double>& off) {
    return fmt::format("median {:.3f}, 9 of 10 {:.3f}, most {:.3f} %\n", 100 * off[off.size() / 2],
                       100 * off[off.size() * 9 / 10], 100 * off.back());
  };
  WARN("  fresh        " << row(fresh) << "  after others " << row(after));
  CHECK(fresh.back() <= 0.005);
  CHECK(after[after.size() / 2] <= 0.002);
  CHECK(after[after.size() * 9 / 10] <= 0.01);
}

}  // namespace
}  // namespace qfs
