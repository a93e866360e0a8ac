// `qfsim verify` as a user runs it: what it prints and leaves, its status, and what is drawn from
// it.
#include "sim/cli/verify_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/verify/verify.hpp"
#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

using verify::Verification;

using test::content;
using test::Outcome;
using test::qfsim;
using test::Scratch;
using test::shell;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

bool is_one_line(const std::string& text) {
  return text.ends_with('\n') && std::ranges::count(text, '\n') == 1;
}

void check_csv(const std::string& csv) {
  // Three grid units in two reconstructions over six K, and two units without a grid.
  constexpr std::size_t lines = (3 * 2 * 6 + 2) * 5;
  std::istringstream stream(csv);
  std::string line;
  REQUIRE(std::getline(stream, line));
  CHECK(line ==
        "unit,reconstruction,intervals,span_nats,keys,rows,total_variation_least,"
        "total_variation_median,total_variation_greatest");
  std::size_t read = 0;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = cells_of(line);
    CAPTURE(line);
    REQUIRE(cells.size() == 9);
    const bool has_grid = cells[0] != "bf16_exp" && cells[0] != "fp8_exp";
    CHECK(cells[1].empty() != has_grid);
    CHECK(cells[2].empty() != has_grid);
    const double least = std::stod(cells[6]);
    const double median = std::stod(cells[7]);
    const double greatest = std::stod(cells[8]);
    CHECK(0 <= least);
    CHECK(least <= median);
    CHECK(median <= greatest);
    CHECK(greatest <= 1);
    ++read;
  }
  CHECK(read == lines);
}

void check_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  std::size_t figures = 0;
  CHECK(json.at("sections").size() == 5);
  for (const auto& section : json.at("sections")) {
    for (const auto& table : section.at("tables")) {
      for (const auto& row : table.at("rows")) {
        CHECK(row.at("agrees") == true);
        for (const auto& figure : row.at("figures")) {
          CHECK(figure.at("agrees") == true);
          CHECK(figure.at("computed").is_number());
          CHECK_FALSE(figure.at("quantity").get<std::string>().empty());
          ++figures;
        }
      }
    }
  }
  CHECK(json.at("figures") == figures);
  CHECK(json.at("disagreeing") == 0);
}

Verification small_verification(double computed) {
  return {{{"small",
            "A small section",
            {{"bytes, MB",
              {{"bytes", "stated", "ours", ""}},
              {{"two", {verify::printed(2.5, 1, 2.5)}},
               {"three", {verify::printed(3.5, 1, computed)}}}}},
            ""}},
          {}};
}

std::string plot(const std::string& options, const std::string& folder) {
  return "python3 " + options + " " + test::source_dir() + "/analysis/plot_total_variation.py " +
         folder;
}

}  // namespace

TEST_CASE("a figure that differs is marked, counted and named, and the status says so") {
  const Verification right = small_verification(3.52);
  CHECK(verify::count(right).figures == 2);
  CHECK(verify::count(right).disagreeing == 0);
  CHECK(verify::to_text(right) ==
        "A small section\n"
        "  bytes, MB  stated  ours  verdict\n"
        "  two           2.5   2.5  agrees\n"
        "  three         3.5   3.5  agrees\n"
        "\n"
        "VERIFIED: all 2 figures and bounds agree\n");
  const Verification wrong = small_verification(3.6);
  CHECK(verify::count(wrong).disagreeing == 1);
  CHECK(verify::count(wrong).first == "small: bytes, MB: three");
  const std::string text = verify::to_text(wrong);
  CHECK(text.find("! three         3.5   3.6  DIFFERS\n") != std::string::npos);
  CHECK(text.ends_with("DIFFERS: 1 of 2 figures; the first: small: bytes, MB: three\n"));

  const Scratch scratch;
  CHECK(report_verification(right, {}) == exit_done);
  CHECK(report_verification(wrong, scratch / "out") == exit_numerics_failed);
  const auto json = nlohmann::json::parse(content(scratch / "out" / "verify.json"));
  CHECK(json.at("disagreeing") == 1);
  CHECK(json.at("sections")[0].at("tables")[0].at("rows")[1].at("agrees") == false);
}

TEST_CASE("verify prints its tables, leaves its files and gives the same bytes twice") {
  const Scratch scratch;
  const std::string a = (scratch / "a").string();
  const Outcome first = qfsim("verify --out " + a, "2>&1");
  CAPTURE(first.text);
  CHECK(first.status == 0);
  for (const std::string part :
       {"003, tables 1 to 7", "table 7", "40,960", "Softmax units", "min_max", "Backward rules",
        "Block orders", "1,048,576", "One sweep", "fp8_e4m3", "VERIFIED: all "}) {
    CAPTURE(part);
    CHECK(first.text.find(part) != std::string::npos);
  }
  CHECK(first.text.find("DIFFERS") == std::string::npos);
  const std::string csv = content(scratch / "a" / "total_variation.csv");
  const std::string json = content(scratch / "a" / "verify.json");
  check_csv(csv);
  check_json(json);

  std::ofstream(scratch / "a" / "notes.txt") << "mine";
  const Outcome second = qfsim("verify --out " + a);  // its own folder it may replace
  CHECK(second.text.find("(replaced)") != std::string::npos);
  CHECK(content(scratch / "a" / "notes.txt") == "mine");
  CHECK(second.text.substr(0, second.text.find("results in")) ==
        first.text.substr(0, first.text.find("results in")));
  CHECK(content(scratch / "a" / "total_variation.csv") == csv);
  CHECK(content(scratch / "a" / "verify.json") == json);
}

TEST_CASE("verify refuses what it does not know, and folders that it must not replace") {
  const Scratch scratch;
  for (const std::string bad : {"--frob", "--ou elsewhere", "model.yaml", "--out", "--out ''"}) {
    const Outcome outcome = qfsim("verify " + bad, "2>&1 >/dev/null");
    CAPTURE(bad, outcome.text);
    CHECK(outcome.status == 2);
    CHECK(outcome.text.starts_with("error: "));
    CHECK(is_one_line(outcome.text));
  }
  CHECK(scratch.entries() == 0);
  for (const std::vector<std::string>& files :
       {std::vector<std::string>{"thesis.tex"}, {"summary.json", "config.yaml"}}) {
    const fs::path folder = scratch / files.front();
    fs::create_directories(folder);
    for (const std::string& file : files) {
      std::ofstream(folder / file) << "precious";
    }
    const Outcome outcome = qfsim("verify --out " + folder.string(), "2>&1");
    CHECK(outcome.status == 2);
    CHECK(is_one_line(outcome.text));
    CHECK(content(folder / files.front()) == "precious");
  }
  const Outcome help = qfsim("verify --help");
  CHECK(help.status == 0);
  CHECK(help.text.find("--out") != std::string::npos);
}

TEST_CASE("the plot of total variation says in one line what it lacks") {
  const Scratch scratch;
  const Outcome no_file = shell(plot("", (scratch / "nowhere").string()) + " 2>&1");
  CAPTURE(no_file.text);
  CHECK(no_file.status == 1);
  CHECK(is_one_line(no_file.text));
  CHECK(no_file.text.find("total_variation.csv") != std::string::npos);
  std::ofstream(scratch / "total_variation.csv") << "unit,intervals\nfwm,4\n";
  const std::string folder = (scratch / "").string();
  const Outcome bad_file = shell(plot("", folder) + " 2>&1");
  CAPTURE(bad_file.text);
  CHECK(bad_file.status == 1);
  CHECK(is_one_line(bad_file.text));
  CHECK(bad_file.text.find("span_nats") != std::string::npos);
  // Without the folders of installed packages there is no matplotlib.
  std::ofstream(scratch / "total_variation.csv")
      << "unit,reconstruction,intervals,span_nats,total_variation_median\nfwm,lerp,4,3,0.1\n";
  const Outcome no_library = shell(plot("-S -E", folder) + " 2>&1");
  CAPTURE(no_library.text);
  CHECK(no_library.status == 1);
  CHECK(is_one_line(no_library.text));
  CHECK(no_library.text.find("matplotlib") != std::string::npos);
}

}  // namespace qfs
