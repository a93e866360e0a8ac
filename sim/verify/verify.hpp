// What the source documents print, beside what the kernels in this program give (`qfsim verify`).
//
// A figure is stated by a source, or bounded by us where the sources are silent (a constant, with
// its source or its reason), and computed when its section is
// made: by the simulator's own kernels on seeded draws, by a closed form, or by running a kernel
// with counters. No result is stored. Within one build and instruction set the figures are the same
// every time.
//
//   section          source                        what
//   decode_tables    003 tables 1 to 7             errors, bytes and worked figures of decode
//                                                  attention
//   softmax_units    000 section 3, app. A, B, D   resolution over score span and K; levels
//   backward_rules   DESIGN section 8              the worked row, to twelve digits
//   block_algebra    001 section 6                 conjugations, mixed differences, the remainder
//   sweep_errors     DESIGN section 8              a sweep's error by cache format; splits in fp64
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "kernels/softmax/softmax_unit.hpp"

namespace qfs::verify {

enum class Rule {
  within,    // the difference is at most `slack`
  at_most,   // `stated` is a bound from above
  at_least,  // from below
  factor,    // the ratio is at most `slack`, either way
};
}  // namespace qfs::verify

namespace qfs {
template <>
inline constexpr EnumNames<verify::Rule, 4> enum_names<verify::Rule>{{
    {verify::Rule::within, "within"},
    {verify::Rule::at_most, "at_most"},
    {verify::Rule::at_least, "at_least"},
    {verify::Rule::factor, "factor"},
}};
}  // namespace qfs

namespace qfs::verify {

constexpr int scientific = -1;

/// A figure that a source states, beside ours.
struct Figure {
  double stated = 0;
  Rule rule = Rule::within;
  double slack = 0;
  double computed = 0;
  std::optional<double> counted;  // by a kernel's counters
  int decimals = scientific;      // how it is written

  /// Computed and counted both obey the rule; a NaN never does.
  [[nodiscard]] bool agrees() const;
};

/// Stated with so many decimals: ours rounds to it.
Figure printed(double stated, int decimals, double computed, std::optional<double> counted = {});
/// A whole number.
Figure equal(double stated, double computed, std::optional<double> counted = {});
Figure within(double stated, double slack, double computed, int decimals = scientific);
Figure at_most(double bound, double computed, int decimals = scientific);
Figure at_least(double bound, double computed, int decimals = scientific);
/// Stated from one draw, which another draw cannot repeat: ours is no further than a factor away.
Figure near(double stated, double factor, double computed);

/// Figures that belong together, in the order of the table's columns; later ones may be left out.
struct Row {
  std::string name;
  std::vector<Figure> figures;
  [[nodiscard]] bool agrees() const;
};

/// Heads of a figure's cells; `counted` is empty where nothing is counted.
struct Column {
  std::string quantity;  // with its unit, as verify.json names it
  std::string stated;
  std::string computed;
  std::string counted;
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct Section {
  std::string name;
  std::string title;
  std::vector<Table> tables;
  std::string note;  // a sentence; may be empty
};

/// Total variation between a unit and the exact softmax over seeded rows of one span.
struct TotalVariation {
  SoftmaxUnit unit;
  double span = 0;  // nats
  std::size_t keys = 0;
  std::size_t rows = 0;
  double least = 0;
  double median = 0;
  double greatest = 0;
};

/// Every grid unit in both reconstructions over K = 2, 4, ..., 64, then bf16_exp and fp8_exp; each
/// over spans of 3, 12, 30, 100 and 300 nats.
std::vector<TotalVariation> total_variations();

Section decode_tables_section();
Section softmax_units_section(const std::vector<TotalVariation>& distances);
Section backward_rules_section();
Section block_algebra_section();
Section sweep_errors_section();

struct Verification {
  std::vector<Section> sections;
  std::vector<TotalVariation> distances;
};

Verification verify_all();

struct Count {
  std::size_t figures = 0;
  std::size_t disagreeing = 0;
  std::string first;  // that disagrees: section, table and row
};
Count count(const Verification& verification);

/// One page.
std::string to_text(const Verification& verification);
/// Name and content of total_variation.csv and verify.json.
std::vector<std::pair<std::string, std::string>> to_files(const Verification& verification);

}  // namespace qfs::verify
