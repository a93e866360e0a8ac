// One executed operation again, in fp64, from the values that its producers really made: what its
// kernel should have returned before any rounding of its output.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "decode/calibrated_reference.hpp"
#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/kv_cache.hpp"
#include "decode/values.hpp"

namespace qfs {

/// The output of every executed operation, by id, as its kernel returned it (values.hpp gives the
/// layout).
struct NumericLog {
  std::vector<std::vector<float>> outputs;
  std::vector<OpId> executed;  // in the order in which they ended

  explicit NumericLog(std::size_t operations) : outputs(operations) {}
  [[nodiscard]] const std::vector<float>& of(OpId id) const { return outputs[id.value()]; }
  void note(OpId id, std::vector<float> output) {
    outputs[id.value()] = std::move(output);
    executed.push_back(id);
  }
};

/// The fp64 form of every operation, as a function of its arguments alone (in the order of its
/// inputs).
class OperationReference {
 public:
  using Vector = std::vector<double>;
  using Arguments = std::vector<Vector>;

  /// `inputs` outlives it.
  explicit OperationReference(const Inputs& inputs) : inputs_(inputs) {}

  /// The output, for every kind but append, sweep and its phases (which need the cache) and
  /// lm_head.
  [[nodiscard]] Vector output(const Operation& operation, const Arguments& arguments) const;
  /// Of a part of the vocabulary.
  [[nodiscard]] Vector logits(const Operation& lm_head, const Vector& residual) const;

 private:
  [[nodiscard]] Vector embed(const Operation& operation, const Arguments& arguments) const;
  [[nodiscard]] Vector project(const Operation& operation, const Vector& residual) const;
  [[nodiscard]] Vector merge(const Operation& operation, const Arguments& arguments) const;
  void fold_current(const Operation& merge, const Arguments& arguments, Vector& o,
                    Vector& lse) const;
  [[nodiscard]] Vector project_output(const Operation& operation, const Arguments& arguments) const;
  [[nodiscard]] Vector reduce(const Arguments& arguments) const;
  [[nodiscard]] Vector feed_forward(const Operation& operation, const Vector& residual) const;
  [[nodiscard]] Vector normed(const Vector& x, const std::vector<Bf16>& gain) const;
  void add_heads(const Operation& operation, const RowStore& w, const std::vector<Bf16>& gain,
                 const Vector& x, Vector& output) const;
  [[nodiscard]] const LayerWeights& weights(const Operation& operation) const {
    return inputs_.weights().layer(operation.layer);
  }
  [[nodiscard]] const ModelShape& shape() const { return inputs_.shape(); }

  const Inputs& inputs_;
};

class Recomputation {
 public:
  /// `unit`: of calibrated sweeps. All references outlive it.
  Recomputation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                const SoftmaxUnit& unit = {});

  /// Input `index` of the operation: what its producer made, rounded to the value's format.
  [[nodiscard]] std::vector<double> argument(const Operation& operation, std::size_t index) const;

  /// The relative error of what the operation returned; for every kind but append, sweep and its
  /// phases.
  [[nodiscard]] double error_of(const Operation& operation) const;
  /// The same for an append.
  [[nodiscard]] double append_error(const Operation& append) const;

  /// A sweep in fp64: its query, and the state that it should have returned.
  struct Sweep {
    std::vector<double> q;
    std::vector<double> o;
    std::vector<double> lse;
  };
  /// `history`: the shard of the cache of its request and layer with every row ever made for it.
  [[nodiscard]] Sweep recompute_sweep(const Operation& sweep, const KvCache& history) const;
  [[nodiscard]] double sweep_error(const Operation& sweep, const Sweep& want) const;
  /// Relative change of the sweep's o if one of its rows had been left out. Needs two rows.
  [[nodiscard]] double omission_effect(const Sweep& sweep, const KvCache& history,
                                       std::size_t row) const;

  /// The first phase of a calibrated sweep: every score, and that the extrema are theirs.
  [[nodiscard]] double scores_error(const Operation& scores, const KvCache& history) const;
  /// The second, from the scores that the device really has: a unit with steps would turn their
  /// rounding into jumps. Within rounding of a step either side of it is right.
  [[nodiscard]] ValuesReference recompute_values(const Operation& values,
                                                 const KvCache& history) const;
  [[nodiscard]] double values_error(const Operation& values, const ValuesReference& want) const;
  /// As of a sweep, its grid held.
  [[nodiscard]] double omission_effect(const ValuesReference& values, const KvCache& history,
                                       std::size_t row) const;

 private:
  [[nodiscard]] double lm_head_error(const Operation& operation) const;
  [[nodiscard]] std::vector<double> logged_current_scores(const Operation& values) const;
  /// Relative change of o, all heads, if a row of which each head has such a share were left out.
  [[nodiscard]] double omission_effect(std::span<const double> o, std::span<const double> shares,
                                       const KvCache& history, std::size_t row) const;
  [[nodiscard]] const ModelShape& shape() const { return inputs_.shape(); }

  const Graph& graph_;
  const Inputs& inputs_;
  const NumericLog& log_;
  OperationReference reference_;
  SoftmaxUnit unit_;
};

/// L2 norm of (got - want) over L2 norm of want; infinite if anything is not finite or nothing was
/// returned.
double relative_error(std::span<const double> got, std::span<const double> want);
double relative_error(std::span<const float> got, std::span<const double> want);

}  // namespace qfs
