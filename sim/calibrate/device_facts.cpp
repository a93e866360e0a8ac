#include "sim/calibrate/device_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "sim/config/complaint.hpp"

namespace qfs {
namespace {

/// FlashAttention 2: 64 rows; splits grouped queries over two blocks a unit; copies queries into
/// groups and results back in launches of their own (mha_varlen_fwd).
SweepTiling flash_attention_2() {
  return {.rows = 64,
          .padded_rows = 64,
          .split = SplitRule::waves,
          .split_residents = 2,
          .most_parts = 128,
          .splits_groups_only = true,
          .regroups = true};
}

/// FlashAttention 3: 128 rows; a planning launch splits batches of up to 992 sequences evenly, into
/// at most 32 parts under CUDA graphs (vLLM); its combining launch always runs.
SweepTiling flash_attention_3() {
  return {.rows = 128, .split = SplitRule::even, .most_parts = 32, .most_planned = 992};
}

/// FlashInfer's tensor-core decode: 16 rows and two blocks a unit, wider groups 64 rows and one;
/// fills the slots once; combines within the launch.
SweepTiling flash_infer() {
  return {.rows = 16,
          .wide_rows = 64,
          .residents = 2,
          .split = SplitRule::fill,
          .split_residents = 2,
          .most_parts = 1024,
          .combines_apart = false};
}

/// Of Blackwell: the times show two items a unit, rows padded to 8, 16 or 32, and parts of at least
/// four steps, at most 128 of them (measured, not read off a source).
SweepTiling blackwell() {
  return {.rows = 64,
          .padded_rows = 32,
          .residents = 2,
          .split = SplitRule::fill,
          .part_steps = 4,
          .most_parts = 128};
}

using Names = std::vector<std::string>;

const Names hopper_numbers{"launch", "narrow_launch", "further_launch", "part",
                           "item",   "step",          "bandwidth",      "cache_bandwidth",
                           "cache",  "serial",        "sequence",       "result"};

/// Units, peaks and caches: vendors' data sheets.
const std::array<DeviceFacts, 5>& all_facts() {
  static const std::array<DeviceFacts, 5> facts{{
      {"a100", 108, BytesPerSecond(2.039e12), MacsPerSecond(156e12), Bytes(40'000'000),
       flash_attention_2(), flash_attention_2(), "FlashAttention 2",
       Names{"launch", "further_launch", "part", "item", "rows", "step", "bandwidth",
             "cache_bandwidth", "cache"}},
      {"h100", 132, BytesPerSecond(3.35e12), MacsPerSecond(494.5e12), Bytes(50'000'000),
       flash_attention_3(), flash_attention_3(), "FlashAttention 3", hopper_numbers},
      {"h200", 132, BytesPerSecond(4.8e12), MacsPerSecond(494.5e12), Bytes(50'000'000),
       flash_attention_3(), flash_attention_3(), "FlashAttention 3", hopper_numbers},
      {"b200", 148, BytesPerSecond(8e12), MacsPerSecond(1125e12), Bytes(126'000'000), blackwell(),
       blackwell(), "as measured",
       Names{"launch", "further_launch", "part", "item", "rows", "step", "bandwidth",
             "cache_bandwidth", "cache", "serial", "clock_tick", "clock_phase"}},
      {"l40s", 142, BytesPerSecond(0.864e12), MacsPerSecond(181e12), Bytes(96'000'000),
       flash_attention_2(), flash_infer(), "FlashAttention 2; FlashInfer for fp8",
       Names{"launch", "narrow_launch", "further_launch", "part", "item", "narrow_item", "rows",
             "step", "bandwidth", "cache_bandwidth", "cache"}},
  }};
  return facts;
}

constexpr std::array<std::string_view, 11> product_numbers{
    "launch",    "further_launch",  "item",  "step",         "unit_bandwidth", "unit_mac_rate",
    "bandwidth", "cache_bandwidth", "cache", "tall_traffic", "serial"};

template <Seconds KernelCost::*Time>
constexpr Fitted time_number(std::string_view name, std::string_view meaning) {
  return {name, meaning, [](const KernelCost& cost) { return (cost.*Time).value(); },
          [](KernelCost& cost, double value) { cost.*Time = Seconds(value); }};
}
template <BytesPerSecond KernelCost::*Rate>
constexpr Fitted rate_number(std::string_view name, std::string_view meaning) {
  return {name, meaning, [](const KernelCost& cost) { return (cost.*Rate).value(); },
          [](KernelCost& cost, double value) { cost.*Rate = BytesPerSecond(value); }};
}

const std::array<Fitted, 17>& all_numbers() {
  static const std::array<Fitted, 17> numbers{
      {time_number<&KernelCost::launch>("launch", "floor of any launch"),
       time_number<&KernelCost::narrow_launch>("narrow_launch", "more with fp8"),
       time_number<&KernelCost::further_launch>("further_launch", "each launch beside"),
       time_number<&KernelCost::part>("part", "combining, each part beyond the first"),
       time_number<&KernelCost::item>("item", "an item of work"),
       time_number<&KernelCost::narrow_item>("narrow_item", "more with fp8"),
       time_number<&KernelCost::rows>("rows", "each further eight rows of an item"),
       time_number<&KernelCost::step>("step", "a step of an item"),
       time_number<&KernelCost::sequence>("sequence", "planning, each sequence"),
       time_number<&KernelCost::result>("result", "combining, each query head"),
       rate_number<&KernelCost::unit_bandwidth>("unit_bandwidth", "loads of one unit"),
       rate_number<&KernelCost::bandwidth>("bandwidth", "memory, reached"),
       rate_number<&KernelCost::cache_bandwidth>("cache_bandwidth", "last-level cache, reached"),
       {"unit_mac_rate", "one unit on its tiles",
        [](const KernelCost& cost) { return cost.unit_mac_rate.value(); },
        [](KernelCost& cost, double value) { cost.unit_mac_rate = MacsPerSecond(value); }},
       {"cache", "working set served from the cache",
        [](const KernelCost& cost) { return static_cast<double>(cost.cache.value()); },
        [](KernelCost& cost, double value) { cost.cache = Bytes(std::llround(value)); }},
       {"tall_traffic", "more time for the bytes of more than 16 rows",
        [](const KernelCost& cost) { return cost.tall_traffic; },
        [](KernelCost& cost, double value) { cost.tall_traffic = value; }},
       {"serial", "share in which work and memory take turns",
        [](const KernelCost& cost) { return cost.serial; },
        [](KernelCost& cost, double value) { cost.serial = value; }}}};
  return numbers;
}

struct Range {
  std::string_view name;
  double usual;
  double least;
  double most;
  double spread;
};

FreeParameter found(std::span<const Range> ranges, std::string_view name) {
  const auto range = std::ranges::find(ranges, name, &Range::name);
  if (range == ranges.end()) {
    throw std::logic_error(fmt::format("{} has no range", name));
  }
  return {std::string(name), range->usual, range->least, range->most, range->spread};
}

}  // namespace

std::vector<std::string> devices_with_facts() {
  std::vector<std::string> names;
  for (const DeviceFacts& facts : all_facts()) {
    names.push_back(facts.name);
  }
  return names;
}

const DeviceFacts& facts_of(const std::string& device) {
  const auto facts = std::ranges::find(all_facts(), device, &DeviceFacts::name);
  if (facts == all_facts().end()) {
    const std::vector<std::string> names = devices_with_facts();
    config::complain({"qfsim calibrate"}, "--device", config::in_quotes(device),
                     config::joined(names), config::nearest_spelling(device, names));
  }
  return *facts;
}

std::span<const std::string_view> free_product_numbers() { return product_numbers; }

const Fitted& fitted_number(std::string_view name) {
  const auto number = std::ranges::find(all_numbers(), name, &Fitted::name);
  if (number == all_numbers().end()) {
    throw std::logic_error(fmt::format("{} is no number of a kernel", name));
  }
  return *number;
}

FreeParameter sweep_range(const DeviceFacts& facts, std::string_view name) {
  const double peak = facts.peak_bandwidth.value();
  const auto cache = static_cast<double>(facts.cache.value());
  // Nothing reads above 93 % of its memory's peak; caches hold a third of their size or more.
  const std::array<Range, 16> ranges{{{"launch", 8e-6, 1e-6, 25e-6, 0.5},
                                      {"narrow_launch", 1e-6, 1e-8, 6e-6, 1},
                                      {"further_launch", 2e-6, 5e-8, 10e-6, 1},
                                      {"part", 1e-7, 2e-9, 1e-6, 1},
                                      {"item", 3.5e-6, 2e-7, 10e-6, 0.5},
                                      {"narrow_item", 1e-6, 1e-8, 5e-6, 1},
                                      {"rows", 2e-7, 2e-9, 3e-6, 1},
                                      {"step", 1e-6, 2e-8, 10e-6, 1},
                                      {"sequence", 1.5e-8, 2e-10, 1e-7, 0.5},
                                      {"result", 3e-10, 5e-12, 3e-9, 0.5},
                                      {"bandwidth", 0.85 * peak, 0.5 * peak, 0.93 * peak, 0.1},
                                      {"cache_bandwidth", 2 * peak, 0.9 * peak, 6 * peak, 0.5},
                                      {"cache", 0.75 * cache, 0.3 * cache, 1.1 * cache, 0.3},
                                      {"serial", 0.4, 0.05, 1, 0.5},
                                      {"clock_tick", 2.048e-6, 2e-6, 2.1e-6, 0.01},
                                      {"clock_phase", 0.7e-6, 0.2e-6, 2.2e-6, 0.5}}};
  return found(ranges, name);
}

FreeParameter product_range(const DeviceFacts& facts, std::string_view name, bool narrow) {
  const double peak = facts.peak_bandwidth.value();
  const double unit_rate =
      facts.peak_mac_rate.value() / static_cast<double>(facts.units) * (narrow ? 2 : 1);
  // Benchmarks of products go round several sets of weights: the cache holds a share of each.
  const auto cache = static_cast<double>(facts.cache.value());
  const std::array<Range, 11> ranges{
      {{"launch", 3e-6, 5e-7, 10e-6, 0.5},
       {"further_launch", 1e-6, 1e-8, 5e-6, 1},
       {"item", 5e-7, 1e-8, 5e-6, 1},
       {"step", 1e-7, 3e-9, 1e-6, 1},
       {"unit_bandwidth", 1e11, 3e9, 1e12, 1},
       {"unit_mac_rate", 0.8 * unit_rate, 0.2 * unit_rate, unit_rate, 0.3},
       {"bandwidth", 0.85 * peak, 0.5 * peak, 0.93 * peak, 0.1},
       {"cache_bandwidth", 2 * peak, 0.9 * peak, 16 * peak, 0.7},
       {"cache", 0.2 * cache, 0.05 * cache, 1.1 * cache, 0.5},
       {"tall_traffic", 0.02, 0.001, 0.3, 1},
       {"serial", 0.4, 0.05, 1, 0.5}}};
  return found(ranges, name);
}

KernelCost sweep_facts(const DeviceFacts& facts) {
  KernelCost cost;
  cost.units = facts.units;
  cost.tiling = facts.tiling;
  cost.narrow_tiling = facts.narrow_tiling;
  return cost;
}

KernelCost product_facts(const DeviceFacts& facts) {
  KernelCost cost;
  cost.units = facts.units;
  return cost;
}

}  // namespace qfs
