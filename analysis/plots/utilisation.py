"""How busy every device and port is in the first step at the main context: a bar a resource and block order."""

import numpy

from . import results, style

NAME = "utilisation"
MOST = 12  # resources with a bar of their own


def shares(run, most=MOST):
    """(resources, {block: share of the step in per cent, by resource}, how many were left out beyond `most`);
    without resources that no block order uses."""
    main = run.main
    names = [
        name
        for name in main[0]["resources_first_step"]
        if any(result["resources_first_step"].get(name, {}).get("busy_us", 0) > 0 for result in main)
    ]
    kept = style.fewer(names, most)
    blocks = {
        result["block"]: [
            100 * result["resources_first_step"].get(name, {}).get("utilisation", 0) for name in kept
        ]
        for result in main
    }
    return kept, blocks, len(names) - len(kept)


def draw_run(run):
    names, blocks, left_out = shares(run)
    if not names:
        raise results.NotHere("no resource is busy in the first step")
    figure, (axes,) = style.figure(0.75 + 0.13 * len(names) * (len(blocks) + 0.6))
    height = 0.8 / len(blocks)
    for index, (block, values) in enumerate(blocks.items()):
        places = numpy.arange(len(names)) + (index - (len(blocks) - 1) / 2) * height
        bars = axes.barh(
            places,
            values,
            height * 0.92,
            label=block,
            color=style.COLOURS[index % len(style.COLOURS)],
            hatch=style.HATCHES[index // len(style.COLOURS)],
            edgecolor="white",
            linewidth=0.3,
        )
        axes.bar_label(
            bars,
            [f"{value:.1f}" if value >= 0.05 else "<0.1" if value else "0" for value in values],
            padding=2,
        )
    axes.set_yticks(
        range(len(names)),
        [name.replace("_", " ").replace("link.", "link ").replace(".", ", ") for name in names],
    )
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 120)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("busy (% of the first step)" + (f"; {left_out} not shown" if left_out > 0 else ""))
    axes.grid(True, axis="x")
    style.header(figure, title(run))
    return figure


def title(run):
    config = run.summary["config"]
    return (
        f"{config['model']['name']}, context {style.count_text(run.summary['results'][0]['context'])}, "
        f"batch {config['workload']['batch']}"
    )
