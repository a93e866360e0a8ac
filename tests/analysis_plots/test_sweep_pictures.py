"""Pictures of a sweep: what is drawn is what results.csv says."""

import csv
import itertools
import json
import random
import shutil
import unittest

import numpy
from matplotlib import pyplot

from support import FOLDER, OPTIONS, REL, options, rows_of_csv, the_sweep
from plots import context, heatmap, pareto, results, style


class Heatmap(unittest.TestCase):
    def test_cells_are_ratios_of_tpot(self):
        (part,) = heatmap.slices(the_sweep())
        figure = heatmap.draw(part, OPTIONS)
        drawn = numpy.ma.filled(figure.axes[0].collections[0].get_array().reshape(3, 4), numpy.nan)
        refused = 0
        for (y, batch), (x, ctx) in itertools.product(
            enumerate(["1", "8", "64"]), enumerate(["1 Ki", "8 Ki", "64 Ki", "1 Mi"])
        ):
            slow, fast = (rows_of_csv()[ctx, batch, name]["tpot_us"] for name in ("standard", "early_q"))
            if slow and fast:
                self.assertAlmostEqual(drawn[y, x], float(slow) / float(fast), delta=REL)
            else:
                refused += 1
                self.assertTrue(numpy.isnan(drawn[y, x]))
        self.assertEqual(
            refused, 3
        )  # 114,688 B a position: 64 requests of 64 Ki, and 8 and 64 of 1 Mi, exceed 141 GB
        pyplot.close(figure)

    def test_other_pair(self):
        points = the_sweep().points
        there = heatmap.speed_ups(points, "early_q", "standard")[2]
        back = heatmap.speed_ups(
            points, *heatmap.pair(points, options(variant="standard", baseline="early_q"))
        )[2]
        numpy.testing.assert_allclose((there * back)[~numpy.isnan(there)], 1, rtol=REL)
        self.assertEqual(heatmap.pair(points, options(variant="standard")), ("standard", "early_q"))
        with self.assertRaisesRegex(results.BadInput, "no variant 'early_z'; there are standard, early_q"):
            heatmap.pair(points, options(variant="early_z"))

    def test_faded_by_hand(self):
        contexts = numpy.array([1024.0, 4096.0, 16384.0])
        # 1.2 at 1024, 1.0 at 4096: three quarters of the way in the logarithm, 1024 * 4^0.75
        self.assertAlmostEqual(
            heatmap.faded(contexts, numpy.array([1.2, 1.0, 1.0])), 1024 * 4**0.75, places=6
        )
        # before the peak it does not count
        self.assertAlmostEqual(
            heatmap.faded(contexts, numpy.array([1.0, 1.25, 1.0])), 4096 * 4**0.8, places=6
        )
        self.assertTrue(numpy.isnan(heatmap.faded(contexts, numpy.array([1.04, 1.03, 1.0]))))  # never had it
        self.assertTrue(numpy.isnan(heatmap.faded(contexts, numpy.array([1.2, 1.3, 1.05]))))  # has it still
        self.assertAlmostEqual(
            heatmap.faded(contexts, numpy.array([1.2, numpy.nan, 1.0])), 1024 * 16**0.75, places=6
        )

    def test_crossover_by_hand(self):
        contexts = numpy.array([1000.0, 2000.0, 3000.0, 5000.0])
        for waited, at in (
            ([0, 0, 5, 25], 2500),  # 10 us each 1000 positions from 2500 on
            ([0, 0, 15, 25], 2000),  # straight back it would be at 0, where it is known not to wait
            ([0, 0, 0, 20], None),  # one context is no line
            ([0, 10, 20, 40], None),  # waits at the second already: where it began to is not known
            ([0, 0, 0, 0], None),
            ([0, 0.05, 0.1, 0.2], None),  # less than a thousandth of the step
            ([0, 0, 20, 10], None),
            ([numpy.nan, 0, 0, 0], None),
        ):
            found = heatmap.crossover(contexts, numpy.array(waited), numpy.array(waited) / 1000)
            if at is None:
                self.assertTrue(numpy.isnan(found), waited)
            else:
                self.assertAlmostEqual(found, at, places=6)

    def test_crossover_is_that_of_a_run(self):
        """FOLDER/run is of batch 8 and 1 Ki positions: its merge waits from an empty cache on, so here there is none."""
        entries = json.loads((FOLDER / "run/summary.json").read_text())["crossovers"]
        (entry,) = [e for e in entries if (e["name"], e["block"]) == ("latency", "early_q")]
        self.assertEqual(entry["state"], "exposed_at_0")
        sweep = the_sweep(where=["workload.batch=8"])
        (waited,), (shares,) = heatmap.waits(sweep.points, "early_q")
        contexts = heatmap.speed_ups(sweep.points, "early_q", "standard")[0]
        self.assertTrue(numpy.isnan(heatmap.crossover(contexts, waited, shares)))
        self.assertEqual(waited[0], 0)

    def test_lines_drawn_are_those(self):
        (part,) = heatmap.slices(the_sweep())
        contexts, batches, grid = heatmap.speed_ups(part.points, "early_q", "standard")
        figure = heatmap.draw(part, OPTIONS)
        hides, left = figure.axes[0].lines
        self.assertEqual(list(batches), list(left.get_ydata()))
        rows = zip(*heatmap.waits(part.points, "early_q"))
        numpy.testing.assert_equal(hides.get_xdata(), [heatmap.crossover(contexts, *row) for row in rows])
        numpy.testing.assert_equal(left.get_xdata(), [heatmap.faded(contexts, row) for row in grid])
        self.assertTrue((~numpy.isnan(left.get_xdata())).any())
        pyplot.close(figure)

    def test_gaps_are_counted(self):
        (part,) = heatmap.slices(the_sweep())
        self.assertEqual((part.gaps, part.title), ("6 refused of 24 points", "6 refused of 24 points"))
        points = part.points.copy()
        points.loc[points.index[:2], "status"] = "skipped"
        self.assertEqual(results.Slice(points, {}).gaps, "6 refused and 2 skipped of 24 points")
        one = results.Slice(points[points["status"] == "ok"], {"workload.batch": "8", "model": ""})
        self.assertEqual((one.gaps, one.title), ("", "batch 8"))


class Context(unittest.TestCase):
    def test_lines_of_a_sweep(self):
        gaps = 0
        for part in context.slices(the_sweep()):
            batch = part.shared["workload.batch"]
            figure = context.draw(part, OPTIONS)
            unit = style.time_unit(context.series(part.points)["standard"]["time_us"].max())[0]
            for axes, column in zip(figure.axes, ("tpot_us", "exposed_sweep_us")):
                for line in (line for line in axes.lines if not line.get_label().startswith("_")):
                    for x, y in zip(line.get_xdata(), line.get_ydata()):
                        row = rows_of_csv()[style.count_text(x), batch, line.get_label()]
                        if not row[column]:
                            self.assertTrue(numpy.isnan(y) and row["status"] == "refused")  # a gap
                            gaps += 1
                            continue
                        value = float(row[column])
                        if numpy.isnan(y):
                            self.assertLess(value, 1e-4 * unit)  # hidden
                        else:
                            self.assertAlmostEqual(y * unit, value, delta=REL * value)
            pyplot.close(figure)
        self.assertEqual(gaps, 12)  # three refused places, two variants, two panels

    def test_title_says_what_where_chose(self):
        (part,) = context.slices(the_sweep(where=["workload.batch=8"]))
        self.assertEqual((part.text, len(part.points)), ("batch 8", 8))
        part = pareto.slices(the_sweep(where=["workload.batch=8"]))[0]
        self.assertEqual((part.text, len(part.points)), ("context 1 Ki, batch 8", 2))

    def test_lines_of_a_run(self):
        lines = context.series_of_run(results.read_run(FOLDER / "run"))
        self.assertEqual(
            {name: list(rows["context"]) for name, rows in lines.items()},
            {name: [1024, 4096, 65536] for name in ("early_q", "standard")},
        )
        for result in json.loads((FOLDER / "run/summary.json").read_text())["results"]:
            row = lines[result["block"]].set_index("context").loc[result["context"]]
            self.assertEqual(row["time_us"], result["tpot_us"])
            self.assertEqual(row["exposed_us"], result["ledger"]["sweep_exposed_us"])


class Pareto(unittest.TestCase):
    def test_front_against_all_pairs(self):
        draw = random.Random(1)
        for size in (0, 1, 2, 3, 7, 40):
            points = [(draw.randint(1, 12), draw.randint(1, 12)) for _ in range(size)]

            def beaten(p):
                return any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in points)

            self.assertEqual(sorted(pareto.front(points)), [i for i, p in enumerate(points) if not beaten(p)])

    def test_points_and_devices(self):
        points = pareto.candidates(pareto.slices(the_sweep())[0])
        self.assertEqual(len(points), 6)  # of 1 Ki positions: three batches, two variants
        for point in points.itertuples():
            row = rows_of_csv()["1 Ki", point.batch, point.variant]
            self.assertEqual(row["devices"], "2")
            self.assertAlmostEqual(point.rate * 2, float(row["tokens_per_s"]), delta=REL * 1e6)
            self.assertEqual(
                (point.time_us, point.kv_bytes), (float(row["tpot_us"]), float(row["resident_kv_bytes"]))
            )

    def test_devices_are_those_of_the_table(self):
        folder = FOLDER / "devices"
        shutil.copytree(FOLDER / "sweep", folder)
        rows = list(rows_of_csv().values())
        with open(folder / "results.csv", "w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(row | {"devices": "4" if row["variant"] == "early_q" else "1"} for row in rows)
        points = pareto.candidates(pareto.slices(results.read_sweep(folder, OPTIONS))[0])
        devices = points["variant"].map({"standard": 1, "early_q": 4})
        self.assertTrue(numpy.allclose(points["rate"] * devices, points["tokens_per_s"]))

    def test_choices(self):
        for axis in ("workload.batch", "variant", "cache.devices", "block", "workload.in_flight"):
            self.assertTrue(pareto.is_choice(axis), axis)
        for axis in (
            "equal",
            "model",
            "model.layers",
            "workload.context",
            "link.latency",
            "cache_device.bandwidth",
        ):
            self.assertFalse(pareto.is_choice(axis), axis)
