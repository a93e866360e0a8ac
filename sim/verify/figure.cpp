#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

// Written so that a NaN obeys no rule.
bool obeys(const Figure& figure, double ours) {
  switch (figure.rule) {
    case Rule::within:
      return std::abs(ours - figure.stated) <= figure.slack;
    case Rule::at_most:
      return ours <= figure.stated;
    case Rule::at_least:
      return ours >= figure.stated;
    case Rule::factor:
      return ours >= figure.stated / figure.slack && ours <= figure.stated * figure.slack;
  }
  return false;
}

}  // namespace

bool Figure::agrees() const {
  return obeys(*this, computed) && (!counted || obeys(*this, *counted));
}

bool Row::agrees() const {
  return !figures.empty() && std::ranges::all_of(figures, &Figure::agrees);
}

Figure printed(double stated, int decimals, double computed, std::optional<double> counted) {
  assert(decimals >= 0);
  return {stated, Rule::within, std::pow(10.0, -decimals) / 2, computed, counted, decimals};
}

Figure equal(double stated, double computed, std::optional<double> counted) {
  return {stated, Rule::within, 0, computed, counted, 0};
}

Figure within(double stated, double slack, double computed, int decimals) {
  return {stated, Rule::within, slack, computed, {}, decimals};
}

Figure at_most(double bound, double computed, int decimals) {
  return {bound, Rule::at_most, 0, computed, {}, decimals};
}

Figure at_least(double bound, double computed, int decimals) {
  return {bound, Rule::at_least, 0, computed, {}, decimals};
}

Figure near(double stated, double factor, double computed) {
  assert(stated > 0 && factor > 1);
  return {stated, Rule::factor, factor, computed, {}, scientific};
}

}  // namespace qfs::verify
