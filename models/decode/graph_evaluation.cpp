#include "decode/graph_evaluation.hpp"

#include <algorithm>
#include <span>

#include "decode/values.hpp"
#include "kernels/attention.hpp"

namespace qfs {

GraphEvaluation::GraphEvaluation(const Graph& graph, const Inputs& inputs, const NumericLog& log,
                                 const CacheSplit& split, RequestId request,
                                 const SoftmaxUnit& unit)
    : graph_(graph),
      inputs_(inputs),
      log_(log),
      reference_(inputs),
      outputs_(graph.operations.size()),
      split_(split),
      unit_(unit) {
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
  Arguments arguments;
  for (const Edge& edge : operation.inputs) {
    const Slice slice = slice_of(inputs_.shape(), graph_[edge.from], carried(edge));
    const auto first = of(edge.from).begin() + static_cast<std::ptrdiff_t>(slice.offset);
    arguments.emplace_back(first, first + static_cast<std::ptrdiff_t>(slice.count));
  }
  outputs_[operation.id.value()] = evaluated(operation, arguments);
}

GraphEvaluation::Vector GraphEvaluation::evaluated(const Operation& operation,
                                                   const Arguments& arguments) {
  switch (operation.kind) {
    case OpKind::lm_head:
      return {log_.of(operation.id).begin(), log_.of(operation.id).end()};
    case OpKind::append:
      shard_of(operation).k.push_back(arguments[0]);
      shard_of(operation).v.push_back(arguments[1]);
      return {};
    case OpKind::sweep:
      return sweep(operation, arguments[0]);
    case OpKind::scores:
      return scores_reference(arguments[0], rows_of(operation));
    case OpKind::values:
      return values(operation, arguments);
    default:
      return reference_.output(operation, arguments);
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

/// The initial rows, then those appended since. More than have been made: zeros.
ReferenceRows GraphEvaluation::rows_of(const Operation& operation) {
  const ModelShape own = part_of(inputs_.shape(), operation.part);
  const Shard& shard = shard_of(operation);
  const auto read = [&shard](std::size_t position, std::span<double> k, std::span<double> v) {
    const std::size_t initial = shard.initial->positions();
    if (position < initial) {
      std::vector<float> k_row(k.size());
      std::vector<float> v_row(v.size());
      shard.initial->read(position, k_row, v_row);
      std::ranges::copy(k_row, k.begin());
      std::ranges::copy(v_row, v.begin());
    } else if (position - initial < shard.k.size()) {
      std::ranges::copy(shard.k[position - initial], k.begin());
      std::ranges::copy(shard.v[position - initial], v.begin());
    } else {
      std::ranges::fill(k, 0.0);
      std::ranges::fill(v, 0.0);
    }
  };
  return {operation.positions, own.kv_heads, own.head_dim, read};
}

GraphEvaluation::Vector GraphEvaluation::values(const Operation& operation,
                                                const Arguments& arguments) {
  std::vector<Vector> extrema;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    if (operation.inputs[index].value == ValueKind::extrema) {
      extrema.push_back(arguments[index]);
    }
  }
  Vector current;
  if (weighs_current_token(operation)) {
    const std::size_t q = arguments.size() - 2;  // then k
    current = key_scores_reference(arguments[q], arguments[q + 1], inputs_.shape().head_dim);
  }
  const Vector* weighed = current.empty() ? nullptr : &current;
  return values_reference(unit_, anchors_reference(extrema, weighed), arguments[0],
                          rows_of(operation), weighed)
      .output(weighed);
}

}  // namespace qfs
