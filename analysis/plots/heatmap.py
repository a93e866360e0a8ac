"""Speed-up of a block order over context and batch, with its crossover and the contexts at which the gain has faded."""

import numpy
from matplotlib import patheffects

from . import results, style

NAME = "speedup-heatmap"
LEFT = 1.05  # below it a speed-up has faded
HIDDEN = 1e-3  # of a step: a merge that waits less for its sweep does not wait
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


def grid(points, variant, figures):
    """A table of one variant's figures, a row a batch and a column a context, both ascending; NaN where it did not run."""
    table = points.assign(
        context=points[AXES[0]].map(results.quantity),
        batch=points[AXES[1]].map(results.quantity),
        figure=figures,
    )
    table = table[table["variant"] == variant].pivot(index="batch", columns="context", values="figure")
    return table.sort_index().sort_index(axis=1)


def speed_ups(points, variant, baseline):
    """(contexts, batches, grid[batch][context]): TPOT of the baseline over that of the variant, NaN where one did not run."""
    times = results.time_per_token(points)
    ratio = grid(points, baseline, times) / grid(points, variant, times)
    return ratio.columns.to_numpy(), ratio.index.to_numpy(), ratio.to_numpy()


def waits(points, variant):
    """grid[batch][context]: for how much of a first step a sweep or its messages keep the variant waiting, beyond what they do
    at the shortest context; in us, and as a share of the step."""
    exposed = grid(points, variant, points["exposed_sweep_us"] + points["exposed_link_us"])
    waited = exposed.sub(exposed.bfill(axis=1).iloc[:, 0], axis=0)
    return waited.to_numpy(), (waited / grid(points, variant, points["step_us"])).to_numpy()


def crossover(contexts, waited, shares):
    """Up to where the sweep adds nothing: beyond, the merge waits longer by what the sweep takes longer, so straight through
    the first two contexts at which it waits back to none, but not before the last at which it does not. NaN where it does not
    wait at any but the first of the contexts, or already at the second."""
    known = numpy.flatnonzero(~numpy.isnan(shares))
    out = [index for index in known if shares[index] >= HIDDEN]
    hides = [index for index in known if index < min(out, default=0)]
    if len(out) < 2 or len(hides) < 2:
        return numpy.nan
    growth = (waited[out[1]] - waited[out[0]]) / (contexts[out[1]] - contexts[out[0]])
    return max(contexts[hides[-1]], contexts[out[0]] - waited[out[0]] / growth) if growth > 0 else numpy.nan


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


def shown(part, options):
    """The points of the two variants that are compared."""
    both = part.points["variant"].isin(pair(part.points, options))
    return results.Slice(part.points[both], part.shared)


def draw(part, options):
    variant, baseline = pair(part.points, options)
    part = shown(part, options)
    contexts, batches, ratios = speed_ups(part.points, variant, baseline)
    if numpy.isnan(ratios).all():
        raise results.NotHere(f"nowhere do both {variant} and {baseline} run")
    figure, (axes,) = style.figure(2.75)
    axes.set_facecolor(style.GREY)
    mesh = axes.pcolormesh(
        edges(contexts),
        edges(batches),
        numpy.ma.masked_invalid(ratios),
        cmap="cividis",
        vmin=min(1, numpy.nanmin(ratios)),
        edgecolors="face",
        linewidth=0.1,
    )
    style.count_axis(axes.xaxis, contexts)
    style.count_axis(axes.yaxis, batches, most=9)
    hides = [crossover(contexts, *rows) for rows in zip(*waits(part.points, variant))]
    draw_line(axes, batches, hides, linestyle=(0, (2.5, 1.5)), label="crossover")
    left = [faded(contexts, row) for row in ratios]
    draw_line(axes, batches, left, linestyle="-", label=f"falls below {LEFT:g}")
    axes.set(
        xlabel="context (cached positions a request)",
        ylabel="batch (requests)",
        xlim=edges(contexts)[[0, -1]],
        ylim=edges(batches)[[0, -1]],
    )
    figure.colorbar(mesh, ax=axes, pad=0.02, aspect=25).set_label(f"speed-up of {variant} over {baseline}")
    style.header(figure, part.title)
    return figure
