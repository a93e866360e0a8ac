"""Pictures of a sweep: what is drawn is what sweep.csv says."""

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

    def test_peak_by_hand(self):
        contexts = numpy.array([1024.0, 4096.0, 16384.0])
        self.assertEqual(heatmap.peak(contexts, numpy.array([1.1, 1.3, 1.2])), 4096)
        for row in ([1.3, 1.2, 1.1], [1.1, 1.2, 1.3], [1.1, 1.3, numpy.nan], [numpy.nan] * 3):
            self.assertTrue(numpy.isnan(heatmap.peak(contexts, numpy.array(row))), row)

    def test_lines_drawn_are_those(self):
        (part,) = heatmap.slices(the_sweep())
        contexts, batches, grid = heatmap.speed_ups(part.points, "early_q", "standard")
        figure = heatmap.draw(part, OPTIONS)
        largest, left = figure.axes[0].lines
        self.assertEqual(list(batches), list(left.get_ydata()))
        numpy.testing.assert_equal(largest.get_xdata(), [heatmap.peak(contexts, row) for row in grid])
        numpy.testing.assert_equal(left.get_xdata(), [heatmap.faded(contexts, row) for row in grid])
        self.assertTrue((~numpy.isnan(left.get_xdata())).any())
        pyplot.close(figure)


class Context(unittest.TestCase):
    def test_lines_of_a_sweep(self):
        for part in context.slices(the_sweep()):
            batch = part.shared["workload.batch"]
            figure = context.draw(part, OPTIONS)
            unit = style.time_unit(context.series(part.points)["standard"]["time_us"].max())[0]
            for axes, column in zip(figure.axes, ("tpot_us", "exposed_sweep_us")):
                for line in (line for line in axes.lines if not line.get_label().startswith("_")):
                    for x, y in zip(line.get_xdata(), line.get_ydata()):
                        row = rows_of_csv()[style.count_text(x), batch, line.get_label()]
                        value = float(row[column])
                        if numpy.isnan(y):
                            self.assertLess(value, 1e-4 * unit)  # hidden
                        else:
                            self.assertAlmostEqual(y * unit, value, delta=REL * value)
            pyplot.close(figure)

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
        for given, devices in (
            ([], {}),
            (["2"], {"standard": 2, "early_q": 2}),
            (["2", "early_q=3"], {"standard": 2, "early_q": 3}),
        ):
            part = pareto.slices(the_sweep(devices=given))[0]
            points, known = pareto.candidates(part)
            self.assertEqual(known, bool(devices))
            self.assertEqual(len(points), 6)  # of 1 Ki positions: three batches, two variants
            for point in points.itertuples():
                row = rows_of_csv()["1 Ki", point.batch, point.variant]
                self.assertAlmostEqual(
                    point.rate * devices.get(point.variant, 1), float(row["tokens_per_s"]), delta=REL * 1e6
                )
                self.assertEqual(
                    (point.time_us, point.kv_bytes), (float(row["tpot_us"]), float(row["resident_kv_bytes"]))
                )

    def test_column_devices_is_used(self):
        folder = FOLDER / "devices"
        shutil.copytree(FOLDER / "sweep", folder)
        lines = (folder / "sweep.csv").read_text().splitlines()
        (folder / "sweep.csv").write_text(
            "\n".join([lines[0] + ",devices"] + [line + ",4" for line in lines[1:]]) + "\n"
        )
        points, known = pareto.candidates(pareto.slices(results.read_sweep(folder, OPTIONS))[0])
        self.assertTrue(known)
        self.assertTrue(numpy.allclose(points["rate"] * 4, points["tokens_per_s"]))

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
