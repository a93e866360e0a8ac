#include "decode/graph_evaluation.hpp"

#include <algorithm>
#include <span>

#include "decode/values.hpp"
#include "kernels/attention.hpp"

namespace qfs {

GraphEvaluation::GraphEvaluation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                                 RequestId request)
    : graph_(graph),
      inputs_(inputs),
      log_(log),
      reference_(inputs),
      outputs_(graph.operations.size()),
      appended_(inputs.shape().layers) {
  for (const Operation& operation : graph.operations) {
    if (operation.request == request) {
      evaluate(operation);
    }
  }
}

void GraphEvaluation::evaluate(const Operation& operation) {
  OperationReference::Arguments arguments;
  for (const Edge& edge : operation.inputs) {
    const Slice slice = slice_of(inputs_.shape(), graph_[edge.from].kind, edge.value);
    const auto first = of(edge.from).begin() + static_cast<std::ptrdiff_t>(slice.offset);
    arguments.emplace_back(first, first + static_cast<std::ptrdiff_t>(slice.count));
  }
  Vector& output = outputs_[operation.id.value()];
  if (operation.kind == OpKind::lm_head) {
    output.assign(log_.of(operation.id).begin(), log_.of(operation.id).end());
  } else if (operation.kind == OpKind::append) {
    appended_[operation.layer.value()].k.push_back(arguments[0]);
    appended_[operation.layer.value()].v.push_back(arguments[1]);
  } else if (operation.kind == OpKind::sweep) {
    output = sweep(operation, arguments[0]);
  } else {
    output = reference_.output(operation, arguments);
  }
}

/// The initial rows in one sweep; those appended since are folded in one by one.
GraphEvaluation::Vector GraphEvaluation::sweep(const Operation& operation, const Vector& q) const {
  const ModelShape& shape = inputs_.shape();
  const KvCache& initial = inputs_.cache(operation.request, operation.layer);
  const Rows& appended = appended_[operation.layer.value()];
  const std::size_t from_initial = std::min(operation.positions, initial.positions());
  const std::size_t from_appended = std::min(operation.positions - from_initial, appended.k.size());
  Vector o(shape.q_width());
  Vector lse(shape.heads);
  sweep_reference(q, initial.rows(from_initial), o, lse);
  for (std::size_t t = 0; t < from_appended; ++t) {
    fold_reference(q, appended.k[t], appended.v[t], shape.head_dim, o, lse);
  }
  o.insert(o.end(), lse.begin(), lse.end());
  return o;
}

}  // namespace qfs
