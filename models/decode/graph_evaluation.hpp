// The graph itself, evaluated operation by operation in fp64 without any rounding: what it means,
// whoever executes it in whatever format. Held against the straight-line decoder it proves the
// edges and the counts of positions.
#pragma once

#include <deque>
#include <vector>

#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/recompute.hpp"

namespace qfs {

class GraphEvaluation {
 public:
  /// Evaluates one request, whose cache is split so; `unit`: of calibrated sweeps. Tokens are taken
  /// from the log: an arg max is not a number that could be close. All references outlive it.
  GraphEvaluation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                  const CacheSplit& split, RequestId request, const SoftmaxUnit& unit = {});

  /// The output of an operation of the request (values.hpp gives the layout).
  [[nodiscard]] const std::vector<double>& of(OpId id) const { return outputs_[id.value()]; }

 private:
  using Vector = std::vector<double>;
  /// One shard of the cache of one layer: the rows before the first token, the key and value rows
  /// appended since.
  struct Shard {
    const KvCache* initial;
    std::vector<Vector> k;
    std::vector<Vector> v;
  };

  using Arguments = OperationReference::Arguments;

  void evaluate(const Operation& operation);
  [[nodiscard]] Vector evaluated(const Operation& operation, const Arguments& arguments);
  [[nodiscard]] Vector sweep(const Operation& operation, const Vector& q);
  [[nodiscard]] Vector values(const Operation& operation, const Arguments& arguments);
  [[nodiscard]] ReferenceRows rows_of(const Operation& operation);
  [[nodiscard]] Shard& shard_of(const Operation& operation) {
    return shards_[operation.layer.value() * split_.devices + operation.shard];
  }

  const Graph& graph_;
  const Inputs& inputs_;
  const NumericLog& log_;
  OperationReference reference_;
  std::vector<Vector> outputs_;  // by operation
  CacheSplit split_;
  SoftmaxUnit unit_;
  std::vector<Shard> shards_;   // by layer and shard
  std::deque<KvCache> pieces_;  // the initial rows of a split cache
};

}  // namespace qfs
