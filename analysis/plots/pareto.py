"""Which points no other point beats: least time per token for the most tokens/s a device, and for the most resident KV."""

from . import results, style

NAME = "pareto"
# What is asked for, and held fixed within a picture; every other axis is a choice, whose points compete.
ASKED = ("equal", "model", "workload.context", "link", "compute_device", "cache_device", "numerics")


def is_choice(axis):
    return not any(axis == asked or axis.startswith(asked + ".") for asked in ASKED)


def slices(sweep):
    parts = results.slices(sweep, is_choice)
    parts = [part for part in parts if part.points["tokens_per_s"].notna().sum() > 1]
    if not parts:
        raise results.NotHere("no two points that ran differ in what can be chosen")
    return parts


def front(points):
    """Indices of those (time, gain) that no other beats: as little time and as much gain, one of them strictly. By time."""
    best, kept = float("-inf"), []
    for index in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        time, gain = points[index]
        equal = kept and points[kept[-1]] == (time, gain)
        if gain > best or equal:
            kept.append(index)
            best = max(best, gain)
    return kept


def candidates(part):
    """Points that ran, with columns series, time_us, rate (tokens/s of a device) and kv_bytes."""
    points = part.points[part.points["tokens_per_s"].notna()]
    names = points["variant"]
    for axis in points.columns[: list(points.columns).index("variant")]:
        words = points[axis].map(results.quantity).isna()
        if is_choice(axis) and words.all() and points[axis].nunique() > 1:
            names = names + ", " + points[axis]
    return points.assign(
        series=names,
        time_us=results.time_per_token(points),
        rate=points["tokens_per_s"] / points["devices"],
        kv_bytes=points["resident_kv_bytes"],
    )


def draw_panel(axes, points, gain, divisor, unit):
    for index, (name, group) in enumerate(points.groupby("series", sort=False)):
        look = style.key(index) | {
            "linestyle": "",
            "markerfacecolor": "none",
        }  # hollow: points may lie on one another
        axes.plot(
            group[gain] / divisor, group["time_us"] / unit[0], label=name, markersize=4, zorder=3, **look
        )
    pairs = list(zip(points["time_us"], points[gain]))
    best = [pairs[index] for index in front(pairs)]
    axes.step(
        [g / divisor for _, g in best],
        [t / unit[0] for t, _ in best],
        where="pre",
        color="#888888",
        linewidth=1,
        zorder=2,
        label="front" if len(best) > 1 else None,
    )
    values = points[gain] / divisor
    style.number_axis(axes.xaxis, values.min(), values.max())
    times = points["time_us"] / unit[0]
    style.number_axis(axes.yaxis, times.min(), times.max())
    axes.set_xlim(values.min() / 1.25, values.max() * 1.25)
    axes.set_ylim(times.min() / 1.25, times.max() * 1.25)
    axes.set_ylabel(f"TPOT ({unit[1]})")
    axes.grid(True)


def draw(part, options):
    del options
    points = candidates(part)
    unit = style.time_unit(points["time_us"].max())
    gains = [("rate", 1, "tokens/s per device")]
    if points["kv_bytes"].nunique() > 1:
        gains.append(("kv_bytes", 1e9, "resident KV (GB)"))
    figure, panels = style.figure(
        0.2 + 1.7 * len(gains) + style.legend_room(points["series"].nunique() + 1, 2), len(gains)
    )
    for axes, (gain, divisor, label) in zip(panels, gains):
        draw_panel(axes, points, gain, divisor, unit)
        axes.set_xlabel(label)
    style.header(figure, part.title)
    return figure
