#include "hardware/device/sweep_plan.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "hardware/device/launch_parts.hpp"

namespace qfs {
namespace {

constexpr std::int64_t value_bytes = 2;  // of queries and results
constexpr std::int64_t sum_bytes = 4;    // of partial results
constexpr std::int64_t wide_launches = 2;
constexpr double full_enough = 0.85;  // of the fullest passes, FlashAttention 2
constexpr double plan_margin = 1.1;   // FlashAttention 3, prepare_varlen_num_blocks

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t count(std::size_t value) { return static_cast<std::int64_t>(value); }

struct Cut {
  std::int64_t group;  // query heads over a KV head
  std::int64_t rows;   // of an item, at most
  std::int64_t items;
  std::int64_t steps;      // of an item
  std::int64_t residents;  // items of a unit
  bool wide;
  bool planned;
};

Cut cut_of(const SweepTiling& tiling, const SweepWork& work) {
  Cut cut{};
  cut.group = work.query_heads / work.kv_heads;
  cut.wide = tiling.wide_rows != 0 && cut.group > count(tiling.rows);
  cut.rows = count(cut.wide ? tiling.wide_rows : tiling.rows);
  cut.items = work.batch * work.kv_heads * divide_up(cut.group, cut.rows);
  cut.steps = std::max<std::int64_t>(1, divide_up(work.context, count(tiling.positions)));
  cut.residents = cut.wide ? 1 : count(tiling.residents);
  cut.planned = tiling.most_planned == 0 || work.batch <= count(tiling.most_planned);
  return cut;
}

std::int64_t parts_wanted(const SweepTiling& tiling, const Cut& cut, std::int64_t units) {
  const std::int64_t slots = units * (cut.wide ? 1 : count(tiling.split_residents));
  switch (tiling.split) {
    case SplitRule::never:
      return 1;
    case SplitRule::fill:
      return std::min(slots / cut.items, divide_up(cut.steps, count(tiling.part_steps)));
    case SplitRule::even: {
      const double share = std::ceil(plan_margin * static_cast<double>(cut.items * cut.steps) /
                                     static_cast<double>(slots));
      return divide_up(cut.steps, static_cast<std::int64_t>(share));
    }
    case SplitRule::waves:
      return parts_by_waves(cut.items, slots, cut.steps, count(tiling.most_parts));
  }
  return 1;
}

std::int64_t steps_of_part(const SweepTiling& tiling, const Cut& cut, std::int64_t units) {
  if (!cut.planned || (tiling.splits_groups_only && cut.group == 1)) {
    return cut.steps;
  }
  const std::int64_t parts =
      std::clamp<std::int64_t>(parts_wanted(tiling, cut, units), 1, count(tiling.most_parts));
  return divide_up(cut.steps, parts);
}

/// Eights of rows beyond the first, of a group padded to a power of two.
double wide_of(const SweepTiling& tiling, const Cut& cut) {
  const auto rows = static_cast<std::uint64_t>(std::min(cut.group, cut.rows));
  const std::uint64_t padded = std::clamp<std::uint64_t>(
      std::bit_ceil(rows), 8, std::max<std::size_t>(8, tiling.padded_rows));
  return static_cast<double>(padded) / 8 - 1;
}

}  // namespace

std::int64_t parts_by_waves(std::int64_t items, std::int64_t slots, std::int64_t steps,
                            std::int64_t most_parts) {
  assert(items >= 1 && slots >= 1 && steps >= 1 && most_parts >= 1);
  if (static_cast<double>(items) >= 0.8 * static_cast<double>(slots)) {
    return 1;
  }
  const std::int64_t most = std::min({most_parts, slots, steps});
  // How full the passes are; 0 where one part fewer has as many steps.
  const auto fullness = [&](std::int64_t parts) {
    if (parts > 1 && divide_up(steps, parts) == divide_up(steps, parts - 1)) {
      return 0.0;
    }
    const double passes = static_cast<double>(items * parts) / static_cast<double>(slots);
    return passes / std::ceil(passes);
  };
  double fullest = 0;
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    fullest = std::max(fullest, fullness(parts));
  }
  std::int64_t parts = 1;
  while (fullness(parts) < full_enough * fullest) {
    ++parts;
  }
  return parts;
}

SweepPlan plan_of(const KernelCost& cost, const SweepWork& work) {
  assert(work.batch >= 1 && work.kv_heads >= 1 && work.head_dim >= 1 && work.context >= 0);
  assert(work.query_heads % work.kv_heads == 0 && cost.units >= 1);
  SweepPlan plan;
  plan.narrow = work.element_bytes == 1;
  const SweepTiling& tiling = plan.narrow ? cost.narrow_tiling : cost.tiling;
  const Cut cut = cut_of(tiling, work);
  const std::int64_t steps = steps_of_part(tiling, cut, count(cost.units));
  const std::int64_t parts = divide_up(cut.steps, steps);
  const bool combines = parts > 1 && tiling.combines_apart;
  const bool regroups = tiling.regroups && cut.group > 1 && work.kv_heads > 1 && work.batch > 1;
  const std::int64_t heads = work.batch * work.query_heads;
  plan.passes = passes_of(static_cast<double>(cut.items * parts) /
                          static_cast<double>(count(cost.units) * cut.residents));
  plan.steps = static_cast<double>(steps - 1);
  plan.parts = combines ? static_cast<double>(parts) : 1;
  plan.wide = wide_of(tiling, cut);
  plan.further =
      static_cast<double>((combines ? 1 : 0) + (regroups ? 1 : 0) + (cut.wide ? wide_launches : 0));
  plan.sequences = cut.planned ? static_cast<double>(work.batch) : 0;
  plan.results = cut.planned ? static_cast<double>(heads) : 0;
  plan.bytes = static_cast<double>(bytes_of(work).value());
  if (parts > 1) {  // o and the log-sum-exp of each part, written and read
    plan.bytes += static_cast<double>(2 * heads * parts * (work.head_dim + 1) * sum_bytes);
  }
  if (regroups) {
    plan.copied_bytes = static_cast<double>(4 * heads * work.head_dim * value_bytes);
  }
  plan.macs = static_cast<double>(macs_of(work).value());
  return plan;
}

Seconds launch_time(const KernelCost& cost, const SweepPlan& plan, CacheState cache) {
  Seconds before = cost.launch + plan.further * cost.further_launch + (plan.parts - 1) * cost.part +
                   plan.sequences * cost.sequence + plan.results * cost.result;
  Seconds item = cost.item + plan.wide * cost.rows + plan.steps * cost.step;
  if (plan.narrow) {
    before += cost.narrow_launch;
    item += cost.narrow_item;
  }
  const double share = cache_share(cost, plan.bytes, cache);
  before += transfer_time(cost, plan.copied_bytes, share);
  return before + together(cost, {plan.passes * item, transfer_time(cost, plan.bytes, share),
                                  Seconds(plan.macs / cost.mac_rate.value())});
}

}  // namespace qfs
