"""Speed-up of a block order over context and batch, with the contexts at which it peaks and at which it has faded."""

import numpy
from matplotlib import patheffects

from . import results, style

NAME = "speedup-heatmap"
LEFT = 1.05  # below it a speed-up has faded
AXES = ["workload.context", "workload.batch"]


def slices(sweep):
    results.contexts(sweep)
    if "workload.batch" not in sweep.axes or sweep.points["workload.batch"].nunique() < 2:
        raise results.NotHere("the sweep has no two values of workload.batch")
    if sweep.points["variant"].nunique() < 2:
        raise results.NotHere("the sweep has one variant only")
    parts = results.slices(sweep, lambda axis: axis in AXES)
    parts = [part for part in parts if all(part.points[axis].nunique() > 1 for axis in AXES)]
    if not parts:
        raise results.NotHere("no points of several contexts and batches")
    return parts


def pair(points, options):
    """(variant, baseline): as asked for; else early_q, or the second, over the first."""
    names = list(points["variant"].unique())
    for name in (options.variant, options.baseline):
        if name is not None and name not in names:
            raise results.BadInput(f"no variant '{name}'; there are {', '.join(names)}")
    baseline = options.baseline or next(name for name in names if name != options.variant)
    others = [name for name in names if name != baseline]
    return options.variant or ("early_q" if "early_q" in others else others[0]), baseline


def speed_ups(points, variant, baseline):
    """(contexts, batches, grid[batch][context]): TPOT of the baseline over that of the variant, NaN where one is refused."""
    times = points.assign(
        context=points[AXES[0]].map(results.quantity),
        batch=points[AXES[1]].map(results.quantity),
        time=results.time_per_token(points),
    )
    grids = [
        times[times["variant"] == name].pivot(index="batch", columns="context", values="time")
        for name in (baseline, variant)
    ]
    ratio = (grids[0] / grids[1]).sort_index().sort_index(axis=1)
    return ratio.columns.to_numpy(), ratio.index.to_numpy(), ratio.to_numpy()


def peak(contexts, row):
    """The context of the largest speed-up; NaN where it is the first or the last known, since it may lie beyond."""
    known = numpy.flatnonzero(~numpy.isnan(row))
    if len(known) < 3:
        return numpy.nan
    best = known[numpy.argmax(row[known])]
    return numpy.nan if best in (known[0], known[-1]) else contexts[best]


def faded(contexts, row, left=LEFT):
    """Where, after its peak, a speed-up falls below `left`: straight between two points over the logarithm of the context.
    NaN where it never had as much, or never loses it."""
    known = numpy.flatnonzero(~numpy.isnan(row))
    if not len(known) or row[known].max() < left:
        return numpy.nan
    after = known[numpy.argmax(row[known]) :]
    for low, high in zip(after, after[1:]):
        if row[low] >= left > row[high]:
            share = (row[low] - left) / (row[low] - row[high])
            return contexts[low] * (contexts[high] / contexts[low]) ** share
    return numpy.nan


def edges(values):
    """Borders of the cells around values on a logarithmic axis."""
    middle = numpy.sqrt(values[1:] * values[:-1])
    return numpy.concatenate(([values[0] ** 2 / middle[0]], middle, [values[-1] ** 2 / middle[-1]]))


def draw_line(axes, batches, line, **look):
    halo = [patheffects.Stroke(linewidth=3, foreground="white"), patheffects.Normal()]
    axes.plot(
        line, batches, color="black", linewidth=1.4, marker="o", markersize=2, path_effects=halo, **look
    )


def draw(part, options):
    variant, baseline = pair(part.points, options)
    contexts, batches, grid = speed_ups(part.points, variant, baseline)
    if numpy.isnan(grid).all():
        raise results.NotHere(f"nowhere do both {variant} and {baseline} run")
    figure, (axes,) = style.figure(2.75)
    axes.set_facecolor(style.GREY)
    mesh = axes.pcolormesh(
        edges(contexts),
        edges(batches),
        numpy.ma.masked_invalid(grid),
        cmap="cividis",
        vmin=min(1, numpy.nanmin(grid)),
        edgecolors="face",
        linewidth=0.1,
    )
    style.count_axis(axes.xaxis, contexts)
    style.count_axis(axes.yaxis, batches, most=9)
    draw_line(
        axes, batches, [peak(contexts, row) for row in grid], linestyle=(0, (2.5, 1.5)), label="largest"
    )
    draw_line(
        axes, batches, [faded(contexts, row) for row in grid], linestyle="-", label=f"falls below {LEFT:g}"
    )
    axes.set(
        xlabel="context (cached positions a request)",
        ylabel="batch (requests)",
        xlim=edges(contexts)[[0, -1]],
        ylim=edges(batches)[[0, -1]],
    )
    figure.colorbar(mesh, ax=axes, pad=0.02, aspect=25).set_label(f"speed-up of {variant} over {baseline}")
    style.header(figure, part.text)
    return figure
