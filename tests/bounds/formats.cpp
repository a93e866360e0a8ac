// What bf16 costs in one layer (DESIGN.md 8): the simulated layer with bf16 cache and wire against
// the reference decoder on the same cache before any rounding.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "decode/reference_decoder.hpp"
#include "hardware/simulated_time.hpp"
#include "sim/run/isolate.hpp"
#include "system/placement.hpp"
#include "system/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr double one_layer_bound = 8e-3;
constexpr std::uint64_t seeds = 6;

InputsConfig one_layer(Format kv, std::uint64_t seed) {
  InputsConfig config;
  config.shape = test::qwen3_0_6b();
  config.shape.layers = 1;
  config.shape.qk_norm = true;
  config.formats.kv = kv;
  config.seed = seed;
  config.contexts = {512};
  config.lm_head = false;
  return config;
}

const Operation& find(const Graph& graph, OpKind kind) {
  return *std::find_if(graph.operations.begin(), graph.operations.end(),
                       [&](const Operation& op) { return op.kind == kind; });
}

/// Relative L2 error of the attention's contribution to the stream, A = out - z, z the stream after
/// the feed-forward.
double attention_error(std::uint64_t seed) {
  const Inputs inputs(one_layer(Format::bf16, seed));
  const Inputs unrounded(one_layer(Format::fp32, seed));
  SystemConfig config;
  config.link.latency = Seconds(5e-6);
  config.rules = {inputs.shape(), inputs.config().formats, Accounting::full};
  config.graph = {BlockOrder::early_q, CurrentToken::merge, false, {512}, 1};
  const Layout layout = layout_of(config);
  const Program program =
      make_program(make_graph(inputs.shape(), config.graph), config.rules, layout, 1);
  System system("system", config, layout, program, &inputs, {});
  sc_core::sc_start();

  ReferenceDecoder decoder(unrounded, BlockOrder::early_q, RequestId(0));
  const std::vector<float> x = inputs.seeded_input(RequestId(0), StepId(0));
  const std::vector<double> want = decoder.step({x.begin(), x.end()});
  const std::vector<float>& z = system.log().of(find(program.graph, OpKind::ffn).id);
  const std::vector<float>& out = system.log().of(find(program.graph, OpKind::o).id);
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(out[i] - want[i], 2);
    norm += std::pow(want[i] - z[i], 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("a layer of early_q with bf16 cache and wire stays within its bound") {
  std::vector<std::function<double()>> tasks;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    tasks.emplace_back([seed] {
      set_femtosecond_resolution();
      return attention_error(seed);
    });
  }
  const std::vector<double> errors = run_isolated(tasks, default_jobs());
  REQUIRE(errors.size() == seeds);
  for (const double error : errors) {
    CHECK(error <= one_layer_bound);
    CHECK(error >= 1e-3);  // bf16 has 8 bits: less would mean that nothing was rounded
  }
  WARN("relative L2 errors, worst " << *std::max_element(errors.begin(), errors.end()));
}

}  // namespace qfs
