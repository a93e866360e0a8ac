#include <fmt/format.h>

#include "sim/calibrate/calibration_report.hpp"
#include "sim/calibrate/residual_plot.hpp"

namespace qfs {
namespace {

constexpr int key_width = 44;

std::string line(int indent, const std::string& key, const std::string& value,
                 const std::string& comment) {
  const std::string text = fmt::format("{:{}}{}: {}", "", indent, key, value);
  return fmt::format("{:<{}}  # {}\n", text, key_width, comment);
}

std::string tiling_text(const char* key, const SweepTiling& tiling) {
  std::string text = fmt::format(
      "  {}: {{rows: {}, wide_rows: {}, padded_rows: {}, residents: {}, positions: {},\n", key,
      tiling.rows, tiling.wide_rows, tiling.padded_rows, tiling.residents, tiling.positions);
  text += fmt::format(
      "    split: {}, split_residents: {}, part_steps: {}, most_parts: {}, most_planned: {},\n",
      name_of(tiling.split), tiling.split_residents, tiling.part_steps, tiling.most_parts,
      tiling.most_planned);
  return text + fmt::format("    splits_groups_only: {}, combines_apart: {}, regroups: {}}}\n",
                            tiling.splits_groups_only, tiling.combines_apart, tiling.regroups);
}

const char* section_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::sweep:
      return "sweep";
    case KernelKind::product:
      return "product";
    case KernelKind::narrow_product:
      return "narrow_product";
  }
  return "";
}

std::string quality_of(const ErrorSummary& errors) {
  return fmt::format("{:.1f} / {:.1f} %", 100 * errors.median, 100 * errors.p90);
}

std::string section_text(const Calibration& calibration, const CalibratedKernel& kernel) {
  std::string text = fmt::format("{}:  # {} rows, {} fitted numbers\n", section_of(kernel.kind),
                                 kernel.rows.size(), kernel.parameters.size());
  for (const Validation& way : kernel.withheld) {
    text += fmt::format("  # {} withheld: median / 90th percentile of the error {}; one line {}\n",
                        way.name, quality_of(way.fit), quality_of(way.line));
  }
  text += line(2, "units", fmt::format("{}", calibration.facts.units), "vendor: multiprocessors");
  if (kernel.kind == KernelKind::sweep) {
    text += fmt::format("  # facts of the kernels: {}\n", calibration.facts.kernel);
    text += tiling_text("tiling", calibration.facts.tiling);
    text += tiling_text("narrow_tiling", calibration.facts.narrow_tiling);
  }
  for (const FreeParameter& parameter : kernel.parameters) {
    if (!parameter.name.starts_with("clock_")) {
      text += line(
          2, parameter.name, written_number(kernel.fitted, parameter.name),
          fmt::format("fitted{}: {}", is_at_bound(kernel.fitted, parameter) ? ", at its bound" : "",
                      fitted_number(parameter.name).meaning));
    }
  }
  return text;
}

std::string clock_text(const FittedKernel& kernel) {
  return "sweep_clock:\n" +
         line(2, "tick", written_number(kernel, "clock_tick"),
              "fitted: of the clock that measured; nothing simulated sees it") +
         line(2, "phase", written_number(kernel, "clock_phase"),
              "fitted: of the times that it shows unchanged");
}

}  // namespace

std::string to_preset(const Calibration& calibration, const std::string& source) {
  std::string text = fmt::format(
      "# {}, fitted to measured kernels by `qfsim calibrate`. Rows: {}.\n"
      "# Warm: the rows were measured with what fits in the last-level cache there already.\n"
      "device: {}\n",
      calibration.facts.name, source, calibration.facts.name);
  for (const CalibratedKernel& kernel : calibration.kernels) {
    text += section_text(calibration, kernel);
    if (kernel.fitted.clock.tick != Seconds(0)) {
      text += clock_text(kernel.fitted);
    }
  }
  return text;
}

}  // namespace qfs
