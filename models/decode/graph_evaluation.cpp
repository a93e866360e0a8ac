#include "decode/graph_evaluation.hpp"

#include <algorithm>
#include <span>

#include "decode/values.hpp"
#include "kernels/attention.hpp"

namespace qfs {

GraphEvaluation::GraphEvaluation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                                 const CacheSplit& split, RequestId request)
    : graph_(graph),
      inputs_(inputs),
      log_(log),
      reference_(inputs),
      outputs_(graph.operations.size()),
      split_(split) {
  for (LayerId layer{0}; layer.value() < inputs.shape().layers; ++layer) {
    if (split.devices == 1) {
      shards_.push_back({&inputs.cache(request, layer), {}, {}});
      continue;
    }
    for (std::size_t shard = 0; shard < split.devices; ++shard) {
      pieces_.push_back(inputs.cache_shard(request, layer, split, shard));
      shards_.push_back({&pieces_.back(), {}, {}});
    }
  }
  for (const Operation& operation : graph.operations) {
    if (operation.request == request) {
      evaluate(operation);
    }
  }
}

void GraphEvaluation::evaluate(const Operation& operation) {
  OperationReference::Arguments arguments;
  for (const Edge& edge : operation.inputs) {
    const Slice slice = slice_of(inputs_.shape(), graph_[edge.from], carried(edge));
    const auto first = of(edge.from).begin() + static_cast<std::ptrdiff_t>(slice.offset);
    arguments.emplace_back(first, first + static_cast<std::ptrdiff_t>(slice.count));
  }
  Vector& output = outputs_[operation.id.value()];
  if (operation.kind == OpKind::lm_head) {
    output.assign(log_.of(operation.id).begin(), log_.of(operation.id).end());
  } else if (operation.kind == OpKind::append) {
    shard_of(operation).k.push_back(arguments[0]);
    shard_of(operation).v.push_back(arguments[1]);
  } else if (operation.kind == OpKind::sweep) {
    output = sweep(operation, arguments[0]);
  } else {
    output = reference_.output(operation, arguments);
  }
}

/// The initial rows in one sweep; those appended since are folded in one by one.
GraphEvaluation::Vector GraphEvaluation::sweep(const Operation& operation, const Vector& q) {
  const ModelShape own = part_of(inputs_.shape(), operation.part);
  const Shard& shard = shard_of(operation);
  const std::size_t from_initial = std::min(operation.positions, shard.initial->positions());
  const std::size_t from_appended = std::min(operation.positions - from_initial, shard.k.size());
  Vector o(own.q_width());
  Vector lse(own.heads);
  sweep_reference(q, shard.initial->rows(from_initial), o, lse);
  for (std::size_t t = 0; t < from_appended; ++t) {
    fold_reference(q, shard.k[t], shard.v[t], own.head_dim, o, lse);
  }
  o.insert(o.end(), lse.begin(), lse.end());
  return o;
}

}  // namespace qfs
