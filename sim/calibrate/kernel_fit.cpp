#include "sim/calibrate/kernel_fit.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/device/sweep_plan.hpp"

namespace qfs {
namespace {

constexpr std::string_view tick_name = "clock_tick";
constexpr std::string_view phase_name = "clock_phase";

bool is_narrow(const MeasuredKernel& row) {
  return std::visit([](const auto& work) { return work.element_bytes == 1; }, row.work);
}

void put(FittedKernel& kernel, std::string_view name, double value) {
  if (name == tick_name) {
    kernel.clock.tick = Seconds(value);
  } else if (name == phase_name) {
    kernel.clock.phase = Seconds(value);
  } else {
    fitted_number(name).set(kernel.cost, value);
  }
}

FittedKernel with_values(FittedKernel kernel, std::span<const FreeParameter> parameters,
                         std::span<const double> values) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    put(kernel, parameters[i].name, values[i]);
  }
  return kernel;
}

double log_ratio(const FittedKernel& kernel, Seconds predicted, Seconds measured) {
  return std::log(shown_by(kernel.clock, predicted).value() / measured.value());
}

/// Plans depend on facts alone: made once for all trials of a fit.
std::vector<SweepPlan> plans_of(const KernelCost& cost, std::span<const MeasuredKernel> rows) {
  std::vector<SweepPlan> plans;
  plans.reserve(rows.size());
  for (const MeasuredKernel& row : rows) {
    plans.push_back(plan_of(cost, std::get<SweepWork>(row.work)));
  }
  return plans;
}

LogErrors sweep_errors(const FittedKernel& start, std::span<const FreeParameter> parameters,
                       std::span<const MeasuredKernel> rows) {
  return [=, plans = plans_of(start.cost, rows)](std::span<const double> values,
                                                 std::span<double> errors) {
    const FittedKernel kernel = with_values(start, parameters, values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Seconds time = launch_time(kernel.cost, plans[i], CacheState::warm);
      errors[i] = log_ratio(kernel, time, rows[i].latency);
    }
  };
}

LogErrors product_errors(const FittedKernel& start, std::span<const FreeParameter> parameters,
                         std::span<const MeasuredKernel> rows) {
  return [=](std::span<const double> values, std::span<double> errors) {
    const std::vector<double> found = log_errors_of(with_values(start, parameters, values), rows);
    std::ranges::copy(found, errors.begin());
  };
}

}  // namespace

std::vector<FreeParameter> free_parameters(const DeviceFacts& facts, KernelKind kind,
                                           std::span<const MeasuredKernel> rows) {
  std::vector<FreeParameter> parameters;
  if (kind != KernelKind::sweep) {
    for (const std::string_view name : free_product_numbers()) {
      parameters.push_back(product_range(facts, name, kind == KernelKind::narrow_product));
    }
    return parameters;
  }
  const bool any_narrow = std::ranges::any_of(rows, is_narrow);
  for (const std::string& name : facts.free_numbers) {
    if (any_narrow || !name.starts_with("narrow_")) {
      parameters.push_back(sweep_range(facts, name));
    }
  }
  return parameters;
}

FittedKernel fit_kernel(const DeviceFacts& facts, KernelKind kind,
                        std::span<const MeasuredKernel> rows, const FitOptions& options) {
  const std::vector<FreeParameter> parameters = free_parameters(facts, kind, rows);
  const bool sweep = kind == KernelKind::sweep;
  const FittedKernel start{sweep ? sweep_facts(facts) : product_facts(facts), {}};
  const LogErrors errors =
      sweep ? sweep_errors(start, parameters, rows) : product_errors(start, parameters, rows);
  const Fit fit = fit_log_errors(parameters, rows.size(), errors, options);
  return with_values(start, parameters, fit.values);
}

std::vector<double> log_errors_of(const FittedKernel& kernel,
                                  std::span<const MeasuredKernel> rows) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const MeasuredKernel& row : rows) {
    errors.push_back(log_ratio(kernel, launch_time(kernel.cost, row.work), row.latency));
  }
  return errors;
}

Line fit_line(const DeviceFacts& facts, std::span<const MeasuredKernel> rows,
              const FitOptions& options) {
  const double peak = facts.peak_bandwidth.value();
  const std::vector<FreeParameter> parameters{{"latency", 8e-6, 1e-6, 1e-4, 2},
                                              {"bandwidth", peak, 0.1 * peak, 10 * peak, 2}};
  const auto line_of = [](std::span<const double> values) {
    return Line{Seconds(values[0]), BytesPerSecond(values[1])};
  };
  const LogErrors errors = [&](std::span<const double> values, std::span<double> found) {
    std::ranges::copy(log_errors_of(line_of(values), rows), found.begin());
  };
  return line_of(fit_log_errors(parameters, rows.size(), errors, options).values);
}

std::vector<double> log_errors_of(const Line& line, std::span<const MeasuredKernel> rows) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const MeasuredKernel& row : rows) {
    const Seconds time = line.latency + bytes_of(row.work) / line.bandwidth;
    errors.push_back(std::log(time.value() / row.latency.value()));
  }
  return errors;
}

}  // namespace qfs
