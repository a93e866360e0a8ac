// Points that share a process: the same figures as in processes of their own, and one that fails
// takes no other with it.
#include <functional>
#include <string>
#include <vector>

#include "sim/run/isolate.hpp"
#include "sim/sweep/batch_size.hpp"
#include "sim/sweep/figures_archive.hpp"
#include "sim/sweep/point_figures.hpp"
#include "sim/sweep/sweep_points.hpp"
#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

using std::chrono::milliseconds;

/// 96 points; one variant in four cannot be finished, since its only instance dies.
constexpr const char* mixed = R"(
name: mixed
run: base.yaml
axes:
  workload.context: {from: 8, to: 512, steps: 12, scale: log}
  workload.batch: [1, 4]
variants:
  apart:  {block: early_q}
  alone:  {arrangement: colocated, cache_device: null, link: null}
  dies:   {arrangement: pooled, faults.call_timeout: 50 us, faults.instances: [{instance: 0, at: 20 us}]}
  shared: {arrangement: pooled, pool.batching: ready}
)";

SweepConfig load(const ConfigFolder& folder, const std::string& text) {
  folder.write("base.yaml", swept_run);
  return load_sweep_config(folder.write("sweep.yaml", text));
}

/// Of each point that ran by a process of its own.
std::vector<PointFigures> figures_alone(const SweepResult& result) {
  std::vector<std::function<PointFigures()>> tasks;
  const SweepSpace space(result.config);
  PointMaker maker(result.config);
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    if (result.points[index].ran()) {
      tasks.emplace_back([run = maker.make(space.at(index))] { return simulated_figures(run); });
    }
  }
  return run_isolated(tasks, default_jobs());
}

}  // namespace

TEST_CASE("points in batches have the figures that they have alone, and failures their own") {
  const ConfigFolder folder;
  const SweepResult result = run_sweep(load(folder, mixed), 2);
  const std::vector<PointFigures> alone = figures_alone(result);
  std::size_t ran = 0;
  for (const SweepPoint& point : result.points) {
    CAPTURE(point.variant, point.values, point.reason);
    if (point.variant == 2) {
      CHECK(point.status == PointStatus::failed);
      CHECK_FALSE(point.transient);
      CHECK(point.reason.starts_with("the run failed: the simulation stopped with "));
      CHECK(point.reason.ends_with("every instance of the pool has died"));
    } else {
      REQUIRE(point.ran());
      CHECK(packed(point.figures) == packed(alone.at(ran++)));
    }
  }
  CHECK(result.points.size() == 96);
  CHECK(ran == 72);
}

TEST_CASE(
    "batches grow while they are short, shrink when they are long, and are small at the end") {
  BatchSize size;
  constexpr std::uint64_t many = 1'000'000;
  CHECK(size.next(many, 2) == 1);
  for (const std::size_t next : {2, 4, 8, 16}) {
    size.note(size.next(many, 2), milliseconds(1));
    CHECK(size.next(many, 2) == next);
  }
  for (int i = 0; i < 5; ++i) {
    size.note(size.next(many, 2), milliseconds(1));
  }
  CHECK(size.next(many, 2) == BatchSize::most);
  CHECK(size.next(60, 2) == 15);
  CHECK(size.next(7, 2) == 1);
  CHECK(size.next(0, 2) == 1);
  size.note(3, milliseconds(1));  // of a smaller one nothing follows
  size.note(BatchSize::most, milliseconds(50));
  CHECK(size.next(many, 2) == BatchSize::most);
  size.note(BatchSize::most, milliseconds(500));
  CHECK(size.next(many, 2) == BatchSize::most / 2);
  size.note_failure();
  CHECK(size.next(many, 2) == BatchSize::most / 4);
  size.note(1, milliseconds(5000));
  CHECK(size.next(many, 2) == 1);
}

}  // namespace qfs::test
