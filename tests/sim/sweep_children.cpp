// Children that work side by side, and how their ends are told.
#include <unistd.h>

#include <csignal>
#include <map>

#include "base/error.hpp"
#include "sim/run/isolate.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

std::map<std::uint64_t, ChildEnd> all_ends(ChildPool& pool) {
  std::map<std::uint64_t, ChildEnd> ends;
  while (pool.count() > 0) {
    for (ChildEnd& end : pool.wait(std::chrono::milliseconds(50))) {
      ends[end.id] = std::move(end);
    }
  }
  return ends;
}

}  // namespace

TEST_CASE("each end of a child is told as what it was, and disturbs no other") {
  ChildPool pool;
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  pool.start(1, [&] { return large; });
  pool.start(2, []() -> std::string { throw ConfigError("mine"); });
  pool.start(3, []() -> std::string { throw RunError("its"); });
  pool.start(4, []() -> std::string {
    raise(SIGKILL);
    return "";
  });
  pool.start(5, []() -> std::string { _exit(9); });
  pool.start(6, [] { return std::string(); });
  CHECK(pool.count() == 6);
  const std::map<std::uint64_t, ChildEnd> ends = all_ends(pool);
  REQUIRE(ends.size() == 6);
  CHECK(ends.at(1).how == ChildEnd::How::returned);
  CHECK(ends.at(1).text == large);
  CHECK(ends.at(2).how == ChildEnd::How::config_error);
  CHECK(ends.at(2).text == "mine");
  CHECK(ends.at(3).how == ChildEnd::How::run_error);
  CHECK(ends.at(3).text == "its");
  CHECK(ends.at(4).how == ChildEnd::How::died);
  CHECK(ends.at(4).text.find("signal 9") != std::string::npos);
  CHECK(ends.at(5).how == ChildEnd::How::died);
  CHECK(ends.at(5).text.find("status 9") != std::string::npos);
  CHECK(ends.at(6).how == ChildEnd::How::returned);
  CHECK(ends.at(6).text.empty());
}

TEST_CASE("what a task of run_in_children throws is thrown, and the others are stopped") {
  const auto throws = []() -> std::string { throw ConfigError("mine"); };
  const auto endless = []() -> std::string {
    pause();
    return "";
  };
  CHECK_THROWS_AS(run_in_children({throws, endless}, 2), ConfigError);
  const auto dies = []() -> std::string {
    raise(SIGKILL);
    return "";
  };
  CHECK_THROWS_AS(run_in_children({dies, endless}, 2), RunError);
  CHECK(run_in_children({[] { return std::string("a"); }, [] { return std::string("b"); }}, 1) ==
        std::vector<std::string>{"a", "b"});
}

}  // namespace qfs::test
