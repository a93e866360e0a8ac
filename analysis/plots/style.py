"""One look for all pictures: a column of a paper (3.4 in), 7 points, colours that colour-blind readers tell apart."""

import io
import re
import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import colors, pyplot, ticker  # noqa: E402

WIDTH = 3.4  # inches
SMALL = 7  # points
# Okabe and Ito, "Color Universal Design" (2008); yellow last, since it is faint on white.
BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, BLACK, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#000000",
    "#F0E442",
)
COLOURS = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK]
MARKERS = "osD^vPX*<>"
LINES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.2, 1.2, 1.2))]
HATCHES = ["", "//////", "......", "xxxxxx"]
GREY = "#d9d9d9"
# Text on a coloured area; black and white themselves are the colours of text and paper, which a dark page exchanges.
ON_LIGHT, ON_DARK = "#111111", "#fefefe"

matplotlib.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "font.size": SMALL,
        "axes.titlesize": SMALL,
        "axes.labelsize": SMALL,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "legend.fontsize": SMALL,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "axes.labelpad": 2,
        "lines.linewidth": 1.2,
        "lines.markersize": 3,
        "grid.color": "#e3e3e3",
        "grid.linewidth": 0.5,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "legend.columnspacing": 1.2,
        "legend.borderpad": 0,
        "legend.labelspacing": 0.3,
        "hatch.linewidth": 0.4,
        "svg.hashsalt": "qfsim",
        "svg.fonttype": "path",
    }
)


def figure(height, rows=1, **keywords):
    """(figure, list of axes), rows of them one below another."""
    made, grid = pyplot.subplots(
        rows, 1, figsize=(WIDTH, height), squeeze=False, constrained_layout=True, **keywords
    )
    made.get_layout_engine().set(w_pad=0.02, h_pad=0.03)
    return made, list(grid.flat)


def key(index):
    """Colour, marker and line of the index-th series: no two of the first 28 are the same."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[index // len(COLOURS) % len(LINES)],
    }


def lightened(colour):
    """As at 60 % on white, but not transparent."""
    return [0.4 + 0.6 * part for part in colors.to_rgb(colour)]


def header(made, title, columns=4, **look):
    """Title and legend above all axes, which get the room below; as many columns up to `columns` as fit the width."""
    entries = {}
    for axes in made.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    width, height = made.get_size_inches()
    top = 0.04
    if title:
        lines = textwrap.wrap(title, 60)  # characters that fit the width
        made.text(0.5, 1 - top / height, "\n".join(lines), ha="center", va="top")
        top += 0.03 + 0.12 * len(lines)
    for count in range(min(columns, len(entries)), 0, -1):
        legend = made.legend(
            entries.values(),
            entries.keys(),
            loc="upper center",
            ncol=count,
            bbox_to_anchor=(0.5, 1 - top / height),
            borderaxespad=0,
            **look,
        )
        box = legend.get_window_extent(made.canvas.get_renderer())
        if box.width <= (width - 0.04) * made.dpi or count == 1:
            break
        legend.remove()
    if entries:
        top += box.height / made.dpi + 0.04
    made.get_layout_engine().set(rect=(0, 0, 1, 1 - top / height))


def legend_room(labels, columns):
    """Inches to add to a figure's height for so many entries of a legend."""
    return 0.14 * -(-labels // columns)


def count_text(value):
    """1024 as 1 Ki; 4608 as 4,608."""
    for size, prefix in ((2**20, "Mi"), (2**10, "Ki")):
        if value >= size and value % size == 0:
            return f"{value // size:.0f} {prefix}"
    return f"{value:,.0f}"


def count_axis(axis, values, most=7):
    """A logarithmic axis of counts, with ticks at the values where these are few, else at powers of 2, 4, 16, ...: about `most`."""
    low, high = min(values), max(values)
    axis.axes.set_xscale("log", base=2) if axis.axis_name == "x" else axis.axes.set_yscale("log", base=2)
    values = sorted(set(values))
    nearest = min((b / a for a, b in zip(values, values[1:])), default=2)
    exponents = [e for e in range(63) if low <= 2**e <= high]
    every = next(n for n in (1, 2, 4, 8, 16, 32) if len(exponents[::n]) <= most)
    phase = max(0, next((i for i, e in enumerate(exponents) if e % every == 0), 0))
    ticks = [2**e for e in exponents[phase::every]]
    if not ticks or (
        len(values) <= most and nearest ** (2 * most) > high / low
    ):  # few, and none too near to another
        ticks = values
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: count_text(value)))
    axis.set_minor_locator(ticker.NullLocator())


def number_text(value):
    """0.5, 20, 3 k, 1.5 M: with a prefix from 1000 on."""
    for size, prefix in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size * 0.9999:
            return f"{value / size:g}{prefix}"
    return f"{value:g}"


def number_axis(axis, low, high, text=number_text):
    """A logarithmic axis in tens, in 1, 2 and 5 where less than two tens are spanned, with plain numbers as labels."""
    axis.axes.set_xscale("log") if axis.axis_name == "x" else axis.axes.set_yscale("log")
    span = high / low
    steps = (1, 2, 5) if span < 100 else (1, 3) if span < 1000 else (1,)
    if span < 4:
        steps = (1, 1.5, 2, 3, 4, 5, 7)
    axis.set_major_locator(ticker.LogLocator(base=10, subs=steps, numticks=7 if span < 1e7 else 5))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(ticker.NullLocator())


def add_tick(axis, place, low, high, label):
    """Fixes the ticks that a logarithmic axis has from low to high, and adds one of its own."""
    ticks = [
        tick for tick in axis.get_major_locator().tick_values(low, high) if low * 0.999 <= tick <= high * 1.3
    ]
    labels = axis.get_major_formatter()
    axis.set_ticks([place] + ticks, [label] + [labels(tick) for tick in ticks])


def fewer(names, most):
    """No more than `most` of some names, in their order: the last of the longest numbered kind goes first."""
    kept = list(names)
    while len(kept) > most:
        kinds = [re.sub(r"\d+", "", name) for name in kept]
        longest = max(kinds, key=kinds.count)
        del kept[len(kinds) - 1 - kinds[::-1].index(longest)]
    return kept


def time_unit(largest_us):
    """(divisor, unit) in which the largest of some times reads well."""
    return next(
        (d, unit) for d, unit in ((1e6, "s"), (1e3, "ms"), (1, "µs")) if largest_us >= 2 * d or d == 1
    )


def render(made, suffixes=("png", "svg")):
    """{suffix: bytes} of a figure, which is closed; the same figure gives the same bytes: no dates, no random identifiers."""
    files = {}
    keywords = {"png": {"dpi": 300, "metadata": {"Software": None}}, "svg": {"metadata": {"Date": None}}}
    for suffix in suffixes:
        stream = io.BytesIO()
        made.savefig(stream, format=suffix, **keywords[suffix])
        files[suffix] = stream.getvalue()
    pyplot.close(made)
    return files


def write(drawn, folder):
    """Writes what render gave, by name, and yields the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in drawn.items():
        for suffix, content in files.items():
            file = folder / f"{name}.{suffix}"
            file.write_bytes(content)
            yield file
