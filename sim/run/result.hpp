// What a run found: one entry per block order and context, each with its whole table of executed
// operations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "decode/block_order.hpp"
#include "decode/numeric_report.hpp"
#include "hardware/execution_table.hpp"
#include "sim/config/run_config.hpp"

namespace qfs {

/// The same point by the closed form and by the roofline (analysis/).
struct AnalyticAnswer {
  Seconds stack_time;               // closed form; of the first token, without LM head
  std::vector<Seconds> step_times;  // closed form; per token
  Seconds roofline;                 // lower bound of the first step, from its busiest resource
  std::string roofline_bound;       // that resource, e.g. "cache_device memory"
};

struct PointResult {
  BlockOrder block = BlockOrder::standard;
  std::size_t context = 0;
  ExecutionTable table;
  std::optional<NumericReport> numerics;  // of the numeric point only
  AnalyticAnswer analytic;
};

/// A context at which something begins, found by the simulator and by the closed form. Positions
/// per request. `exposed_at_0`: it has begun already with an empty cache; `never`: not up to the
/// limit of the search.
enum class CrossoverState { found, exposed_at_0, never };

template <>
inline constexpr EnumNames<CrossoverState, 3> enum_names<CrossoverState>{{
    {CrossoverState::found, "found"},
    {CrossoverState::exposed_at_0, "exposed_at_0"},
    {CrossoverState::never, "never"},
}};

struct Crossover {
  std::string name;  // "ffn": sweep and ffn take equally long; "latency": the merge first waits for
                     // the sweep
  BlockOrder block = BlockOrder::standard;
  CrossoverState state = CrossoverState::found;
  double simulated = 0;               // fractional, from the simulated times on both sides
  std::optional<double> closed_form;  // none where its conditions do not hold
  double searched = 0;                // never: not up to this context
};

struct RunResult {
  RunConfig config;
  std::vector<PointResult>
      points;  // by context as configured (the main one first), then config.block, then compare
  std::vector<Crossover> crossovers;
};

}  // namespace qfs
