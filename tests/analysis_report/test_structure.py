"""What every page has: well-formed, whole in itself, all text escaped, the same bytes again."""

import re
import unittest

from support import FOLDER, NAME, Page, page_of, report, text_of

RUNS = {
    "small": [
        "steps",
        "layer",
        "crossovers",
        "ledger-table",
        "numerics-table",
        "ends-table",
        "sources-table",
    ],
    "failed": [
        "steps",
        "layer",
        "crossovers",
        "ledger-table",
        "numerics-table",
        "ends-table",
        "sources-table",
    ],
    "named": ["steps", "layer", "crossovers", "ledger-table", "sources-table"],
    "dram": ["steps", "layer", "dram", "ledger-table", "sources-table", "sources-inner-table"],
    "alone": ["steps", "layer", "ledger-table", "sources-table"],
}
SWEEPS = {
    "pair": ["crossovers", "best", "points", "reasons", "ledger-table", "sources-table"],
    "many": ["crossovers", "best", "points", "reasons", "ledger-table", "sources-table"],
}
PLOTS = {
    "small": ["tpot-over-context", "ledger", "utilisation", "roofline", "timeline"],
    "alone": ["ledger", "utilisation", "roofline", "timeline"],  # of one context
    "pair": ["speedup-heatmap-0"]
    + [f"tpot-over-context-{i}" for i in range(3)]
    + [f"pareto-{i}" for i in (0, 2, 4, 6)],
}
SECTIONS = ["configuration", "results", "plots", "ledger", "numerics", "sources"]


class Structure(unittest.TestCase):
    def test_every_part_is_there(self):
        for name, tables in (RUNS | SWEEPS).items():
            page = Page(name)
            self.assertEqual([table.get("id") for table in page.root.iter("table")], tables, name)
            self.assertEqual([part.get("id") for part in page.root.iter("section")], SECTIONS, name)
            self.assertTrue(page.text("answer").endswith("."))
            for table in tables:
                self.assertGreater(len(page.rows(table)), 0, (name, table))
        for name, plots in PLOTS.items():
            figures = [figure for figure in Page(name).root.iter("figure")]
            self.assertEqual(
                [figure.get("id") for figure in figures], [f"plot-{plot}" for plot in plots], name
            )
            for figure in figures:
                self.assertGreater(len(list(figure.iter("path"))), 20)
                self.assertEqual(figure[0].get("aria-label"), text_of(figure.find("figcaption")))

    def test_nothing_is_loaded(self):
        for name in RUNS | SWEEPS:
            page = Page(name)
            for element in page.root.iter():
                self.assertNotIn(
                    element.tag, ("link", "img", "iframe", "object", "embed", "base", "audio", "video")
                )
                for key, value in element.attrib.items():
                    if key in ("href", "src", "action", "data"):
                        inside = value.startswith("#") or value.startswith("data:image/png;base64,")
                        self.assertTrue(inside, (name, element.tag, value))
                    for address in re.findall(r"url\(([^)]*)\)", value):
                        self.assertIn(address[1:], page.by_id, (name, value))
            for element in page.root.iter("style"):
                self.assertNotRegex(text_of(element), r"@import|url\(|@font-face")
            for element in page.root.iter("script"):
                self.assertNotRegex(text_of(element), r"fetch|XMLHttp|import|eval|https?:")

    def test_identifiers_are_there_once(self):
        for name in RUNS | SWEEPS:
            page = Page(name)
            names = [element.get("id") for element in page.root.iter() if element.get("id")]
            self.assertEqual(len(names), len(set(names)), name)
            for element in page.root.iter():
                if element.get("href", "").startswith("#"):
                    self.assertIn(element.get("href")[1:], page.by_id)
                for said in (element.get("aria-labelledby") or "").split():
                    self.assertIn(said, page.by_id)

    def test_text_is_escaped(self):
        content = page_of("small").read_text(encoding="utf-8")
        self.assertNotIn("<b>", content)
        self.assertIn(NAME, Page("small").text("configuration"))

    def test_the_same_bytes_again(self):
        for name in ("small", "pair"):
            first = page_of(name).read_bytes()
            self.assertEqual(report(FOLDER / name).returncode, 0)
            self.assertEqual(page_of(name).read_bytes(), first)
            self.assertNotIn(str(FOLDER).encode(), first)  # nor where it lies

    def test_tables_can_be_sorted_and_read_aloud(self):
        for name in RUNS | SWEEPS:
            for table in Page(name).root.iter("table"):
                self.assertEqual(table.get("class"), "sortable")
                for head in table.iter("th"):
                    self.assertEqual(
                        (head.get("scope"), head[0].tag, head[0].get("type")), ("col", "button", "button")
                    )
