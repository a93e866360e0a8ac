#include "sim/verify/verify.hpp"

#include <fmt/format.h>

namespace qfs::verify {

Verification verify_all() {
  Verification verification;
  verification.distances = total_variations();
  verification.sections = {decode_tables_section(), softmax_units_section(verification.distances),
                           backward_rules_section(), block_algebra_section(),
                           sweep_errors_section()};
  return verification;
}

Count count(const Verification& verification) {
  Count count;
  for (const Section& section : verification.sections) {
    for (const Table& table : section.tables) {
      for (const Row& row : table.rows) {
        for (const Figure& figure : row.figures) {
          ++count.figures;
          count.disagreeing += figure.agrees() ? 0 : 1;
        }
        if (!row.agrees() && count.first.empty()) {
          count.first = fmt::format("{}: {}: {}", section.name, table.title, row.name);
        }
      }
    }
  }
  return count;
}

}  // namespace qfs::verify
