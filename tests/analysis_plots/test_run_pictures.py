"""Pictures of a run: what is drawn is what summary.json and operations.csv say."""

import json
import unittest

from matplotlib import pyplot

from support import FOLDER
from plots import ledger, results, roofline, style, timeline, utilisation


class OfRun(unittest.TestCase):
    def setUp(self):
        self.run_ = results.read_run(FOLDER / "run")
        self.summary = json.loads((FOLDER / "run/summary.json").read_text())

    def test_utilisation(self):
        names, blocks, left_out = utilisation.shares(self.run_)
        self.assertEqual(left_out, 0)
        self.assertIn("link.to_cache_device", names)
        self.assertEqual(set(blocks), {"early_q", "standard"})
        for result in self.summary["results"][:2]:
            for name, share in zip(names, blocks[result["block"]]):
                busy = result["resources_first_step"][name]["busy_us"]
                self.assertAlmostEqual(share, 100 * busy / result["step_time_us"], delta=1e-6)
        figure = utilisation.draw_run(self.run_)
        for bars, values in zip(figure.axes[0].containers, blocks.values()):
            self.assertEqual([bar.get_width() for bar in bars], values)
        pyplot.close(figure)

    def test_fewer_lanes(self):
        names = ["a", "b_0", "b_1", "b_2", "c_0", "d"]
        self.assertEqual(style.fewer(names, 6), names)
        self.assertEqual(style.fewer(names, 4), ["a", "b_0", "c_0", "d"])
        self.assertEqual(utilisation.shares(self.run_, most=2)[2], len(utilisation.shares(self.run_)[0]) - 2)

    def test_ledger(self):
        stacks = ledger.stacks(self.run_)
        for result in self.summary["results"]:
            shares = dict(stacks[result["block"]])[result["context"]]
            for field, share in shares.items():
                self.assertAlmostEqual(
                    share * result["step_time_us"] / 100, result["ledger"][field], delta=1e-6
                )
        figure = ledger.draw_run(self.run_)
        for axes, block in zip(figure.axes, stacks):
            self.assertEqual(axes.get_title(), block)
            for index in range(3):
                tops = [bars[index].get_y() + bars[index].get_height() for bars in axes.containers]
                self.assertAlmostEqual(max(tops), 100, delta=1e-6)
        pyplot.close(figure)
        self.summary["results"][0]["ledger"]["compute_us"] += 1
        with self.assertRaisesRegex(results.BadInput, "does not add up"):
            ledger.stacks(results.Run(self.summary, self.run_.operations))

    def test_roofline(self):
        for folder in ("run", "parallel", "pooled"):
            run = results.read_run(FOLDER / folder)
            rows, roofs = roofline.operations(run), roofline.limits(run.summary["config"])
            everything = sum(result["traffic_all_steps"]["total"]["macs"] for result in run.main)
            self.assertEqual(rows["macs"].sum(), everything)
            for row in rows.itertuples():
                bandwidth, rate = roofs[row.device]
                self.assertLessEqual(row.rate, min(rate, bandwidth * row.intensity) * (1 + 1e-6), row.kind)
                self.assertGreater(row.rate, 0.01 * min(rate, bandwidth * row.intensity), row.kind)
        # of a sweep, 2 query heads share each key and value of 2 bytes: 1 MAC a byte, less a little for activations
        sweep = roofline.operations(self.run_).set_index("kind").loc["sweep", "intensity"]
        self.assertTrue(0.99 < sweep < 1, sweep)
        self.assertEqual(roofline.limits(self.run_.summary["config"])["cache_device"], (4.8e12, 494.5e12))

    def test_timeline_bars(self):
        rows = self.run_.operations
        for result in self.run_.main:
            first = rows[(rows["block"] == result["block"]) & (rows["step"] == 0)]
            whole = timeline.bars(first, float("-inf"), float("inf"))
            for name in ("compute_device", "cache_device"):
                busy = (whole["finish"] - whole["begin"])[whole["resource"] == name].sum()
                self.assertAlmostEqual(busy, result["resources_first_step"][name]["busy_us"], delta=1e-6)
            for _, lane in whole.groupby(["resource", "place"]):
                self.assertTrue((lane["begin"].values[1:] >= lane["finish"].values[:-1]).all())
            layer, start, end = timeline.window(first)
            cut = timeline.bars(first, start, end)
            self.assertTrue((cut["begin"] >= start).all() and (cut["finish"] <= end).all())
            self.assertEqual(
                (layer, set(cut["kind"][cut["layer"] == layer])),
                (14, {"q", "kv", "ffn", "sweep", "o", "message"}),
            )
        self.assertEqual(
            timeline.lanes(
                ["cache_device", "link.to_compute_device", "compute_device", "link.to_cache_device"]
            ),
            ["compute_device", "link.to_cache_device", "cache_device", "link.to_compute_device"],
        )
