#include "hardware/device/cost_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "hardware/device/launch_parts.hpp"
#include "hardware/device/sweep_plan.hpp"

namespace qfs {
namespace {

constexpr std::array kernel_times{&KernelCost::launch,         &KernelCost::narrow_launch,
                                  &KernelCost::further_launch, &KernelCost::part,
                                  &KernelCost::item,           &KernelCost::narrow_item,
                                  &KernelCost::rows,           &KernelCost::step,
                                  &KernelCost::sequence,       &KernelCost::result};

constexpr std::int64_t value_bytes = 2;  // of queries and results
constexpr std::int64_t sum_bytes = 4;    // of partial sums
constexpr double saved_of_a_pass =
    0.4;                      // that is nearly empty; the five devices agree on 0.3 to 0.5
constexpr double cliff = 16;  // how sharply a cache stops serving, as a power

// What the libraries of products choose from, as far as it shows in their times.
constexpr std::array<std::int64_t, 3> tile_rows{16, 64, 128};
constexpr std::array<std::int64_t, 3> tile_columns{32, 64, 128};
constexpr std::array<std::int64_t, 5> k_parts{1, 2, 4, 8, 16};
constexpr std::int64_t k_step = 64;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The shortest work of all tiles, with k cut into so many parts.
double shortest_work(const KernelCost& cost, const ProductWork& work, std::int64_t parts) {
  const auto steps = static_cast<double>(divide_up(divide_up(work.k, parts), k_step));
  double shortest = std::numeric_limits<double>::infinity();
  for (const std::int64_t rows : tile_rows) {
    for (const std::int64_t columns : tile_columns) {
      const std::int64_t items = divide_up(work.m, rows) * divide_up(work.n, columns) * parts;
      const auto loaded = static_cast<double>((rows + columns) * k_step * work.element_bytes);
      const auto multiplied = static_cast<double>(rows * columns * k_step);
      const double step = std::max(cost.step.value() + loaded / cost.unit_bandwidth.value(),
                                   multiplied / cost.unit_mac_rate.value());
      const double passes = passes_of(static_cast<double>(items) / static_cast<double>(cost.units));
      shortest = std::min(shortest, passes * (cost.item.value() + steps * step));
    }
  }
  return shortest;
}

Seconds product_time(const KernelCost& cost, const ProductWork& work, CacheState cache) {
  assert(work.m >= 1 && work.n >= 1 && work.k >= 1 && cost.units >= 1);
  const auto bytes = static_cast<double>(bytes_of(work).value());
  const double share = cache_share(cost, bytes, cache);
  const double slowed = work.m > tile_rows.front() ? 1 + cost.tall_traffic : 1;
  const Seconds arithmetic = macs_of(work) / cost.mac_rate;
  Seconds shortest{unlimited};
  for (const std::int64_t parts : k_parts) {
    if (parts > 1 && divide_up(work.k, k_step) < parts) {
      break;
    }
    const auto sums =
        parts == 1 ? 0.0 : static_cast<double>(2 * parts * work.m * work.n * sum_bytes);
    const Seconds launches = parts == 1 ? cost.launch : cost.launch + cost.further_launch;
    const Seconds traffic = slowed * transfer_time(cost, bytes + sums, share);
    const Seconds busy(shortest_work(cost, work, parts));
    shortest = std::min(shortest, launches + together(cost, {busy, traffic, arithmetic}));
  }
  return work.element_bytes == 1 ? shortest + cost.narrow_launch : shortest;
}

}  // namespace

Bytes bytes_of(const KernelWork& work) {
  if (const auto* sweep = std::get_if<SweepWork>(&work)) {
    const std::int64_t cached =
        sweep->batch * sweep->kv_heads * sweep->context * 2 * sweep->head_dim;
    return Bytes(cached * sweep->element_bytes +
                 2 * sweep->batch * sweep->query_heads * sweep->head_dim * value_bytes);
  }
  const auto& product = std::get<ProductWork>(work);
  return Bytes((product.n + product.m) * product.k * product.element_bytes +
               product.m * product.n * value_bytes);
}

Macs macs_of(const KernelWork& work) {
  if (const auto* sweep = std::get_if<SweepWork>(&work)) {
    return Macs(2 * sweep->batch * sweep->query_heads * sweep->context * sweep->head_dim);
  }
  const auto& product = std::get<ProductWork>(work);
  return Macs(product.m * product.n * product.k);
}

const KernelCost& cost_of(const DeviceCost& device, const KernelWork& work) {
  static const KernelCost ideal;
  const auto given = [](const std::optional<KernelCost>& cost) -> const KernelCost& {
    return cost ? *cost : ideal;
  };
  if (const auto* product = std::get_if<ProductWork>(&work)) {
    const bool narrow = product->element_bytes == 1 && device.narrow_product;
    return given(narrow ? device.narrow_product : device.product);
  }
  return given(device.sweep);
}

Seconds copy_time(const DeviceCost& device, Bytes bytes) {
  const KernelCost& product = cost_of(device, ProductWork{});
  return product.launch + bytes / product.bandwidth;
}

DeviceCost slowed(const DeviceCost& device, double factor) {
  const auto slow = [factor](std::optional<KernelCost> cost) {
    if (cost) {
      for (Seconds KernelCost::*time : kernel_times) {
        (*cost).*time = factor * (*cost).*time;
      }
      const auto slower = [factor](auto& rate) {
        rate = std::remove_reference_t<decltype(rate)>(rate.value() / factor);
      };
      slower(cost->unit_bandwidth);
      slower(cost->unit_mac_rate);
      slower(cost->mac_rate);
      slower(cost->bandwidth);
      slower(cost->cache_bandwidth);
    }
    return cost;
  };
  return {slow(device.sweep), slow(device.product), slow(device.narrow_product)};
}

double passes_of(double fill) {
  return saved_of_a_pass * fill + (1 - saved_of_a_pass) * std::ceil(fill);
}

double cache_share(const KernelCost& cost, double bytes, CacheState cache) {
  if (cache == CacheState::cold || cost.cache == Bytes(0)) {
    return 0;
  }
  return 1 / (1 + std::pow(bytes / static_cast<double>(cost.cache.value()), cliff));
}

Seconds transfer_time(const KernelCost& cost, double bytes, double cached_share) {
  if (cached_share == 0) {
    return Seconds(bytes / cost.bandwidth.value());
  }
  return Seconds(cached_share * bytes / cost.cache_bandwidth.value() +
                 (1 - cached_share) * bytes / cost.bandwidth.value());
}

Seconds together(const KernelCost& cost, const std::array<Seconds, 3>& times) {
  const Seconds longest = *std::ranges::max_element(times);
  if (cost.serial == 0 || longest == Seconds(0)) {
    return longest;
  }
  double sum = 0;
  for (const Seconds time : times) {
    sum += std::pow(time.value() / longest.value(), 1 / cost.serial);
  }
  return std::pow(sum, cost.serial) * longest;
}

Seconds launch_time(const KernelCost& cost, const KernelWork& work, CacheState cache) {
  if (const auto* sweep = std::get_if<SweepWork>(&work)) {
    return launch_time(cost, plan_of(cost, *sweep), cache);
  }
  return product_time(cost, std::get<ProductWork>(work), cache);
}

}  // namespace qfs
