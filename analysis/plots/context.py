"""Time per token, and the part of it in which nothing but a sweep runs, over the context: a line a variant or block order."""

import pandas

from . import results, style

NAME = "tpot-over-context"


def slices(sweep):
    results.contexts(sweep)
    parts = results.slices(sweep, lambda axis: axis == "workload.context")
    parts = [
        part
        for part in parts
        if part.points["workload.context"].nunique() > 1 and part.points["tpot_us"].notna().any()
    ]
    if not parts:
        raise results.NotHere("no times of several contexts")
    return parts


def series(points):
    """{variant: rows of context, time_us, exposed_us by context}; of a sweep's points, NaN where one did not run."""
    rows = pandas.DataFrame(
        {
            "name": points["variant"],
            "context": points["workload.context"].map(results.quantity),
            "time_us": results.time_per_token(points),
            "exposed_us": points["exposed_sweep_us"],
        }
    )
    lines = split(rows)
    return {name: line for name, line in lines.items() if line["time_us"].notna().any()}


def series_of_run(run):
    """The same of a run, a line a block order."""
    rows = pandas.DataFrame(
        [
            {
                "name": result["block"],
                "context": result["context"],
                "time_us": result.get("tpot_us") or result["step_time_us"],
                "exposed_us": result["ledger"]["sweep_exposed_us"],
            }
            for result in run.summary["results"]
        ]
    )
    if rows["context"].nunique() < 2:
        raise results.NotHere("the run has one context only")
    return split(rows)


def split(rows):
    return {name: group.sort_values("context") for name, group in rows.groupby("name", sort=False)}


def draw_panel(axes, lines, column, divisor):
    """A logarithmic axis has no zero: nothing, and less than a 100,000th, are hollow markers on a line of their own below."""
    values = pandas.concat([rows[column] for rows in lines.values()]) / divisor
    if not values.max() > 0:
        axes.text(0.5, 0.5, "0 at all of these contexts", transform=axes.transAxes, ha="center")
        axes.set_yticks([])
        return
    low = values[values > values.max() / 1e5].min()
    zeros = (values < low).any()
    floor = low * (low / values.max()) ** 0.15 / 1.2
    for index, (name, rows) in enumerate(lines.items()):
        heights = rows[column] / divisor
        axes.plot(rows["context"], heights.where(heights >= low), label=name, **style.key(index))
        hollow = style.key(index) | {"linestyle": "", "markerfacecolor": "white"}
        axes.plot(rows["context"], heights.where(heights < low).mul(0) + floor, **hollow)
    style.number_axis(axes.yaxis, low, values.max())
    axes.set_ylim((floor if zeros else low) / 1.3, values.max() * 1.3)
    if zeros:
        style.add_tick(axes.yaxis, floor, low, values.max(), "0")


def picture(lines, title):
    everything = pandas.concat(lines.values())
    figure, panels = style.figure(3.5 + style.legend_room(len(lines), 2), 2, sharex=True)
    unit = style.time_unit(everything["time_us"].max())
    draw_panel(panels[0], lines, "time_us", unit[0])
    draw_panel(panels[1], lines, "exposed_us", unit[0])
    panels[0].set_ylabel(f"TPOT ({unit[1]})")
    panels[1].set(ylabel=f"exposed sweep a token ({unit[1]})", xlabel="context (cached positions a request)")
    style.count_axis(panels[1].xaxis, everything["context"])
    for axes in panels:
        axes.grid(True)
    style.header(figure, title)
    return figure


def draw(part, options):
    del options
    return picture(series(part.points), part.title)


def draw_run(run):
    config = run.summary["config"]
    return picture(series_of_run(run), f"{config['model']['name']}, batch {config['workload']['batch']}")
