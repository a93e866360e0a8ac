#include "sim/report/numerics_json.hpp"

#include <algorithm>

namespace qfs {
namespace {

using Json = nlohmann::ordered_json;

Json operation_error_json(const OperationError& error) {
  return {{"operation", name_of(error.kind)},
          {"layer", error.layer.value()},
          {"step", error.step.value()},
          {"request", error.request.value()},
          {"relative_error", error.relative_error}};
}

Json kinds_json(const NumericReport& report) {
  Json kinds = Json::array();
  for (const KindErrors& kind : report.kinds) {
    kinds.push_back({{"operation", name_of(kind.kind)},
                     {"operations", kind.operations},
                     {"tolerance", kind.tolerance},
                     {"worst", operation_error_json(kind.worst)}});
  }
  return kinds;
}

Json failures_json(const NumericReport& report) {
  Json failures = Json::array();
  for (const OperationError& error : report.failures) {
    failures.push_back(operation_error_json(error));
  }
  return failures;
}

Json end_to_end_json(const NumericReport& report) {
  Json errors = Json::array();
  for (const EndToEndError& error : report.end_to_end) {
    errors.push_back({{"step", error.step.value()},
                      {"request", error.request.value()},
                      {"relative_error", error.relative_error},
                      {"same_token", error.same_token}});
  }
  return {{"meaning",
           "distance from the fp64 reference decoder with the same weights and initial cache: the "
           "cost of "
           "rounding activations and appended rows"},
          {"tolerance", report.end_to_end_tolerance},
          {"passed", report.end_to_end_passed()},
          {"errors", errors}};
}

Json graph_json(const NumericReport& report) {
  return {{"meaning",
           "the graph evaluated in fp64 without rounding, against the fp64 reference decoder"},
          {"worst", report.graph_error},
          {"tolerance", report.graph_tolerance},
          {"passed", report.graph_passed()}};
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  return {{"meaning",
           "smallest relative change of any sweep's o, had it left out its newest or oldest "
           "cached position"},
          {"sweeps", sensitivity.sweeps},
          {"newest", sensitivity.newest},
          {"oldest", sensitivity.oldest}};
}

Json point_json(const PointResult& point, std::size_t index) {
  const NumericReport& report = *point.numerics;
  return {{"result", index},
          {"block", name_of(point.block)},
          {"context", point.context},
          {"passed", report.passed()},
          {"operations", kinds_json(report)},
          {"failures", failures_json(report)},
          {"end_to_end", end_to_end_json(report)},
          {"graph", graph_json(report)},
          {"sensitivity", sensitivity_json(report.sensitivity)}};
}

}  // namespace

nlohmann::ordered_json numerics_json(const RunResult& result) {
  Json points = Json::array();
  for (std::size_t index = 0; index < result.points.size(); ++index) {
    if (result.points[index].numerics) {
      points.push_back(point_json(result.points[index], index));
    }
  }
  return {{"tool", "qfsim"}, {"name", result.config.name}, {"results", points}};
}

nlohmann::ordered_json numeric_verdict_json(const NumericReport& report) {
  double worst = 0;
  for (const EndToEndError& error : report.end_to_end) {
    // The negated comparison lets a NaN through as the worst.
    worst = !(error.relative_error <= worst) ? error.relative_error : worst;
  }
  const bool failed = !report.failures.empty();
  return {{"passed", report.passed()},
          {"failures", report.failures.size()},
          {"first_failure", failed ? operation_error_json(report.failures.front()) : Json(nullptr)},
          {"operations", kinds_json(report)},
          {"graph", graph_json(report)},
          {"sensitivity", sensitivity_json(report.sensitivity)},
          {"end_to_end_worst", worst},
          {"end_to_end_tolerance", report.end_to_end_tolerance},
          {"end_to_end_passed", report.end_to_end_passed()}};
}

}  // namespace qfs
