"""Two layers of the first step as they ran: a lane a device and direction of a link, a panel a block order."""

import re

import pandas

from . import results, style, utilisation

NAME = "timeline"
LAYERS = 2
MOST = 8  # lanes
BESIDE = (".writes", ".staging", ".windows")  # what runs beside a device's executor
# What is drawn alike: its name, colour, that of its text, and the kinds; any other kind is like the last.
GROUPS = [
    ("q, k, v", style.GREEN, style.ON_DARK, {"q", "k", "v", "kv", "qkv", "append"}),
    ("ffn", style.SKY, style.ON_LIGHT, {"ffn"}),
    ("merge, o", style.BLUE, style.ON_DARK, {"merge", "o"}),
    ("sweep", style.VERMILION, style.ON_DARK, {"sweep", "scores", "values", "prefetch", "tail_fetch"}),
    ("message", style.ORANGE, style.ON_LIGHT, {"message"}),
    ("other", "#777777", style.ON_DARK, {"reduce_o", "reduce_ffn", "hold", "embed", "lm_head"}),
]


def window(rows):
    """(first layer shown, start, end) in us: LAYERS layers of the first step, from the middle of the stack."""
    layers = int(rows["layer"].max()) + 1
    first = max(0, min(layers // 2, layers - LAYERS))
    shown = rows[
        (rows["step"] == 0)
        & rows["layer"].between(first, first + LAYERS - 1)
        & (rows["kind"] != "lm_head")
        & (rows["kind"] != "embed")
        & ~rows["resource"].str.endswith(BESIDE)
    ]
    return first, shown["start_us"].min(), shown["end_us"].max()


def bars(rows, start, end):
    """What takes time between start and end on a device or port, cut to it, with a row of its lane that is free then."""
    rows = rows[(rows["end_us"] > start) & (rows["start_us"] < end) & (rows["end_us"] > rows["start_us"])]
    rows = rows[~rows["resource"].str.endswith(BESIDE)].sort_values(["start_us", "end_us"], kind="stable")
    free, places = {}, []
    for resource, begin, finish in zip(rows["resource"], rows["start_us"], rows["end_us"]):
        ends = free.setdefault(resource, [])
        place = next((i for i, at in enumerate(ends) if at <= begin), len(ends))
        ends[place : place + 1] = [finish]
        places.append(place)
    return rows.assign(
        begin=rows["start_us"].clip(lower=start), finish=rows["end_us"].clip(upper=end), place=places
    )


def lanes(names):
    """Devices and ports in the order of a request's way: compute side, link to the cache side, cache side, link back."""

    def rank(name):
        if name.startswith("link."):
            return 1 if "cache" in name else 3
        return 2 if name.startswith("cache_device") else 0

    return sorted(names, key=lambda name: (rank(name), len(name), name))


def short(name):
    """compute device as compute, link.to_cache_device as link to cache; a number stays: device 0."""
    words = name.replace("link.", "link ").replace("_", " ")
    return re.sub(r"(\w+) devices?\b(?! \d)", r"\1", re.sub(r"cache device (\d)", r"cache \1", words))


def draw_bar(axes, bar, lane, rows_of_lane, origin, room, lighter):
    height = 0.78 / rows_of_lane
    low = lane - 0.39 + bar.place * height
    text = bar.carries.replace(" ", "") if bar.kind == "message" else bar.kind
    _, colour, text_colour, _ = next((group for group in GROUPS if bar.kind in group[3]), GROUPS[-1])
    axes.barh(
        low,
        bar.finish - bar.begin,
        height,
        bar.begin - origin,
        align="edge",
        edgecolor="white",
        color=style.lightened(colour) if lighter else colour,
        linewidth=0.4,
    )
    if rows_of_lane == 1 and (bar.finish - bar.begin) > room * (len(text) + 0.3):
        axes.text(
            (bar.begin + bar.finish) / 2 - origin,
            lane,
            text,
            ha="center",
            va="center_baseline",
            color=style.ON_LIGHT if lighter else text_colour,
        )


def draw_panel(axes, rows, block, span):
    """Returns how many lanes did not fit."""
    first, start, end = window(rows)
    shown = bars(rows, start, end)
    for name, colour, _, kinds in GROUPS:  # empty bars, for the legend's order
        if shown["kind"].isin(kinds).any():
            axes.barh([0], [0], color=colour, label=name)
    there = lanes(shown["resource"].unique())
    names = style.fewer(there, MOST)
    for lane, name in enumerate(names):
        of_lane = shown[shown["resource"] == name]
        for bar in of_lane.itertuples():
            draw_bar(
                axes, bar, lane, of_lane["place"].max() + 1, start, span / 44, (bar.layer - first) % 2 == 1
            )
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    two = f", layers {first} and {first + 1} (lighter)" if rows["layer"].max() > 0 else ""
    axes.set_title(block + two, pad=3)
    return len(there) - len(names)


def draw_run(run):
    rows = run.operations
    blocks = {block: group for block, group in rows.groupby("block", sort=False)}
    spans = {block: window(group)[1:] for block, group in blocks.items()}
    if any(pandas.isna(end) or end <= start for start, end in spans.values()):
        raise results.NotHere("no operation of the first step takes time")
    span = max(end - start for start, end in spans.values())
    lane_count = min(MOST, rows[~rows["resource"].str.endswith(BESIDE)]["resource"].nunique())
    figure, panels = style.figure(0.85 + len(blocks) * (0.25 + 0.2 * lane_count), len(blocks), sharex=True)
    left_out = 0
    for axes, (block, group) in zip(panels, blocks.items()):
        left_out = max(left_out, draw_panel(axes, group, block, span))
        axes.set_xlim(0, span)
        axes.grid(True, axis="x")
    panels[-1].set_xlabel("time (µs)" + (f"; {left_out} lanes not shown" if left_out else ""))
    style.header(
        figure, utilisation.title(run), len(GROUPS), handlelength=1.1, columnspacing=0.9, handletextpad=0.5
    )
    return figure
