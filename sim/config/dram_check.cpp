#include "sim/config/dram_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/config/dram_schema.hpp"

namespace qfs::config {
namespace {

struct Dram {
  const ConfigNode& root;
  const std::string& path;
  const dram::DramConfig& config;

  [[noreturn]] void fail(const char* key, const std::string& given, const char* legal) const {
    const std::string at = joined_path(path, key);
    complain(place_of(root, at), at, given, legal);
  }
  void require(bool holds, const char* key, const std::string& given, const char* legal) const {
    if (!holds) {
      fail(key, given, legal);
    }
  }
};

void check_organisation(const Dram& check) {
  const dram::Organisation& parts = check.config.organisation;
  const std::pair<const char*, std::size_t> counts[] = {
      {"organisation.channels", parts.channels},
      {"organisation.pseudochannels", parts.pseudochannels},
      {"organisation.ranks", parts.ranks},
      {"organisation.stacks", parts.stacks},
      {"organisation.bankgroups", parts.bankgroups},
      {"organisation.banks", parts.banks},
      {"organisation.rows", parts.rows},
      {"organisation.columns", parts.columns},
      {"organisation.burst_length", parts.burst_length},
      {"organisation.bus_bits", parts.bus_bits}};
  for (const auto& [key, count] : counts) {
    check.require(std::has_single_bit(count), key, fmt::format("'{}'", count), "a power of two");
  }
  check.require(parts.burst_length <= parts.columns, "organisation.burst_length",
                fmt::format("'{}' is longer than a row", parts.burst_length),
                "at most organisation.columns");
  const double banks = static_cast<double>(parts.pseudochannels) *
                       static_cast<double>(parts.ranks) * static_cast<double>(parts.stacks) *
                       static_cast<double>(parts.bankgroups) * static_cast<double>(parts.banks);
  check.require(banks <= static_cast<double>(most_banks), "organisation.banks",
                fmt::format("a channel would have {} banks", banks), "at most 1024 a channel");
}

void check_timing(const Dram& check) {
  const dram::Timing& timing = check.config.timing;
  check.require(timing.rc >= timing.ras, "timing.rc",
                fmt::format("'{}' is shorter than timing.ras", timing.rc), "at least timing.ras");
  check.require(timing.ccd_s <= timing.ccd_l && timing.ccd_s_write <= timing.ccd_l_write,
                "timing.ccd_l", "shorter than between bank groups", "at least timing.ccd_s");
  const bool refreshes = check.config.controller.refresh != dram::RefreshMode::off;
  check.require(!refreshes || timing.refi > timing.rfc + timing.rc + timing.rp_all, "timing.refi",
                fmt::format("'{}' leaves no time between refreshes", timing.refi),
                "more than timing.rfc + timing.rc + timing.rp_all; or controller.refresh: off");
  const bool all_bank = check.config.controller.refresh == dram::RefreshMode::all_bank;
  check.require(!all_bank || timing.rfc > 0, "timing.rfc", "0, but refresh is all_bank",
                "the length of a refresh");
  const bool per_bank = check.config.controller.refresh == dram::RefreshMode::per_bank;
  check.require(!per_bank || timing.rfc_bank > 0, "timing.rfc_bank", "0, but refresh is per_bank",
                "the length of a refresh of one bank");
  check.require(timing.activate_within == 0 || timing.activate_within > 1, "timing.activate_within",
                "'1' leaves no slot for an access's clock before it", "0, or 2 and more");
}

void check_controller(const Dram& check) {
  const dram::Controller& controller = check.config.controller;
  check.require(controller.write_drain_from <= controller.write_queue,
                "controller.write_drain_from", "more than the queue holds",
                "at most controller.write_queue");
  check.require(controller.write_drain_to < controller.write_drain_from,
                "controller.write_drain_to", "not less than write_drain_from",
                "less than controller.write_drain_from");
  for (const auto& [field, name] : enum_names<dram::Field>) {
    check.require(std::ranges::count(controller.mapping, field) == 1, "controller.mapping",
                  fmt::format("'{}' is not named once", name),
                  "channel, pseudochannel, rank, stack, bankgroup, bank, column and row in any "
                  "order, each once");
  }
}

}  // namespace

void check_dram(const ConfigNode& root, const std::string& path, const dram::DramConfig& config) {
  const Dram check{root, path, config};
  check_organisation(check);
  check_timing(check);
  check_controller(check);
}

}  // namespace qfs::config
