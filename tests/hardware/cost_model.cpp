// The cost model of real kernels: its ideal limit to the bit, its parts by hand, its edges.
#include "hardware/device/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "hardware/device/launch_parts.hpp"
#include "hardware/device/sweep_plan.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr double rounding = 1e-12;  // relative; sums in another order

std::int64_t drawn(const Random& random, std::uint64_t& next, std::int64_t least,
                   std::int64_t most) {
  return least + static_cast<std::int64_t>(
                     random.below(next++, static_cast<std::uint64_t>(most - least + 1)));
}

SweepWork drawn_sweep(const Random& random, std::uint64_t& next) {
  SweepWork work;
  work.batch = drawn(random, next, 1, 1500);
  work.kv_heads = drawn(random, next, 1, 16);
  work.query_heads = work.kv_heads * drawn(random, next, 1, 40);
  work.head_dim = 64 * drawn(random, next, 1, 2);
  work.context = drawn(random, next, 0, 40'000);
  work.element_bytes = drawn(random, next, 1, 2);
  return work;
}

ProductWork drawn_product(const Random& random, std::uint64_t& next) {
  return {drawn(random, next, 1, 300), drawn(random, next, 1, 20'000),
          drawn(random, next, 1, 20'000), drawn(random, next, 1, 2)};
}

/// Every number of it has a say.
KernelCost drawn_cost(const Random& random, std::uint64_t& next) {
  const auto time = [&] { return Seconds(random.uniform(next++, 1e-9, 1e-6)); };
  const auto number = [&](double least, double most) {
    return random.uniform(next++, least, most);
  };
  KernelCost cost;
  cost.units = static_cast<std::size_t>(drawn(random, next, 10, 200));
  for (SweepTiling* tiling : {&cost.tiling, &cost.narrow_tiling}) {
    tiling->split = SplitRule::fill;
    tiling->most_parts = 32;
  }
  for (Seconds KernelCost::*const each :
       {&KernelCost::launch, &KernelCost::narrow_launch, &KernelCost::further_launch,
        &KernelCost::part, &KernelCost::item, &KernelCost::narrow_item, &KernelCost::rows,
        &KernelCost::step, &KernelCost::sequence, &KernelCost::result}) {
    cost.*each = time();
  }
  cost.unit_bandwidth = BytesPerSecond(number(1e10, 1e12));
  cost.unit_mac_rate = MacsPerSecond(number(1e12, 1e13));
  cost.mac_rate = MacsPerSecond(number(1e13, 1e15));
  cost.bandwidth = BytesPerSecond(number(1e11, 1e13));
  cost.cache_bandwidth = BytesPerSecond(number(1e12, 1e13));
  cost.cache = Bytes(drawn(random, next, 1'000'000, 100'000'000));
  cost.tall_traffic = number(0, 0.1);
  cost.serial = number(0.1, 0.9);
  return cost;
}

std::int64_t up(std::int64_t a, std::int64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

TEST_CASE("what a launch moves and multiplies, by hand") {
  const SweepWork sweep{.batch = 2,
                        .query_heads = 32,
                        .kv_heads = 8,
                        .head_dim = 128,
                        .context = 1000,
                        .element_bytes = 2};
  // K and V: 2 x 8 x 1000 x 2 x 128 x 2 B; q and o: 2 x 32 x 128 x 2 x 2 B.
  CHECK(bytes_of(sweep) == Bytes(8'192'000 + 32'768));
  CHECK(macs_of(sweep) == Macs(2LL * 2 * 32 * 1000 * 128));
  const ProductWork product{.m = 3, .n = 500, .k = 70, .element_bytes = 1};
  CHECK(bytes_of(product) == Bytes(500 * 70 + 3 * 70 + 2 * 3 * 500));
  CHECK(macs_of(product) == Macs(3 * 500 * 70));
}

TEST_CASE("the ideal device is the limit, to the bit") {
  const Random random(11, 0);
  std::uint64_t next = 0;
  for (int draw = 0; draw < 400; ++draw) {
    KernelCost ideal;
    ideal.launch = Seconds(random.uniform(next++, 0, 1e-5));
    ideal.bandwidth = BytesPerSecond(random.uniform(next++, 1e11, 1e13));
    ideal.mac_rate = MacsPerSecond(random.uniform(next++, 1e12, 1e15));
    const KernelWork work = draw % 2 == 0 ? KernelWork(drawn_sweep(random, next))
                                          : KernelWork(drawn_product(random, next));
    const Seconds expected =
        ideal.launch + std::max(bytes_of(work) / ideal.bandwidth, macs_of(work) / ideal.mac_rate);
    CHECK(launch_time(ideal, work, CacheState::warm) == expected);
    CHECK(launch_time(ideal, work, CacheState::cold) == expected);
  }
}

TEST_CASE("a device without any number costs nothing") {
  CHECK(launch_time(KernelCost{}, SweepWork{.context = 100}) == Seconds(0));
  CHECK(launch_time(KernelCost{}, ProductWork{.m = 9, .n = 99, .k = 999}) == Seconds(0));
}

TEST_CASE("items go over the units in passes") {
  KernelCost cost;
  cost.units = 132;
  cost.item = Seconds(1);
  const auto time = [&](std::int64_t items) {
    return launch_time(cost, SweepWork{.batch = items, .context = 128}).value();
  };
  CHECK(time(132) == 1);
  CHECK(time(133) == Approx(0.4 * 133 / 132 + 0.6 * 2).epsilon(rounding));
  CHECK(time(264) == 2);
  CHECK(time(1) == Approx(0.6 + 0.4 / 132).epsilon(rounding));
  cost.tiling.residents = 2;
  CHECK(time(264) == 1);
}

TEST_CASE("steps beyond the first, at the edge of a block") {
  KernelCost cost;
  cost.step = Seconds(1);
  const auto time = [&](std::int64_t context) {
    return launch_time(cost, SweepWork{.context = context}).value();
  };
  CHECK(time(0) == 0);
  CHECK(time(128) == 0);
  CHECK(time(129) == 1);
  CHECK(time(256) == 1);
  CHECK(time(257) == 2);
}

/// The rule as FlashAttention 2 states it, with all efficiencies in a list.
std::int64_t parts_by_list(std::int64_t items, std::int64_t slots, std::int64_t steps,
                           std::int64_t most) {
  if (10 * items >= 8 * slots) {
    return 1;
  }
  std::vector<double> efficiency;
  for (std::int64_t parts = 1; parts <= std::min({most, slots, steps}); ++parts) {
    const bool eligible = parts == 1 || up(steps, parts) != up(steps, parts - 1);
    const double waves = static_cast<double>(parts * items) / static_cast<double>(slots);
    efficiency.push_back(eligible ? waves / std::ceil(waves) : 0);
  }
  const double best = *std::ranges::max_element(efficiency);
  const auto first = std::ranges::find_if(efficiency, [&](double e) { return e >= 0.85 * best; });
  return 1 + (first - efficiency.begin());
}

TEST_CASE("parts by waves: worked, at the edges, and against the rule written out") {
  // 8 items on 216 slots, 64 steps: 22 parts of 3 steps fill 81 % of a pass, as full as any.
  CHECK(parts_by_waves(8, 216, 64, 128) == 22);
  CHECK(parts_by_waves(80, 100, 64, 128) == 1);
  CHECK(parts_by_waves(1, 216, 1, 128) == 1);
  // 85 % of 128 parts are 109; 109 and 110 have as many steps as 108, so 111.
  CHECK(parts_by_waves(1, 216, 4096, 128) == 111);
  const Random random(12, 0);
  std::uint64_t next = 0;
  for (int draw = 0; draw < 500; ++draw) {
    const std::int64_t items = drawn(random, next, 1, 300);
    const std::int64_t slots = drawn(random, next, 1, 300);
    const std::int64_t steps = drawn(random, next, 1, 1024);
    CAPTURE(items, slots, steps);
    CHECK(parts_by_waves(items, slots, steps, 128) == parts_by_list(items, slots, steps, 128));
  }
}

KernelCost splitting(SplitRule rule) {
  KernelCost cost;
  cost.units = 100;
  cost.tiling.split = rule;
  cost.tiling.most_parts = 32;
  return cost;
}

TEST_CASE("parts that fill the slots once") {
  KernelCost cost = splitting(SplitRule::fill);
  cost.tiling.part_steps = 2;
  const auto parts = [&](std::int64_t items, std::int64_t steps) {
    return plan_of(cost, SweepWork{.batch = items, .context = 128 * steps}).parts;
  };
  CHECK(parts(10, 40) == 10);  // 100 / 10
  CHECK(parts(51, 40) == 1);   // no second part for all
  CHECK(parts(50, 40) == 2);
  CHECK(parts(10, 7) == 4);    // at least two steps a part
  CHECK(parts(1, 640) == 32);  // the most
  CHECK(parts(10, 1) == 1);
}

TEST_CASE("parts that get an even share, up to the longest batch that is planned") {
  KernelCost cost = splitting(SplitRule::even);
  cost.tiling.most_planned = 992;
  // 1.1 x 10 x 40 steps over 100 units: 5 each, 8 parts.
  const SweepPlan plan = plan_of(cost, SweepWork{.batch = 10, .context = 128 * 40});
  CHECK(plan.parts == 8);
  CHECK(plan.steps == 4);
  CHECK(plan.further == 1);
  const auto planned = [&](std::int64_t batch) {
    return plan_of(cost, SweepWork{.batch = batch, .query_heads = 4, .context = 99});
  };
  CHECK(planned(992).sequences == 992);
  CHECK(planned(992).results == 4 * 992);
  CHECK(planned(993).sequences == 0);
  CHECK(planned(993).results == 0);
}

TEST_CASE("a kernel that splits and regroups grouped queries only") {
  KernelCost cost = splitting(SplitRule::waves);
  cost.tiling.splits_groups_only = true;
  cost.tiling.regroups = true;
  cost.further_launch = Seconds(1);
  cost.bandwidth = BytesPerSecond(1e12);
  const auto plan = [&](std::int64_t batch, std::int64_t heads, std::int64_t kv_heads) {
    return plan_of(cost, {batch, heads, kv_heads, 128, 5000, 2});
  };
  CHECK(plan(1, 8, 8).parts == 1);
  CHECK(plan(1, 16, 8).parts > 1);
  CHECK(plan(1, 16, 8).copied_bytes == 0);  // one sequence: a view
  CHECK(plan(2, 16, 1).copied_bytes == 0);  // one KV head: a view
  CHECK(plan(2, 8, 8).copied_bytes == 0);   // no groups
  CHECK(plan(2, 16, 8).copied_bytes == 4.0 * 2 * 16 * 128 * 2);
  CHECK(plan(60, 16, 8).further == 1);  // copies alone
  CHECK(plan(2, 16, 8).further == 2);
}

TEST_CASE("groups wider than a tile") {
  KernelCost cost;
  cost.units = 10;
  cost.tiling.rows = 16;
  cost.tiling.wide_rows = 64;
  cost.tiling.padded_rows = 64;
  cost.tiling.residents = 2;
  const auto plan = [&](std::int64_t group) {
    return plan_of(cost, SweepWork{.batch = 20, .query_heads = group, .context = 1});
  };
  CHECK(plan(16).passes == 1);
  CHECK(plan(16).wide == 1);    // padded to 16: one eight beyond the first
  CHECK(plan(17).passes == 2);  // one an unit
  CHECK(plan(17).wide == 3);    // padded to 32
  CHECK(plan(17).further == 2);
  CHECK(plan(65).passes == 4);  // two tiles of 64 rows
  CHECK(plan(3).wide == 0);
}

TEST_CASE("numbers of one-byte elements are added for them alone") {
  KernelCost cost;
  cost.launch = Seconds(1);
  cost.narrow_launch = Seconds(10);
  cost.narrow_item = Seconds(100);
  CHECK(launch_time(cost, SweepWork{.batch = 2, .context = 1, .element_bytes = 2}) == Seconds(1));
  CHECK(launch_time(cost, SweepWork{.batch = 2, .context = 1, .element_bytes = 1}) ==
        Seconds(211));  // both items
  CHECK(launch_time(cost, ProductWork{.element_bytes = 1}) == Seconds(11));
}

TEST_CASE("a cache serves what fits, and nothing when it is cold") {
  KernelCost cost;
  cost.cache = Bytes(50'000'000);
  CHECK(cache_share(cost, 50e6, CacheState::warm) == 0.5);
  CHECK(cache_share(cost, 25e6, CacheState::warm) > 0.9999);
  CHECK(cache_share(cost, 100e6, CacheState::warm) < 0.0001);
  CHECK(cache_share(cost, 1, CacheState::cold) == 0);
  cost.bandwidth = BytesPerSecond(1e12);
  cost.cache_bandwidth = BytesPerSecond(4e12);
  const SweepWork work{.batch = 8, .head_dim = 128, .context = 4000};
  const double bytes = static_cast<double>(bytes_of(work).value());
  CHECK(launch_time(cost, work, CacheState::cold).value() == bytes / 1e12);
  CHECK(launch_time(cost, work, CacheState::warm).value() == Approx(bytes / 4e12).epsilon(1e-6));
}

TEST_CASE("times that take turns add up, others do not") {
  KernelCost cost;
  const std::array<Seconds, 3> times{Seconds(3), Seconds(4), Seconds(0)};
  CHECK(together(cost, times) == Seconds(4));
  cost.serial = 0.5;
  CHECK(together(cost, times).value() == Approx(5).epsilon(rounding));
  cost.serial = 1;
  CHECK(together(cost, times).value() == Approx(7).epsilon(rounding));
}

/// A product's time with every tile and every cut of k written out.
double product_by_hand(const KernelCost& cost, const ProductWork& work) {
  double best = unlimited;
  for (const std::int64_t parts : {1, 2, 4, 8, 16}) {
    for (const std::int64_t rows : {16, 64, 128}) {
      for (const std::int64_t columns : {32, 64, 128}) {
        if (parts > up(work.k, 64)) {
          continue;
        }
        const double items = static_cast<double>(up(work.m, rows) * up(work.n, columns) * parts);
        const double fill = items / static_cast<double>(cost.units);
        const double load = static_cast<double>(64 * work.element_bytes * (rows + columns)) /
                            cost.unit_bandwidth.value();
        const double math = static_cast<double>(64 * rows * columns) / cost.unit_mac_rate.value();
        const double step = std::max(cost.step.value() + load, math);
        const double busy =
            (0.4 * fill + 0.6 * std::ceil(fill)) *
            (cost.item.value() + static_cast<double>(up(up(work.k, parts), 64)) * step);
        double bytes = static_cast<double>(bytes_of(work).value());
        bytes += parts > 1 ? static_cast<double>(8 * parts * work.m * work.n) : 0.0;
        const double traffic =
            bytes / cost.bandwidth.value() * (work.m > 16 ? 1 + cost.tall_traffic : 1);
        const double overlapped = std::pow(
            std::pow(busy, 1 / cost.serial) + std::pow(traffic, 1 / cost.serial), cost.serial);
        best = std::min(best, cost.launch.value() + overlapped +
                                  (parts > 1 ? cost.further_launch.value() : 0.0));
      }
    }
  }
  return best;
}

TEST_CASE("a product takes the fastest of its tiles and cuts") {
  KernelCost cost;
  cost.units = 132;
  cost.launch = Seconds(2.6e-6);
  cost.further_launch = Seconds(1.9e-6);
  cost.item = Seconds(6e-8);
  cost.step = Seconds(1.1e-7);
  cost.unit_bandwidth = BytesPerSecond(5e10);
  cost.unit_mac_rate = MacsPerSecond(3.7e12);
  cost.bandwidth = BytesPerSecond(3e12);
  cost.tall_traffic = 0.05;
  cost.serial = 0.35;
  const Random random(13, 0);
  std::uint64_t next = 0;
  for (int draw = 0; draw < 300; ++draw) {
    const ProductWork work = drawn_product(random, next);
    CAPTURE(work.m, work.n, work.k);
    CHECK(launch_time(cost, work, CacheState::cold).value() ==
          Approx(product_by_hand(cost, work)).epsilon(rounding));
  }
}

TEST_CASE("a slower device takes so much longer for everything") {
  const Random random(23, 1);
  std::uint64_t next = 0;
  for (int draw = 0; draw < 100; ++draw) {
    const DeviceCost device{drawn_cost(random, next), drawn_cost(random, next), std::nullopt};
    const DeviceCost slower = slowed(device, 1.7);
    for (const KernelWork& work :
         {KernelWork(drawn_sweep(random, next)), KernelWork(drawn_product(random, next))}) {
      for (const CacheState cache : {CacheState::warm, CacheState::cold}) {
        CHECK(launch_time(slower, work, cache).value() ==
              Approx(1.7 * launch_time(device, work, cache).value()).epsilon(rounding));
      }
    }
  }
}

TEST_CASE("each kernel of a device has its own cost") {
  DeviceCost device;
  CHECK(launch_time(device, SweepWork{}) == Seconds(0));  // none given: the ideal device
  device.sweep.emplace().launch = Seconds(1);
  device.product.emplace().launch = Seconds(2);
  CHECK(launch_time(device, ProductWork{.element_bytes = 1}) == Seconds(2));
  device.narrow_product.emplace().launch = Seconds(3);
  CHECK(launch_time(device, SweepWork{}) == Seconds(1));
  CHECK(launch_time(device, ProductWork{}) == Seconds(2));
  CHECK(launch_time(device, ProductWork{.element_bytes = 1}) == Seconds(3));
}

}  // namespace
}  // namespace qfs
