// The fit finds what made the rows, in spite of outliers; where rows do not decide, the prior does.
#include <cmath>
#include <vector>

#include "analysis/fit/error_summary.hpp"
#include "analysis/fit/robust_fit.hpp"
#include "base/random.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

constexpr double true_start = 9e-6;
constexpr double true_rate = 3e12;

/// Rows of start + x / rate, every `every`-th of them measured five times too slow.
struct Rows {
  std::vector<double> x;
  std::vector<double> y;
  explicit Rows(int every) {
    const Random random(3, 0);
    for (int row = 0; row < 300; ++row) {
      x.push_back(std::pow(10.0, random.uniform(static_cast<std::uint64_t>(row), 4, 9)));
      y.push_back((true_start + x.back() / true_rate) * (row % every == 0 ? 5 : 1));
    }
  }
  [[nodiscard]] LogErrors errors() const {
    return [this](std::span<const double> values, std::span<double> errors) {
      for (std::size_t row = 0; row < x.size(); ++row) {
        errors[row] = std::log((values[0] + x[row] / values[1]) / y[row]);
      }
    };
  }
};

const std::vector<FreeParameter> parameters{{"start", 3e-6, 1e-6, 1e-4, 2},
                                            {"rate", 1e12, 1e11, 1e13, 2}};

TEST_CASE("exact rows give their numbers back") {
  const Rows rows(1'000'000);  // row 0 alone is an outlier
  const Fit fit = fit_log_errors(parameters, rows.x.size(), rows.errors());
  CHECK(fit.values[0] == Approx(true_start).epsilon(2e-3));
  CHECK(fit.values[1] == Approx(true_rate).epsilon(2e-3));
}

TEST_CASE("one row in ten five times too slow moves the fit by less than 2 %") {
  const Rows rows(10);
  const Fit fit = fit_log_errors(parameters, rows.x.size(), rows.errors());
  CHECK(fit.values[0] == Approx(true_start).epsilon(0.02));
  CHECK(fit.values[1] == Approx(true_rate).epsilon(0.02));
}

TEST_CASE("a number that no row depends on keeps its usual value") {
  const Rows rows(10);
  std::vector<FreeParameter> more = parameters;
  more.push_back({"idle", 7, 1, 100, 1});
  const Fit fit = fit_log_errors(more, rows.x.size(), rows.errors());
  CHECK(fit.values[2] == Approx(7).epsilon(0.01));
}

TEST_CASE("fits stay within the bounds and are the same each time") {
  const Rows rows(10);
  std::vector<FreeParameter> tight = parameters;
  tight[1].most = 2e12;
  const Fit fit = fit_log_errors(tight, rows.x.size(), rows.errors());
  CHECK(fit.values[1] == 2e12);
  const Fit again = fit_log_errors(tight, rows.x.size(), rows.errors());
  CHECK(fit.values == again.values);
  CHECK(fit.loss == again.loss);
}

TEST_CASE("error summaries by hand") {
  // Predicted over measured: 1.1, 0.8, 1, 2 and 0.5.
  const std::vector<double> errors{std::log(1.1), std::log(0.8), 0, std::log(2.0), std::log(0.5)};
  const ErrorSummary summary = summary_of(errors);
  CHECK(summary.rows == 5);
  CHECK(summary.median == Approx(0.2));
  CHECK(summary.p90 == Approx(0.5 + 0.6 * (1 - 0.5)));  // place 3.6 of 0, .1, .2, .5, 1
  CHECK(summary.worst == Approx(1));
  CHECK(summary_of({}).rows == 0);
  const std::vector<double> one{4};
  CHECK(quantile(one, 0.9) == 4);
}

}  // namespace
}  // namespace qfs
