// The graph itself, evaluated operation by operation in fp64 without any rounding: what it means,
// whoever executes it in whatever format. Held against the straight-line decoder it proves the
// edges and the counts of positions.
#pragma once

#include <vector>

#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "decode/recompute.hpp"

namespace qfs {

class GraphEvaluation {
 public:
  /// Evaluates one request. Tokens are taken from the log: an arg max is not a number that could be
  /// close. All references outlive it.
  GraphEvaluation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                  RequestId request);

  /// The output of an operation of the request (values.hpp gives the layout).
  [[nodiscard]] const std::vector<double>& of(OpId id) const { return outputs_[id.value()]; }

 private:
  using Vector = std::vector<double>;
  /// Key and value rows appended to the cache of one layer.
  struct Rows {
    std::vector<Vector> k;
    std::vector<Vector> v;
  };

  void evaluate(const Operation& operation);
  [[nodiscard]] Vector sweep(const Operation& operation, const Vector& q) const;

  const Graph& graph_;
  const Inputs& inputs_;
  const NumericLog& log_;
  OperationReference reference_;
  std::vector<Vector> outputs_;  // by operation
  std::vector<Rows> appended_;   // by layer
};

}  // namespace qfs
