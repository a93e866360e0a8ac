"""What the first step's time went to, by context: a panel a block order, a stack a context, each adding up to 100 %."""

from . import results, style

NAME = "ledger"
# Field of the ledger, what it is called, colour, hatch; from the bottom up, in the ledger's own order of precedence.
PARTS = [
    ("merge_and_output_us", "merge, o", style.BLUE, ""),
    ("compute_us", "other static operations", style.SKY, ""),
    ("sweep_exposed_us", "sweep only", style.VERMILION, "////"),
    ("link_exposed_us", "link only", style.ORANGE, "...."),
    ("waiting_us", "waiting", style.GREY, ""),
]


def stacks(run):
    """{block: [(context, {field: per cent of the step})] by context}. The parts of every step add up to it."""
    blocks = {}
    for result in run.summary["results"]:
        ledger = result["ledger"]
        total = ledger["total_us"]
        parts = {field: 100 * ledger[field] / total if total else 0 for field, _, _, _ in PARTS}
        if total and abs(sum(parts.values()) - 100) > 1e-6:
            raise results.BadInput(
                f"summary.json: the ledger of result {result['result']} does not add up to its total"
            )
        blocks.setdefault(result["block"], []).append((result["context"], parts))
    return {block: sorted(rows, key=lambda row: row[0]) for block, rows in blocks.items()}


def draw_panel(axes, rows, parts):
    bottom = [0.0] * len(rows)
    for field, name, colour, hatch in parts:
        values = [shares[field] for _, shares in rows]
        axes.bar(
            range(len(rows)),
            values,
            0.78,
            bottom,
            label=name,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.4,
        )
        bottom = [low + value for low, value in zip(bottom, values)]
    axes.set_ylim(0, 100)
    axes.set_yticks(range(0, 101, 25))
    axes.set_xlim(
        (len(rows) - 1 - max(len(rows), 3)) / 2 - 0.1, (len(rows) - 1 + max(len(rows), 3)) / 2 + 0.1
    )
    axes.set_xticks(
        range(len(rows)),
        [style.count_text(context) for context, _ in rows],
        rotation=45 if len(rows) > 8 else 0,
        ha="right" if len(rows) > 8 else "center",
        rotation_mode="anchor",
    )


def draw_run(run):
    blocks = stacks(run)
    there = [
        part for part in PARTS if any(shares[part[0]] > 0 for rows in blocks.values() for _, shares in rows)
    ]
    figure, panels = style.figure(0.95 + 1.15 * len(blocks), len(blocks), sharex=True, sharey=True)
    for axes, (block, rows) in zip(panels, blocks.items()):
        draw_panel(axes, rows, there)
        axes.set_title(block, pad=3.5)
        axes.set_ylabel("% of the step")
        axes.tick_params(axis="x", length=0)
    panels[-1].set_xlabel("context (cached positions a request)")
    config = run.summary["config"]
    style.header(figure, f"{config['model']['name']}, batch {config['workload']['batch']}, first step")
    return figure
