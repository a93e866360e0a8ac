"""The parts of the page of a sweep, in the order in which they are read."""

import re
import types

import numpy

from plots import context, heatmap, pareto, results, style

from . import commented, sources, sweep_answer, vector, wording
from .markup import Column, element, facts, folded, join, section, table

SWEEP_FILE = "sweep.yaml"
MOST_ROWS = 5000  # of a table
MOST_SLICES = 4  # pictures of a kind
PLOTS = [
    (
        heatmap,
        "Speed-up over context and batch; grey: no figures. Up to the crossover the sweep adds nothing to a step.",
    ),
    (
        context,
        "Time per token and the exposed part of the sweep over the context. Hollow markers at 0: nothing is exposed.",
    ),
    (
        pareto,
        "Time per token against tokens/s of a device and against resident KV; the line joins what no other point beats.",
    ),
]
WORDS = {"equal", "variant", "status", "reason", "numerics", "refused"}


def by_size(text):
    """A number to sort the values of an axis by; None of words."""
    value = commented.quantity(text)
    return value[0] if value else None


def shown_as(name):
    """How a column of numbers is shown, by its unit."""
    for ending, show in (
        ("_us", wording.microseconds),
        ("_error", wording.error),
        ("tokens_per_s", wording.rate),
    ):
        if name.endswith(ending):
            return show
    return wording.plain


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def columns_of(table_, axes):
    """Columns of the table of all points, without those that are empty; figures are numbers, axes sort as quantities."""
    made = []
    for name in table_.columns:
        cells = [cell for cell in table_[name] if cell != ""]
        if not cells or (name == "equal" and len(set(cells)) == 1):
            continue
        if name in axes or name in WORDS:
            made.append(Column(name, name, sort_key=by_size if name in axes else None))
        elif all(number(cell) is not None for cell in cells):
            made.append(Column(name, name, shown_as(name)))
        else:
            made.append(Column(name, name))
    return made


def points_table(table_, axes):
    columns = columns_of(table_, axes)
    rows = [
        {c.key: number(cell) if c.show else cell for c, cell in zip(columns, cells)}
        for cells in table_[[c.key for c in columns]].head(MOST_ROWS).itertuples(index=False)
    ]
    more = len(table_) - len(rows)
    beyond = (
        f" The first {wording.count(len(rows))}; {wording.count(more)} more are in {results.SWEEP}."
        if more
        else ""
    )
    return table(
        "points",
        f"Every point, as in {results.SWEEP}; columns without a value are left out.{beyond}",
        columns,
        rows,
    )


def axis_columns(sweep, left_out=()):
    return [
        Column(axis, axis, sort_key=by_size)
        for axis in sweep.axes
        if axis in sweep.varying and axis not in left_out
    ]


def best_table(sweep):
    first = sweep.points["variant"].iloc[0]
    columns = axis_columns(sweep) + [
        Column("best", "Best variant"),
        Column("gain", f"Gain over {first}", wording.ratio),
        Column("ran", "Variants that ran", wording.count),
    ]
    rows = sweep_answer.best(sweep)
    said = "The best variant of each place: least time per token of equal waves, else most tokens/s."
    if len(rows) > MOST_ROWS:
        said += f" The first {wording.count(MOST_ROWS)} of {wording.count(len(rows))}."
    return table("best", said, columns, rows[:MOST_ROWS])


def crossover_table(sweep, rows):
    if not rows:
        return None
    two = sweep_answer.pair(sweep)
    columns = axis_columns(sweep, ("workload.context",)) + [
        Column("largest", "Largest gain", wording.ratio),
        Column("at", "at context", wording.context),
        Column("crossover", "Crossover (positions)", wording.rate),
        Column("faded", f"Gain below {heatmap.LEFT:g}× from (positions)", wording.rate),
    ]
    said = (
        f"{two[0]} over {two[1]} along the context. Crossover: up to there its sweep adds nothing to a step, straight between "
        "the contexts simulated; a dash: not within them."
    )
    return table("crossovers", said, columns, rows)


def reasons(points):
    """[(status, reason with its first numbers, count)] of points that did not run; reasons that differ in numbers are one."""
    found = {}
    for status, reason in zip(points["status"], points["reason"]):
        if status != results.RAN:
            key = status, re.sub(r"[0-9][0-9.,]*( ?[kMGTPE]i?)?", "#", reason)
            first, count = found.get(key, (reason, 0))
            found[key] = first, count + 1
    return [(status, reason, count) for (status, _), (reason, count) in found.items()]


def reasons_table(sweep):
    rows = [dict(zip(("status", "reason", "count"), row)) for row in reasons(sweep.points)]
    if not rows:
        return element("p", "Every point ran.", class_="note")
    columns = [
        Column("status", "Status"),
        Column("count", "Points", wording.count),
        Column("reason", "Reason, of the first"),
    ]
    said = "Points without figures. Reasons that differ only in numbers are counted together."
    return element("div", table("reasons", said, columns, rows), class_="prose")


def caption(text, part):
    missing = reasons(part.points)
    said = [f"{part.text}." if part.text else "", text]
    if missing:
        kinds = "; ".join(f"{count} × {reason}" for _, reason, count in missing[:2])
        more = f"; and {wording.counted(len(missing) - 2, 'other reason')}" if len(missing) > 2 else ""
        said.append(f"Gaps, {part.gaps}: {kinds}{more}.")
    return " ".join(part for part in said if part)


def pictures(sweep):
    made, notes, options = [], [], types.SimpleNamespace(variant=None, baseline=None)
    for picture, text in PLOTS:
        try:
            slices = picture.slices(sweep)
            places = sorted({round(place) for place in numpy.linspace(0, len(slices) - 1, MOST_SLICES)})
            for index in places:
                part = slices[index]
                svg = style.render(picture.draw(part, options), ("svg",))["svg"]
                seen = picture.shown(part, options) if picture is heatmap else part
                said = caption(text, seen)
                drawing = vector.inline(svg, f"{picture.NAME}-{index}-", said)
                made.append(
                    element("figure", drawing, element("figcaption", said), id=f"plot-{picture.NAME}-{index}")
                )
        except results.NotHere as reason:
            notes.append(f"No {picture.NAME}: {reason}.")
            continue
        if len(slices) > len(places):
            rest = len(slices) - len(places)
            notes.append(f"{picture.NAME}: {rest} more with analysis/plot FOLDER --all.")
    said = (element("p", note, class_="note") for note in notes)
    return section("plots", "Plots", element("div", *made, class_="plots"), *said)


def ledger_part(sweep):
    rows = []
    for (equal, variant), points in sweep.points.groupby(["equal", "variant"], sort=False):
        row = {"equal": equal, "variant": variant, "points": int((points["status"] == results.RAN).sum())}
        for name in ("sweep", "link"):
            shares = (points[f"exposed_{name}_us"] / points["step_us"]).dropna()
            if len(shares):
                row |= {
                    f"{name}.least": shares.min(),
                    f"{name}.median": shares.median(),
                    f"{name}.most": shares.max(),
                }
        rows.append(
            {key: value if isinstance(value, (str, int)) else float(value) for key, value in row.items()}
        )
    columns = ([Column("equal", "Equal")] if sweep.points["equal"].nunique() > 1 else []) + [
        Column("variant", "Variant"),
        Column("points", "Points that ran", wording.count),
        *(
            Column(f"{name}.{kind}", f"{title} exposed, {kind}", wording.share)
            for name, title in (("sweep", "Sweep"), ("link", "Link"))
            for kind in ("least", "median", "most")
        ),
    ]
    said = (
        "Shares of the first step of a wave in which only a sweep, or only a message, was under way: what could not be hidden. "
        "The parts of single steps are in the ledger of a run."
    )
    return section(
        "ledger",
        "Ledger",
        element("p", said),
        table("ledger-table", "Over all points that ran.", columns, rows),
    )


def numeric_check(table_):
    said = table_["numerics"][table_["numerics"] != ""] if "numerics" in table_.columns else []
    if not len(said):
        return section(
            "numerics", "Numeric check", element("p", "Numbers: not computed, times only (numerics: off).")
        )
    wrong = said[said != "passed"]
    text = f"passed at {len(said) - len(wrong)} of {len(said)} points"
    verdict = element("span", text, class_=f"verdict {'bad' if len(wrong) else 'good'}")
    worst = [value for value in map(number, table_["operation_error"]) if value is not None]
    parts = [
        element(
            "p", "Numbers: ", verdict, f", worst operation {wording.error(max(worst))}" if worst else "", "."
        )
    ]
    if len(wrong):
        parts.append(element("p", f"The first failure: {wrong.iloc[0]}", class_="bad"))
    return section("numerics", "Numeric check", *parts)


def pareto_text(table_):
    """Of a sweep with objectives, how many points no other beats in all of them."""
    if "pareto" not in table_.columns:
        return None
    said = table_["pareto"]
    return f"{wording.count((said == 'yes').sum())} of {wording.count((said != '').sum())} points (column pareto)"


def configuration(sweep, table_, file, text):
    counts = sweep.points["status"].value_counts().sort_index()
    pairs = [
        ("Base run", file.values["run"][0] if file and "run" in file.values else None),
        (
            "Points",
            f"{len(sweep.points):,}: " + ", ".join(f"{count:,} {status}" for status, count in counts.items()),
        ),
        ("Pareto front", pareto_text(table_)),
        ("Variants", ", ".join(sweep.points["variant"].unique())),
        *((axis, sweep_answer.span_text(sweep.points[axis])) for axis in sweep.axes),
    ]
    whole = folded(f"The whole sweep ({SWEEP_FILE})", element("pre", element("code", text))) if text else None
    return section("configuration", "Configuration", facts(pairs), whole)


def question(sweep):
    names = list(sweep.points["variant"].unique())
    which = wording.listed(names) if len(names) < 5 else f"these {len(names)} variants"
    axes = wording.listed(axis for axis in sweep.axes if axis in sweep.varying and axis != "equal")
    over = f" over {axes}" if axes else ""
    if sweep.points["variant"].nunique() == 1:
        return f"What does {which} take{over}?"
    return f"Which of {which} is best where{over}, by how much, and where does that end?"


def read(folder):
    """(sweep, all of the table as text, sweep.yaml parsed and as text, or None and '')"""
    options = types.SimpleNamespace(where=[])
    sweep = results.read_sweep(folder, options)
    table_ = results.read_csv(folder / results.SWEEP, [])
    try:
        text = (folder / SWEEP_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return sweep, table_, None, ""
    except (OSError, UnicodeDecodeError) as error:
        raise results.BadInput(f"cannot read {folder / SWEEP_FILE}: {error}")
    return sweep, table_, commented.parse(text), text


def origins(file, folder, configs):
    """(rows, heads, note) for the part on sources."""
    if file is None:
        return [], {}, f"The folder has no {SWEEP_FILE}, which would name the machine's numbers."
    rows, heads, base, found = sources.of_sweep(file, folder, configs)
    where = f"The numbers are those of the base run {base}, as it is now, and what the sweep makes of them."
    return (
        rows,
        heads,
        where
        if found
        else f"The base run {base} is not where the sweep's file says; its numbers stand there.",
    )


def body(folder, configs):
    """(title, head, parts of the page, what sources_part.part takes)"""
    sweep, table_, file, text = read(folder)
    name = file.values["name"][0] if file and "name" in file.values else folder.resolve().name
    two = sweep_answer.pair(sweep)
    rows = sweep_answer.crossovers(sweep, *two) if two else []
    head = join([
        element("h1", f"{name}: results of a sweep"),
        element("p", question(sweep), class_="question"),
        element("p", sweep_answer.sentence(sweep, rows), class_="answer", id="answer"),
    ])  # fmt: skip
    found = section(
        "results",
        "Results",
        crossover_table(sweep, rows),
        best_table(sweep) if sweep.points["variant"].nunique() > 1 else None,
        points_table(table_, sweep.axes),
        reasons_table(sweep),
    )
    parts = [
        configuration(sweep, table_, file, text),
        found,
        pictures(sweep),
        ledger_part(sweep),
        numeric_check(table_),
    ]
    return name, head, parts, origins(file, folder, configs)
