// Every form of attention, every growth of the cache and every number format through the simulated
// devices, each operation checked against fp64 and the graph against the reference decoder.
#include <functional>
#include <string>
#include <vector>

#include "decode/inputs.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

struct Choice {
  Arrangement arrangement = Arrangement::two_device;
  AttentionMethod attention;
  Formats formats;
};

std::string text_of(const Choice& choice) {
  std::string text(name_of(choice.arrangement));
  for (const std::string_view part :
       {name_of(choice.attention.form), name_of(choice.attention.growth),
        name_of(choice.formats.kv), name_of(choice.formats.wire),
        name_of(choice.formats.residual_wire), name_of(choice.formats.weights)}) {
    text += " ";
    text += part;
  }
  return text;
}

SimulationResult numeric_run(const Choice& choice) {
  InputsConfig inputs_config;
  inputs_config.shape = test::tiny_shape();
  inputs_config.formats = choice.formats;
  inputs_config.contexts = {37, 0};  // one request with an empty cache
  inputs_config.tokens = 3;
  inputs_config.lm_head = false;  // inputs that differ from token to token
  const Inputs inputs(inputs_config);
  SystemConfig config;
  config.arrangement = choice.arrangement;
  config.link.latency = Seconds(1e-6);
  config.rules = {inputs.shape(), choice.formats, Accounting::full, choice.attention};
  config.graph = {BlockOrder::early_q, CurrentToken::merge, false, inputs_config.contexts, 3};
  const NumericRequest numerics{inputs, true};
  return simulate(config, &numerics);
}

void check_all(const std::vector<Choice>& choices) {
  std::vector<std::function<SimulationResult()>> tasks;
  for (const Choice& choice : choices) {
    tasks.emplace_back([choice] { return numeric_run(choice); });
  }
  const std::vector<SimulationResult> results = run_isolated(tasks, default_jobs());
  REQUIRE(results.size() == choices.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(text_of(choices[i]));
    const NumericReport& report = results[i].numerics.value();
    CHECK(report.passed());
    CHECK(report.sensitivity.newest > 1e-3);  // a missing position would have shown
  }
}

}  // namespace

TEST_CASE("every form of attention and growth of the cache, on one device and on two") {
  std::vector<Choice> choices;
  for (const Arrangement arrangement : {Arrangement::colocated, Arrangement::two_device}) {
    for (const auto& [form, form_name] : enum_names<AttentionForm>) {
      for (const auto& [growth, growth_name] : enum_names<CacheGrowth>) {
        choices.push_back({arrangement, {form, growth}, {}});
      }
    }
  }
  check_all(choices);
}

TEST_CASE("every number format as cache, wire, residual and weights") {
  std::vector<Choice> choices;
  for (const auto& [format, name] : enum_names<Format>) {
    for (const auto part :
         {&Formats::kv, &Formats::wire, &Formats::residual_wire, &Formats::weights}) {
      Choice choice;
      choice.formats.*part = format;
      choices.push_back(choice);
    }
    choices.push_back({Arrangement::two_device, {}, {format, format, format, format}});
  }
  check_all(choices);
}

}  // namespace qfs
