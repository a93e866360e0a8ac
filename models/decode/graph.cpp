#include "decode/graph.hpp"

#include <optional>
#include <utility>

#include "decode/layer_graph.hpp"

namespace qfs {
namespace {

/// Adds the steps of one request, one after the other.
class RequestBuilder {
 public:
  RequestBuilder(Graph& graph, const ModelShape& shape, const GraphConfig& config,
                 RequestId request)
      : graph_(graph), shape_(shape), config_(config), request_(request), appends_(shape.layers) {}

  void add_step(StepId step) {
    Operation origin;
    origin.request = request_;
    origin.step = step;
    origin.position = config_.contexts[request_.value()] + step.value();
    const StreamPoint x{graph_.add(OpKind::embed, origin, previous_)};
    StreamPoints at{.now = x, .before_ffn = x, .input = x};
    for (LayerId layer{0}; layer.value() < shape_.layers; ++layer) {
      origin.layer = layer;
      std::optional<OpId>& append = appends_[layer.value()];
      std::vector<Edge> landed;
      if (append) {
        landed.push_back({*append, ValueKind::order});
      }
      LayerBuilder builder(graph_, config_.current_token, origin, std::move(landed));
      at = add_layer(config_.block, builder, at);
      append = builder.append();
    }
    finish_step(origin, at.now);
  }

 private:
  void finish_step(const Operation& origin, StreamPoint x) {
    if (config_.lm_head) {
      previous_ = {{graph_.add(OpKind::lm_head, origin, {{x.writer, ValueKind::residual}}),
                    ValueKind::token}};
    } else {
      previous_ = {{x.writer, ValueKind::order}};
    }
  }

  Graph& graph_;
  const ModelShape& shape_;
  const GraphConfig& config_;
  RequestId request_;
  std::vector<std::optional<OpId>> appends_;  // of the step before, by layer
  std::vector<Edge> previous_;                // what the next token's input waits for
};

}  // namespace

OpId Graph::add(OpKind kind, Operation origin, std::vector<Edge> inputs) {
  origin.id = OpId(operations.size());
  origin.kind = kind;
  origin.inputs = std::move(inputs);
  operations.push_back(std::move(origin));
  return operations.back().id;
}

Graph make_graph(const ModelShape& shape, const GraphConfig& config) {
  Graph graph;
  for (RequestId request{0}; request.value() < config.contexts.size(); ++request) {
    RequestBuilder builder(graph, shape, config, request);
    for (StepId step{0}; step.value() < config.tokens; ++step) {
      builder.add_step(step);
    }
  }
  return graph;
}

}  // namespace qfs
