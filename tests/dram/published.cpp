// The command-level model against the figures that a published command-level simulator measured.
#include "tests/dram/published.hpp"

#include <cmath>

#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::Access;
using dram::DramConfig;
using dram::Pattern;
using dram::Tick;
using test::kibi;
using test::mebi;
using test::Published;
using test::run_ticks;
using test::sequential;

// Asked for: 2 %. What is left is the tables' own rounding: three digits of a time, one decimal of
// a share.
constexpr double allowed = 0.005;

const char* const ro_ba_ra_co_ch =
    "controller.mapping=[channel, column, pseudochannel, rank, stack, bankgroup, bank, row]";

/// Collects rows and prints them, with the worst deviation, at the end.
class Deviations {
 public:
  explicit Deviations(std::string title) : text_(std::move(title) + "\n") {}
  ~Deviations() { WARN(text_ << fmt::format("worst {:.2f} %", 100 * worst_)); }
  Deviations(const Deviations&) = delete;
  Deviations& operator=(const Deviations&) = delete;

  /// `ours` and `theirs` are times, or anything proportional to them.
  void add(const Published& row, const char* what, double ours, double theirs) {
    if (theirs == 0) {
      return;
    }
    const double deviation = ours / theirs - 1;
    worst_ = std::max(worst_, std::abs(deviation));
    text_ += fmt::format("  {:13} q{:<3} {:20} {:9.3f} {:9.3f} {:+6.2f} %\n", row.preset,
                         row.read_queue, what, ours, theirs, 100 * deviation);
    CHECK(std::abs(deviation) <= allowed);
  }

 private:
  std::string text_;
  double worst_ = 0;
};

double us(const Published& row, Tick ticks) {
  return static_cast<double>(ticks) * row.tick_ns / 1000;
}

/// The time that a share of the peak stands for.
double us_of_share(const Published& row, double percent, std::uint64_t bytes) {
  return percent == 0 ? 0
                      : static_cast<double>(bytes) / (row.peak_gb_per_s * 1e3) / (percent / 100);
}

double timed(const Published& row, const Access& access,
             const std::vector<std::string>& overrides = {}) {
  return us(row, run_ticks(test::with_queue(row.preset, row.read_queue, overrides), access).ticks);
}

TEST_CASE("the published clocks are ours, cut to whole picoseconds") {
  constexpr double cut = 0.003;
  for (const Published& row : test::published) {
    const dram::Timing timing = load_dram_named(row.preset).timing;
    const double tick_ns = timing.clock.value() * 1e9 / static_cast<double>(timing.ticks_per_clock);
    INFO(row.preset);
    CHECK(row.tick_ns <= tick_ns * (1 + 1e-9));
    CHECK(row.tick_ns >= tick_ns * (1 - cut));
  }
}

TEST_CASE("a single read takes the published time") {
  Deviations table("single read, ns");
  for (const Published& row : test::published) {
    const DramConfig config = test::with_queue(row.preset, row.read_queue);
    table.add(row, "one burst", 1000 * timed(row, sequential(config.organisation.burst_bytes())),
              row.single_read_ns);
  }
}

TEST_CASE("cold streams take the published time to the cycle") {
  for (const test::ColdStreams& row : test::cold_streams) {
    const DramConfig config = load_dram_named(row.preset);
    std::uint64_t bytes = 4 * kibi;
    for (const double ns : row.ns) {
      INFO(row.preset << " " << bytes);
      CHECK(run_ticks(config, sequential(bytes)).ticks == std::llround(ns / row.tick_ns));
      bytes *= 4;
    }
  }
}

TEST_CASE("sequential reads of 1 and 16 MiB") {
  Deviations table("sequential, us");
  for (const Published& row : test::published) {
    table.add(row, "1 MiB", timed(row, sequential(mebi)), row.us_1_mb);
    table.add(row, "16 MiB", timed(row, sequential(16 * mebi)), row.us_16_mb);
    table.add(row, "16 MiB, no refresh",
              timed(row, sequential(16 * mebi), {"controller.refresh=off"}),
              us_of_share(row, row.share_16_mb_no_refresh, 16 * mebi));
    table.add(row, "16 MiB, RoBaRaCoCh", timed(row, sequential(16 * mebi), {ro_ba_ra_co_ch}),
              us_of_share(row, row.share_16_mb_ro_ba_ra_co_ch, 16 * mebi));
  }
}

TEST_CASE("sequential reads of 256 MiB") {
  Deviations table("sequential, us");
  for (const Published& row : test::published) {
    if (row.us_256_mb > 0) {
      table.add(row, "256 MiB", timed(row, sequential(256 * mebi)), row.us_256_mb);
    }
  }
}

TEST_CASE("two streams in turn, and one burst of every four") {
  Deviations table("16 MiB of useful bytes, us");
  for (const Published& row : test::published) {
    Access access = sequential(16 * mebi);
    access.pattern = Pattern::alternating;
    table.add(row, "K and V, same banks", timed(row, access),
              us_of_share(row, row.share_alternating_same_banks, 16 * mebi));
    access.second_place = Bytes(static_cast<std::int64_t>(512 * mebi + 64 * kibi));
    table.add(row, "K and V, other banks", timed(row, access),
              us_of_share(row, row.share_alternating_other_banks, 16 * mebi));
    access = sequential(16 * mebi);
    access.pattern = Pattern::stride;
    table.add(row, "stride 4", timed(row, access), us_of_share(row, row.share_stride_4, 16 * mebi));
  }
}

TEST_CASE("a refresh costs a saturated stream what was measured") {
  constexpr double allowed_ticks = 0.002;
  std::string text = "ticks lost to a refresh\n";
  for (const test::RefreshLoss& row : test::refresh_losses) {
    const DramConfig config = test::with_queue(row.preset, row.read_queue);
    const test::TickRun with = run_ticks(config, sequential(16 * mebi));
    const test::TickRun without =
        run_ticks(test::with_queue(row.preset, row.read_queue, {"controller.refresh=off"}),
                  sequential(16 * mebi));
    const dram::Organisation& parts = config.organisation;
    const double times = static_cast<double>(with.counters.refreshes()) /
                         static_cast<double>(parts.channels * parts.pseudochannels * parts.ranks);
    const double lost = static_cast<double>(with.ticks - without.ticks) / times;
    text += fmt::format("  {:13} q{:<3} {:8.1f} {:8.1f} {:+6.2f} %\n", row.preset, row.read_queue,
                        lost, row.ticks, 100 * (lost / row.ticks - 1));
    CHECK(std::abs(lost / row.ticks - 1) <= allowed_ticks);
    CHECK(without.counters.refreshes() == 0);
    // The refresh itself is the least that it can cost.
    CHECK(lost >= static_cast<double>(config.timing.rfc * config.timing.ticks_per_clock));
  }
  WARN(text);
}

}  // namespace
}  // namespace qfs
