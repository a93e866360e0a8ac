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
#include "sim/run/achieved.hpp"

namespace qfs {

/// A lower bound, and the resource that it comes from, e.g. "cache_device memory".
struct AnalyticBound {
  Seconds time;
  std::string resource;
};

/// The same point by the closed form and by the roofline (analysis/), where these apply.
struct AnalyticAnswer {
  Seconds stack_time;  // closed form; of the first token of wave 0, without LM head; 0: none
  std::vector<std::vector<Seconds>> step_times = {};  // closed form; by wave and token
  std::optional<AnalyticBound> roofline = {};         // of the first step
  std::optional<AnalyticBound> round = {};            // of a token of every wave in flight
  /// Closed form at the bandwidths that the memories achieve; of the first step of wave 0.
  std::optional<Seconds> achieved_step_time = {};
};

struct PointResult {
  BlockOrder block = BlockOrder::standard;
  std::size_t context = 0;
  ExecutionTable table;
  std::optional<NumericReport> numerics;  // of the numeric point only
  AnalyticAnswer analytic;
};

enum class CrossoverKind {
  ffn,      // a layer's sweep and its feed-forward take equally long
  latency,  // the merge first waits for the sweep
  busy,     // pooled: cache side and pool are busy equally long in a layer
};

template <>
inline constexpr EnumNames<CrossoverKind, 3> enum_names<CrossoverKind>{{
    {CrossoverKind::ffn, "ffn"},
    {CrossoverKind::latency, "latency"},
    {CrossoverKind::busy, "busy"},
}};

/// A context at which something begins, found by the simulator and by the closed form. Positions
/// per request, of one wave by itself. `exposed_at_0`: it has begun already with an empty cache;
/// `never`: not up to the limit of the search.
enum class CrossoverState { found, exposed_at_0, never };

template <>
inline constexpr EnumNames<CrossoverState, 3> enum_names<CrossoverState>{{
    {CrossoverState::found, "found"},
    {CrossoverState::exposed_at_0, "exposed_at_0"},
    {CrossoverState::never, "never"},
}};

struct Crossover {
  CrossoverKind kind = CrossoverKind::ffn;
  BlockOrder block = BlockOrder::standard;
  CrossoverState state = CrossoverState::found;
  double simulated = 0;                 // fractional, from the simulated times on both sides
  std::optional<double> closed_form;    // none where its conditions do not hold
  std::optional<double> achieved = {};  // the same at the bandwidths that the memories achieve
  std::size_t first_beyond = 0;         // found: the smallest context beyond it
  double searched = 0;                  // never: not up to this context
};

struct RunResult {
  RunConfig config;
  std::optional<AchievedBandwidth> achieved = {};  // where a memory is DRAM
  std::vector<PointResult>
      points;  // by context as configured (the main one first), then config.block, then compare
  std::vector<Crossover> crossovers;
};

}  // namespace qfs
