// Fits a model's parameters to measurements: the values that make the logarithm of predicted over
// measured small for most rows, whatever a few outliers do. Deterministic.
//
//   loss   mean over rows of d^2 (sqrt(1 + (e / d)^2) - 1), e the log error and d 3 %: squares for
//          small errors, absolute values for large ones
//   prior  sum over parameters of (ln(value / usual) / spread)^2, as heavy as `prior_rows` rows
//   with
//          an error of d; it decides where the rows do not
//
// Minimised by NLopt (Johnson, https://github.com/stevengj/nlopt): SLSQP on numeric gradients, then
// Subplex, from several starts.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace qfs {

/// A positive number to be fitted, on a logarithmic scale.
struct FreeParameter {
  std::string name;
  double usual = 1;  // the prior's centre and the first start
  double least = 1;  // 0 < least <= usual <= most
  double most = 1;
  double spread = 1;  // the prior's standard deviation, as a natural logarithm
};

/// Writes ln(predicted / measured) of every row for the parameters' values.
using LogErrors = std::function<void(std::span<const double> values, std::span<double> errors)>;

struct FitOptions {
  double prior_rows = 2;
  int starts = 3;            // the usual values, then seeded draws between the bounds
  int gradient_steps = 150;  // of a start
  int polish_calls = 2500;   // of the best
};

struct Fit {
  std::vector<double> values;  // in the order of the parameters, four significant digits
  double loss = 0;             // with the prior
};

/// At least one row and one parameter.
Fit fit_log_errors(std::span<const FreeParameter> parameters, std::size_t rows,
                   const LogErrors& log_errors, const FitOptions& options = {});

}  // namespace qfs
