// Relations between tokens against their sets, one by one, over every pair of small relations.
#include <set>
#include <vector>

#include "analysis/estimate/token_relation.hpp"
#include "tests/support/catch.hpp"

namespace qfs::native {
namespace {

using Sets = std::vector<std::set<std::size_t>>;  // by output

constexpr std::size_t longest = 5;

/// As 002's table defines the kinds.
Sets sets_of(const TokenRelation& r) {
  Sets sets(r.outputs);
  for (std::size_t i = r.first_position; i < r.outputs; ++i) {
    for (std::size_t j = 0; j < r.inputs; ++j) {
      const bool depends = (r.kind == RelationKind::all && j < r.limit) ||
                           (r.kind == RelationKind::same_position && j == i) ||
                           (r.kind == RelationKind::prefix && j < i + 1 && j < r.limit);
      if (depends) {
        sets[i].insert(j);
      }
    }
  }
  return sets;
}

/// Every relation of these lengths, some of them twice.
std::vector<TokenRelation> relations(std::size_t outputs, std::size_t inputs) {
  std::vector<TokenRelation> all{no_relation(outputs, inputs)};
  for (std::size_t first = 0; first <= outputs; ++first) {
    for (std::size_t limit = 0; limit <= inputs; ++limit) {
      all.push_back(all_of(outputs, inputs, limit, first));
      all.push_back(prefix_of(outputs, inputs, limit, first));
    }
    if (outputs == inputs) {
      all.push_back(same_position(outputs, first));
    }
  }
  return all;
}

bool has_relation(const Sets& sets, std::size_t outputs, std::size_t inputs) {
  for (const TokenRelation& relation : relations(outputs, inputs)) {
    if (sets_of(relation) == sets) {
      return true;
    }
  }
  return false;
}

/// How often what came out is right, and how often nothing came out though there is a relation.
struct Tally {
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t rightly_none = 0;
  std::size_t missed = 0;
  std::size_t missed_of_stacks = 0;  // of relations whose first_position is 0

  void count(const std::optional<TokenRelation>& got, const Sets& want, const TokenRelation& a,
             const TokenRelation& b, std::size_t inputs) {
    if (got) {
      ++(sets_of(*got) == want && got->outputs == a.outputs && got->inputs == inputs ? right
                                                                                     : wrong);
    } else if (has_relation(want, a.outputs, inputs)) {
      ++missed;
      missed_of_stacks += a.first_position == 0 && b.first_position == 0 ? 1 : 0;
    } else {
      ++rightly_none;
    }
  }
};

TEST_CASE("relations compose as their sets do") {
  Tally tally;
  for (std::size_t outputs = 1; outputs <= longest; ++outputs) {
    for (std::size_t stages = 1; stages <= longest; ++stages) {
      for (std::size_t inputs = 1; inputs <= longest; ++inputs) {
        for (const TokenRelation& outer : relations(outputs, stages)) {
          for (const TokenRelation& inner : relations(stages, inputs)) {
            const Sets outer_sets = sets_of(outer);
            const Sets inner_sets = sets_of(inner);
            Sets want(outputs);
            for (std::size_t i = 0; i < outputs; ++i) {
              for (const std::size_t stage : outer_sets[i]) {
                want[i].insert(inner_sets[stage].begin(), inner_sets[stage].end());
              }
            }
            tally.count(composed(outer, inner), want, outer, inner, inputs);
          }
        }
      }
    }
  }
  INFO(tally.right << " right, " << tally.rightly_none << " rightly none, " << tally.missed
                   << " missed");
  CHECK(tally.wrong == 0);
  CHECK(tally.right > 100'000);
  CHECK(tally.rightly_none > 0);
  CHECK(tally.missed_of_stacks == 0);
  CHECK(tally.missed * 100 < tally.right);
}

TEST_CASE("relations unite as their sets do") {
  Tally tally;
  for (std::size_t outputs = 1; outputs <= longest; ++outputs) {
    for (std::size_t inputs = 1; inputs <= longest; ++inputs) {
      for (const TokenRelation& a : relations(outputs, inputs)) {
        for (const TokenRelation& b : relations(outputs, inputs)) {
          Sets want = sets_of(a);
          const Sets more = sets_of(b);
          for (std::size_t i = 0; i < outputs; ++i) {
            want[i].insert(more[i].begin(), more[i].end());
          }
          tally.count(united(a, b), want, a, b, inputs);
        }
      }
    }
  }
  INFO(tally.right << " right, " << tally.rightly_none << " rightly none, " << tally.missed
                   << " missed");
  CHECK(tally.wrong == 0);
  CHECK(tally.right > 10'000);
  CHECK(tally.rightly_none > 0);
  CHECK(tally.missed_of_stacks == 0);
  CHECK(tally.missed * 20 < tally.right);
}

TEST_CASE("a relation has one form") {
  CHECK(prefix_of(3, 5, 3) == prefix_of(3, 5, 5));
  CHECK(prefix_of(3, 5, 3).limit == 5);
  CHECK(prefix_of(5, 3, 2).limit == 2);
  CHECK(all_of(4, 4, 4, 4) == no_relation(4, 4));
  CHECK(same_position(2, 2) == no_relation(2, 2));
  CHECK(all_of(2, 3, 0) == no_relation(2, 3));
}

}  // namespace
}  // namespace qfs::native
