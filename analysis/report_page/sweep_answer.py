"""The answer of a sweep in one sentence, and what it stands on: the best variant of each place, and crossovers."""

import math

import numpy

from plots import heatmap, results, style

from . import wording

CONTEXT = "workload.context"
EQUAL = {"wave": "equal wave", "resident": "equal resident requests", "memory": "the largest batch that fits"}


BY = {"wave": "time per token"}  # else tokens/s


def figures(points):
    """Of every point that of which more is better: less time per token of equal waves, else more tokens/s; NaN without."""
    return (1 / results.time_per_token(points)).where(points["equal"] == "wave", points["tokens_per_s"])


def best(sweep):
    """A row a place, which is a value of each axis: the axes, best, gain (over the first variant), ran (how many variants)."""
    first, places = sweep.points["variant"].iloc[0], {}
    for *place, variant, figure in zip(
        *(sweep.points[axis] for axis in sweep.axes), sweep.points["variant"], figures(sweep.points)
    ):
        there = places.setdefault(tuple(place), {})
        if not math.isnan(figure):
            there[variant] = figure
    rows = []
    for place, ran in places.items():
        row = dict(zip(sweep.axes, place)) | {"ran": len(ran), "best": None, "gain": None}
        if ran:
            row["best"] = max(ran, key=ran.get)
            row["gain"] = ran[row["best"]] / ran[first] if first in ran else None
        rows.append(row)
    return rows


def numbers(row):
    """NaN as None."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()
    }


def crossovers(sweep, variant, baseline):
    """A row for each value of the other axes: these, largest (gain) and its context, crossover and faded (both in positions)."""
    if CONTEXT not in sweep.axes or sweep.points[CONTEXT].nunique() < 2:
        return []
    others, rows = [axis for axis in sweep.axes if axis != CONTEXT], []
    for place, points in sweep.points.groupby(others, sort=False, dropna=False):
        place = place if isinstance(place, tuple) else (place,)
        points = points.assign(**{heatmap.AXES[1]: "1"})  # one row of a heat map
        contexts, _, (ratios,) = heatmap.speed_ups(points, variant, baseline)
        (waited,), (shares,) = heatmap.waits(points, variant)
        if numpy.isnan(ratios).all():
            continue
        top = int(numpy.nanargmax(ratios))
        found = {
            "largest": float(ratios[top]),
            "at": float(contexts[top]),
            "crossover": float(heatmap.crossover(contexts, waited, shares)),
            "faded": float(heatmap.faded(contexts, ratios)),
        }
        rows.append(numbers(dict(zip(others, place)) | found))
    return rows


def axis_text(axis, value):
    if axis == "equal":
        return EQUAL.get(value, value)
    return value if axis == "model" else f"{axis.rpartition('.')[2]} {value}"


def place_text(sweep, row, left_out=()):
    """The varying axes of a row."""
    shown = [axis for axis in sweep.axes if axis in sweep.varying and axis not in left_out and row.get(axis)]
    return ", ".join(axis_text(axis, row[axis]) for axis in shown)


def reach(sweep, rows, key):
    """'31,157 positions at batch 1 and 603 at batch 32': of the first and the last row that have one."""
    there = [row for row in rows if row[key] is not None]
    if not there:
        return None
    said = []
    for row in there[:1] + there[1:][-1:]:
        where = place_text(sweep, row, (CONTEXT,))
        said.append(
            wording.count(math.floor(row[key]))
            + (" positions" if not said else "")
            + (f" at {where}" if where else "")
        )
    return " and ".join(said)


def of_pair(sweep, variant, baseline, rows):
    """How much one variant gains over another, and where that ends; rows: their crossovers."""
    key = [axis for axis in sweep.axes]
    tables = [sweep.points[sweep.points["variant"] == name].set_index(key) for name in (baseline, variant)]
    ratios = (results.time_per_token(tables[0]) / results.time_per_token(tables[1])).dropna()
    if ratios.empty:
        return f"Nowhere do both {variant} and {baseline} run."
    top = ratios.idxmax()
    where = place_text(sweep, dict(zip(sweep.axes, top if isinstance(top, tuple) else (top,))))
    faster = int((ratios > 1).sum())
    said = f"{variant} is faster than {baseline} at {wording.count(faster)} of the {wording.counted(len(ratios), 'place')} where both run"
    if faster:
        said += f", at most {wording.ratio(ratios.max())}" + (f" ({where})" if where else "")
    hides, fades = reach(sweep, rows, "crossover"), reach(sweep, rows, "faded")
    if hides:
        said += f"; its sweep adds nothing to a step up to {hides}"
    elif rows:
        said += "; no crossover lies within these contexts"
    if fades:
        said += f"; the gain falls below {heatmap.LEFT:g}× at {fades}"
    return said + "."


def often(names):
    """{name: times} by how often, then by the order in which they came."""
    counts = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def changes(rows):
    """Which variant is most often best from which context on: 'a up to 1 Ki, b from 16 Ki on'; empty if it is one throughout."""
    contexts = sorted({row[CONTEXT] for row in rows}, key=results.quantity)
    leaders = [
        next(iter(often(row["best"] for row in rows if row[CONTEXT] == context))) for context in contexts
    ]
    begins = [index for index, name in enumerate(leaders) if index == 0 or name != leaders[index - 1]]
    if len(begins) < 2:
        return ""
    return ", ".join(
        f"{leaders[index]} {'from' if index else 'at'} {contexts[index]} {'on' if index else 'cached positions'}"
        for index in begins
    )


def of_many(sweep):
    """Which variant is best at how many places, of the first kind of equality."""
    equal = sweep.points["equal"].iloc[0]
    rows = [row for row in best(sweep) if row["equal"] == equal and row["best"]]
    if not rows:
        return "No point ran."
    counts = often(row["best"] for row in rows)
    said = wording.listed(f"{name} at {count}" for name, count in counts.items())
    text = f"Of {wording.counted(len(rows), 'place')} at {EQUAL.get(equal, equal)}, by {BY.get(equal, 'tokens/s')} the best is {said}"
    changed = changes(rows) if CONTEXT in sweep.axes else ""
    return text + (f"; most often it is {changed}." if changed else ".")


def pair(sweep):
    """(variant, baseline) as the heat map takes them; None of one variant."""
    names = list(sweep.points["variant"].unique())
    if len(names) < 2:
        return None
    return "early_q" if "early_q" in names[1:] else names[1], names[0]


def of_one(sweep, name):
    """Where the only variant takes least and most time per token."""
    times = results.time_per_token(sweep.points).dropna()
    if times.empty:
        return "No point ran."
    said = []
    for index in (times.idxmin(), times.idxmax()):
        where = place_text(sweep, sweep.points.loc[index])
        said.append(f"{wording.microseconds(times[index])} µs" + (f" ({where})" if where else ""))
    return f"Of {wording.counted(len(times), 'place')}, {name} takes least time per token with {said[0]} and most with {said[1]}."


def sentence(sweep, rows):
    """rows: crossovers of the pair, if there is one."""
    names = list(sweep.points["variant"].unique())
    if len(names) == 1:
        return of_one(sweep, names[0])
    return of_pair(sweep, *pair(sweep), rows) if len(names) == 2 else of_many(sweep)


def span_text(values):
    """Of an axis: its values, or where they are many the first, how many, and the last."""
    values = list(dict.fromkeys(value for value in values if value))
    if len(values) <= 8:
        return ", ".join(values)
    return f"{values[0]} to {values[-1]}, {style.count_text(len(values))} values"
