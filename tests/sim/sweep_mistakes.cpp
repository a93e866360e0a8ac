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
  check_complaint(head + "layers: repeated\n" + axes + variants, "sweep.yaml:3: layers: 'repeated'",
                  "all, repeating");
  check_complaint(head + "numerics: full\n" + axes + variants, "sweep.yaml:3: numerics: 'full'",
                  "off, on");
}

TEST_CASE("mistakes in the axes of a sweep") {
  check_complaint(head + variants, "sweep.yaml:1: axes: missing", "");
  check_complaint(head + "axes: [workload.context]\n" + variants, "sweep.yaml:3: axes: a list", "");
  check_complaint(head + "axes: {workload.context: 1}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: '1'; legal: a list of values", "");
  check_complaint(head + "axes: {workload.context: []}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: an empty list; legal: a list of values",
                  "");
  check_complaint(head + "axes: {workload.context: [1, 2, 1]}\n" + variants,
                  "sweep.yaml:3: axes.workload.context: '1' twice", "each value once");
  check_complaint(head + "axes: {workload.context: [1], workload: [{context: 2}]}\n" + variants,
                  "sweep.yaml:3: axes.workload: sets what is another axis too", "each key once");
  check_complaint(head + "axes: {numerics.mode: [full]}\n" + variants,
                  "sweep.yaml:3: axes.numerics.mode: changes nothing", "");
  check_complaint(head +
                      "axes:\n  workload.context: {from: 1, to: 1 M, steps: 1000}\n"
                      "  workload.batch: {from: 1, to: 1000, steps: 1000}\n"
                      "  link.latency: {from: 1 us, to: 1 ms, steps: 1000}\n" +
                      variants,
                  "sweep.yaml:3: axes: 1,000,000,000 points",
                  "at most 4,000,000 with all variants");
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

TEST_CASE("mistakes in a range of values") {
  const auto complaint = [](const std::string& range, const std::string& begins,
                            const std::string& ends) {
    check_complaint(head + "axes:\n  workload.context: {" + range + "}\n" + variants,
                    "sweep.yaml:4: axes.workload.context" + begins, ends);
  };
  complaint("from: 1, to: 8", ".steps: missing", "");
  complaint("to: 8, steps: 3", ".from: missing", "");
  complaint("from: nan, to: 8, steps: 3", ".from: 'nan'", "");
  complaint("from: 1, to: .inf, steps: 3", ".to: '.inf'", "");
  complaint("from: 1, to: 8 us, steps: 3", ".to: '8 us'", "");
  complaint("from: 8, to: 8, steps: 3", ".to: is no more than from", "more than from");
  complaint("from: 1, to: 8, steps: 1", ".steps: '1'", "from 2 to 4000000");
  complaint("from: 1, to: 8, steps: 1e9", ".steps: '1e9'", "");
  complaint("from: 0, to: 8, steps: 3, scale: log", ".from: '0' with scale log", "more than 0");
  complaint("from: 1, to: 8, steps: 3, scale: lin", ".scale: 'lin'", "");
  complaint("from: 1, to: 8, step: 3", ".step: unknown key", "did you mean 'steps'?");
  check_complaint(head + "axes: {block: {from: 1, to: 8, steps: 3}}\n" + variants,
                  "sweep.yaml:3: axes.block: a range, but the key takes no number",
                  "a list of values");
  // The largest batch that a run takes is 65536, which shows at the end of a range.
  check_complaint(head + "axes: {workload.batch: {from: 1, to: 1 M, steps: 3}}\n" + variants,
                  "sweep.yaml:3: workload.batch: '1000000'", "");
}

TEST_CASE("values that are no numbers where numbers belong") {
  check_complaint(head + "axes: {workload.context: [1, .nan]}\n" + variants,
                  "sweep.yaml:3: workload.context: '.nan'", "");
  check_complaint(head + "axes: {link.latency: [nan us]}\n" + variants,
                  "sweep.yaml:3: link.latency: 'nan us'", "");
}

TEST_CASE("mistakes in constraints, derived columns and objectives") {
  const std::string two = head +
                          "axes: {workload.context: [1, 2, 1 Ki]}\n"
                          "variants: {a: {block: standard}, b: {block: early_q}}\n";
  const auto constraint = [&](const std::string& skip, const std::string& begins,
                              const std::string& ends) {
    check_complaint(two + "constraints:\n  - skip: {" + skip + "}\n    because: so\n",
                    "sweep.yaml:6: constraints.skip" + begins, ends);
  };
  constraint("", ": an empty map", "at least one");
  constraint("workload.contxt: 1", ".workload.contxt: is no axis",
             "did you mean 'workload.context'?");
  constraint("workload.context: 3", ".workload.context: '3' is none of its values", "");
  constraint("variant: [a, c]", ".variant: 'c' is none of its values", "");
  constraint("workload.context: {above: 1, below: 2}",
             ".workload.context: holds for no value of the axis", "");
  constraint("workload.context: {above: 4 Ki}", ".workload.context: holds for no value of the axis",
             "");
  constraint("workload.context: {above: nan}", ".workload.context.above: 'nan'", "");
  constraint("workload.context: {over: 1}", ".workload.context.over: unknown key", "");
  constraint("variant: {above: 1}", ".variant: bounds, but the axis is not one of numbers", "");
  check_complaint(two + "constraints: [{skip: {variant: a}}]\n",
                  "sweep.yaml:5: constraints.because: missing", "");
  check_complaint(two +
                      "constraints: [{skip: {variant: a}, because: x}, {skip: {variant: b}, "
                      "because: y}]\n",
                  "sweep.yaml: constraints: skip every point", "");
  check_complaint(two + "derived: {g: {speed_up: tpot, baseline: a}}\n",
                  "sweep.yaml:5: derived.g.speed_up: 'tpot'", "did you mean 'tpot_us'?");
  check_complaint(two + "derived: {g: {speed_up: tpot_us, baseline: c}}\n",
                  "sweep.yaml:5: derived.g.baseline: 'c' is no variant", "");
  check_complaint(two + "derived: {g: {baseline: a}}\n",
                  "sweep.yaml:5: derived.g: neither speed_up nor ratio", "");
  check_complaint(two + "derived: {tpot_us: {ratio: tpot_us, baseline: a}}\n",
                  "sweep.yaml:5: derived.tpot_us: cannot be a column's name", "");
  check_complaint(two + "objectives: [{minimise: g}]\n", "sweep.yaml:5: objectives.minimise: 'g'",
                  "");
  check_complaint(two + "objectives: [{minimize: tpot_us}]\n",
                  "sweep.yaml:5: objectives.minimize: unknown key", "did you mean 'minimise'?");
}

TEST_CASE("what keeps every point from being is told, what keeps one is noted") {
  const ConfigFolder folder;
  check_message(sweep_complaint(folder, head + "axes: {workload.context: [1 M]}\n" + variants),
                "--set workload.context=1 M: cache_device.capacity", "");
  const SweepResult result =
      swept(folder, head + "axes: {workload.context: [1, 1 M]}\n" + variants);
  CHECK(result.points.at(0).ran());
  CHECK(result.points.at(1).reason.find("cache_device.capacity") != std::string::npos);
}

TEST_CASE("a run that fails is a point of its sweep, and a batch that is fixed is not chosen") {
  const ConfigFolder folder;
  const SweepResult result =
      swept(folder, head +
                        "axes: {pool.instances: [1, 2]}\nvariants:\n  dies: {arrangement: pooled, "
                        "faults: {call_timeout: 1 ms, instances: [{instance: 0, at: 0 s}]}}\n");
  CHECK(result.points.at(0).status == PointStatus::failed);
  CHECK(result.points.at(0).reason.starts_with("the run failed: "));
  CHECK(result.points.at(1).ran());
  CHECK(result.points.at(1).figures.step_us > 0);
  const SweepResult fixed =
      swept(folder, head + "equal: [wave, resident]\n" + axes +
                        "variants: {a: {workload.request_contexts: [1, 2, 3, 4]}}\n");
  CHECK(fixed.points.at(0).ran());
  CHECK(fixed.points.at(1).reason.starts_with("workload.request_contexts fixes the batch"));
}

TEST_CASE("a value of a sweep means what it means in its file") {
  const ConfigFolder folder;
  folder.write("with space: and colon.yaml",
               "");  // no model, but a name that YAML would take apart
  const std::string said = sweep_complaint(folder, head + "axes: {model: ['a: b']}\n" + variants);
  CHECK(said.find("'a: b'") != std::string::npos);
}

}  // namespace qfs::test
