#include "decode/graph.hpp"

#include <utility>

#include "decode/layer_graph.hpp"

namespace qfs {
namespace {

/// Adds the steps of one request, one after the other.
class RequestBuilder {
 public:
  RequestBuilder(Graph& graph, const ModelShape& shape, const GraphConfig& config,
                 RequestId request)
      : graph_(graph),
        shape_(shape),
        config_(config),
        request_(request),
        plan_(cache_split(config), request.value(), config.contexts[request.value()],
              config.tokens),
        setting_(layer_setting()),
        landed_(shape.layers, LastAppends(setting_.shards)),
        previous_(config.ranks) {}

  void add_step(StepId step) {
    Operation origin;
    origin.request = request_;
    origin.step = step;
    origin.position = config_.contexts[request_.value()] + step.value();
    const StreamPoint x = add_each(OpKind::embed, origin, previous_);
    StreamPoints at{.now = x, .before_ffn = x, .input = x};
    for (LayerId layer{0}; layer.value() < shape_.layers; ++layer) {
      origin.layer = layer;
      LayerBuilder builder(graph_, setting_, origin, landed_[layer.value()]);
      at = add_layer(config_.block, builder, at);
    }
    finish_step(origin, at.now);
  }

 private:
  using EdgesByRank = std::vector<Edges>;

  [[nodiscard]] LayerSetting layer_setting() const {
    const CacheSplit split = cache_split(config_);
    const bool by_heads = split.by == SplitBy::heads;
    const bool fused = config_.fuse_qkv && config_.current_token == CurrentToken::append_first;
    return {.current_token = config_.current_token,
            .ranks = config_.ranks,
            .shards = split.devices,
            .by_heads = by_heads,
            .fused_qkv = fused,
            .hold_residual = config_.hold_residual,
            .two_phases = config_.softmax.is_calibrated(),
            .weigh_current_token = weighs_current_token(config_),
            .plan = plan_};
  }

  /// One operation of the kind a rank.
  StreamPoint add_each(OpKind kind, Operation origin, const EdgesByRank& inputs) {
    StreamPoint added;
    for (std::size_t rank = 0; rank < config_.ranks; ++rank) {
      origin.shard = rank;
      origin.part = {rank, config_.ranks};
      added.writers.push_back(graph_.add(kind, origin, inputs[rank]));
    }
    return added;
  }

  /// What the next token's input waits for. Ranks with a part of the vocabulary each have a
  /// candidate; every rank picks the best for itself.
  void finish_step(const Operation& origin, const StreamPoint& x) {
    EdgesByRank inputs;
    for (const OpId writer : x.writers) {
      inputs.push_back({{writer, ValueKind::residual}});
    }
    if (!config_.lm_head) {
      for (std::size_t rank = 0; rank < config_.ranks; ++rank) {
        previous_[rank] = {{x.writers[rank], ValueKind::order}};
      }
      return;
    }
    const StreamPoint heads = add_each(OpKind::lm_head, origin, inputs);
    const ValueKind choice = config_.ranks == 1 ? ValueKind::token : ValueKind::candidate;
    Edges chosen;
    for (const OpId head : heads.writers) {
      chosen.push_back({head, choice});
    }
    previous_.assign(config_.ranks, chosen);
  }

  Graph& graph_;
  const ModelShape& shape_;
  const GraphConfig& config_;
  RequestId request_;
  ShardPlan plan_;
  LayerSetting setting_;
  std::vector<LastAppends> landed_;  // by layer
  EdgesByRank previous_;             // what the next token's input waits for
};

}  // namespace

OpId Graph::add(OpKind kind, Operation origin, Edges inputs) {
  origin.id = OpId(operations.size());
  origin.kind = kind;
  origin.inputs = std::move(inputs);
  operations.push_back(std::move(origin));
  return operations.back().id;
}

CacheSplit cache_split(const GraphConfig& config) {
  return config.ranks > 1 ? CacheSplit{config.ranks, SplitBy::heads} : config.split;
}

Graph make_graph(const ModelShape& shape, const GraphConfig& config) {
  Graph graph;
  for (RequestId request{0}; request.value() < config.contexts.size(); ++request) {
    RequestBuilder builder(graph, shape, config, request);
    for (StepId step{0}; step.value() < tokens_of(config, request); ++step) {
      builder.add_step(step);
    }
    if (request == RequestId(0)) {  // the others have about as many
      graph.operations.reserve(graph.operations.size() * config.contexts.size());
    }
  }
  return graph;
}

}  // namespace qfs
