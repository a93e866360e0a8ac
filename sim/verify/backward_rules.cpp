#include <fmt/format.h>

#include <array>
#include <vector>

#include "kernels/softmax/softmax_gradient.hpp"
#include "sim/verify/verify.hpp"

namespace qfs::verify {
namespace {

constexpr std::size_t keys = 5;
using Values = std::array<double, keys>;

// DESIGN section 8: the worked row, K = 4, tau = 6.
constexpr Values scores{0.4, -1.25, 2, -3, 1.1};
constexpr Values upstream{1, -0.5, 0.25, 2, -1};
constexpr Values lerp_probabilities{.129585653411, .026533892921, .565216582462, .003808399376,
                                    .274855471830};
constexpr Values lerp_full{.093321988548, -.012986621573, .195805528354, .043380271679,
                           -.319521167008};
// It differs from the full one at the arg max and the arg min.
constexpr Values lerp_detach{lerp_full[0], lerp_full[1], .083758153313, .015247711753,
                             lerp_full[4]};
constexpr Values weight_ste_full{.085987183299, -.019200238446, .293397770785, .051732589473,
                                 -.411917305110};
constexpr Values fwm_full{.067081164196, -.006555559897, .208707836717, .006541452933,
                          -.275774893949};

constexpr SoftmaxUnit min_max_lerp{SoftmaxKind::min_max, Reconstruction::lerp};
constexpr SoftmaxUnit min_max_nearest{SoftmaxKind::min_max, Reconstruction::nearest};
constexpr SoftmaxUnit fwm_lerp{SoftmaxKind::fwm, Reconstruction::lerp};

struct Quantity {
  std::string name;
  Values stated;
  Values computed;
};

Quantity gradient(const std::string& name, const Values& stated, const SoftmaxUnit& unit,
                  const GradientRule& rule = {}) {
  Quantity quantity{name, stated, {}};
  softmax_gradient<double>(unit, rule, scores, upstream, quantity.computed);
  return quantity;
}

Quantity probabilities() {
  Quantity quantity{"P", lerp_probabilities, {}};
  softmax_row<double>(min_max_lerp, scores, quantity.computed);
  return quantity;
}

Table table_of(const std::string& title, const std::vector<Quantity>& quantities) {
  constexpr int digits = 12;
  Table table{title, {}, {}};
  for (const Quantity& quantity : quantities) {
    table.columns.push_back({quantity.name, quantity.name, "computed", ""});
  }
  for (std::size_t key = 0; key < keys; ++key) {
    Row row{fmt::format("s = {}", scores[key]), {}};
    for (const Quantity& quantity : quantities) {
      row.figures.push_back(printed(quantity.stated[key], digits, quantity.computed[key]));
    }
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace

Section backward_rules_section() {
  constexpr GradientRule detach{Surrogate::none, CalibrationGradient::detach};
  constexpr GradientRule weight_ste{Surrogate::weight_ste, CalibrationGradient::full};
  return {"backward_rules",
          "Backward rules: the worked row of DESIGN 8, K = 4",
          {table_of("min_max lerp",
                    {probabilities(), gradient("full gradient", lerp_full, min_max_lerp)}),
           table_of("min_max",
                    {gradient("lerp detach", lerp_detach, min_max_lerp, detach),
                     gradient("nearest weight_ste", weight_ste_full, min_max_nearest, weight_ste)}),
           table_of("fwm lerp", {gradient("full gradient", fwm_full, fwm_lerp)})},
          ""};
}

}  // namespace qfs::verify
