#include "sim/calibrate/identifiable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "hardware/device/sweep_plan.hpp"
#include "sim/config/complaint.hpp"

namespace qfs {
namespace {

constexpr std::size_t fewest_rows = 2;    // on each side of what a number decides
constexpr std::size_t fewest_values = 3;  // of what a number is the slope over

/// A row as the numbers see it.
struct Seen {
  KernelWork work;
  SweepPlan plan;     // of a sweep
  double cached = 0;  // bytes as a share of the cache's size, vendor's figure
  bool narrow = false;
};

using Pick = std::function<std::int64_t(const Seen&)>;

/// What the rows must hold for a number: enough values of something, or rows of two kinds.
struct Need {
  std::string_view number;
  const char* what;  // of the values, or of the rows on the one side
  Pick pick;         // the value, or 1 and 0 for the two kinds
  bool kinds;        // the latter
};

const SweepWork& sweep(const Seen& seen) { return std::get<SweepWork>(seen.work); }
const ProductWork& product(const Seen& seen) { return std::get<ProductWork>(seen.work); }

std::vector<Need> sweep_needs() {
  const auto cached = [](const Seen& s) { return s.cached < 0.25 ? 1 : 0; };
  const auto beyond = [](const Seen& s) { return s.cached > 2 ? 1 : 0; };
  return {
      {"item", "batches", [](const Seen& s) { return sweep(s).batch; }, false},
      {"item", "more than one pass of items", [](const Seen& s) { return s.plan.passes > 1.2; },
       true},
      {"step", "contexts", [](const Seen& s) { return sweep(s).context; }, false},
      {"step", "more than one step", [](const Seen& s) { return s.plan.steps > 0; }, true},
      {"further_launch", "a launch beside", [](const Seen& s) { return s.plan.further > 0; }, true},
      {"part", "items cut into parts", [](const Seen& s) { return s.plan.parts > 1; }, true},
      {"rows", "more than eight query heads over a KV head",
       [](const Seen& s) { return s.plan.wide > 0; }, true},
      {"bandwidth", "more than twice the cache's bytes", beyond, true},
      {"cache_bandwidth", "less than a quarter of the cache's bytes", cached, true},
      {"cache", "less than a quarter of the cache's bytes", cached, true},
      {"cache", "more than twice the cache's bytes", beyond, true},
      {"serial", "more than twice the cache's bytes", beyond, true},
      {"sequence", "batches", [](const Seen& s) { return sweep(s).batch; }, false},
      {"result", "head counts", [](const Seen& s) { return sweep(s).query_heads; }, false},
      {"narrow_launch", "an fp8 cache", [](const Seen& s) { return s.narrow; }, true},
      {"narrow_item", "an fp8 cache", [](const Seen& s) { return s.narrow; }, true},
  };
}

std::vector<Need> product_needs() {
  const auto m_values = [](const Seen& s) { return product(s).m; };
  const auto beyond = [](const Seen& s) { return s.cached > 1 ? 1 : 0; };
  const auto tiny = [](const Seen& s) { return s.cached < 0.1 ? 1 : 0; };
  return {
      {"item", "n", [](const Seen& s) { return product(s).n; }, false},
      {"step", "k", [](const Seen& s) { return product(s).k; }, false},
      {"further_launch", "n below 4096", [](const Seen& s) { return product(s).n < 4096; }, true},
      {"unit_bandwidth", "n", [](const Seen& s) { return product(s).n; }, false},
      {"unit_mac_rate", "m", m_values, false},
      {"unit_mac_rate", "m of at least 64", [](const Seen& s) { return product(s).m >= 64; }, true},
      {"bandwidth", "more than the cache's bytes", beyond, true},
      {"cache_bandwidth", "less than a tenth of the cache's bytes", tiny, true},
      {"cache", "less than a tenth of the cache's bytes", tiny, true},
      {"tall_traffic", "m above 16", [](const Seen& s) { return product(s).m > 16; }, true},
      {"serial", "more than the cache's bytes", beyond, true},
  };
}

std::vector<Seen> seen_rows(const DeviceFacts& facts, KernelKind kind,
                            std::span<const MeasuredKernel> rows) {
  const KernelCost cost = sweep_facts(facts);
  std::vector<Seen> all;
  all.reserve(rows.size());
  for (const MeasuredKernel& row : rows) {
    Seen& seen = all.emplace_back();
    seen.work = row.work;
    seen.cached =
        static_cast<double>(bytes_of(row.work).value()) / static_cast<double>(facts.cache.value());
    if (kind == KernelKind::sweep) {
      seen.plan = plan_of(cost, sweep(seen));
      seen.narrow = seen.plan.narrow;
    }
  }
  return all;
}

/// What the rows lack; empty if nothing.
std::string lack_of(const Need& need, std::span<const Seen> rows) {
  if (need.kinds) {
    const auto with = static_cast<std::size_t>(
        std::ranges::count_if(rows, [&](const Seen& seen) { return need.pick(seen) != 0; }));
    if (with >= fewest_rows && rows.size() - with >= fewest_rows) {
      return {};
    }
    return fmt::format("{} of {} rows have {}; needed: at least {} with and {} without", with,
                       rows.size(), need.what, fewest_rows, fewest_rows);
  }
  std::set<std::int64_t> values;
  for (const Seen& seen : rows) {
    values.insert(need.pick(seen));
  }
  if (values.size() >= fewest_values) {
    return {};
  }
  return fmt::format("the rows have {} different {}; needed: at least {}", values.size(), need.what,
                     fewest_values);
}

}  // namespace

void require_identifiable(const DeviceFacts& facts, KernelKind kind,
                          std::span<const MeasuredKernel> rows, const std::string& source) {
  const std::vector<FreeParameter> parameters = free_parameters(facts, kind, rows);
  const auto refuse = [&](std::string_view number, const std::string& lack) {
    config::complain({source}, fmt::format("{}, {}", facts.name, name_of(kind)),
                     fmt::format("{} cannot be identified: {}", number, lack));
  };
  if (rows.size() < 2 * parameters.size()) {
    refuse(parameters.front().name,
           fmt::format("{} rows for {} numbers; needed: at least {}", rows.size(),
                       parameters.size(), 2 * parameters.size()));
  }
  const std::vector<Seen> seen = seen_rows(facts, kind, rows);
  for (const Need& need : kind == KernelKind::sweep ? sweep_needs() : product_needs()) {
    const bool is_free = std::ranges::any_of(
        parameters, [&](const FreeParameter& free) { return free.name == need.number; });
    if (is_free) {
      if (const std::string lack = lack_of(need, seen); !lack.empty()) {
        refuse(need.number, lack);
      }
    }
  }
}

}  // namespace qfs
