#include "sim/calibrate/cross_validation.hpp"

#include <algorithm>
#include <set>

#include "base/random.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t seed = 7;
constexpr std::size_t value_folds = 3;

Withholding drawn_halves(std::size_t rows) {
  const Random random(seed, 0);
  Withholding way{"half of the rows", {}, 2};
  for (std::size_t row = 0; row < rows; ++row) {
    way.fold_of_row.push_back(random.below(row, 2));
  }
  return way;
}

using Value = std::function<std::int64_t(const KernelWork&)>;

/// Neighbouring values belong to different folds.
Withholding whole_values(std::string name, std::span<const MeasuredKernel> rows,
                         const Value& value) {
  std::set<std::int64_t> distinct;
  for (const MeasuredKernel& row : rows) {
    distinct.insert(value(row.work));
  }
  Withholding way{std::move(name), {}, std::min(value_folds, distinct.size())};
  for (const MeasuredKernel& row : rows) {
    const auto place = std::distance(distinct.begin(), distinct.find(value(row.work)));
    way.fold_of_row.push_back(static_cast<std::size_t>(place) % value_folds);
  }
  return way;
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Withholding> ways_of_withholding(KernelKind kind,
                                             std::span<const MeasuredKernel> rows) {
  std::vector<Withholding> ways{drawn_halves(rows.size())};
  if (kind == KernelKind::sweep) {
    ways.push_back(whole_values("whole contexts", rows, [](const KernelWork& work) {
      return std::get<SweepWork>(work).context;
    }));
    ways.push_back(whole_values("whole head counts", rows, [](const KernelWork& work) {
      return std::get<SweepWork>(work).query_heads;
    }));
  } else {
    ways.push_back(whole_values(
        "whole m", rows, [](const KernelWork& work) { return std::get<ProductWork>(work).m; }));
    ways.push_back(whole_values(
        "whole n", rows, [](const KernelWork& work) { return std::get<ProductWork>(work).n; }));
  }
  return ways;
}

Validation validated(const DeviceFacts& facts, KernelKind kind,
                     std::span<const MeasuredKernel> rows, const Withholding& way,
                     const FitOptions& options, const std::function<void()>& done) {
  std::vector<double> fit_errors;
  std::vector<double> line_errors;
  for (std::size_t fold = 0; fold < way.folds; ++fold) {
    std::vector<MeasuredKernel> used;
    std::vector<MeasuredKernel> withheld;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      (way.fold_of_row[row] == fold ? withheld : used).push_back(rows[row]);
    }
    if (used.empty() || withheld.empty()) {
      continue;
    }
    append(fit_errors, log_errors_of(fit_kernel(facts, kind, used, options), withheld));
    append(line_errors, log_errors_of(fit_line(facts, used, options), withheld));
    if (done) {
      done();
    }
  }
  return {way.name, summary_of(fit_errors), summary_of(line_errors)};
}

}  // namespace qfs
