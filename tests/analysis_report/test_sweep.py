"""The page of a sweep says what results.csv says."""

import math
import re
import statistics
import unittest

from support import FOLDER, ROOT, Page, points, qfsim, shown, summary

WORDS = ("equal", "variant", "status", "reason", "numerics")
AXES = ("workload.context", "workload.batch", "link.latency")
CLOSE = 0.01  # between a crossover that is searched for and one between the contexts of a sweep


def time_of(row):
    return float(row["tpot_us"] or row["step_us"])


class OfSweep(unittest.TestCase):
    def test_points(self):
        for name in ("pair", "many"):
            rows, there = points(name), Page(name).rows("points")
            self.assertEqual(len(rows), len(there))
            keys = set(there[0])
            for key in rows[0]:
                if key not in keys:
                    values = {row[key] for row in rows}
                    self.assertTrue(values == {""} or (key == "equal" and len(values) == 1), key)
            for row, cells in zip(rows, there):
                for key, (text, number) in cells.items():
                    if row[key] == "":
                        self.assertEqual(text, "–", key)
                    elif key in WORDS or key in AXES:
                        self.assertEqual(text, row[key])
                    elif number is not None:
                        self.assertEqual(number, float(row[key]), key)
                        value, half = shown(text)
                        tolerance = half * 1.0001 + 5e-6 * abs(float(row[key])) * (
                            key not in ("step_us", "tpot_us")
                        )
                        self.assertLessEqual(abs(value - float(row[key])), tolerance, (key, text))

    def test_axes_sort_by_what_they_are(self):
        sizes = {"1 Ki": 1024, "1 Mi": 2**20, "0.4 us": 4e-7, "33 us": 3.3e-5}
        for row in Page("many").rows("points"):
            for axis in ("workload.context", "link.latency"):
                text, number = row[axis]
                self.assertAlmostEqual(number, sizes[text], delta=1e-12 * sizes[text])

    def test_best(self):
        places = {}
        for row in points("many"):
            place = tuple(row[key] for key in ("equal", "workload.batch", "workload.context", "link.latency"))
            places.setdefault(place, {})[row["variant"]] = row
        shown_rows = Page("many").rows("best")
        self.assertEqual(len(shown_rows), len(places))
        compared = 0
        for row in shown_rows:
            # a value that is empty (the batch of equal memory) is a dash
            place = tuple(
                row[key][0].replace("–", "")
                for key in ("equal", "workload.batch", "workload.context", "link.latency")
            )
            ran = {name: other for name, other in places[place].items() if other["step_us"]}
            if not ran:
                self.assertEqual((row["best"][0], row["ran"][0]), ("–", "0"))
                continue
            if place[0] == "wave":
                gains = {name: 1 / time_of(other) for name, other in ran.items()}
            else:
                gains = {name: float(other["tokens_per_s"]) for name, other in ran.items()}
            best = max(gains, key=gains.get)
            self.assertEqual((row["best"][0], int(row["ran"][0])), (best, len(ran)))
            if "standard" in gains:
                self.assertAlmostEqual(row["gain"][1], gains[best] / gains["standard"], delta=1e-9)
                compared += 1
        self.assertGreater(compared, 5)

    def test_reasons(self):
        for name in ("pair", "many"):
            missing = [row for row in points(name) if row["status"] != "ok"]
            rows = Page(name).rows("reasons")
            self.assertEqual(sum(row["count"][1] for row in rows), len(missing))
            self.assertGreater(len(missing), 0)
            for row in rows:
                self.assertIn(row["reason"][0], [other["reason"] for other in missing])
            self.assertIn(f"{len(missing)} refused", Page(name).text("configuration"))

    def test_captions_count_the_gaps(self):
        missing = sum(row["status"] != "ok" for row in points("pair"))
        self.assertIn(f"Gaps, {missing} refused of 42 points: ", Page("pair").text("plot-speedup-heatmap-0"))
        of_one = [row for row in points("pair") if row["workload.batch"] == "1"]
        self.assertTrue(all(row["status"] == "ok" for row in of_one))
        self.assertNotIn("Gaps", Page("pair").text("plot-tpot-over-context-0"))

    def test_answer_of_a_pair(self):
        rows = {
            (row["workload.context"], row["workload.batch"], row["variant"]): row for row in points("pair")
        }
        gains = {
            (context, batch): time_of(row) / time_of(rows[context, batch, "early_q"])
            for (context, batch, variant), row in rows.items()
            if variant == "standard" and row["step_us"] and rows[context, batch, "early_q"]["step_us"]
        }
        answer = Page("pair").text("answer")
        said = re.match(
            r"early_q is faster than standard at (\d+) of the (\d+) places where both run, "
            r"at most ([0-9.]+)× \(context (.*), batch (\d+)\); ",
            answer,
        )
        self.assertEqual((int(said[1]), int(said[2])), (sum(gain > 1 for gain in gains.values()), len(gains)))
        self.assertEqual((said[4], said[5]), max(gains, key=gains.get))
        self.assertAlmostEqual(float(said[3]), max(gains.values()), delta=0.00051)
        table = [row for row in Page("pair").rows("crossovers")]
        for key, pattern in (
            ("crossover", r"up to ([0-9,]+) positions"),
            ("faded", r"falls below 1\.05× at ([0-9,]+) positions"),
        ):
            first = next(row[key][1] for row in table if row[key][1] is not None)
            self.assertEqual(int(re.search(pattern, answer)[1].replace(",", "")), math.floor(first))

    def test_crossovers_are_those_that_a_run_searches_for(self):
        found = 0
        for row in Page("pair").rows("crossovers"):
            batch = row["workload.batch"][0]
            out = FOLDER / f"batch-{batch}"
            sets = ["--set", "model=qwen3-4b", "--set", f"workload.batch={batch}"]
            qfsim("run", ROOT / "configs/runs/two-h200.yaml", *sets, "--out", out)
            entries = summary(f"batch-{batch}")["crossovers"]
            (entry,) = [e for e in entries if (e["name"], e["block"]) == ("latency", "early_q")]
            at = entry["simulated_positions"]
            if at is None or at < 1024:  # before the second context: not within
                self.assertEqual(row["crossover"][0], "–")
            else:
                found += 1
                self.assertAlmostEqual(row["crossover"][1], at, delta=CLOSE * at)
        self.assertGreater(found, 0)

    def test_answer_of_many(self):
        answer = Page("many").text("answer")
        said = dict(
            (name, int(count))
            for name, count in re.findall(
                r"(standard|pooled|tensor_parallel 2) at (\d+)", answer.split(";")[0]
            )
        )
        rows = [
            row for row in Page("many").rows("best") if row["equal"][0] == "wave" and row["best"][0] != "–"
        ]
        best = [row["best"][0] for row in rows]
        self.assertEqual(said, {name: best.count(name) for name in set(best)})
        self.assertIn(f"Of {len(rows)} places at equal wave", answer)

    def test_ledger(self):
        for row in Page("pair").rows("ledger-table"):
            ran = [p for p in points("pair") if p["variant"] == row["variant"][0] and p["step_us"]]
            self.assertEqual(row["points"][1], len(ran))
            for name in ("sweep", "link"):
                shares = [float(point[f"exposed_{name}_us"]) / float(point["step_us"]) for point in ran]
                for kind, value in (
                    ("least", min(shares)),
                    ("median", statistics.median(shares)),
                    ("most", max(shares)),
                ):
                    self.assertAlmostEqual(row[f"{name}.{kind}"][1], value, delta=1e-12)
                    self.assertAlmostEqual(shown(row[f"{name}.{kind}"][0])[0], value, delta=0.0005001)
