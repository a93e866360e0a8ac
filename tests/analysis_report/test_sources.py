"""Every number of the machine stands on the page, with the words of the file that states it."""

import re
import unittest

from support import FOLDER, ROOT, Page, shown
from report_page import commented, sources

PARTS = ("compute device", "cache device", "link")


def rows(name):
    page = Page(name)
    made = page.rows("sources-table")
    if "sources-inner-table" in page.by_id:
        made += page.rows("sources-inner-table")
    return {(row["part"][0], row["key"][0]): {key: cell[0] for key, cell in row.items()} for row in made}


class Sources(unittest.TestCase):
    def test_all_numbers_are_there(self):
        for name in ("small", "named", "dram"):
            found = rows(name)
            text = (FOLDER / name / "config.yaml").read_text()
            for part in PARTS:
                section = re.search(rf"^{part.replace(' ', '_')}:\n((?:  .*\n)+)", text, re.M)[1]
                for key, value in re.findall(
                    r"^  (bandwidth|capacity|mac_rate|launch_overhead|latency|jitter): (.*)$", section, re.M
                ):
                    self.assertEqual(found[part, key]["value"], value, (name, part, key))
                timing = re.findall(r"^      (\w+): (.*)$", section, re.M)
                self.assertGreater(len(timing), 20) if (name, part) == ("dram", "cache device") else None
                for key, value in timing:
                    numbers = [
                        row
                        for (where, what), row in found.items()
                        if where == part and what.endswith(f".{key}")
                    ]
                    self.assertIn(value, [row["value"] for row in numbers], (name, key))

    def test_what_is_said_stands_in_the_file(self):
        """Independently of the reader: one line of the named file has the key, and the words of kind and source."""
        checked = 0
        for name in ("small", "named", "dram"):
            for (_, key), row in rows(name).items():
                if not row["file"].startswith("configs/") or row["source"].startswith(
                    ("named at", "without a comment")
                ):
                    continue
                lines = (ROOT / row["file"]).read_text().splitlines()
                said = row["source"] if row["source"] != "–" else ""
                last = key.rpartition(".")[2]
                kind = row["kind"] if row["kind"] != sources.STATED else ""
                there = [
                    line for line in lines if re.match(rf"\s*{last}:", line) and said in line and kind in line
                ]
                self.assertEqual(len(set(there)), 1, (name, key, row))
                checked += 1
        self.assertGreater(checked, 90)

    def test_whose_numbers_they_are(self):
        small, named, dram = rows("small"), rows("named"), rows("dram")
        for part, key, kind in (
            ("compute device", "bandwidth", "user's own"),  # not the preset's
            ("compute device", "capacity", "assumed"),
            ("compute device", "launch_overhead", "user's own"),
            ("cache device", "launch_overhead", "assumed"),
            ("link", "latency", "user's own"),
            ("link", "bandwidth", "measured"),
            ("model", 0, "user's own"),
        ):
            there = [
                row["kind"] for (where, what), row in small.items() if where == part and key in (0, what)
            ]
            self.assertEqual(there, [kind], (part, key))
        self.assertIn(
            "instead of 33.3 us of configs/links/rdma-400g-nccl.yaml", small["link", "latency"]["source"]
        )
        self.assertEqual(named["compute device", "capacity"]["kind"], "vendor")
        self.assertEqual(named["cache device", "launch_overhead"]["file"], "configs/runs/two-h200.yaml")
        self.assertEqual(named["link", "bandwidth"]["kind"], "user's own")
        self.assertEqual(dram["compute device", "bandwidth"]["kind"], "derived")
        self.assertEqual(dram["compute device", "dram.timing.rcd_read"]["source"], "nRCDRD")
        self.assertEqual(dram["compute device", "dram.organisation.ranks"]["kind"], "default")
        said = re.search(r"(\d+) of (\d+) numbers", Page("small").text("sources"))
        own = sum(row["kind"] == "user's own" for row in small.values())
        self.assertEqual((int(said[1]), int(said[2])), (own, len(small)))

    def test_a_run_of_a_shipped_name_is_not_believed_for_other_values(self):
        config = commented.parse(
            (FOLDER / "named/config.yaml").read_text().replace("bandwidth: 4.8 TB/s", "bandwidth: 4.9 TB/s")
        )
        for row in sources.of_run(config, [ROOT / "configs"])[0]:
            if row["key"] == "bandwidth" and row["part"] != "link":
                self.assertEqual(row["kind"], "user's own")

    def test_of_a_sweep(self):
        found = rows("pair")
        self.assertEqual(found["compute device", "bandwidth"]["source"], "H200 SXM, peak")
        varied = [
            (row["key"][0], row["value"][0])
            for row in Page("many").rows("sources-table")
            if "varied" in row["source"][0]
        ]
        self.assertEqual(varied, [("latency", "[0.4 us, 33 us]")])

    def test_quantities(self):
        for text, value in (
            ("4.8 TB/s", (4.8e12, "B/s")),
            ("990 TFLOP/s", (495e12, "MAC/s")),
            ("16 GiB", (2**34, "B")),
            ("141 GB", (141e9, "B")),
            ("625 ps", (625e-12, "s")),
            ("0 s", (0, "s")),
            ("3 Mi", (3 * 2**20, "")),
            ("-1e-3", (-1e-3, "")),
            ("unlimited", None),
            ("4 TW", None),
        ):
            found = commented.quantity(text)
            self.assertEqual(found and found[1], value and value[1], text)
            if value:
                self.assertAlmostEqual(found[0], value[0], delta=1e-12 * abs(value[0]))
        self.assertTrue(commented.same("1.8 us", "1800 ns") and commented.same("unlimited", "unlimited"))
        self.assertFalse(
            commented.same("1 TB/s", "1 TB")
            or commented.same("1 GiB", "1 GB")
            or commented.same("unlimited", "0 s")
        )

    def test_comments(self):
        file = commented.parse(
            "# Head.\n# More of it.\na: 1 us  # measured: there\nb: &x {c: 2, d: '# no comment'}   # both\n"
            "e: *x\nf:\n  g: 3\n  # of nothing\n  h: {i: 4,   # one\n    j: 5}  # two\n  # of l\n  l: 6\nk: [1, 2]\n"
        )
        self.assertEqual(file.head, "Head. More of it.")
        self.assertEqual(
            file.values,
            {
                "a": ("1 us", "measured: there"),
                "b.c": ("2", "both"),
                "b.d": ("# no comment", "both"),
                "e.c": ("2", "both"),
                "e.d": ("# no comment", "both"),
                "f.g": ("3", ""),
                "f.l": ("6", "of l"),
                "f.h.i": ("4", "one two"),
                "f.h.j": ("5", "one two"),
                "k": ("[1, 2]", ""),
            },
        )
        for comment, kind, source in (
            ("vendor: peak", "vendor", "peak"),
            ("fitted, at its bound: memory, reached", "fitted", "at its bound: memory, reached"),
            ("measured and fitted: qfsim", "measured", "and fitted: qfsim"),
            ("measured there: peak", "measured", "there: peak"),
            ("assumed", "assumed", ""),
            ("nRCD", "stated", "nRCD"),
            ("assumedly", "stated", "assumedly"),
            ("", "stated", "without a comment; see the head of the file"),
        ):
            found = sources.of_comment(comment, "f")
            self.assertEqual((found["kind"], found["source"]), (kind, source))

    def test_all_shipped_presets_can_be_read(self):
        """Whatever a preset says beside a number comes out."""
        for folder in ("hardware", "links", "memory"):
            for file in sorted((ROOT / "configs" / folder).glob("*.yaml")):
                values = commented.read(file).values
                lines = [
                    line for line in file.read_text().splitlines() if re.match(r" *\w+: +[^ #{&*]", line)
                ]
                self.assertEqual(len(values), len(lines), file)
                for line in lines:
                    key = line.strip().partition(":")[0]
                    self.assertIn(key, [name.rpartition(".")[2] for name in values])

    def test_derived_figures_of_dram(self):
        for key in ("bandwidth", "capacity"):
            text = rows("dram")["cache device", key]["value"]
            self.assertIsNotNone(commented.quantity(text))
        # 16 channels x 2 x 32 bits, 8 beats in 2 clocks of 625 ps: 819.2 GB/s
        self.assertAlmostEqual(
            commented.quantity(rows("dram")["cache device", "bandwidth"]["value"])[0], 819.2e9, delta=1
        )
        self.assertEqual(shown("819.2")[0], 819.2)
