#!/usr/bin/python3
"""analysis/answer on results made by hand: every cell is known."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["model", "compute_device.preset", "cache_device.preset", "link.preset", "workload.batch", "workload.context"]
WAYS = ["standard", "standard merge", "in_flight 2", "early_q", "early_q in_flight", "pooled", "one device", "tensor_parallel"]


def row(batch, way, tpot, sweep=0.0, link=0.0, status="ok", context="16 Ki", compute="fast", wire="wire"):
    cells = ["m", compute, "big", wire, batch, context, way]
    return ",".join([*cells, "" if tpot is None else str(tpot), str(tpot or ""), str(sweep), str(link), status])


def answer(rows):
    with tempfile.TemporaryDirectory() as folder:
        head = ",".join([*COLUMNS, "variant", "tpot_us", "step_us", "exposed_sweep_us", "exposed_link_us", "status"])
        pathlib.Path(folder, "results.csv").write_text("\n".join([head, *rows]) + "\n")
        return subprocess.run([ROOT / "analysis" / "answer", folder], capture_output=True, text=True)


def cells_of(text, first):
    line = next(line for line in text.splitlines() if line.startswith("| " + first))
    return [cell.strip() for cell in line.strip("| ").split("|")]


class Answer(unittest.TestCase):
    def test_times_gains_and_reasons(self):
        times = [4000, 3000, 2400, 2000, 1500, 2500, 1600, None]
        rows = [row("16", way, time, status="ok" if time else "refused") for way, time in zip(WAYS, times)]
        # One request: nothing in flight beside it; early_q gains 2 %, its sweep is half of the step.
        single = [1040, 1020, None, 1000, None, 1100, 900, 950]
        rows += [
            row("1", way, time, sweep=500.0 if way == "early_q" else 0, status="ok" if time else "refused")
            for way, time in zip(WAYS, single)
        ]
        done = answer(rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = cells_of(done.stdout, "m ")
        self.assertEqual(shown[4:], ["4.00", "3.00", "2.40", "2.00", "**1.50**", "2.50", "1.60", "-"])
        won = cells_of(done.stdout, "fast")
        self.assertEqual(won[3], "+2.0 %, +2.0 % (m, 1 x 16 Ki)")
        self.assertEqual(won[4], "+60.0 %, +60.0 % (m, 16 x 16 Ki)")  # 2400 / 1500
        self.assertEqual(won[5:], ["1 of 2", "1 of 2"])  # one request alone is faster on one device
        self.assertEqual(cells_of(done.stdout, "16 |")[2:], ["1, +20.0 %", "1, +60.0 %", "0, -4.0 %", "1, +60.0 %"])
        self.assertEqual(cells_of(done.stdout, "1 |")[2:], ["0, +2.0 %", "0, -", "0, -7.3 %", "0, +2.0 %"])
        self.assertIn("1 of 2 points gain less than 5 %", done.stdout)
        self.assertIn("sweep alone at 1, link alone at 0, neither (too little to hide) at 0", done.stdout)

    def test_rivals_of_the_other_kind_and_over_the_fastest_link(self):
        def ahead(more):
            times = dict(zip(WAYS, [3000, 3000, 3000, 2000, 2000, 2000, 2500, 2600]))
            rows = [row("16", way, time) for way, time in times.items()]
            return cells_of(answer(rows + more).stdout, "fast | big | wire")[5:]

        self.assertEqual(ahead([row("16", "one device", 2100, compute="big")]), ["1 of 1", "1 of 1"])
        self.assertEqual(ahead([row("16", "one device", 1900, compute="big")]), ["1 of 1", "0 of 1"])
        self.assertEqual(ahead([row("16", "tensor_parallel", 1900, compute="big")]), ["1 of 1", "0 of 1"])
        self.assertEqual(ahead([row("16", "tensor_parallel", 1900, wire="faster")]), ["1 of 1", "0 of 1"])
        self.assertEqual(ahead([row("1", "one device", 1900, compute="big")]), ["1 of 1", "1 of 1"])  # another point

    def test_link_and_nothing_to_hide(self):
        rows = [row("1", way, 1000, context=context) for way in WAYS[:3] for context in ("1 Ki", "2 Ki")]
        rows += [row("1", "early_q", 990, link=400.0, context="1 Ki"), row("1", "early_q", 990, context="2 Ki")]
        rows += [row("1", way, 2000, context=context) for way in WAYS[4:] for context in ("1 Ki", "2 Ki")]
        self.assertIn("sweep alone at 0, link alone at 1, neither (too little to hide) at 1", answer(rows).stdout)

    def test_no_results(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([ROOT / "analysis" / "answer", folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no results; legal: the folder of a finished qfsim sweep", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
