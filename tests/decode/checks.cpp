// The reference decoder and the check themselves: right by an independent route, and able to fail.
#include <array>
#include <cmath>
#include <vector>

#include "decode/check.hpp"
#include "decode/device_numerics.hpp"
#include "decode/reference_decoder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

/// What a device holds that does all by itself.
Holdings everything() {
  Holdings holdings;
  for (const auto& [kind, name] : enum_names<OpKind>) {
    holdings.operations.insert(kind);
  }
  holdings.shard = 0;
  return holdings;
}

/// The graph executed in order on one device, by the fast kernels.
NumericLog execute(const Graph& graph, const Inputs& inputs) {
  NumericLog log(graph.operations.size());
  DeviceNumerics device(graph, inputs, everything());
  for (const Operation& operation : graph.operations) {
    const Operation* member = &operation;
    log.note(operation.id, device.store(operation, device.compute({&member, 1}).front()));
  }
  return log;
}

InputsConfig config_with(Formats formats, bool qk_norm = true) {
  InputsConfig config{test::tiny_shape(), formats, 11, {37, 0}, 3, true};
  config.shape.qk_norm = qk_norm;
  return config;
}

GraphConfig decode_config(BlockOrder block, CurrentToken current_token = CurrentToken::merge) {
  return {block, current_token, true, {37, 0}, 3};
}

constexpr Formats exact{Format::fp32, Format::fp32, Format::fp32};

/// One layer with one head of two values, small enough to work by hand.
InputsConfig one_head(std::size_t context, bool qk_norm) {
  InputsConfig config;
  config.formats = exact;
  config.contexts = {context};
  config.lm_head = false;
  config.shape.hidden = 2;
  config.shape.layers = 1;
  config.shape.heads = 1;
  config.shape.kv_heads = 1;
  config.shape.head_dim = 2;
  config.shape.ffn = 1;
  config.shape.vocab = 1;
  config.shape.qk_norm = qk_norm;
  config.shape.norm_epsilon = 0;
  return config;
}

std::vector<float> row_of(const RowStore& store, std::size_t row) {
  std::vector<float> values(store.view().columns);
  store.view().read(row, values);
  return values;
}

}  // namespace

TEST_CASE("in fp32 the graph of every block order decodes as its formulas do") {
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    for (const auto& [current_token, token_name] : enum_names<CurrentToken>) {
      for (const bool qk_norm : {true, false}) {
        const Inputs inputs(config_with(exact, qk_norm));
        const GraphConfig config = decode_config(block, current_token);
        const Graph graph = make_graph(inputs.shape(), config);
        const NumericReport report = check_numerics(graph, inputs, execute(graph, inputs), config);
        CAPTURE(name, token_name, qk_norm);
        CHECK(report.passed());
        REQUIRE(report.end_to_end.size() == 6);
        for (const EndToEndError& error : report.end_to_end) {
          CHECK(error.relative_error < 2e-6);
          CHECK(error.same_token);
        }
      }
    }
  }
}

TEST_CASE("the block orders compute different functions") {
  const Inputs inputs(config_with(exact));
  std::vector<std::vector<double>> outputs;
  for (const auto& [block, name] : enum_names<BlockOrder>) {
    ReferenceDecoder decoder(inputs, block, RequestId(0));
    std::vector<double> x(inputs.shape().hidden, 1.0);
    x[3] = -2;
    outputs.push_back(decoder.step(x));
  }
  for (std::size_t a = 0; a < outputs.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double difference = 0;
      for (std::size_t i = 0; i < outputs[a].size(); ++i) {
        difference = std::max(difference, std::abs(outputs[a][i] - outputs[b][i]));
      }
      CHECK(difference > 1e-3);
    }
  }
}

TEST_CASE("the reference decoder of one layer, by hand") {
  // One head of two values, identity-like weights: every number below is worked out in the
  // comments.
  const Inputs inputs(one_head(0, false));
  ReferenceDecoder decoder(inputs, BlockOrder::standard, RequestId(0));
  const std::vector<double> x{3, 4};
  const LayerWeights& w = inputs.weights().layers[0];
  const auto at = [](const RowStore& m, std::size_t r, std::size_t c) {
    return static_cast<double>(row_of(m, r)[c]);
  };
  // An empty cache: attention over the current token alone returns its value, whatever the query
  // and key.
  const double rms = std::sqrt((9.0 + 16.0) / 2);
  const double n0 = 3 / rms * to_float(w.attention_norm[0]);
  const double n1 = 4 / rms * to_float(w.attention_norm[1]);
  const double v0 = at(w.v, 0, 0) * n0 + at(w.v, 0, 1) * n1;
  const double v1 = at(w.v, 1, 0) * n0 + at(w.v, 1, 1) * n1;
  const double y0 = 3 + at(w.o, 0, 0) * v0 + at(w.o, 0, 1) * v1;
  const double y1 = 4 + at(w.o, 1, 0) * v0 + at(w.o, 1, 1) * v1;
  const double rms_y = std::sqrt((y0 * y0 + y1 * y1) / 2);
  const double m0 = y0 / rms_y * to_float(w.ffn_norm[0]);
  const double m1 = y1 / rms_y * to_float(w.ffn_norm[1]);
  const double gate = at(w.gate, 0, 0) * m0 + at(w.gate, 0, 1) * m1;
  const double up = at(w.up, 0, 0) * m0 + at(w.up, 0, 1) * m1;
  const double hidden = gate / (1 + std::exp(-gate)) * up;
  const std::vector<double> out = decoder.step(x);
  CHECK(out[0] == Approx(y0 + at(w.down, 0, 0) * hidden).epsilon(1e-14));
  CHECK(out[1] == Approx(y1 + at(w.down, 1, 0) * hidden).epsilon(1e-14));
}

TEST_CASE("attention over one cached position and the current token, by hand") {
  // One head of two values at position 1, so the rotary angle is 1 radian; query and key norm on;
  // standard block.
  const Inputs inputs(one_head(1, true));
  const LayerWeights& w = inputs.weights().layers[0];
  using Pair = std::array<double, 2>;
  const auto normed = [](Pair x, const std::vector<Bf16>& gain) {
    const double rms = std::sqrt((x[0] * x[0] + x[1] * x[1]) / 2);
    return Pair{x[0] / rms * to_float(gain[0]), x[1] / rms * to_float(gain[1])};
  };
  const auto times = [](const RowStore& m, Pair x) {
    const auto at = [&](std::size_t r, std::size_t c) { return double{row_of(m, r)[c]}; };
    return Pair{at(0, 0) * x[0] + at(0, 1) * x[1], at(1, 0) * x[0] + at(1, 1) * x[1]};
  };
  const auto turned = [](Pair x) {
    return Pair{x[0] * std::cos(1.0) - x[1] * std::sin(1.0),
                x[1] * std::cos(1.0) + x[0] * std::sin(1.0)};
  };
  const auto score = [](Pair q, Pair k) { return (q[0] * k[0] + q[1] * k[1]) / std::sqrt(2.0); };

  const Pair x{3, 4};
  const Pair n = normed(x, w.attention_norm);
  const Pair q = turned(normed(times(w.q, n), w.q_norm));
  const Pair k = turned(normed(times(w.k, n), w.k_norm));
  const Pair v = times(w.v, n);
  std::vector<float> cached_k(2);
  std::vector<float> cached_v(2);
  inputs.cache(RequestId(0), LayerId(0)).read(0, cached_k, cached_v);
  const double old_share = 1 / (1 + std::exp(score(q, k) - score(q, {cached_k[0], cached_k[1]})));
  const Pair o{old_share * cached_v[0] + (1 - old_share) * v[0],
               old_share * cached_v[1] + (1 - old_share) * v[1]};
  const Pair a = times(w.o, o);
  const Pair y{x[0] + a[0], x[1] + a[1]};
  const Pair m = normed(y, w.ffn_norm);
  const auto row = [&](const RowStore& matrix) {
    return row_of(matrix, 0)[0] * m[0] + row_of(matrix, 0)[1] * m[1];
  };
  const double hidden = row(w.gate) / (1 + std::exp(-row(w.gate))) * row(w.up);

  ReferenceDecoder decoder(inputs, BlockOrder::standard, RequestId(0));
  const std::vector<double> out = decoder.step({x[0], x[1]});
  CHECK(out[0] == Approx(y[0] + row_of(w.down, 0)[0] * hidden).epsilon(1e-13));
  CHECK(out[1] == Approx(y[1] + row_of(w.down, 1)[0] * hidden).epsilon(1e-13));
}

TEST_CASE("the check notices any single output that is off by one part in a thousand") {
  const Inputs inputs(config_with({}));
  const Graph graph = make_graph(inputs.shape(), decode_config(BlockOrder::early_q));
  const NumericLog right = execute(graph, inputs);
  std::size_t altered = 0;
  for (const Operation& operation : graph.operations) {
    const bool empty_sweep = operation.kind == OpKind::sweep && operation.positions == 0;
    if (operation.layer != LayerId(1) || empty_sweep) {
      continue;
    }
    NumericLog wrong = right;
    for (float& value : wrong.outputs[operation.id.value()]) {
      value *= 1.001F;
    }
    const NumericReport report =
        check_numerics(graph, inputs, wrong, decode_config(BlockOrder::early_q));
    CAPTURE(name_of(operation.kind), operation.step.value(), operation.request.value());
    CHECK(!report.passed());
    REQUIRE(!report.failures.empty());
    CHECK(report.failures.front().kind == operation.kind);
    CHECK(report.failures.front().layer == operation.layer);
    CHECK(report.failures.front().step == operation.step);
    ++altered;
  }
  CHECK(altered > 30);
}

TEST_CASE("a wrong graph is caught in any format, though every operation follows it") {
  const Inputs inputs(config_with({}));
  const Graph right = make_graph(inputs.shape(), decode_config(BlockOrder::early_q));
  const auto graph_error_of = [&](const Graph& graph) {
    const NumericReport report =
        check_numerics(graph, inputs, execute(graph, inputs), decode_config(BlockOrder::early_q));
    CHECK(report.failures.empty());
    CHECK(report.passed() == report.graph_passed());
    return report.graph_error;
  };
  CHECK(graph_error_of(right) < 1e-13);

  Graph early_k = right;  // the key too reads what the query reads
  Graph stale = right;    // no sweep sees a token of this run
  for (std::size_t i = 0; i < right.operations.size(); ++i) {
    const Operation& operation = right.operations[i];
    if (operation.kind == OpKind::kv) {
      early_k.operations[i].inputs[0] =
          right.operations[i - 1].inputs[0];  // the query stands before
    }
    if (operation.kind == OpKind::sweep) {
      stale.operations[i].positions -= operation.step.value();
    }
  }
  REQUIRE(right.operations[3].kind == OpKind::kv);
  REQUIRE(right.operations[2].kind == OpKind::q);
  CHECK(graph_error_of(early_k) > 1e-4);
  CHECK(graph_error_of(stale) > 1e-4);
}

TEST_CASE("not-a-number fails the check") {
  const Inputs inputs(config_with({}));
  const Graph graph = make_graph(inputs.shape(), decode_config(BlockOrder::standard));
  NumericLog log = execute(graph, inputs);
  log.outputs[4].front() = std::nanf("");
  CHECK(!check_numerics(graph, inputs, log, decode_config(BlockOrder::standard)).passed());
}

TEST_CASE("the sensitivity is what leaving the position out does") {
  const Inputs inputs(config_with(exact));
  const Graph graph = make_graph(inputs.shape(), decode_config(BlockOrder::standard));
  const NumericLog log = execute(graph, inputs);
  const Recomputation recomputation(graph, inputs, log);
  const auto sweep = std::find_if(graph.operations.begin(), graph.operations.end(),
                                  [](const Operation& op) { return op.kind == OpKind::sweep; });
  const KvCache& cache = inputs.cache(RequestId(0), LayerId(0));
  const Recomputation::Sweep whole = recomputation.recompute_sweep(*sweep, cache);
  Operation shorter = *sweep;
  --shorter.positions;
  const Recomputation::Sweep without = recomputation.recompute_sweep(shorter, cache);
  double change = 0;
  double norm = 0;
  for (std::size_t i = 0; i < whole.o.size(); ++i) {
    change += std::pow(whole.o[i] - without.o[i], 2);
    norm += std::pow(whole.o[i], 2);
  }
  CHECK(recomputation.omission_effect(whole, cache, sweep->positions - 1) ==
        Approx(std::sqrt(change / norm)).epsilon(1e-9));
}

}  // namespace qfs
