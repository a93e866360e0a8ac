"""The page as a browser shows it, where there is one: nothing wider than a phone or a desktop, legible in light and dark, tables
that sort."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

from support import page_of, text_of

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
WIDTHS = (390, 1280)
CONTRAST = 4.5  # of text, WCAG 2.1 AA; 3 of parts of pictures
PROBE = """<!DOCTYPE html><html><body><pre id="out">nothing</pre>
<iframe id="page" src="{page}" style="border:0;width:{width}px;height:900px"></iframe>
<script>
document.getElementById('page').onload = function () {{
  const frame = document.getElementById('page'), page = frame.contentDocument, view = frame.contentWindow;
  function color(element, name) {{ return view.getComputedStyle(element)[name]; }}
  function back(element) {{
    for (let at = element; at; at = at.parentElement)
      if (color(at, 'backgroundColor') !== 'rgba(0, 0, 0, 0)') return color(at, 'backgroundColor');
    return 'none';
  }}
  const texts = Array.from(page.querySelectorAll('h1, h2, p, a, dt, dd, td, th button, figcaption, summary, .verdict'))
    .map(function (e) {{ return [e.tagName + '.' + e.className, color(e, 'color'), back(e)]; }});
  const marks = [];
  page.querySelectorAll('figure svg').forEach(function (svg) {{
    svg.querySelectorAll('[style*=stroke]').forEach(function (e) {{
      if (e.closest('#plot-speedup-heatmap-0') || e.closest('pattern')) return;
      if (color(e, 'fill') === 'none') marks.push([e.getAttribute('style'), color(e, 'stroke'), back(svg)]);
    }});
    marks.push(['text', color(svg, 'fill'), back(svg)]);
  }});
  const wide = Array.from(page.querySelectorAll('main *'))
    .filter(function (e) {{ return !e.closest('.frame') && !e.closest('pre') && !e.closest('svg'); }})
    .filter(function (e) {{ return e.getBoundingClientRect().right > {width} + 0.5; }}).map(function (e) {{ return e.tagName + '#' + e.id; }});
  const sorted = {{}};
  page.querySelectorAll('table').forEach(function (table) {{
    sorted[table.id] = Array.from(table.querySelectorAll('thead th')).map(function (head, index) {{
      const button = head.querySelector('button');
      function column() {{
        return Array.from(table.tBodies[0].rows).map(function (row) {{
          const cell = row.cells[index];
          return cell.className === 'none' ? null : 'value' in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
        }});
      }}
      button.focus();
      const focused = page.activeElement === button;
      button.click();
      const up = [head.getAttribute('aria-sort'), column()];
      button.click();
      const down = [head.getAttribute('aria-sort'), column()];
      return {{key: head.dataset.key, focused: focused, up: up, down: down, others: table.querySelectorAll('th[aria-sort]').length}};
    }});
  }});
  const number = page.querySelector('td.number');
  document.getElementById('out').textContent = JSON.stringify({{
    scroll: page.documentElement.scrollWidth, inner: view.innerWidth, wide: wide, texts: texts, marks: marks, sorted: sorted,
    loads: view.performance.getEntriesByType('resource').length, align: color(number, 'textAlign'),
    figures: color(number, 'fontVariantNumeric')
  }});
}};
</script></body></html>
"""


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@unittest.skipUnless(BROWSER, "no chromium or chrome is installed")
class InBrowser(unittest.TestCase):
    SEEN = {}

    def probe(self, name, width, dark):
        if (name, width, dark) in self.SEEN:
            return self.SEEN[name, width, dark]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "probe.html"
            file.write_text(PROBE.format(page=page_of(name).as_uri(), width=width))
            words = [
                BROWSER,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--allow-file-access-from-files",
            ]
            words += [
                f"--user-data-dir={folder}/profile",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            ]
            words += ["--virtual-time-budget=20000", "--dump-dom", file.as_uri()]
            made = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        out = re.search(r'<pre id="out">(.*?)</pre>', made.stdout, re.S)
        self.assertTrue(out and out[1] != "nothing", made.stderr[-2000:])
        self.SEEN[name, width, dark] = json.loads(text_of(xml.fromstring(f"<pre>{out[1]}</pre>")))
        return self.SEEN[name, width, dark]

    def test_nothing_is_wider_than_the_screen(self):
        for name in ("small", "dram", "many"):
            for width in WIDTHS:
                seen = self.probe(name, width, False)
                self.assertEqual(seen["inner"], width)
                self.assertLessEqual(seen["scroll"], width, (name, width))
                self.assertEqual(seen["wide"], [], (name, width))

    def test_nothing_is_loaded(self):
        self.assertEqual(self.probe("small", 390, False)["loads"], 0)

    def test_legible_in_light_and_dark(self):
        for name in ("small", "failed", "pair"):
            backs = []
            for dark in (False, True):
                seen = self.probe(name, 1280, dark)
                self.assertGreater(len(seen["texts"]), 100)
                self.assertGreater(len(seen["marks"]), 50)
                for what, color, back in seen["texts"]:
                    self.assertGreaterEqual(contrast(color, back), CONTRAST, (name, dark, what, color, back))
                for what, color, back in seen["marks"]:
                    if (
                        "--grid" not in what and color != "none" and color != back
                    ):  # grids are faint, halos are paper
                        self.assertGreaterEqual(contrast(color, back), 2, (name, dark, what, color, back))
                backs.append(luminance(seen["texts"][0][2]))
            self.assertGreater(backs[0], 0.8)
            self.assertLess(backs[1], 0.05)

    def test_tables_sort_by_every_column(self):
        for name in ("small", "many"):
            tables = self.probe(name, 1280, False)["sorted"]
            self.assertIn("points" if name == "many" else "steps", tables)
            for table, heads in tables.items():
                for head in heads:
                    self.assertTrue(head["focused"], (table, head["key"]))
                    self.assertEqual(
                        (head["up"][0], head["down"][0], head["others"]), ("ascending", "descending", 1)
                    )
                    for values, falls in ((head["up"][1], False), (head["down"][1], True)):
                        there = [value for value in values if value is not None]
                        self.assertEqual(
                            values[len(there) :], [None] * (len(values) - len(there))
                        )  # missing ones are last
                        if all(isinstance(value, (int, float)) for value in there):
                            self.assertEqual(there, sorted(there, reverse=falls), (table, head["key"]))
                    self.assertEqual(sorted(map(str, head["up"][1])), sorted(map(str, head["down"][1])))

    def test_figures_stand_in_columns(self):
        seen = self.probe("small", 390, False)
        self.assertEqual((seen["align"], seen["figures"]), ("right", "tabular-nums"))
