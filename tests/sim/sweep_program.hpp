// `qfsim sweep` as a user runs it, on a small sweep with a constraint, twins and an objective.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/sim/scratch.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {

namespace fs = std::filesystem;

inline constexpr const char* sweep_text = R"(
name: stored
run: base.yaml
axes:
  workload.context: {from: 16, to: 2 Ki, steps: 15, scale: log}
  link.latency: [1 us, 5 us]
variants:
  standard: {block: standard}
  early_q: {block: early_q}
  same: {block: early_q}
constraints: [{skip: {workload.context: 16, variant: standard}, because: small}]
derived: {gain: {speed_up: tpot_us, baseline: standard}}
objectives: [{maximise: gain}]
)";
inline constexpr std::size_t point_count = 15 * 2 * 3;

inline std::string write_sweep(const Scratch& scratch, const std::string& text = sweep_text) {
  std::ofstream(scratch / "base.yaml") << swept_run;
  std::ofstream(scratch / "sweep.yaml") << text;
  return (scratch / "sweep.yaml").string();
}

inline Outcome sweep(const std::string& file, const fs::path& folder,
                     const std::string& more = "") {
  return qfsim("sweep " + file + " --out " + folder.string() + " " + more, "2>&1");
}

/// Every row of the points, in order, with every digit.
inline std::string rows(const fs::path& store) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &handle) == SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closing(handle, sqlite3_close);
  std::string text;
  const auto add = [](void* to, int count, char** values, char**) {
    for (int i = 0; i < count; ++i) {
      *static_cast<std::string*>(to) += values[i] == nullptr ? "-" : values[i];
      *static_cast<std::string*>(to) += '|';
    }
    *static_cast<std::string*>(to) += '\n';
    return 0;
  };
  REQUIRE(sqlite3_exec(handle, "SELECT * FROM about; SELECT * FROM points ORDER BY \"index\"", add,
                       &text, nullptr) == SQLITE_OK);
  return text;
}

struct Results {
  std::string csv;
  std::string best;
  std::string store;
  bool operator==(const Results&) const = default;
};

inline Results results(const fs::path& folder) {
  return {content(folder / "results.csv"), content(folder / "best.txt"),
          rows(folder / "store.sqlite")};
}

}  // namespace qfs::test
