#!/usr/bin/env python3
"""Draws how far each softmax unit is from the exact softmax, over the span of a row's scores.

plot_total_variation.py FOLDER    FOLDER of `qfsim verify --out FOLDER`: reads its
                                  total_variation.csv and writes total_variation.png beside it
"""

import csv
import pathlib
import sys

COLUMNS = ["unit", "reconstruction", "intervals", "span_nats", "total_variation_median"]
FLOOR = 1e-8  # below it nothing is drawn: a row so wide is one-hot under any unit
# Colour by unit, line by reconstruction; units without a grid are the same in every panel.
COLOURS = {
    "min_max": "#c1121f",
    "fwm": "#1d4e89",
    "resolved": "#2a9d8f",
    "bf16_exp": "#6c757d",
    "fp8_exp": "#e09f3e",
}
LINES = {"lerp": "-", "nearest": "--", "": ":"}
MARKERS = {"lerp": "o", "nearest": "s", "": "^"}


def fail(text):
    sys.exit(f"plot_total_variation.py: {text}")


def read(file):
    """{(unit, reconstruction, intervals): [(span, median), ...]}; intervals '' without a grid."""
    try:
        with open(file, encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
            if missing:
                fail(f"{file} has no column {', '.join(missing)}")
            series = {}
            for row in reader:
                key = (row["unit"], row["reconstruction"], row["intervals"])
                point = (float(row["span_nats"]), float(row["total_variation_median"]))
                series.setdefault(key, []).append(point)
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}; make it with qfsim verify --out FOLDER")
    except ValueError as error:
        fail(f"{file}: {error}")
    if not series:
        fail(f"{file} has no rows")
    return series


def pyplot():
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError:
        fail(f"needs matplotlib, which {sys.executable} lacks; install python3-matplotlib")
    return plt


def draw_panel(axes, series, intervals):
    for (unit, reconstruction, k), points in series.items():
        if k not in ("", intervals):
            continue
        spans, medians = zip(*sorted(points))
        axes.plot(
            spans,
            medians,
            color=COLOURS.get(unit, "black"),
            linestyle=LINES.get(reconstruction, "-"),
            marker=MARKERS.get(reconstruction, "o"),
            markersize=4,
            linewidth=1.6,
            label=f"{unit} {reconstruction}".strip(),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, 2)
    spans = sorted({span for points in series.values() for span, _ in points})
    axes.set_xticks(spans, [f"{span:g}" for span in spans])
    axes.minorticks_off()
    axes.grid(True, color="#dddddd", linewidth=0.7)
    axes.set_title(f"K = {intervals}" if intervals else "no grid", fontsize=11)


def draw(plt, series, file):
    panels = sorted({k for _, _, k in series if k}, key=int) or [""]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(4.2 * columns, 3.5 * rows + 1.4), sharex=True, sharey=True, squeeze=False
    )
    for axes, intervals in zip(grid.flat, panels):
        draw_panel(axes, series, intervals)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.suptitle(
        "Total variation between softmax units and the exact softmax\n"
        "min_max loses resolution as the scores spread, a fixed interval does not; "
        "the widest rows are nearly one-hot",
        fontsize=12,
    )
    figure.supxlabel("span of the row's scores, max - min (nats)", fontsize=11, y=0.085)
    figure.supylabel("total variation, median over rows", fontsize=11)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, frameon=False, fontsize=10)
    figure.tight_layout(rect=(0.01, 0.085, 1, 1))
    figure.savefig(file, dpi=130, metadata={"Software": None})


def main():
    if len(sys.argv) != 2:
        fail("usage: plot_total_variation.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    series = read(folder / "total_variation.csv")
    file = folder / "total_variation.png"
    try:
        draw(pyplot(), series, file)
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
