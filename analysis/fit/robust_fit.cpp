#include "analysis/fit/robust_fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <nlopt.hpp>

#include "base/random.hpp"

namespace qfs {
namespace {

constexpr double small_error = 0.03;
constexpr double difference = 1e-4;    // of a parameter's position, for gradients
constexpr double tolerance = 1e-7;     // of the loss, relative
constexpr double first_polish = 0.02;  // of a parameter's range
constexpr int significant_digits = 4;
constexpr std::uint64_t seed = 20;

using Place = std::vector<double>;  // each parameter's logarithm, as a share of its range

class Problem {
 public:
  Problem(std::span<const FreeParameter> parameters, std::size_t rows, const LogErrors& log_errors,
          double prior_rows)
      : parameters_(parameters),
        log_errors_(log_errors),
        prior_rows_(prior_rows),
        values_(parameters.size()),
        errors_(rows) {}

  [[nodiscard]] std::size_t size() const { return parameters_.size(); }

  [[nodiscard]] double value_at(std::size_t index, double place) const {
    const FreeParameter& p = parameters_[index];
    return std::clamp(p.least * std::pow(p.most / p.least, place), p.least, p.most);
  }
  [[nodiscard]] double place_of(std::size_t index, double value) const {
    const FreeParameter& p = parameters_[index];
    return p.most == p.least ? 0 : std::log(value / p.least) / std::log(p.most / p.least);
  }

  double loss(const Place& place) {
    double prior = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      values_[i] = value_at(i, place[i]);
      const double away = std::log(values_[i] / parameters_[i].usual) / parameters_[i].spread;
      prior += away * away;
    }
    log_errors_(values_, errors_);
    double sum = prior_rows_ * small_error * small_error * prior;
    for (const double error : errors_) {
      const double scaled = error / small_error;
      sum += small_error * small_error * (std::sqrt(1 + scaled * scaled) - 1);
    }
    return sum / static_cast<double>(errors_.size());
  }

  /// Central differences, one-sided at the bounds.
  void gradient(const Place& place, Place& slopes) {
    Place moved = place;
    for (std::size_t i = 0; i < size(); ++i) {
      const double up = std::min(place[i] + difference, 1.0);
      const double down = std::max(place[i] - difference, 0.0);
      moved[i] = up;
      const double above = loss(moved);
      moved[i] = down;
      slopes[i] = (above - loss(moved)) / (up - down);
      moved[i] = place[i];
    }
  }

 private:
  std::span<const FreeParameter> parameters_;
  const LogErrors& log_errors_;
  double prior_rows_;
  std::vector<double> values_;
  std::vector<double> errors_;
};

double objective(const Place& place, Place& slopes, void* problem) {
  auto& solved = *static_cast<Problem*>(problem);
  if (!slopes.empty()) {
    solved.gradient(place, slopes);
  }
  return solved.loss(place);
}

/// Improves the place; returns its loss. A solver that gives up leaves the best that it saw.
double minimise(Problem& problem, nlopt::algorithm algorithm, int calls, Place& place) {
  nlopt::opt solver(algorithm, static_cast<unsigned>(problem.size()));
  solver.set_lower_bounds(0);
  solver.set_upper_bounds(1);
  solver.set_min_objective(objective, &problem);
  solver.set_ftol_rel(tolerance);
  solver.set_maxeval(calls);
  solver.set_initial_step(first_polish);
  const Place before = place;
  const double loss_before = problem.loss(before);
  try {
    double loss = 0;
    solver.optimize(place, loss);
  } catch (const std::runtime_error&) {  // round-off: the place is as good as it gets
  }
  for (double& share : place) {
    share = std::clamp(share, 0.0, 1.0);
  }
  const double loss_after = problem.loss(place);
  if (loss_after < loss_before) {
    return loss_after;
  }
  place = before;
  return loss_before;
}

Place start(const Problem& problem, std::span<const FreeParameter> parameters, int number) {
  const Random random(seed, static_cast<std::uint64_t>(number));
  Place place(parameters.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = number == 0 ? problem.place_of(i, parameters[i].usual) : random.uniform(i, 0.2, 0.8);
  }
  return place;
}

/// By whole powers of ten, so that the result is the number which its digits say.
double rounded(double value) {
  const double power = std::floor(std::log10(value)) - (significant_digits - 1);
  const double scale = std::pow(10.0, std::abs(power));
  return power >= 0 ? std::round(value / scale) * scale : std::round(value * scale) / scale;
}

}  // namespace

Fit fit_log_errors(std::span<const FreeParameter> parameters, std::size_t rows,
                   const LogErrors& log_errors, const FitOptions& options) {
  assert(rows >= 1 && !parameters.empty() && options.starts >= 1);
  Problem problem(parameters, rows, log_errors, options.prior_rows);
  Place best;
  double least = 0;
  for (int number = 0; number < options.starts; ++number) {
    Place place = start(problem, parameters, number);
    const double loss = minimise(problem, nlopt::LD_SLSQP, options.gradient_steps, place);
    if (best.empty() || loss < least) {
      best = place;
      least = loss;
    }
  }
  least = minimise(problem, nlopt::LN_SBPLX, options.polish_calls, best);
  Fit fit{{}, least};
  for (std::size_t i = 0; i < best.size(); ++i) {
    fit.values.push_back(
        std::clamp(rounded(problem.value_at(i, best[i])), parameters[i].least, parameters[i].most));
  }
  return fit;
}

}  // namespace qfs
