#include "sim/sweep/repeating_layers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <tuple>

#include "sim/report/ledger.hpp"
#include "sim/report/steps.hpp"
#include "sim/report/waves.hpp"

namespace qfs {
namespace {

// Layers that are looked at: those before them differ in that nothing is under way yet, those after
// them in that nothing follows, or another wave is through.
constexpr std::size_t first = 2;
constexpr std::size_t periods = 6;

std::size_t few_layers(const RunConfig& run) { return first + periods + run.workload.in_flight; }

/// How much rows may differ from layer to layer.
Femtoseconds tolerance(const RunConfig& run, Femtoseconds period) {
  const bool is_ideal = run.compute_device.memory == MemoryTier::ideal &&
                        run.cache_device.memory == MemoryTier::ideal;
  return Femtoseconds(is_ideal ? 0 : period.value() / 50);
}

/// Of a row of a layer; times from when the layer before was through.
struct Happening {
  std::tuple<std::size_t, RowKind, OpKind, std::size_t> what;  // resource, ..., shard
  Femtoseconds start;
  Femtoseconds end;
  Bytes wire_bytes;

  [[nodiscard]] bool is_like(const Happening& other, Femtoseconds tolerance) const {
    const auto near = [&](Femtoseconds a, Femtoseconds b) {
      return std::abs((a - b).value()) <= tolerance.value();
    };
    return what == other.what && wire_bytes == other.wire_bytes && near(start, other.start) &&
           near(end, other.end);
  }
};
using Layer = std::vector<Happening>;

/// When each of the layers looked at was through, and before these the layer before.
using Marks = std::array<Femtoseconds, periods + 1>;

/// Of one token of a wave.
WaveRows rows_of(const WaveRows& rows, const WaveRequests& wave, StepId step) {
  const auto is_of_step = [&](const Row* row) {
    return std::ranges::any_of(row->members, [&](const Member& member) {
      return member.step == step && wave.contains(member.request);
    });
  };
  WaveRows own;
  std::ranges::copy_if(rows, std::back_inserter(own), is_of_step);
  return own;
}

Marks marks_of(const WaveRows& rows) {
  Marks marks{};
  for (const Row* row : rows) {
    const std::size_t place = row->layer.value() + 1 - first;  // wraps round before
    if (row->is_operation() && row->op == OpKind::o && place < marks.size()) {
      marks[place] = std::max(marks[place], row->end);
    }
  }
  return marks;
}

Layer layer_of(const WaveRows& rows, std::size_t number, Femtoseconds mark) {
  Layer layer;
  for (const Row* row : rows) {
    if (row->layer.value() == number) {
      layer.push_back({{row->resource, row->kind, row->op, row->shard},
                       row->start - mark,
                       row->end - mark,
                       row->wire_bytes});
    }
  }
  std::ranges::sort(layer, [](const Happening& a, const Happening& b) {
    return std::tie(a.what, a.start) < std::tie(b.what, b.start);
  });
  return layer;
}

bool repeats(const WaveRows& rows, const Marks& marks, Femtoseconds tolerance) {
  const Layer before = layer_of(rows, first, marks.front());
  for (std::size_t i = 1; i < periods; ++i) {
    const Layer layer = layer_of(rows, first + i, marks[i]);
    const auto is_like = [&](const Happening& a, const Happening& b) {
      return a.is_like(b, tolerance);
    };
    if (!std::ranges::equal(layer, before, is_like)) {
      return false;
    }
  }
  return !before.empty();
}

/// Whether a row could not begin before a cache had grown by another token.
bool waits_for_another_token(const ExecutionTable& table) {
  return std::ranges::any_of(table.rows, [&](const Row& row) {
    return std::ranges::any_of(row.deps, [&](const Dependency& dep) {
      const Row& before = table.rows[dep.row.value()];
      return before.op == OpKind::append && before.step != row.step && dep.arrival >= row.ready;
    });
  });
}

Bytes wire_bytes_of(const ExecutionTable& table, std::size_t layer) {
  Bytes bytes;
  for (const Row& row : table.rows) {
    const bool counts = row.layer.value() == layer && row.step == StepId(0);
    bytes += counts ? row.wire_bytes : Bytes(0);
  }
  return bytes;
}

}  // namespace

bool may_repeat(const RunConfig& run) {
  const bool all_are_alike = run.numerics.mode == NumericsMode::off &&
                             run.workload.request_tokens.empty() && !run.faults.any() &&
                             run.link.jitter == Seconds(0) && run.cache.policy.prefetch.ahead == 0;
  return all_are_alike && run.model.layers > few_layers(run);
}

RunConfig with_few_layers(RunConfig run) {
  run.model.layers = few_layers(run);
  return run;
}

std::optional<LayersLeftOut> layers_left_out(const RunConfig& few, std::size_t layers,
                                             const ExecutionTable& table) {
  const auto more = static_cast<std::int64_t>(layers - few.model.layers);
  const auto of_more = [more](Femtoseconds looked_at) {
    const auto [each, rest] = std::lldiv(looked_at.value(), periods);
    return Femtoseconds(each * more + rest * more / std::int64_t{periods});
  };
  const Workload& workload = few.workload;
  if (workload.tokens > 1 && waits_for_another_token(table)) {
    return std::nullopt;
  }
  LayersLeftOut left_out;
  for (const WaveRequests& wave : waves_of(workload.in_flight, workload.batch)) {
    const WaveRows of_wave = rows_of(table, wave);
    std::vector<Femtoseconds>& time = left_out.time.emplace_back();
    for (StepId step{0}; step.value() < workload.tokens; ++step) {
      const WaveRows rows = rows_of(of_wave, wave, step);
      const Marks marks = marks_of(rows);
      const Femtoseconds looked_at = marks.back() - marks.front();
      const Femtoseconds period(looked_at.value() / static_cast<std::int64_t>(periods));
      if (!repeats(rows, marks, tolerance(few, period))) {
        return std::nullopt;
      }
      time.push_back(of_more(looked_at));
      if (left_out.time.size() == 1 && step == StepId(0)) {
        const StepTime looked{marks.front(), marks.back(), marks.back()};
        const StepLedger ledger = ledgers_of(of_wave, std::span(&looked, 1)).front();
        left_out.sweep_exposed = of_more(ledger.sweep_exposed);
        left_out.link_exposed = of_more(ledger.link_exposed);
      }
    }
  }
  left_out.wire_bytes = Bytes(wire_bytes_of(table, first).value() * more);
  return left_out;
}

}  // namespace qfs
