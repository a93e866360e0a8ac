// A calibrated softmax on the wire: every unit, calibration and split through the devices' kernels,
// each operation against fp64 and the whole against the straight-line decoder; and what is wrong is
// found.
#include <cmath>
#include <string>
#include <vector>

#include "decode/reference_decoder.hpp"
#include "tests/decode/calibrated_machine.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

constexpr Formats exact{Format::fp32, Format::fp32, Format::fp32};
constexpr double kernels_rounding = 3e-6;  // of one operation in fp32
const std::vector<CacheSplit> splits{
    {1}, {3, SplitBy::positions}, {3, SplitBy::any}, {2, SplitBy::heads}};

InputsConfig inputs_of(Formats formats) {
  return {test::tiny_shape(), formats, 5, {37, 0, 1}, 3, true};
}

GraphConfig config_of(const Inputs& inputs, const SoftmaxChoice& softmax,
                      const CacheSplit& split = {}) {
  return {.block = BlockOrder::early_q,
          .contexts = inputs.config().contexts,
          .tokens = inputs.config().tokens,
          .split = split,
          .softmax = softmax};
}

NumericReport checked(const Inputs& inputs, const GraphConfig& config) {
  const Graph graph = make_graph(inputs.shape(), config);
  return check_numerics(graph, inputs, test::Machine(graph, inputs, config).run(), config);
}

double worst_end_to_end(const NumericReport& report) {
  double worst = 0;
  for (const EndToEndError& error : report.end_to_end) {
    worst = std::max(worst, error.relative_error);
  }
  return worst;
}

bool has_steps(const SoftmaxUnit& unit) {
  return !has_grid(unit.kind) || unit.reconstruction == Reconstruction::nearest;
}

/// A run whose log is then altered: it must fail, first at an operation of this kind.
template <class Alter>
void check_caught(const SoftmaxChoice& softmax, OpKind kind, const Alter& alter) {
  const Inputs inputs(inputs_of(exact));
  const GraphConfig config = config_of(inputs, softmax, {2, SplitBy::positions});
  const Graph graph = make_graph(inputs.shape(), config);
  NumericLog log = test::Machine(graph, inputs, config).run();
  for (const Operation& operation : graph.operations) {
    if (operation.kind == kind && operation.layer == LayerId(1) && operation.shard == 0 &&
        operation.request == RequestId(0) && operation.step == StepId(1)) {
      alter(log.outputs[operation.id.value()], operation);
    }
  }
  const NumericReport report = check_numerics(graph, inputs, log, config);
  REQUIRE(!report.failures.empty());
  CHECK(report.failures.front().kind == kind);
  CHECK(report.failures.front().layer == LayerId(1));
}

}  // namespace

TEST_CASE("calibrated: every unit, calibration and split is right in fp32") {
  const Inputs inputs(inputs_of(exact));
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      for (const CacheSplit& split : splits) {
        for (const auto& [current_token, token_name] : enum_names<CurrentToken>) {
          GraphConfig config = config_of(inputs, {unit, calibration}, split);
          config.current_token = current_token;
          const NumericReport report = checked(inputs, config);
          CAPTURE(test::text_of(unit), name, token_name, split.devices, name_of(split.by));
          CHECK(report.passed());
          CHECK(report.graph_error < 1e-14);
          for (const KindErrors& errors : report.kinds) {
            CHECK(errors.worst.relative_error < kernels_rounding);
          }
          if (!has_steps(unit)) {
            CHECK(worst_end_to_end(report) < kernels_rounding);
          }
        }
      }
    }
  }
}

TEST_CASE("calibrated: every unit and calibration is right on a bf16 wire") {
  const Inputs inputs(inputs_of({}));
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      for (const CacheSplit& split : splits) {
        const NumericReport report = checked(inputs, config_of(inputs, {unit, calibration}, split));
        CAPTURE(test::text_of(unit), name, split.devices, name_of(split.by),
                worst_end_to_end(report));
        CHECK(report.passed());
        CHECK(report.failures.empty());
        CHECK(worst_end_to_end(report) < (has_steps(unit) ? 0.1 : 0.01));
      }
    }
  }
}

TEST_CASE("calibrated: every block order is right") {
  const Inputs inputs(inputs_of(exact));
  for (const auto& [block, block_name] : enum_names<BlockOrder>) {
    for (const auto& [calibration, name] : enum_names<Calibration>) {
      GraphConfig config =
          config_of(inputs, {{.kind = SoftmaxKind::min_max}, calibration}, {3, SplitBy::positions});
      config.block = block;
      const NumericReport report = checked(inputs, config);
      CAPTURE(block_name, name);
      CHECK(report.passed());
      CHECK(report.graph_error < 1e-14);
    }
  }
}

TEST_CASE("calibrated: in fp64 exact, history and row are three functions") {
  const Inputs inputs(inputs_of(exact));
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    std::vector<std::vector<double>> outputs;
    for (const SoftmaxChoice& choice : {SoftmaxChoice{}, SoftmaxChoice{unit, Calibration::history},
                                        SoftmaxChoice{unit, Calibration::row}}) {
      ReferenceDecoder decoder(inputs, BlockOrder::early_q, RequestId(0), choice);
      std::vector<double> x(inputs.shape().hidden, 1.0);
      x[3] = -2;
      outputs.push_back(decoder.step(x));
    }
    const double of_unit = test::relative_distance(outputs[2], outputs[0]);
    const double of_history = test::relative_distance(outputs[1], outputs[2]);
    CAPTURE(test::text_of(unit), of_unit, of_history);
    CHECK(of_unit > 1e-5);
    CHECK(of_unit < 0.5);
    CHECK(of_history > 1e-7);
    CHECK(of_history < 0.5);
  }
}

TEST_CASE("calibrated, caught: a score off by one part in a thousand") {
  check_caught({{.kind = SoftmaxKind::min_max}}, OpKind::scores,
               [](std::vector<float>& output, const Operation&) { output.back() += 1e-3F; });
}

TEST_CASE("calibrated, caught: extrema that are not those of the scores") {
  check_caught({{.kind = SoftmaxKind::min_max}}, OpKind::scores,
               [](std::vector<float>& output, const Operation&) { output.front() += 1e-3F; });
}

TEST_CASE("calibrated, caught: a row that had not landed, masked") {
  check_caught({{.kind = SoftmaxKind::fwm}}, OpKind::scores,
               [](std::vector<float>& output, const Operation&) { output.back() = masked<float>; });
}

TEST_CASE("calibrated, caught: the faults of a sweep, in its first phase") {
  const Inputs inputs(inputs_of(exact));
  const GraphConfig config = config_of(inputs, {{.kind = SoftmaxKind::min_max}});
  const Graph graph = make_graph(inputs.shape(), config);
  for (const FaultKind kind : {FaultKind::skip_position, FaultKind::alter_in_flight}) {
    Fault fault;
    fault.kind = kind;
    fault.layer = LayerId(1);
    fault.step = StepId(1);
    const NumericLog log = test::Machine(graph, inputs, config, fault).run();
    const NumericReport report = check_numerics(graph, inputs, log, config);
    CAPTURE(name_of(kind));
    REQUIRE(!report.failures.empty());
    CHECK(report.failures.front().kind == OpKind::scores);
    CHECK(report.failures.front().layer == LayerId(1));
    CHECK(report.failures.front().step == StepId(1));
  }
}

TEST_CASE("calibrated, caught: a wrong output, sum, weight or score of the current token") {
  const SoftmaxChoice row{{.kind = SoftmaxKind::fp8_exp}, Calibration::row};
  const ModelShape shape = test::tiny_shape();
  for (const std::size_t at : {std::size_t{0}, shape.q_width(), shape.q_width() + shape.heads,
                               shape.q_width() + 2 * shape.heads}) {
    check_caught(row, OpKind::values, [at](std::vector<float>& output, const Operation&) {
      output[at] += 0.2F + 0.01F * std::abs(output[at]);
    });
  }
}

TEST_CASE("calibrated, caught: weights from the anchors of the shard alone") {
  for (const SoftmaxUnit& unit : test::calibrated_units()) {
    if (unit.kind != SoftmaxKind::min_max) {
      continue;
    }
    const Inputs inputs(inputs_of(exact));
    const GraphConfig config =
        config_of(inputs, {unit, Calibration::history}, {2, SplitBy::positions});
    // The same graph without the exchange, executed; then checked against the right one.
    const Graph right = make_graph(inputs.shape(), config);
    Graph wrong = right;
    for (Operation& operation : wrong.operations) {
      std::erase_if(operation.inputs, [&](const Edge& edge) {
        return edge.value == ValueKind::extrema && right[edge.from].shard != operation.shard;
      });
    }
    const NumericLog log = test::Machine(wrong, inputs, config).run();
    const NumericReport report = check_numerics(right, inputs, log, config);
    REQUIRE(!report.failures.empty());
    CHECK(report.failures.front().kind == OpKind::values);
  }
}

TEST_CASE("calibrated, caught: a graph that calibrates on the history where the row is asked for") {
  const Inputs inputs(inputs_of(exact));
  const SoftmaxUnit unit{.kind = SoftmaxKind::min_max};
  const GraphConfig history = config_of(inputs, {unit, Calibration::history});
  const Graph graph = make_graph(inputs.shape(), history);
  const NumericLog log = test::Machine(graph, inputs, history).run();
  const NumericReport report =
      check_numerics(graph, inputs, log, config_of(inputs, {unit, Calibration::row}));
  CHECK(report.failures.empty());  // each operation did what it was to do
  CHECK(!report.graph_passed());   // but the graph means something else
}

}  // namespace qfs
