#include "decode/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "decode/graph_evaluation.hpp"
#include "decode/reference_decoder.hpp"

namespace qfs {
namespace {

// Per operation the only error left is fp32 arithmetic: about 1e-6 relative, growing slowly with
// the length of a sum. One part in a thousand in any input moves every output by about that much.
constexpr double operation_tolerance = 2e-5;
constexpr double append_tolerance = 0;  // a copy, rounded in a known way

/// End to end the number formats add up, a little in every layer; these bounds, about ten times
/// what Qwen3-0.6B in one format throughout was seen to cost, only catch what is not rounding.
double end_to_end_cost(Format format) {
  switch (format) {
    case Format::fp32:
      return 1e-4;
    case Format::fp16:
      return 6e-3;
    case Format::bf16:
    case Format::int8:
      return 5e-2;
    case Format::fp8_e4m3:
      return 0.2;
    case Format::fp8_e5m2:
      return 0.4;
  }
  throw std::logic_error("end_to_end_cost: unknown format");
}

// The graph in fp64 against the decoder in fp64: two orders of the same sums.
constexpr double graph_tolerance = 1e-9;

double tolerance_of(OpKind kind) {
  return kind == OpKind::append ? append_tolerance : operation_tolerance;
}

/// A unit with steps turns the rounding of a score near one into a whole step of that key's weight,
/// in whatever format: as if weights were rounded so coarsely. `nearest` has steps of e^h; with K =
/// 4 it was seen to cost 7e-2 in a bf16 run of three layers.
double end_to_end_cost(const SoftmaxUnit& unit) {
  if (unit.kind == SoftmaxKind::bf16_exp) {
    return end_to_end_cost(Format::bf16);
  }
  if (unit.kind == SoftmaxKind::fp8_exp) {
    return end_to_end_cost(Format::fp8_e4m3);
  }
  return has_grid(unit.kind) && unit.reconstruction == Reconstruction::nearest ? 0.5 : 0;
}

/// Weights and the initial cache cost nothing: the reference decoder has the same. What the run
/// appends is rounded to the cache's format.
double end_to_end_tolerance(const Formats& formats, const SoftmaxUnit& unit) {
  return std::max({end_to_end_cost(formats.kv), end_to_end_cost(formats.wire),
                   end_to_end_cost(formats.residual_wire), end_to_end_cost(unit)});
}

bool needs_history(OpKind kind) { return is_of_sweep(kind) || kind == OpKind::append; }

/// What all the scores of a row are to the reference decoder: append_first has no other history.
SoftmaxChoice softmax_of_row(const GraphConfig& config) {
  SoftmaxChoice choice = config.softmax;
  if (config.current_token == CurrentToken::append_first) {
    choice.calibration = Calibration::row;
  }
  return choice;
}

/// Collects what the checks find.
class Checker {
 public:
  Checker(const Graph& graph, const Inputs& inputs, const NumericLog& log,
          const GraphConfig& config, const std::function<void()>& progress)
      : graph_(graph),
        inputs_(inputs),
        log_(log),
        split_(cache_split(config)),
        softmax_(softmax_of_row(config)),
        recomputation_(graph, inputs, log, config.softmax.unit),
        progress_(progress) {}

  /// 1. Operations that depend on their arguments alone.
  void check_plain_operations() {
    for (const Operation& operation : graph_.operations) {
      if (!needs_history(operation.kind)) {
        note(operation, recomputation_.error_of(operation));
      }
    }
  }

  /// 2. Sweeps and appends, a shard of a request's layer at a time: it is rebuilt from every k, v
  /// ever made for it.
  void check_caches() {
    using Shard = std::tuple<RequestId, LayerId, std::size_t>;
    std::map<Shard, std::vector<const Operation*>> by_cache;
    for (const Operation& operation : graph_.operations) {
      if (needs_history(operation.kind)) {
        by_cache[{operation.request, operation.layer, operation.shard}].push_back(&operation);
      }
    }
    for (const auto& [cache, operations] : by_cache) {
      const auto& [request, layer, shard] = cache;
      check_cache(inputs_.cache_shard(request, layer, split_, shard), operations);
    }
  }

  /// 3. The reference decoder, fed with the tokens that the simulation chose: against what was
  /// computed, and against what the graph means.
  void check_end_to_end(const GraphConfig& config) {
    report_.graph_tolerance = graph_tolerance;
    report_.end_to_end_tolerance = end_to_end_tolerance(inputs_.config().formats, softmax_.unit);
    for (RequestId request{0}; request.value() < inputs_.config().contexts.size(); ++request) {
      ReferenceDecoder decoder(inputs_, config.block, request, softmax_);
      const GraphEvaluation evaluation(graph_, inputs_, log_, split_, request, softmax_.unit);
      for (StepId step{0}; step.value() < tokens_of(config, request); ++step) {
        check_step(decoder, evaluation, request, step);
      }
    }
  }

  NumericReport finish() {
    for (const auto& [kind, errors] : kinds_) {
      report_.kinds.push_back(errors);
    }
    for (const OpId id : log_.executed) {
      if (const auto failure = failed_.find(id); failure != failed_.end()) {
        report_.failures.push_back(failure->second);
      }
    }
    return std::move(report_);
  }

 private:
  void note(const Operation& operation, double error) {
    const OperationError entry{operation.kind, operation.layer, operation.step, operation.request,
                               error};
    KindErrors& kind = kinds_[operation.kind];
    kind.kind = operation.kind;
    kind.tolerance = tolerance_of(operation.kind);
    if (kind.operations == 0 || error > kind.worst.relative_error) {
      kind.worst = entry;
    }
    ++kind.operations;
    if (!(error <= kind.tolerance)) {
      failed_.emplace(operation.id, entry);
    }
    advance();
  }

  void advance() const {
    if (progress_) {
      progress_();
    }
  }

  void check_cache(KvCache history, const std::vector<const Operation*>& operations) {
    for (const Operation* operation : operations) {
      if (operation->kind == OpKind::append) {
        note(*operation, recomputation_.append_error(*operation));
        history.append(narrowed(*operation, 0), narrowed(*operation, 1));
      }
    }
    for (const Operation* operation : operations) {
      if (operation->kind == OpKind::sweep) {
        const Recomputation::Sweep want = recomputation_.recompute_sweep(*operation, history);
        note(*operation, recomputation_.sweep_error(*operation, want));
        look_for_missing_rows(*operation, history);
        note_sensitivity(operation->positions, want, history);
      } else if (operation->kind == OpKind::scores) {
        note(*operation, recomputation_.scores_error(*operation, history));
      } else if (operation->kind == OpKind::values) {
        const ValuesReference want = recomputation_.recompute_values(*operation, history);
        note(*operation, recomputation_.values_error(*operation, want));
        note_sensitivity(operation->positions, want, history);
      }
    }
  }

  /// A failed sweep may have come before the last rows of its cache had landed.
  void look_for_missing_rows(const Operation& sweep, const KvCache& history) {
    constexpr std::size_t most = 4;
    const auto failure = failed_.find(sweep.id);
    if (failure == failed_.end()) {
      return;
    }
    Operation shorter = sweep;
    for (std::size_t rows = 1; rows <= std::min(most, sweep.positions); ++rows) {
      shorter.positions = sweep.positions - rows;
      const Recomputation::Sweep want = recomputation_.recompute_sweep(shorter, history);
      if (recomputation_.sweep_error(shorter, want) <= tolerance_of(OpKind::sweep)) {
        failure->second.missing_rows = rows;
        failure->second.first_missing_row = shorter.positions;
        return;
      }
    }
  }

  [[nodiscard]] std::vector<float> narrowed(const Operation& append, std::size_t index) const {
    const std::vector<double> values = recomputation_.argument(append, index);
    return {values.begin(), values.end()};
  }

  /// Swept: a Recomputation::Sweep, or a ValuesReference.
  template <class Swept>
  void note_sensitivity(std::size_t positions, const Swept& sweep, const KvCache& history) {
    if (positions < 2) {
      return;
    }
    Sensitivity& sensitivity = report_.sensitivity;
    const double newest = recomputation_.omission_effect(sweep, history, positions - 1);
    const double oldest = recomputation_.omission_effect(sweep, history, 0);
    const bool first = sensitivity.sweeps == 0;
    sensitivity.newest = first ? newest : std::min(sensitivity.newest, newest);
    sensitivity.oldest = first ? oldest : std::min(sensitivity.oldest, oldest);
    ++sensitivity.sweeps;
  }

  void check_step(ReferenceDecoder& decoder, const GraphEvaluation& evaluation, RequestId request,
                  StepId step) {
    const OpId input = find(request, step, [](OpKind kind) { return kind == OpKind::embed; });
    const OpId output = find(request, step, [](OpKind kind) {
      return kind == OpKind::o || kind == OpKind::ffn || is_reduce(kind);
    });
    const std::vector<float>& x = log_.of(input);
    const std::vector<double> want = decoder.step({x.begin(), x.end()});
    report_.graph_error =
        std::max(report_.graph_error, relative_error(evaluation.of(output), want));
    EndToEndError error{step, request, relative_error(log_.of(output), want), true};
    if (inputs_.config().lm_head) {
      const std::vector<double> logits = decoder.logits(want);
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      error.same_token = static_cast<std::ptrdiff_t>(chosen_token(request, step)) == best;
    }
    report_.end_to_end.push_back(error);
    advance();
  }

  /// The best of the candidates, if several devices have a part of the vocabulary each.
  [[nodiscard]] float chosen_token(RequestId request, StepId step) const {
    std::vector<float> best;
    for (const Operation& operation : graph_.operations) {
      const bool asked = operation.kind == OpKind::lm_head && operation.request == request &&
                         operation.step == step;
      if (asked && (best.empty() || log_.of(operation.id)[1] > best[1])) {
        best = log_.of(operation.id);
      }
    }
    return best.at(0);
  }

  /// The last operation of a request's step whose kind qualifies.
  template <class Qualifies>
  [[nodiscard]] OpId find(RequestId request, StepId step, Qualifies qualifies) const {
    const auto& operations = graph_.operations;
    const auto found = std::find_if(operations.rbegin(), operations.rend(), [&](const auto& op) {
      return op.request == request && op.step == step && qualifies(op.kind);
    });
    return found->id;
  }

  const Graph& graph_;
  const Inputs& inputs_;
  const NumericLog& log_;
  CacheSplit split_;
  SoftmaxChoice softmax_;
  Recomputation recomputation_;
  const std::function<void()>& progress_;
  NumericReport report_;
  std::map<OpKind, KindErrors> kinds_;
  std::map<OpId, OperationError> failed_;
};

}  // namespace

NumericReport check_numerics(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                             const GraphConfig& config, const std::function<void()>& progress) {
  Checker checker(graph, inputs, log, config, progress);
  checker.check_plain_operations();
  checker.check_caches();
  checker.check_end_to_end(config);
  return checker.finish();
}

}  // namespace qfs
