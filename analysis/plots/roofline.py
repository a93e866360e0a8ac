"""Operations of a run under the limits of their devices: MACs per byte of memory against MACs per second.

A device with bandwidth B and rate R cannot do more than min(R, B * i) at i MACs a byte.
"""

import numpy
import pandas
from matplotlib import patheffects

from . import results, style, utilisation

NAME = "roofline"
LOOKS = {"compute_device": (style.BLUE, "o"), "cache_device": (style.VERMILION, "D")}


def device_of(resource):
    """Key of the configuration that describes where an operation ran; pool and tensor-parallel devices are compute devices."""
    return "cache_device" if resource.startswith("cache_device") else "compute_device"


def limits(config):
    """{device: (bytes/s, MAC/s or inf)}"""
    return {
        key: (
            config[key]["bandwidth_gb_per_s"] * 1e9,
            config[key]["mac_rate_tmac_per_s"] * 1e12 if config[key]["mac_rate_tmac_per_s"] else numpy.inf,
        )
        for key in ("compute_device", "cache_device")
        if config.get(key) and config[key].get("bandwidth_gb_per_s")
    }


def operations(run):
    """A row for each kind of operation on each kind of device: intensity (MAC/B) and rate (MAC/s), both means over its
    launches at the main context that were used: sum of MACs over sum of bytes, over sum of times."""
    rows = run.operations
    rows = rows[(rows["macs"] > 0) & (rows["end_us"] > rows["start_us"]) & (rows["fate"] == "used")]
    rows = pandas.DataFrame(
        {
            "device": rows["resource"].map(device_of),
            "kind": rows["kind"],
            "macs": rows["macs"],
            "bytes": rows[results.BYTES].sum(axis=1),
            "seconds": (rows["end_us"] - rows["start_us"]) * 1e-6,
        }
    )
    sums = rows.groupby(["device", "kind"], sort=False).sum().reset_index()
    sums = sums[sums["bytes"] > 0]
    return sums.assign(intensity=sums["macs"] / sums["bytes"], rate=sums["macs"] / sums["seconds"])


def draw_limits(axes, roofs, low, high):
    reach = numpy.geomspace(low, high, 400)
    same = len(set(roofs.values())) == 1 and len(roofs) > 1
    for device, (bandwidth, rate) in list(roofs.items())[: 1 if same else None]:
        name = "limits" if same else f"limits of {device.replace('_', ' ')}"
        name += f": {style.number_text(bandwidth)}B/s, "
        name += f"{style.number_text(rate)}MAC/s" if numpy.isfinite(rate) else "MAC/s unlimited"
        axes.plot(
            reach,
            numpy.minimum(bandwidth * reach, rate),
            color="#555555" if same else LOOKS[device][0],
            linewidth=1,
            label=name,
        )


def close(one, other, near):
    """Whether two points lie within the factors near = (of intensity, of rate) of each other."""
    return all(1 / factor < a / b < factor for a, b, factor in zip(one, other, near))


def clusters(rows, near):
    """[(device, intensity, rate, [kinds])]: of a device, what lies within the factors `near` of the first of its cluster."""
    found = []
    for row in rows.itertuples():
        for device, intensity, rate, kinds in found:
            if device == row.device and close((row.intensity, row.rate), (intensity, rate), near):
                kinds.append(row.kind)
                break
        else:
            found.append((row.device, row.intensity, row.rate, [row.kind]))
    return found


def draw_points(axes, rows, low, high, near):
    for device, (colour, marker) in LOOKS.items():
        shown = rows[rows["device"] == device]
        if not shown.empty:
            axes.plot(
                shown["intensity"],
                shown["rate"],
                marker,
                color=colour,
                linestyle="",
                markersize=4.5,
                markerfacecolor="none",
                markeredgewidth=1,
                label=device.replace("_", " "),
                zorder=3,
            )
    placed = []
    for _, intensity, rate, kinds in clusters(rows, near):
        taken = any(close((intensity, rate), other, near) for other in placed)  # by the other device's label
        placed.append((intensity, rate))
        left = taken or intensity > low * (high / low) ** 0.75
        axes.annotate(
            ", ".join(kinds),
            (intensity, rate),
            (-6, 5) if left else (6, -3),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            path_effects=[patheffects.Stroke(linewidth=2, foreground="white"), patheffects.Normal()],
        )


def draw_run(run):
    roofs, rows = limits(run.summary["config"]), operations(run)
    if rows.empty or not roofs:
        raise results.NotHere("no operation with MACs, bytes and time")
    figure, (axes,) = style.figure(3.0)
    finite = [rate / bandwidth for bandwidth, rate in roofs.values() if numpy.isfinite(rate)]
    low, high = rows["intensity"].min() / 3, max(
        [rows["intensity"].max() * 3] + [2.5 * ridge for ridge in finite]
    )
    draw_limits(axes, roofs, low, high)
    top = max(min(rate, bandwidth * high) for bandwidth, rate in roofs.values())
    style.number_axis(axes.xaxis, low, high)
    bottom = rows["rate"].min() / 3
    # Labels are about a 20th of the picture high; what is nearer than that shares one.
    draw_points(axes, rows, low, high, ((high / low) ** 0.05, (top / bottom) ** 0.06))
    style.number_axis(axes.yaxis, bottom, top)
    axes.set(xlim=(low, high), ylim=(bottom, top * 1.6), xlabel="MACs per byte of memory", ylabel="MAC/s")
    axes.grid(True)
    style.header(figure, utilisation.title(run))
    return figure
