// Addresses to places: every burst has one of its own, and the fields lie where the mapping says.
#include "hardware/memory/dram/address_map.hpp"

#include <map>
#include <tuple>

#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::AddressMap;
using dram::DramConfig;
using dram::Place;

DramConfig small_memory(const std::string& mapping) {
  return load_dram_named(
      "hbm3-6400", {"organisation.channels=4", "organisation.rows=4", "organisation.columns=32",
                    "organisation.ranks=2", "controller.mapping=" + mapping});
}

const std::vector<std::string> mappings{
    "[channel, pseudochannel, bankgroup, column, bank, rank, stack, row]",
    "[channel, column, pseudochannel, rank, stack, bankgroup, bank, row]",
    "[row, column, bank, bankgroup, stack, rank, pseudochannel, channel]",
    "[column, row, stack, channel, bank, pseudochannel, rank, bankgroup]"};

TEST_CASE("a memory is filled without a gap or an overlap") {
  for (const std::string& mapping : mappings) {
    const DramConfig config = small_memory(mapping);
    const AddressMap map(config);
    const std::uint64_t bursts =
        static_cast<std::uint64_t>(config.organisation.capacity().value()) /
        config.organisation.burst_bytes();
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> rows;
    for (std::uint64_t i = 0; i < bursts; ++i) {
      const Place place = map.place(i);
      REQUIRE(map.channel(i) < config.organisation.channels);
      REQUIRE(place.bank < config.organisation.banks_of_channel());
      REQUIRE(place.row < config.organisation.rows);
      ++rows[{map.channel(i), place.bank, place.row}];
    }
    CHECK(rows.size() == bursts / config.organisation.bursts_of_row());
    for (const auto& [row, count] : rows) {
      CHECK(count == config.organisation.bursts_of_row());
    }
    // Beyond its end it begins again.
    CHECK(map.place(bursts + 5) == map.place(5));
    CHECK(map.channel(bursts + 5) == map.channel(5));
  }
}

TEST_CASE("the next burst of a channel is the next one that lies there") {
  for (const std::string& mapping : mappings) {
    const AddressMap map(small_memory(mapping));
    for (std::uint32_t channel = 0; channel < 4; ++channel) {
      for (std::uint64_t from : {0U, 1U, 2U, 3U, 5U, 63U, 64U, 1000U, 16383U}) {
        std::uint64_t next = from;
        while (map.channel(next) != channel) {
          ++next;
        }
        CHECK(map.next_of_channel(from, channel) == next);
      }
    }
  }
}

TEST_CASE("the usual mapping lets bank groups take turns before it goes along a row") {
  const AddressMap map(load_dram_named("hbm2"));
  // Burst numbers: 3 bits of channel, 1 of pseudo-channel, 2 of bank group, 5 of column, bank, row.
  CHECK(map.channel(5) == 5);
  CHECK(map.place(5) == Place{0, 0});
  CHECK(map.place(1U << 3U) == Place{16, 0});
  CHECK(map.place(1U << 4U) == Place{4, 0});
  CHECK(map.place(1U << 6U) == Place{0, 0});
  CHECK(map.place(1U << 11U) == Place{1, 0});
  CHECK(map.place(1U << 13U) == Place{0, 1});
}

TEST_CASE("a mapping that is none is refused") {
  DramConfig config = load_dram_named("hbm2");
  config.controller.mapping.pop_back();
  CHECK_THROWS_AS(AddressMap(config), std::logic_error);
  config.controller.mapping.push_back(dram::Field::bank);
  CHECK_THROWS_AS(AddressMap(config), std::logic_error);
  config = load_dram_named("hbm2");
  config.organisation.banks = 3;
  CHECK_THROWS_AS(AddressMap(config), std::logic_error);
}

}  // namespace
}  // namespace qfs
