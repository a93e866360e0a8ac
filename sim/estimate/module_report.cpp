#include "sim/estimate/module_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "analysis/estimate/module_rules.hpp"
#include "base/error.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs::estimate {
namespace {

using Json = nlohmann::ordered_json;
using native::ModuleEstimate;
using native::ModuleWork;
using native::RelationKind;
using native::TokenRelation;

constexpr const char* assumptions[] = {"one evaluation call of this module alone",
                                       "potential dependencies of the main output",
                                       "generic finite parameters, without numerical underflow",
                                       "not gradients, and not returned attention weights"};

struct Answer {
  ModuleEstimate estimate;
  std::size_t token_axis = 1;
};

const native::Call& call_of(const native::Attention& m) { return m.call; }
const native::Call& call_of(const native::FeedForward& m) { return m.call; }
const native::Call& call_of(const native::NormModule& m) { return m.call; }
const native::Call& call_of(const native::Encoder& m) { return m.settings.call; }
const native::Call& call_of(const native::Decoder& m) { return m.settings.call; }
const native::Call& call_of(const native::Transformer& m) { return call_of(m.encoder); }

Answer answer_of(const NamedModule& module) {
  return std::visit(
      [](const auto& keys) {
        const bool first = call_of(keys.module).layout == native::TokenLayout::batch_first;
        return Answer{native::estimate(keys.module), first ? std::size_t{1} : std::size_t{0}};
      },
      module.keys);
}

// ---- JSON

Json metric(const ModuleEstimate& estimate, std::int64_t ModuleWork::*count) {
  if (!estimate.stages) {
    return {{"status", "unavailable"}};
  }
  return {{"status", "complete"}, {"value", total(*estimate.stages).*count}};
}

Json stages_json(const native::Stages& stages) {
  Json list = Json::array();
  for (const native::Stage& stage : stages) {
    list.push_back({{"stage", stage.name},
                    {"times", stage.times},
                    {"macs", stage.each.macs},
                    {"logical_accesses", stage.each.accesses}});
  }
  return list;
}

Json dependency_json(const native::TokenDependency& dependency, std::size_t axis) {
  const TokenRelation& relation = dependency.relation;
  Json json{{"arguments", dependency.arguments},
            {"axis", axis},
            {"length", relation.inputs},
            {"relation", name_of(relation.kind)}};
  if (relation.limit != relation.inputs) {
    json["limit"] = relation.limit;
  }
  if (relation.first_position > 0) {
    json["first_position"] = relation.first_position;
  }
  return json;
}

Json dependencies_json(const Answer& answer) {
  const auto& dependencies = answer.estimate.dependencies;
  if (!dependencies) {
    return {{"status", "unavailable"}};
  }
  Json inputs = Json::array();
  for (const native::TokenDependency& dependency : *dependencies) {
    inputs.push_back(dependency_json(dependency, answer.token_axis));
  }
  return {
      {"status", "complete"},
      {"scope", "module_call"},
      {"output", {{"axis", answer.token_axis}, {"length", dependencies->front().relation.outputs}}},
      {"inputs", inputs},
      {"assumptions", assumptions}};
}

std::string to_json(const NamedModule& module, const Answer& answer) {
  Json keys = Json::object();
  for (const auto& [key, value] : module.values) {
    keys[key] = value;
  }
  Json diagnoses = Json::array();
  for (const native::Diagnosis& diagnosis : answer.estimate.diagnoses) {
    diagnoses.push_back({{"affects", name_of(diagnosis.affected)}, {"text", diagnosis.text}});
  }
  Json json{{"module", name_of(module.kind)},
            {"keys", keys},
            {"macs", metric(answer.estimate, &ModuleWork::macs)},
            {"logical_accesses", metric(answer.estimate, &ModuleWork::accesses)}};
  if (answer.estimate.stages) {
    json["stages"] = stages_json(*answer.estimate.stages);
  }
  json["token_dependencies"] = dependencies_json(answer);
  json["diagnoses"] = diagnoses;
  return json.dump(2) + "\n";
}

// ---- text

std::string stages_text(const native::Stages& stages) {
  TextTable table("lrrr", {"stage", "times", "MACs", "logical accesses"});
  for (const native::Stage& stage : stages) {
    table.add(
        {stage.name, grouped(stage.times), grouped(stage.each.macs), grouped(stage.each.accesses)});
  }
  const ModuleWork all = total(stages);
  table.add({"total", "", grouped(all.macs), grouped(all.accesses)});
  return table.text();
}

/// "tokens 0 to min(i + 1, 3) - 1, from i = 1 on"
std::string relation_text(const TokenRelation& relation) {
  const std::string from =
      relation.first_position == 0 ? "" : fmt::format(", from i = {} on", relation.first_position);
  switch (relation.kind) {
    case RelationKind::all:
      return fmt::format("all: tokens 0 to {}{}", relation.limit - 1, from);
    case RelationKind::same_position:
      return "same_position: token i" + from;
    case RelationKind::prefix:
      return fmt::format("prefix: tokens 0 to min(i + 1, {}) - 1{}", relation.limit, from);
    case RelationKind::none:
      break;
  }
  return "none";
}

std::string dependencies_text(const ModuleEstimate& estimate) {
  if (!estimate.dependencies) {
    return "Token dependencies: unavailable\n";
  }
  TextTable table("ll", {"output token i depends on", ""});
  for (const native::TokenDependency& dependency : *estimate.dependencies) {
    table.add({fmt::format("{}", fmt::join(dependency.arguments, ", ")),
               relation_text(dependency.relation)});
  }
  return "Token dependencies of this call:\n" + table.text();
}

std::string to_text(const NamedModule& module, const ModuleEstimate& estimate) {
  std::string text = fmt::format("{}, one evaluation call\n\n", name_of(module.kind));
  text +=
      estimate.stages ? stages_text(*estimate.stages) : "MACs and logical accesses: unavailable\n";
  text += "\n" + dependencies_text(estimate);
  if (!estimate.diagnoses.empty()) {
    text += "\n";
  }
  for (const native::Diagnosis& diagnosis : estimate.diagnoses) {
    text +=
        paragraph(fmt::format("not covered ({}): {}", name_of(diagnosis.affected), diagnosis.text));
  }
  return text;
}

}  // namespace

ModuleReport module_report(const NamedModule& module) {
  try {
    const Answer answer = answer_of(module);
    return {to_text(module, answer.estimate), to_json(module, answer),
            answer.estimate.diagnoses.empty()};
  } catch (const std::overflow_error&) {
    throw ConfigError(fmt::format(
        "qfsim estimate --module {}: the lengths and widths multiply to counts of more than 63 "
        "bits; legal: smaller ones",
        name_of(module.kind)));
  }
}

}  // namespace qfs::estimate
