// The stream tier where more is written beside a sweep than the controller keeps waiting, as the
// appends of a large batch are, against the command-level model.
#include <algorithm>
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

/// Draws a sweep and appends that come while it goes on.
class Draws {
 public:
  explicit Draws(const DramConfig& config) : config_(config), random_(3, 29) {}

  std::vector<Transaction> next() {
    at_ = 16 * ++number_;
    const dram::Organisation& parts = config_.organisation;
    const auto burst = static_cast<double>(parts.channels * parts.burst_bytes());
    Transaction sweep;
    sweep.address = below(1U << 12U) * 4096;
    sweep.length = Bytes(static_cast<std::int64_t>(uniform(6e3, 6e4) * burst));
    sweep.alternates = below(4) > 0;
    sweep.piece = below(2) == 0 ? 4096 : 704;
    sweep.second = sweep.address + (std::uint64_t{512} << 20U) + 65536 * (1 + below(16));
    sweep.arrival = to_femtoseconds(Seconds(uniform(0, 1e-5)));
    Transaction append;
    append.address = below(1U << 16U) * 256;
    append.piece = 256;
    append.stride = (std::uint64_t{1} << (14 + below(8))) + 256 * below(2);
    append.alternates = below(2) > 0;
    append.second = append.address + (std::uint64_t{512} << 20U) + 65536;
    append.length = Bytes(static_cast<std::int64_t>(uniform(32, 300) * burst));
    append.direction = dram::Direction::write;
    append.stream = 1;
    const double most = static_cast<double>(sweep.length.value()) / peak_bandwidth(config_).value();
    append.arrival = sweep.arrival + to_femtoseconds(Seconds(most * uniform(0, 1)));
    return {sweep, append};
  }

 private:
  std::uint64_t below(std::uint64_t count) { return random_.below(at_++, count); }
  double uniform(double low, double high) { return random_.uniform(at_++, low, high); }

  DramConfig config_;
  Random random_;
  std::uint64_t number_ = 0;
  std::uint64_t at_ = 0;
};

/// The share of `sizes` that is no more is `share`.
double quantile(std::vector<double> sizes, double share) {
  std::ranges::sort(sizes);
  const double rank = std::ceil(share * static_cast<double>(sizes.size()));
  return sizes[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

TEST_CASE("many writes beside a sweep delay it as they do command by command") {
  constexpr std::size_t scenarios = 24;
  std::vector<double> sweeps;
  std::vector<double> appends;
  std::string text = "  deviations in %        sweeps  median    most  appends  median    most\n";
  for (const char* preset : test::all_presets) {
    const DramConfig config = load_dram_named(preset);
    const StreamMemory fresh(config);
    Draws draws(config);
    std::vector<double> of_sweeps;
    std::vector<double> of_appends;
    for (std::size_t i = 0; i < scenarios; ++i) {
      const std::vector<Transaction> work = draws.next();
      const dram::BurstRun burst = dram::run_bursts(config, work);
      StreamMemory stream = fresh;
      for (const Transaction& one : work) {
        stream.run_until(one.arrival);
        stream.start(one);
        CHECK(stream.end(0).has_value());
      }
      stream.run();
      const auto deviation = [&](std::size_t k) {
        const auto took = [&](Femtoseconds end) {
          return to_seconds(end - work[k].arrival).value();
        };
        return std::abs(took(*stream.end(k)) / took(burst.ends[k]) - 1);
      };
      of_sweeps.push_back(deviation(0));
      of_appends.push_back(deviation(1));
      CHECK(stream.counters().write_bursts == burst.counters.write_bursts);
      const double activates = static_cast<double>(stream.counters().activates) /
                               static_cast<double>(burst.counters.activates);
      INFO(preset << " " << i);
      CHECK(std::abs(activates - 1) < 0.2);
    }
    text += fmt::format("  {:22} {:14.3f} {:7.3f} {:16.3f} {:7.3f}\n", preset,
                        100 * quantile(of_sweeps, 0.5), 100 * quantile(of_sweeps, 1),
                        100 * quantile(of_appends, 0.5), 100 * quantile(of_appends, 1));
    sweeps.insert(sweeps.end(), of_sweeps.begin(), of_sweeps.end());
    appends.insert(appends.end(), of_appends.begin(), of_appends.end());
  }
  WARN(text);
  CHECK(quantile(sweeps, 0.5) <= 0.003);
  CHECK(quantile(sweeps, 0.99) <= 0.03);
  CHECK(quantile(appends, 0.5) <= 0.003);
  CHECK(quantile(appends, 0.99) <= 0.03);
}

}  // namespace
}  // namespace qfs
