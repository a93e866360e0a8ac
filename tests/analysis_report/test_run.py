"""The page of a run says what summary.json says."""

import math
import re
import unittest

from support import FOLDER, Page, shown, summary

REL = 1e-12


def field(result, key):
    value = result
    for part in key.split("."):
        value = value[part] if isinstance(value, dict) and part in value else None
    return value


class OfRun(unittest.TestCase):
    def agrees(self, cell, value, where):
        """A cell shows a number of the results to the digits that it prints, and sorts by it."""
        text, key = cell
        if value is None:
            self.assertEqual((text, key), ("–", None), where)
            return
        if isinstance(value, str):
            self.assertEqual(text, value, where)
            return
        self.assertEqual(key, value, where)
        number, half = shown(text)
        self.assertLessEqual(abs(number - value), half * (1 + 1e-6) + REL * abs(value), where)

    def table_agrees(self, name, table, entries, skip=()):
        rows = Page(name).rows(table)
        self.assertEqual(len(rows), len(entries), (name, table))
        cells = 0
        for row, entry in zip(rows, entries):
            for key, cell in row.items():
                if key not in skip:
                    self.agrees(cell, field(entry, key), (name, table, key))
                    cells += cell[1] is not None
        self.assertGreater(cells, len(rows) / 2)

    def test_tables(self):
        for name in ("small", "failed", "named", "dram", "alone"):
            results = summary(name)["results"]
            main = [result for result in results if result["context"] == results[0]["context"]]
            self.table_agrees(name, "steps", results, skip=("speedup",))
            self.table_agrees(name, "ledger-table", results)
            self.table_agrees(name, "layer", main)
            if summary(name)["crossovers"]:
                self.table_agrees(name, "crossovers", summary(name)["crossovers"], skip=("state",))
                for row, entry in zip(Page(name).rows("crossovers"), summary(name)["crossovers"]):
                    said = {"exposed_at_0": "from an empty cache on", "never": "at no context"}
                    self.assertEqual(row["state"][0], said.get(entry["state"], entry["state"]))
        used = [
            {"block": result["block"]} | device
            for result in summary("dram")["results"][:2]
            for device in result["dram"]
        ]
        self.table_agrees("dram", "dram", used)
        checked = summary("small")["results"][:3]
        operations = [{"block": r["block"]} | row for r in checked for row in r["numerics"]["operations"]]
        self.table_agrees("small", "numerics-table", operations)
        self.table_agrees("small", "ends-table", checked)

    def test_speed_ups(self):
        results = summary("small")["results"]
        standard = {
            result["context"]: result["step_time_us"] for result in results if result["block"] == "standard"
        }
        for row, result in zip(Page("small").rows("steps"), results):
            if result["block"] == "standard":
                self.assertEqual(row["speedup"][0], "–")
            else:
                gain = standard[result["context"]] / result["step_time_us"]
                self.assertAlmostEqual(row["speedup"][1], gain, delta=REL * gain)
                self.assertAlmostEqual(shown(row["speedup"][0])[0], gain, delta=0.0005001)

    def test_ledger_adds_up_as_shown(self):
        parts = ["merge_and_output", "compute", "sweep_exposed", "link_exposed", "waiting"]
        for name in ("small", "named", "dram"):
            for row in Page(name).rows("ledger-table"):
                whole = sum(row[f"ledger.{part}_us"][1] for part in parts)
                self.assertAlmostEqual(whole, row["ledger.total_us"][1], delta=1e-6)

    def test_answer(self):
        """Every number of the sentence is one of summary.json's."""
        found = 0
        for name in ("small", "failed", "named", "dram"):
            main, standard = summary(name)["results"][:2]
            self.assertEqual((main["block"], standard["block"]), ("early_q", "standard"))
            answer = Page(name).text("answer")
            times = re.findall(r"([0-9,.]+) µs", answer)
            self.assertEqual(len(times), 2)
            for time, result in zip(times, (main, standard)):
                self.assertAlmostEqual(shown(time)[0], result["step_time_us"], delta=shown(time)[1] * 1.0001)
            gain = shown(re.search(r"early_q is ([0-9.]+)×", answer)[1])
            self.assertAlmostEqual(
                gain[0], standard["step_time_us"] / main["step_time_us"], delta=gain[1] * 1.0001
            )
            share = shown(re.search(r"hides ([0-9.]+ %)", answer)[1])
            self.assertAlmostEqual(share[0], main["ledger"]["hidden_share"], delta=share[1] * 1.0001)
            entries = [
                e for e in summary(name)["crossovers"] if (e["name"], e["block"]) == ("latency", "early_q")
            ]
            said = re.search(r"up to ([0-9,]+) cached positions", answer)
            if entries and entries[0]["state"] == "found":
                found += 1
                self.assertEqual(int(said[1].replace(",", "")), math.floor(entries[0]["simulated_positions"]))
            else:
                self.assertIsNone(said)
                self.assertRegex(
                    answer, "no crossover was sought" if not entries else "empty cache|no context"
                )
        self.assertGreater(found, 0)
        self.assertRegex(
            Page("alone").text("answer"),
            r"^\w+ takes [0-9,.]+ µs a step at .* and hides none of its sweep; this arrangement has no crossover",
        )

    def test_verdict(self):
        for name, said in (
            ("small", "passed: worst operation"),
            ("failed", "FAILED: "),
            ("named", "not computed: times only"),
        ):
            self.assertIn(said, Page(name).text("numerics"))
        spans = [e for e in Page("failed").root.iter("span") if "bad" in e.get("class", "")]
        self.assertEqual(len(spans), 2)  # at the head, and in its section
        numbers = summary("failed")["results"][0]["numerics"]
        first = numbers["first_failure"]
        said = re.search(
            r"FAILED: (\d+) operations?, first the (\w+) of layer (\d+), step (\d+)",
            Page("failed").text("numerics"),
        )
        self.assertEqual(
            said.groups(),
            (str(numbers["failures"]), first["operation"], str(first["layer"]), str(first["step"])),
        )
        self.assertEqual(len([e for e in Page("small").root.iter("span") if "good" in e.get("class", "")]), 2)

    def test_configuration_is_whole(self):
        for name in ("small", "dram"):
            text = (FOLDER / name / "config.yaml").read_text()
            self.assertIn(text, Page(name).text("configuration"))
