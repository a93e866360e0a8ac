"""Pictures fit a column of a paper, and nothing in them is clipped, small, or over something else."""

import itertools
import unittest

from matplotlib import pyplot, text

from support import FOLDER, OPTIONS, REL, the_sweep
from plots import context, heatmap, ledger, pareto, results, roofline, style, timeline, utilisation


class Looks(unittest.TestCase):
    def figures(self):
        sweep = the_sweep()
        for picture in (heatmap, context, pareto):
            for part in picture.slices(sweep):
                yield f"{picture.NAME}{part.suffix}", picture.draw(part, OPTIONS)
        long = results.Slice(
            part.points,
            {"model": "a-model-with-quite-a-long-name", "link.latency": "0.4 us", "block": "x" * 30},
        )
        yield "long title", pareto.draw(long, OPTIONS)
        for folder in ("run", "parallel", "pooled", "wide"):
            run = results.read_run(FOLDER / folder)
            for picture in (context, utilisation, ledger, roofline, timeline):
                if picture is context and folder == "wide":  # which has one context
                    continue
                yield f"{folder} {picture.NAME}", picture.draw_run(run)

    def texts(self, figure):
        """Texts that are seen, with their boxes: ticks beyond the axes' limits are not."""
        seen = [
            child for child in figure.findobj(text.Text) if child.get_visible() and child.get_text().strip()
        ]
        hidden = set()
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                for tick in itertools.chain(axis.get_major_ticks(), axis.get_minor_ticks()):
                    if not low * (1 - REL) <= tick.get_loc() <= high * (1 + REL):
                        hidden |= {tick.label1, tick.label2}
        return [(child, child.get_window_extent()) for child in seen if child not in hidden]

    def test_a_column_wide_and_nothing_clipped_small_or_overlapping(self):
        for name, figure in self.figures():
            figure.canvas.draw()
            self.assertEqual(figure.get_size_inches()[0], 3.4)
            texts = self.texts(figure)
            self.assertGreater(len(texts), 5, name)
            for child, box in texts:
                with self.subTest(picture=name, text=child.get_text()):
                    self.assertGreaterEqual(child.get_fontsize(), 7)
                    self.assertTrue(
                        -1 <= box.x0
                        and box.x1 <= figure.bbox.x1 + 1
                        and -1 <= box.y0
                        and box.y1 <= figure.bbox.y1 + 1
                    )
            for (one, a), (other, b) in itertools.combinations(texts, 2):
                if one.get_rotation() in (0, 90) and other.get_rotation() in (0, 90):
                    across = min(a.x1, b.x1) - max(a.x0, b.x0)
                    down = min(a.y1, b.y1) - max(a.y0, b.y0)
                    self.assertFalse(
                        across > 0.5 and down > 0.5, f"{name}: '{one.get_text()}' over '{other.get_text()}'"
                    )
            pyplot.close(figure)

    def test_numbers_as_text(self):
        for value, said in (
            (1, "1"),
            (1023, "1,023"),
            (1024, "1 Ki"),
            (4608, "4,608"),
            (262144, "256 Ki"),
            (2**20, "1 Mi"),
        ):
            self.assertEqual(style.count_text(value), said)
            self.assertEqual(results.quantity(said.replace(",", "")), value)
        for value, said in ((0.5, "0.5"), (999, "999"), (1000, "1 k"), (1.5e6, "1.5 M"), (3e12, "3 T")):
            self.assertEqual(style.number_text(value), said)
        self.assertIsNone(results.quantity("5 us"))
