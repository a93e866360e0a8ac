#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "sim/report/output_folder.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
namespace fs = std::filesystem;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;
const Files results{{"summary.json", "{}\n"}, {"config.yaml", "name: a\n"}};

/// A folder of the test's own.
class Place {
 public:
  Place() {
    std::string name = (fs::temp_directory_path() / "qfsim_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Place() { fs::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

void check_refused(const fs::path& folder, const std::string& why) {
  try {
    check_output_folder(folder);
    FAIL_CHECK(folder << " was not refused");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    INFO(text);
    CHECK(text.find(why) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
  CHECK_THROWS_AS(write_results(folder, results), ConfigError);
}

}  // namespace

TEST_CASE("results appear in a new folder, with the parents it needs") {
  const Place place;
  const fs::path folder = place / "a/b/results";
  check_output_folder(folder);
  CHECK(place.entries() == 0);  // the check leaves nothing
  write_results(folder, results);
  CHECK(content(folder / "summary.json") == "{}\n");
  CHECK(content(folder / "config.yaml") == "name: a\n");
  CHECK(std::distance(fs::directory_iterator(folder.parent_path()), fs::directory_iterator()) == 1);
}

TEST_CASE("an empty folder is taken, with or without a slash") {
  const Place place;
  fs::create_directory(place / "empty");
  write_results(place / "empty/", results);
  CHECK(content(place / "empty/summary.json") == "{}\n");
  CHECK(place.entries() == 1);
}

TEST_CASE("earlier results are replaced whole, and what is not ours is kept") {
  const Place place;
  const fs::path folder = place / "results";
  write_results(folder, {{"summary.json", "old"}, {"config.yaml", ""}, {"timeline.json", "old"}});
  put(folder / "notes.txt", "mine");
  fs::create_directory(folder / "figures");
  write_results(folder, results);
  CHECK(content(folder / "summary.json") == "{}\n");
  CHECK_FALSE(fs::exists(folder / "timeline.json"));
  CHECK(content(folder / "notes.txt") == "mine");
  CHECK(fs::is_directory(folder / "figures"));
  CHECK(place.entries() == 1);
}

TEST_CASE("a link to a results folder stays a link") {
  const Place place;
  write_results(place / "results", results);
  fs::create_directory_symlink(place / "results", place / "latest");
  write_results(place / "latest", {{"summary.json", "new"}, {"config.yaml", ""}});
  CHECK(fs::is_symlink(place / "latest"));
  CHECK(content(place / "results/summary.json") == "new");
}

TEST_CASE("whatever else is there is refused and left alone") {
  const Place place;
  fs::create_directory(place / "work");
  put(place / "work/summary.json", "someone else's");
  check_refused(place / "work", "not empty");
  CHECK(content(place / "work/summary.json") == "someone else's");

  put(place / "file", "text");
  check_refused(place / "file", "not a folder");
  check_refused(place / "file/results", "not a folder");
  check_refused(place / "file/deep/results", "not a folder");
  CHECK(content(place / "file") == "text");

  fs::create_symlink(place / "nowhere", place / "dangling");
  check_refused(place / "dangling", "link to nothing");
  check_refused("", "empty");
  check_refused(place / std::string(300, 'x').c_str(), "too long");
  check_refused("/proc/qfsim/results", "cannot be written");
  CHECK(place.entries() == 3);
}

TEST_CASE("the working folder itself is refused") {
  const Place place;
  fs::create_directory(place / "here");
  const fs::path before = fs::current_path();
  fs::current_path(place / "here");
  check_refused(".", "working folder");
  CHECK_NOTHROW(check_output_folder("inside"));
  fs::current_path(before);
}

TEST_CASE("a failure leaves nothing behind and earlier results as they were") {
  const Place place;
  const Files bad{{"summary.json", "new"}, {"no/such/folder.json", ""}};
  CHECK_THROWS_AS(write_results(place / "a/b/results", bad), RunError);
  CHECK(place.entries() == 0);

  write_results(place / "results", results);
  CHECK_THROWS_AS(write_results(place / "results", bad), RunError);
  CHECK(content(place / "results/summary.json") == "{}\n");
  CHECK(place.entries() == 1);
}
