#include "sim/calibrate/calibration_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/calibrate/residual_plot.hpp"
#include "sim/report/text_table.hpp"

namespace qfs {
namespace {

std::string percent(double share, int decimals = 1) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::vector<std::string> cells(const std::string& name, const ErrorSummary& fit,
                               const ErrorSummary& line) {
  return {name,
          fmt::format("{}", fit.rows),
          percent(fit.median),
          percent(fit.p90),
          percent(fit.worst, 0),
          percent(line.median),
          percent(line.p90),
          percent(line.worst, 0)};
}

std::string errors_table(const CalibratedKernel& kernel) {
  TextTable table("lrrrrrrr", {"withheld, then predicted", "rows", "median", "90th", "worst",
                               "line: median", "90th", "worst"});
  for (const Validation& validation : kernel.withheld) {
    table.add(cells(validation.name, validation.fit, validation.line));
  }
  table.add(cells(kernel.used.name, kernel.used.fit, kernel.used.line));
  return table.text();
}

std::string figure_of(const CalibratedKernel& kernel, const std::string& name) {
  return written_number(kernel.fitted, name);
}

std::string numbers_table(const CalibratedKernel& kernel) {
  TextTable table("lll", {"fitted", "value", "from .. to"});
  for (const FreeParameter& parameter : kernel.parameters) {
    table.add({parameter.name, figure_of(kernel, parameter.name),
               fmt::format("{:.4g} .. {:.4g}{}", parameter.least, parameter.most,
                           is_at_bound(kernel.fitted, parameter) ? ", at its bound" : "")});
  }
  return table.text();
}

std::string text_of(const CalibratedKernel& kernel) {
  std::string text = fmt::format("\n{}: {} rows, {} fitted numbers\n", name_of(kernel.kind),
                                 kernel.rows.size(), kernel.parameters.size());
  text += errors_table(kernel) + "\n" + numbers_table(kernel);
  return text + residual_plots(kernel);
}

nlohmann::ordered_json json_of(const ErrorSummary& summary) {
  return {{"median", summary.median},
          {"p90", summary.p90},
          {"worst", summary.worst},
          {"rows", summary.rows}};
}

void add_row(TextTable& table, const char* name, const std::optional<ErrorSummary>& errors) {
  if (errors) {
    table.add({name, fmt::format("{}", errors->rows), percent(errors->median), percent(errors->p90),
               percent(errors->worst, 0)});
  }
}

}  // namespace

std::string to_text(const Calibration& calibration) {
  const DeviceFacts& facts = calibration.facts;
  std::string text =
      fmt::format("{}: {} units, attention of {}; |predicted / measured - 1|, the cache warm\n",
                  facts.name, facts.units, facts.kernel);
  for (const CalibratedKernel& kernel : calibration.kernels) {
    text += text_of(kernel);
  }
  return text;
}

std::string to_text(const FittedDevice& device, const Evaluation& evaluation) {
  TextTable table("lrrrr", {"kernel", "rows", "median", "90th", "worst"});
  add_row(table, "attention", evaluation.attention);
  add_row(table, "  bf16 cache", evaluation.attention_bf16);
  add_row(table, "  fp8 cache", evaluation.attention_fp8);
  add_row(table, "gemm bf16", evaluation.gemm);
  add_row(table, "gemm fp8", evaluation.gemm_fp8);
  return fmt::format("{}: |predicted / measured - 1|, the cache warm\n{}", device.device,
                     table.text());
}

std::string to_json(const Evaluation& evaluation) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (evaluation.attention) {
    json["attention"] = json_of(*evaluation.attention);
  }
  if (evaluation.gemm) {
    json["gemm"] = json_of(*evaluation.gemm);
  }
  return json.dump(2) + "\n";
}

}  // namespace qfs
