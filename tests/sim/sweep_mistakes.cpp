// Mistakes in a sweep's file: each one line with its place, before anything is simulated.
#include <string>

#include "tests/sim/sweep_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

const std::string head = "name: s\nrun: base.yaml\n";
const std::string axes = "axes: {workload.context: [1]}\n";
const std::string variants = "variants: {a: {block: standard}}\n";

void check_complaint(const std::string& text, const std::string& begins, const std::string& ends) {
  const ConfigFolder folder;
  check_message(sweep_complaint(folder, text), begins, ends);
}

}  // namespace

TEST_CASE("a sweep without mistakes sweeps") {
  const ConfigFolder folder;
  CHECK(sweep_complaint(folder, head + axes + variants) == "swept");
  CHECK(sweep_complaint(folder, head + "axes: {}\n" + variants) == "swept");
}

TEST_CASE("mistakes in what a sweep's file says of itself") {
  check_complaint("run: base.yaml\n" + axes + variants, "sweep.yaml:1: name: missing", "");
  check_complaint("name: s\n" + axes + variants, "sweep.yaml:1: run: missing", "");
  check_complaint("name: [s]\nrun: base.yaml\n" + axes + variants, "sweep.yaml:1: name: a list",
                  "");
  check_complaint("name: s\nrun: [a]\n" + axes + variants, "sweep.yaml:2: run: a list", "");
  check_complaint("name: s\nrun: none.yaml\n" + axes + variants, "none.yaml: no such file", "");
  check_complaint(head + "equals: [wave]\n" + axes + variants, "sweep.yaml:3: equals: unknown key",
                  "did you mean 'equal'?");
  check_complaint(head + "equal: [waves]\n" + axes + variants, "sweep.yaml:3: equal: 'waves'",
                  "did you mean 'wave'?");
  check_complaint(head + "equal: []\n" + axes + variants, "sweep.yaml:3: equal: an empty list", "");
  check_complaint(head + "equal: [wave, memory, wave]\n" + axes + variants,
                  "sweep.yaml:3: equal: the same twice", "");
  check_complaint(head + "most_requests: 0\n" + axes + variants, "sweep.yaml:3: most_requests: '0'",
                  "from 1 to 65536");
  check_complaint(head + "numerics: full\n" + axes + variants, "sweep.yaml:3: numerics: 'full'",
                  "off, on");
}

TEST_CASE("mistakes in the axes of a sweep") {
  check_complaint(head + variants, "sweep.yaml:1: axes: missing", "");
  check_complaint(head + "axes: [workload.context]\n" + variants, "sweep.yaml:3: axes: a list", "");
  check_complaint(head + "axes: {workload.context: 1}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: '1'", "a list of values");
  check_complaint(head + "axes: {workload.context: []}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: an empty list", "a list of values");
  check_complaint(head + "axes: {workload.context: [1, 2, 1]}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: '1' twice", "each value once");
  check_complaint(head + "axes: {workload.context: [1], workload: [{context: 2}]}\n" + variants,
                  "sweep.yaml:3: axes.workload: sets what is another axis too", "each key once");
  check_complaint(head + "axes: {numerics.mode: [full]}\n" + variants,
                  "sweep.yaml:3: axes.numerics.mode: changes nothing", "");
  std::string hundred = "0";
  for (int i = 1; i < 100; ++i) {
    hundred += ", " + std::to_string(i);
  }
  check_complaint(head + "axes: {a: [" + hundred + "], b: [" + hundred + "], c: [" + hundred +
                      "]}\n" + variants,
                  "sweep.yaml:3: axes: too many points", "");
}

TEST_CASE("a key or value that no run takes is a mistake, wherever else it is right") {
  check_complaint(head + "axes: {workload.contxt: [1]}\n" + variants,
                  "sweep.yaml:3: workload.contxt: unknown key", "did you mean 'context'?");
  check_complaint(head + "axes: {worklod.context: [1]}\n" + variants,
                  "sweep.yaml:3: worklod: unknown key", "did you mean 'workload'?");
  check_complaint(head + "axes:\n  link.latency: [1 us, 2]\n" + variants,
                  "sweep.yaml:4: link.latency: '2'", "");
  check_complaint(head + axes + "variants:\n  a: {block: standard}\n  b: {blok: standard}\n",
                  "sweep.yaml:6: blok: unknown key", "did you mean 'block'?");
  check_complaint(head + axes + "variants:\n  a: {block: standard}\n  b: {block: standrad}\n",
                  "sweep.yaml:6: block: 'standrad'", "did you mean 'standard'?");
  // One device has no link to give a latency.
  check_complaint(head + "axes: {link.latency: [1 us]}\nvariants:\n  a: {}\n" +
                      "  b: {arrangement: colocated, cache_device: null}\n",
                  "base.yaml:9: link: given, but with arrangement colocated", "--set link=null");
}

TEST_CASE("mistakes in the variants of a sweep") {
  check_complaint(head + axes, "sweep.yaml:1: variants: missing", "");
  check_complaint(head + axes + "variants: {}\n", "sweep.yaml:4: variants: none given", "");
  check_complaint(head + axes + "variants: {a: standard}\n", "sweep.yaml:4: variants.a: 'standard'",
                  "as in {block: standard}");
  check_complaint(head + axes + "variants: {a: {workload.context: 3}}\n",
                  "sweep.yaml:4: variants.a.workload.context: sets what is one of the axes too",
                  "");
  check_complaint(head + axes + "variants: {a: {workload: {context: 3, batch: 1}}}\n",
                  "sweep.yaml:4: variants.a.workload: sets what is one of the axes too", "");
  check_complaint(head + axes + "variants: {a: {compare: [swapped]}}\n",
                  "sweep.yaml:4: variants.a.compare: changes nothing", "");
}

TEST_CASE("what keeps every point from being is told, what keeps one is noted") {
  const ConfigFolder folder;
  check_message(sweep_complaint(folder, head + "axes: {workload.context: [1 M]}\n" + variants),
                "--set workload.context=1 M: cache_device.capacity", "");
  const SweepResult result =
      swept(folder, head + "axes: {workload.context: [1, 1 M]}\n" + variants);
  CHECK(result.points.at(0).refused.empty());
  CHECK(result.points.at(1).refused.find("cache_device.capacity") != std::string::npos);
}

TEST_CASE("a run that fails is a point of its sweep, and a batch that is fixed is not chosen") {
  const ConfigFolder folder;
  const SweepResult result =
      swept(folder, head +
                        "axes: {pool.instances: [1, 2]}\nvariants:\n  dies: {arrangement: pooled, "
                        "faults: {call_timeout: 1 ms, instances: [{instance: 0, at: 0 s}]}}\n");
  CHECK(result.points.at(0).failed);
  CHECK(result.points.at(0).refused.starts_with("the run failed: "));
  CHECK_FALSE(result.points.at(1).failed);
  CHECK(result.points.at(1).figures.step_us > 0);
  const SweepResult fixed =
      swept(folder, head + "equal: [wave, resident]\n" + axes +
                        "variants: {a: {workload.request_contexts: [1, 2, 3, 4]}}\n");
  CHECK(fixed.points.at(0).refused.empty());
  CHECK(fixed.points.at(1).refused.starts_with("workload.request_contexts fixes the batch"));
}

TEST_CASE("a value of a sweep means what it means in its file") {
  const ConfigFolder folder;
  folder.write("with space: and colon.yaml",
               "");  // no model, but a name that YAML would take apart
  const std::string said = sweep_complaint(folder, head + "axes: {model: ['a: b']}\n" + variants);
  CHECK(said.find("'a: b'") != std::string::npos);
}

}  // namespace qfs::test
