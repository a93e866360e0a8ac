#include "sim/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/calibrate/identifiable.hpp"
#include "sim/run/progress.hpp"

namespace qfs {
namespace {

/// One start suffices: three give the same numbers on all five devices, in three times the time.
constexpr FitOptions options{
    .prior_rows = 2, .starts = 1, .gradient_steps = 150, .polish_calls = 600};

std::int64_t element_bytes(const MeasuredKernel& row) {
  return std::visit([](const auto& work) { return work.element_bytes; }, row.work);
}

std::vector<MeasuredKernel> of_format(std::span<const MeasuredKernel> rows, std::int64_t bytes) {
  std::vector<MeasuredKernel> chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen),
                       [&](const MeasuredKernel& row) { return element_bytes(row) == bytes; });
  return chosen;
}

CalibratedKernel calibrated(const DeviceFacts& facts, KernelKind kind,
                            std::vector<MeasuredKernel> rows) {
  CalibratedKernel kernel;
  kernel.kind = kind;
  kernel.rows = std::move(rows);
  kernel.parameters = free_parameters(facts, kind, kernel.rows);
  const std::vector<Withholding> ways = ways_of_withholding(kind, kernel.rows);
  std::uint64_t fits = 1;
  for (const Withholding& way : ways) {
    fits += way.folds;
  }
  ProgressStage stage(fmt::format("fitting {} {}", facts.name, name_of(kind)), fits);
  const auto advance = [&] {
    stage.counter().advance();
    stage.show();
  };
  kernel.fitted = fit_kernel(facts, kind, kernel.rows, options);
  advance();
  kernel.errors = log_errors_of(kernel.fitted, kernel.rows);
  const Line line = fit_line(facts, kernel.rows, options);
  kernel.used = {"all rows, all used", summary_of(kernel.errors),
                 summary_of(log_errors_of(line, kernel.rows))};
  for (const Withholding& way : ways) {
    kernel.withheld.push_back(validated(facts, kind, kernel.rows, way, options, advance));
  }
  return kernel;
}

void put(FittedDevice& device, const CalibratedKernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::sweep:
      device.cost.sweep = kernel.fitted.cost;
      device.sweep_clock = kernel.fitted.clock;
      break;
    case KernelKind::product:
      device.cost.product = kernel.fitted.cost;
      break;
    case KernelKind::narrow_product:
      device.cost.narrow_product = kernel.fitted.cost;
      break;
  }
}

std::optional<ErrorSummary> errors_on(const FittedKernel& kernel,
                                      const std::vector<MeasuredKernel>& rows) {
  if (rows.empty()) {
    return std::nullopt;
  }
  return summary_of(log_errors_of(kernel, rows));
}

}  // namespace

std::vector<MeasuredKernel> products_of(std::span<const MeasuredKernel> gemm, KernelKind kind) {
  return of_format(gemm, kind == KernelKind::narrow_product ? 1 : 2);
}

Calibration calibrate(const DeviceFacts& facts, const MeasuredDevice& measured) {
  Calibration calibration{facts, {}, {facts.name, {}, {}}};
  const auto rows_of = [&](KernelKind kind) {
    return kind == KernelKind::sweep ? measured.attention : products_of(measured.gemm, kind);
  };
  constexpr std::array kinds{KernelKind::sweep, KernelKind::product, KernelKind::narrow_product};
  for (const KernelKind kind : kinds) {  // all are checked before any is fitted
    const std::vector<MeasuredKernel> rows = rows_of(kind);
    if (!rows.empty()) {
      require_identifiable(
          facts, kind, rows,
          kind == KernelKind::sweep ? measured.attention_file : measured.gemm_file);
    }
  }
  for (const KernelKind kind : kinds) {
    if (std::vector<MeasuredKernel> rows = rows_of(kind); !rows.empty()) {
      calibration.kernels.push_back(calibrated(facts, kind, std::move(rows)));
      put(calibration.device, calibration.kernels.back());
    }
  }
  return calibration;
}

Evaluation evaluated(const FittedDevice& device, const MeasuredDevice& measured) {
  const FittedKernel sweep{cost_of(device.cost, SweepWork{}), device.sweep_clock};
  const FittedKernel product{cost_of(device.cost, ProductWork{}), {}};
  const FittedKernel narrow{cost_of(device.cost, ProductWork{.element_bytes = 1}), {}};
  return {.attention = errors_on(sweep, measured.attention),
          .attention_bf16 = errors_on(sweep, of_format(measured.attention, 2)),
          .attention_fp8 = errors_on(sweep, of_format(measured.attention, 1)),
          .gemm = errors_on(product, products_of(measured.gemm, KernelKind::product)),
          .gemm_fp8 = errors_on(narrow, products_of(measured.gemm, KernelKind::narrow_product))};
}

}  // namespace qfs
