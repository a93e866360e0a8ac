// The table of rules against figures worked out by hand.
#include "hardware/memory/dram/rules.hpp"

#include <optional>

#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::Command;
using dram::DramConfig;
using dram::Rule;
using dram::Scope;
using dram::Tick;

/// The longest wait that the table states, or nothing.
std::optional<Tick> wait(const DramConfig& config, Command from, Command to, Scope scope,
                         std::size_t window = 1) {
  std::optional<Tick> longest;
  for (const Rule& rule : dram::timing_rules(config)) {
    if (rule.from == from && rule.to == to && rule.scope == scope && rule.window == window) {
      longest = std::max(longest.value_or(rule.ticks), rule.ticks);
    }
  }
  return longest;
}

TEST_CASE("commands of one slot keep the standard's times") {
  const DramConfig ddr4 = load_dram_named("ddr4-3200", {"organisation.ranks=2"});
  using enum Command;
  CHECK(wait(ddr4, activate, read, Scope::bank) == 22);
  CHECK(wait(ddr4, activate, precharge, Scope::bank) == 52);
  CHECK(wait(ddr4, activate, activate, Scope::bank) == 74);
  CHECK(wait(ddr4, activate, activate, Scope::rank) == 4);
  CHECK(wait(ddr4, activate, activate, Scope::rank, 4) == 34);
  CHECK(wait(ddr4, read, read, Scope::bankgroup) == 8);
  CHECK(wait(ddr4, read, write, Scope::rank) == 22 + 4 + 2 - 16);
  CHECK(wait(ddr4, write, read, Scope::rank) == 16 + 4 + 4);
  CHECK(wait(ddr4, write, read, Scope::bankgroup) == 16 + 4 + 12);
  CHECK(wait(ddr4, write, precharge, Scope::bank) == 16 + 4 + 24);
  CHECK(wait(ddr4, read, read, Scope::other_ranks) == 4 + 2);
  CHECK(wait(ddr4, write, read, Scope::other_ranks) == std::nullopt);  // the read is slower anyway
  CHECK(wait(ddr4, refresh_all, activate, Scope::rank) == 576);
  CHECK(wait(ddr4, read, read, Scope::other_stacks) == std::nullopt);
}

TEST_CASE("commands of two slots count from their last to the other's last") {
  const DramConfig ddr5 = load_dram_named("ddr5-4800");  // activate and access 2, others 1
  using enum Command;
  CHECK(wait(ddr5, activate, read, Scope::bank) == 34);
  CHECK(wait(ddr5, activate, precharge, Scope::bank) == 77 + 1);
  CHECK(wait(ddr5, precharge, activate, Scope::bank) == 34 - 1);
  CHECK(wait(ddr5, read, precharge, Scope::bank) == 18 + 1);
  CHECK(wait(ddr5, refresh_all, activate, Scope::rank) == 710 - 1);
  CHECK(wait(ddr5, write, write, Scope::bankgroup) == 48);
  CHECK(wait(ddr5, precharge, precharge_all, Scope::rank) == 2);
}

TEST_CASE("half clocks count as ticks") {
  const DramConfig hbm3 = load_dram_named("hbm3-6400");  // activate 3, access 2, others 1 ticks
  using enum Command;
  CHECK(wait(hbm3, activate, read, Scope::bank) == 2 * 31 + 3 - 2);
  CHECK(wait(hbm3, activate, precharge, Scope::bank) == 2 * 45 + 3 - 1);
  CHECK(wait(hbm3, precharge, activate, Scope::bank) == 2 * 26 + 1 - 3);
  CHECK(wait(hbm3, read, read, Scope::other_stacks) == 2 * 3);
  CHECK(wait(hbm3, read, read, Scope::stack) == 2 * 2);
}

}  // namespace
}  // namespace qfs
