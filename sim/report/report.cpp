#include "sim/report/report.hpp"

#include "sim/report/csv.hpp"
#include "sim/report/numeric_verdict.hpp"
#include "sim/report/numerics_json.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/table.hpp"
#include "sim/report/timeline.hpp"

namespace qfs {
namespace {

std::string text_of(const nlohmann::ordered_json& json) {
  constexpr int indent = 2;
  return json.dump(indent) + "\n";
}

}  // namespace

Report make_report(const RunResult& result, const std::string& resolved_config_yaml) {
  const std::vector<PointAnalysis> analyses = analyse(result);
  Report report;
  report.table = report_table(result, analyses);
  report.files = {{"summary.json", text_of(summary_json(result, analyses))},
                  {"operations.csv", operations_csv(result)},
                  {"numerics.json", text_of(numerics_json(result))},
                  {"timeline.json", timeline_json(result)},
                  {"config.yaml", resolved_config_yaml}};
  const NumericVerdict verdict = numeric_verdict(result);
  report.numerics_passed = verdict.passed();
  report.numeric_failure = verdict.failure;
  return report;
}

}  // namespace qfs
