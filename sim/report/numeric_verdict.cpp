#include "sim/report/numeric_verdict.hpp"

#include <fmt/format.h>

#include <cmath>

namespace qfs {
namespace {

/// A NaN is the worst of all and stays it.
void keep_worst(double& worst, double error) {
  worst = std::isnan(worst) || error <= worst ? worst : error;
}

/// What a failed sweep did not see, if that is what is wrong.
std::string missing_text(const OperationError& failure) {
  if (failure.missing_rows == 0) {
    return "";
  }
  return fmt::format(
      ", which did not see cached position {}{}", failure.first_missing_row,
      failure.missing_rows > 1 ? fmt::format(" and {} after it", failure.missing_rows - 1) : "");
}

void note_first_failure(NumericVerdict& verdict, const PointResult& point) {
  const NumericReport& report = *point.numerics;
  if (!report.failures.empty()) {
    const OperationError& first = report.failures.front();
    verdict.failure = fmt::format("{}: {} at layer {}, step {}, request {}{}", name_of(point.block),
                                  name_of(first.kind), first.layer.value(), first.step.value(),
                                  first.request.value(), missing_text(first));
    return;
  }
  for (const EndToEndError& error : report.end_to_end) {
    if (!(error.relative_error <= report.end_to_end_tolerance)) {
      verdict.failure =
          fmt::format("{}: end to end beyond its tolerance at step {}, request {}",
                      name_of(point.block), error.step.value(), error.request.value());
      return;
    }
  }
  if (!report.passed()) {
    verdict.failure = fmt::format("{}: the graph does not compute what its block order says",
                                  name_of(point.block));
  }
}

}  // namespace

NumericVerdict numeric_verdict(const RunResult& result) {
  NumericVerdict verdict;
  for (const PointResult& point : result.points) {
    if (!point.numerics) {
      continue;
    }
    verdict.checked = true;
    for (const KindErrors& kind : point.numerics->kinds) {
      keep_worst(verdict.operation, kind.worst.relative_error);
    }
    for (const EndToEndError& error : point.numerics->end_to_end) {
      keep_worst(verdict.end_to_end, error.relative_error);
    }
    if (verdict.failure.empty()) {
      note_first_failure(verdict, point);
    }
  }
  return verdict;
}

}  // namespace qfs
