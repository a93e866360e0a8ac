// A sweep's store: whatever ends the program, and however the work is divided, the results end up
// the same to the byte.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "base/random.hpp"
#include "sim/sweep/result_store.hpp"
#include "sim/sweep/sweep.hpp"
#include "tests/sim/sweep_program.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Starts the program and does not wait for it.
pid_t start(const std::string& file, const fs::path& folder, const std::string& jobs = "2") {
  const pid_t process = fork();
  if (process == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl(test::program().c_str(), "qfsim", "sweep", file.c_str(), "--out", folder.c_str(),
          "--jobs", jobs.c_str(), nullptr);
    _exit(127);
  }
  return process;
}

void kill_workers_of(pid_t process) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  for (pid_t worker = 0; children >> worker;) {
    kill(worker, SIGKILL);
  }
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

PointFigures some_figures(double step) {
  PointFigures figures;
  figures.step_us = step;
  figures.wire_bytes = Bytes(12345678901);
  figures.errors = PointErrors{0.1, 1e-300, std::nullopt, "failed, 'so'"};
  return figures;
}

StoredPoint stored(const std::string& key, PointStatus status, double step) {
  StoredPoint point{key, {}};
  point.outcome.status = status;
  point.outcome.facts = {3, 2, 5, Bytes(7)};
  point.outcome.figures = some_figures(step);
  return point;
}

}  // namespace

TEST_CASE("a store gives back what it was given, also when it is opened again") {
  const Scratch scratch;
  const StoreIdentity identity{"sweep", "program", 3, "1/1"};
  {
    ResultStore store(scratch / "store");
    store.begin(identity);
    store.put(7, stored("k", PointStatus::ok, 0.1 + 0.2));
    StoredPoint refused;
    refused.outcome.status = PointStatus::refused;
    refused.outcome.reason = "it's so";
    store.put(8, refused);
    store.commit();
    store.put(9, stored("lost", PointStatus::ok, 1));
  }
  const ResultStore store(scratch / "store");
  CHECK(store.identity() == identity);
  CHECK(store.count() == 2);
  const StoredPoint point = store.find(7).value();
  CHECK(point.key == "k");
  CHECK(point.outcome.facts == PointFacts{3, 2, 5, Bytes(7)});
  CHECK(point.outcome.figures.step_us == 0.1 + 0.2);
  CHECK(point.outcome.figures.wire_bytes == Bytes(12345678901));
  CHECK(point.outcome.figures.errors->end_to_end == 1e-300);
  CHECK_FALSE(point.outcome.figures.errors->softmax);
  CHECK(point.outcome.figures.errors->failure == "failed, 'so'");
  CHECK(store.find(8)->outcome.reason == "it's so");
  CHECK(store.find_key("k")->figures.step_us == 0.1 + 0.2);
  CHECK_FALSE(store.find_key("other"));
  CHECK_FALSE(store.find(9));  // was not committed
}

TEST_CASE("another sweep in the same store finds results by their key only, and not failures") {
  ResultStore store("");
  store.begin({"one", "program", 3, "1/1"});
  store.put(0, stored("a", PointStatus::ok, 1));
  store.put(1, stored("b", PointStatus::failed, 2));
  StoredPoint transient = stored("c", PointStatus::failed, 3);
  transient.outcome.transient = true;
  store.put(2, transient);
  store.begin({"two", "program", 3, "1/1"});
  CHECK(store.count() == 0);
  CHECK(store.find_key("a")->figures.step_us == 1);
  CHECK(store.find_key("b")->status == PointStatus::failed);
  CHECK_FALSE(store.find_key("c"));
  store.finish();
  CHECK_FALSE(store.find_key("a"));
}

TEST_CASE("fifty kills of the program and its workers leave the same results") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  const Clock::time_point begin = Clock::now();
  const Outcome undisturbed = sweep(file, scratch / "undisturbed");
  CAPTURE(undisturbed.text);
  REQUIRE(undisturbed.status == 0);
  const double length = std::chrono::duration<double>(Clock::now() - begin).count();
  const Results expected = results(scratch / "undisturbed");
  CHECK(std::count(expected.csv.begin(), expected.csv.end(), '\n') == 1 + point_count);
  const Random random(11, 0);
  int completed = 0;
  for (std::uint64_t kills = 0; kills < 50; ++kills) {
    CAPTURE(kills);
    const fs::path folder = scratch / "killed";
    const pid_t process = start(file, folder);
    sleep_for(random.uniform(4 * kills, 0, length / 2));
    if (random.uniform(4 * kills + 1) < 0.5) {
      kill_workers_of(process);
      sleep_for(random.uniform(4 * kills + 2, 0, length / 10));
    }
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    if (kills % 10 == 9 || fs::exists(folder / "results.csv")) {
      REQUIRE(sweep(file, folder).status == 0);
      CHECK(results(folder) == expected);
      fs::remove_all(folder);
      ++completed;
    }
  }
  CHECK(completed >= 5);
}

TEST_CASE("one process or several, one machine or seven: the same results") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  REQUIRE(sweep(file, scratch / "one", "--jobs 1").status == 0);
  REQUIRE(sweep(file, scratch / "three", "--jobs 3").status == 0);
  const Results expected = results(scratch / "one");
  CHECK(results(scratch / "three") == expected);
  for (int number = 1; number <= 7; ++number) {
    REQUIRE(sweep(file, scratch / "seven", fmt::format("--shard {}/7", number)).status == 0);
  }
  CHECK_FALSE(fs::exists(scratch / "seven" / "results.csv"));
  REQUIRE(sweep(file, scratch / "seven", "--merge").status == 0);
  CHECK(results(scratch / "seven") == expected);
}

TEST_CASE("shards that do not make a whole are one error, and nothing is written") {
  const Scratch scratch;
  const std::string file = write_sweep(scratch);
  const fs::path folder = scratch / "out";
  const auto merge = [&] { return sweep(file, folder, "--merge"); };
  const auto check = [&](const std::string& says) {
    const Outcome outcome = merge();
    CAPTURE(outcome.text, says);
    CHECK((outcome.status == 1 || outcome.status == 2));
    CHECK(outcome.text.starts_with("error: "));
    CHECK(outcome.text.find(says) != std::string::npos);
    CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(folder / "results.csv"));
  };
  check("holds no shards");
  CHECK_FALSE(fs::exists(folder));
  REQUIRE(sweep(file, folder, "--shard 1/3").status == 0);
  REQUIRE(sweep(file, folder, "--shard 3/3").status == 0);
  check("shard-2-of-3.sqlite is missing");
  fs::copy_file(folder / "shard-1-of-3.sqlite", folder / "shard-2-of-3.sqlite");
  check("shard-2-of-3.sqlite is of another sweep");
  fs::remove(folder / "shard-2-of-3.sqlite");
  fs::copy_file(folder / "shard-1-of-3.sqlite", folder / "shard-1-of-2.sqlite");
  check("holds shards of 2 and of 3");
  fs::remove(folder / "shard-1-of-2.sqlite");
  {
    std::ofstream(folder / "shard-2-of-3.sqlite") << std::string(5000, 'x');
    check("is damaged or no store");
    fs::remove(folder / "shard-2-of-3.sqlite");
  }
  REQUIRE(sweep(file, folder, "--shard 2/3").status == 0);
  std::ofstream(scratch / "base.yaml", std::ios::app) << "current_token: append_first\n";
  check("is of another configuration at point 1");
  write_sweep(scratch);
  REQUIRE(merge().status == 0);
}

TEST_CASE("a changed configuration does not reuse a point, an unchanged one does") {
  const ConfigFolder folder;
  folder.write("base.yaml", swept_run);
  const std::string text =
      "name: s\nrun: base.yaml\naxes: {workload.context: [16, 64, 256]}\n"
      "variants: {a: {block: standard}, b: {block: early_q}}\n";
  const auto load = [&](const std::string& changed) {
    return load_sweep_config(folder.write("sweep.yaml", changed));
  };
  ResultStore store("");
  CHECK(simulate_sweep(load(text), store).simulated == 6);
  const SweepTally again = simulate_sweep(load(text), store);
  CHECK(again.simulated == 0);
  CHECK(again.kept == 6);
  // A value more, before the others: each point's index is another one.
  std::string more = text;
  more.replace(more.find("[16"), 3, "[8, 16");
  CHECK(simulate_sweep(load(more), store).simulated == 2);
  CHECK(stored_result(load(more), store).points.size() == 8);
  // The run that all of them change.
  std::string slower = swept_run;
  slower.replace(slower.find("launch_overhead: 1 us"), 21, "launch_overhead: 2 us");
  folder.write("base.yaml", slower);
  CHECK(simulate_sweep(load(more), store).simulated == 8);
  const SweepResult result = stored_result(load(more), store);
  ResultStore fresh("");
  simulate_sweep(load(more), fresh);
  const SweepResult expected = stored_result(load(more), fresh);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    CHECK(result.points[i].figures.step_us == expected.points[i].figures.step_us);
  }
}

TEST_CASE("a point whose process is killed three times has failed, until it is tried again") {
  const Scratch scratch;
  const std::string file =
      write_sweep(scratch,
                  "name: slow\nrun: base.yaml\naxes: {workload.context: [16, 17]}\n"
                  "variants: {a: {workload.tokens: 3000, workload.batch: 8, cache_device.capacity: "
                  "unlimited}}\n");
  const fs::path folder = scratch / "out";
  const pid_t process = start(file, folder, "1");
  std::vector<pid_t> killed;
  while (killed.size() < most_deaths) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
    pid_t worker = 0;
    REQUIRE(waitpid(process, nullptr, WNOHANG) == 0);
    if (children >> worker && (killed.empty() || killed.back() != worker)) {
      kill(worker, SIGKILL);
      killed.push_back(worker);
    }
  }
  int status = 0;
  waitpid(process, &status, 0);
  CHECK(WEXITSTATUS(status) == 1);
  const std::string csv = content(folder / "results.csv");
  CHECK(csv.find("wave,16,a,,") != std::string::npos);
  CHECK(csv.find(",failed,the run failed: a simulation was ended by signal 9") !=
        std::string::npos);
  CHECK(csv.find("wave,17,a,8,") != std::string::npos);  // the other is there
  REQUIRE(sweep(file, folder).status == 0);
  REQUIRE(sweep(file, scratch / "undisturbed").status == 0);
  CHECK(results(folder) == results(scratch / "undisturbed"));
}

TEST_CASE("what another build of the program simulated is simulated anew") {
  const ConfigFolder folder;
  folder.write("base.yaml", swept_run);
  const SweepConfig config = load_sweep_config(
      folder.write("sweep.yaml",
                   "name: s\nrun: base.yaml\naxes: {workload.context: [16]}\nvariants: {a: {}}\n"));
  ResultStore store("");
  simulate_sweep(config, store);
  StoreIdentity other = store.identity().value();
  other.program = "another";
  StoredPoint point = store.find(0).value();
  point.key[0] = point.key[0] == '0' ? '1' : '0';  // as the other build's digest would make it
  const double figure = point.outcome.figures.step_us;
  point.outcome.figures.step_us = 1;
  store.put(0, point);
  store.begin(other);
  store.put(0, point);
  CHECK(simulate_sweep(config, store).simulated == 1);
  CHECK(store.find(0)->outcome.figures.step_us == figure);
}

}  // namespace qfs::test
