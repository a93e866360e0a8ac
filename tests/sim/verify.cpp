// What `qfsim verify` compares: that its figures agree, and that none of them is idle.
#include "sim/verify/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using verify::Figure;
using verify::Row;
using verify::Rule;
using verify::Section;
using verify::Table;
using verify::TotalVariation;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ---- tampering ----

Figure stating(Figure figure, double stated) {
  figure.stated = stated;
  return figure;
}

/// The figure with what its source states altered: by one in the last place that is printed, by
/// twice the slack, or to just beyond ours.
std::vector<Figure> tampered(const Figure& figure) {
  const double least = std::max(std::abs(figure.computed) * 1e-9, 1e-300);
  switch (figure.rule) {
    case Rule::within: {
      // A shade more than the last place: what lies half-way rounds either way.
      const double step = figure.slack == 0 ? 1 : 2.0001 * figure.slack;
      return {stating(figure, figure.stated - step), stating(figure, figure.stated + step)};
    }
    case Rule::at_most:
      return {stating(figure, figure.computed - least)};
    case Rule::at_least:
      return {stating(figure, figure.computed + least)};
    case Rule::factor: {
      const double step = 1.0001 * figure.slack * figure.slack;
      return {stating(figure, figure.stated / step), stating(figure, figure.stated * step)};
    }
  }
  return {};
}

void check_figure(const Figure& figure) {
  CHECK(figure.agrees());
  REQUIRE(!tampered(figure).empty());
  for (const Figure& altered : tampered(figure)) {
    CAPTURE(altered.stated);
    CHECK_FALSE(altered.agrees());
  }
  Figure other = figure;
  other.computed = nan;
  CHECK_FALSE(other.agrees());
  if (figure.counted) {
    other = figure;
    other.counted = *figure.counted + std::max(1.0, 0.1 * *figure.counted);
    CHECK_FALSE(other.agrees());
  }
}

/// Every figure agrees, and would not if its source said otherwise; `rows` of each table.
void check_section(const Section& section, const std::vector<std::size_t>& rows) {
  REQUIRE(section.tables.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Table& table = section.tables[i];
    CAPTURE(section.name, table.title);
    CHECK(table.rows.size() == rows[i]);
    for (const Row& row : table.rows) {
      CHECK(row.agrees());
      REQUIRE(!row.figures.empty());
      REQUIRE(row.figures.size() <= table.columns.size());
      for (std::size_t f = 0; f < row.figures.size(); ++f) {
        CAPTURE(row.name, table.columns[f].quantity, row.figures[f].computed);
        CHECK(row.figures[f].counted.has_value() <= !table.columns[f].counted.empty());
        check_figure(row.figures[f]);
      }
    }
  }
}

}  // namespace

TEST_CASE("a figure agrees up to its edge and not beyond") {
  CHECK(verify::printed(0.52, 2, 0.5249).agrees());
  CHECK(verify::printed(0.52, 2, 0.5151).agrees());
  CHECK_FALSE(verify::printed(0.52, 2, 0.5251).agrees());
  CHECK_FALSE(verify::printed(0.53, 2, 0.5249).agrees());
  CHECK(verify::printed(0.52, 2, 0.52, 0.52).agrees());
  CHECK_FALSE(verify::printed(0.52, 2, 0.52, 0.53).agrees());
  CHECK(verify::equal(196, 196, 196).agrees());
  CHECK_FALSE(verify::equal(196, 195).agrees());
  CHECK_FALSE(verify::equal(196, 196, 197).agrees());
  CHECK(verify::at_most(2, 2).agrees());
  CHECK_FALSE(verify::at_most(2, std::nextafter(2, 3)).agrees());
  CHECK(verify::at_least(2, 2).agrees());
  CHECK_FALSE(verify::at_least(2, std::nextafter(2, 1)).agrees());
  CHECK(verify::within(-1, 0.125, -1.125).agrees());
  CHECK_FALSE(verify::within(-1, 0.125, -1.13).agrees());
  CHECK(verify::near(8, 2, 4).agrees());
  CHECK(verify::near(8, 2, 16).agrees());
  CHECK_FALSE(verify::near(8, 2, 3.9).agrees());
  CHECK_FALSE(verify::near(8, 2, 16.1).agrees());
  CHECK_FALSE(verify::at_least(2, nan).agrees());
  CHECK_FALSE(Row{"nothing compared", {}}.agrees());
}

TEST_CASE("003's tables agree, and would not with other figures") {
  const Section section = verify::decode_tables_section();
  check_section(section, {5, 2, 3, 4, 4, 4, 4, 4});
  // By hand: T (dk + dv) values of q and out, and T (T + 1) / 2 rows of K and V.
  const Row& run = section.tables[3].rows[3];
  const double values = 1024.0 * 128 + 1024.0 * 1025 / 2 * 128;
  CHECK(run.figures[1].computed == Approx(values * 4 / 1e6).epsilon(1e-15));
  CHECK(run.figures[1].counted == run.figures[1].computed);
  CHECK(run.figures[2].computed == Approx(1024.0 * 1025 * 2049 / 6 * 4 / 1e6).epsilon(1e-15));
  // Each column that is said to be counted was.
  for (const std::size_t table : {1U, 3U, 5U}) {
    for (const Row& row : section.tables[table].rows) {
      CHECK(row.figures[0].counted.has_value());
      CHECK(row.figures[1].counted.has_value());
    }
  }
}

TEST_CASE("the softmax units' rows agree, and would not with other figures") {
  check_section(verify::softmax_units_section(verify::total_variations()), {8, 4});
}

TEST_CASE("units that are taken for each other are found out") {
  std::vector<TotalVariation> distances = verify::total_variations();
  for (TotalVariation& point : distances) {
    if (point.unit.kind == SoftmaxKind::min_max) {
      point.unit.kind = SoftmaxKind::fwm;
    } else if (point.unit.kind == SoftmaxKind::fwm) {
      point.unit.kind = SoftmaxKind::min_max;
    }
  }
  const Table table = verify::softmax_units_section(distances).tables[0];
  CHECK_FALSE(table.rows[0].agrees());  // fwm does not rise
  CHECK_FALSE(table.rows[1].agrees());
  CHECK_FALSE(table.rows[2].agrees());  // min_max does grow
  CHECK(table.rows[3].agrees());
}

TEST_CASE("the worked row of the backward rules agrees, and would not with other digits") {
  const Section section = verify::backward_rules_section();
  check_section(section, {5, 5, 5});
  // The keys' gradients add up to zero in all but `detach`.
  const auto sum = [&](std::size_t table, std::size_t figure) {
    double total = 0;
    for (const Row& row : section.tables[table].rows) {
      total += row.figures[figure].computed;
    }
    return total;
  };
  CHECK(sum(0, 0) == Approx(1).epsilon(1e-15));
  CHECK(std::abs(sum(0, 1)) <= 1e-15);
  CHECK(std::abs(sum(1, 0)) >= 1e-3);
  CHECK(std::abs(sum(1, 1)) <= 1e-15);
  CHECK(std::abs(sum(2, 0)) <= 1e-15);
}

TEST_CASE("the block orders' rows agree, and would not with other figures") {
  check_section(verify::block_algebra_section(), {3, 8, 2});
}

TEST_CASE("the sweeps' errors agree, and would not with other figures") {
  const Section section = verify::sweep_errors_section();
  check_section(section, {2 * 7, 1});
  // The coarser the format, the larger the error: fp16, int8 aside, bf16, E4M3, E5M2.
  const std::vector<Row>& rows = section.tables[0].rows;
  for (const std::size_t at : {0U, 7U}) {
    for (const std::size_t i : {1U, 2U, 3U, 4U}) {
      CAPTURE(rows[at + i].name, rows[at + i + 1].name);
      CHECK(rows[at + i].figures[0].computed < rows[at + i + 1].figures[0].computed / 1.5);
    }
  }
}

}  // namespace qfs
