// Transactions in pieces, and what is known before an end.
#include "hardware/memory/dram/transaction.hpp"

#include "tests/dram/dram_support.hpp"
#include "tests/dram/random_traffic.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::BurstMemory;
using dram::DramConfig;
using dram::Transaction;

TEST_CASE("two halves in turn are their pieces one after the other") {
  constexpr std::int64_t piece = 4096;
  for (const char* preset : {"ddr4-3200", "lpddr5-6400", "hbm3-6400"}) {
    const DramConfig config = load_dram_named(preset);
    for (const std::uint64_t stride : {0, 3 * 4096}) {
      Transaction both;
      both.address = 640;
      both.second = (512 << 20) + 65600;
      both.alternates = true;
      both.piece = piece;
      both.stride = stride;
      both.length = Bytes(21 * piece + 100);
      std::vector<Transaction> apart;
      std::int64_t left = both.length.value();
      for (std::uint64_t i = 0; left > 0; ++i, left -= piece) {
        Transaction one;
        const std::uint64_t step = stride == 0 ? piece : stride;
        one.address = (i % 2 == 0 ? both.address : both.second) + i / 2 * step;
        one.length = Bytes(std::min(left, piece));
        apart.push_back(one);
      }
      const test::TickRun together = test::run_ticks(config, std::vector{both});
      const test::TickRun in_turn = test::run_ticks(config, apart);
      CHECK(together.ticks == in_turn.ticks);
      CHECK(together.counters == in_turn.counters);
    }
  }
}

TEST_CASE("bursts are counted as if one by one") {
  const Random random(9, 9);
  for (std::uint64_t at = 0; at < 4000 * 8; at += 8) {
    Transaction one;
    one.address = random.below(at, 1000);
    one.second = random.below(at + 1, 100000);
    one.length = Bytes(static_cast<std::int64_t>(random.below(at + 2, 5000)));
    one.piece = 1 + random.below(at + 3, 300);
    one.stride = random.below(at + 4, 2) == 0 ? 0 : one.piece + random.below(at + 5, 500);
    one.alternates = random.below(at + 6, 2) == 0;
    const std::uint64_t burst_bytes = std::uint64_t{32} << random.below(at + 7, 2);
    std::uint64_t bursts = 0;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < one.pieces(); ++i) {
      const std::uint64_t first = one.piece_address(i) / burst_bytes;
      bursts += (one.piece_address(i) + one.piece_bytes(i) - 1) / burst_bytes - first + 1;
      bytes += one.piece_bytes(i);
    }
    INFO(at / 8);
    CHECK(bytes == static_cast<std::uint64_t>(one.length.value()));
    CHECK(dram::bursts_of(one, burst_bytes) == bursts);
  }
}

TEST_CASE("an end is known a lookahead before it comes") {
  for (const char* preset : test::all_presets) {
    const DramConfig config = load_dram_named(preset);
    const std::vector<Transaction> traffic = test::random_traffic(config, 4, 200);
    BurstMemory memory(config);
    for (const Transaction& one : traffic) {
      memory.start(one);
    }
    const Femtoseconds ahead = memory.lookahead();
    REQUIRE(ahead > to_femtoseconds(Seconds(3e-9)));
    std::vector<bool> known(traffic.size(), false);
    std::size_t left = traffic.size();
    std::int64_t nearest = INT64_MAX;  // of an end to the last look that did not know it
    for (Femtoseconds now; left > 0; now += Femtoseconds(ahead.value() / 7)) {
      memory.run_until(now);
      for (std::size_t i = 0; i < traffic.size(); ++i) {
        if (known[i]) {
          continue;
        }
        if (const std::optional<Femtoseconds> end = memory.end(i)) {
          known[i] = true;
          --left;
          const Femtoseconds last_look = now - Femtoseconds(ahead.value() / 7);
          if (end > traffic[i].arrival && last_look >= traffic[i].arrival) {
            nearest = std::min(nearest, (*end - last_look).value());
          }
        }
      }
    }
    INFO(preset);
    CHECK(nearest >= ahead.value());
    CHECK(nearest <= ahead.value() * 1.3);  // no longer than it has to be
  }
}

}  // namespace
}  // namespace qfs
