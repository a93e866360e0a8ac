"""The answer of a run in one sentence, from the figures of summary.json."""

import math

from . import wording

SAME = 1e-9  # relative


def baseline(run):
    """The other block order that the main one is held against: standard, or the first; None without one."""
    others = run.main[1:]
    return next((result for result in others if result["block"] == "standard"), others[0] if others else None)


def crossover(run, block, name="latency"):
    """The entry of a block order's crossover; None where it was not sought."""
    found = (
        entry
        for entry in run.summary.get("crossovers") or []
        if (entry["name"], entry["block"]) == (name, block)
    )
    return next(found, None)


def crossover_text(run, block):
    """What becomes of the sweep with the context."""
    config, entry = run.summary["config"], crossover(run, block)
    if entry is None:
        return (
            "no crossover was sought"
            if config["crossovers"] == "off"
            else "this arrangement has no crossover"
        )
    alone = " (of one wave by itself)" if config["workload"]["in_flight"] > 1 else ""
    if entry["state"] == "found":
        most = wording.count(math.floor(entry["simulated_positions"]))
        return (
            f"up to {most} cached positions a request the sweep adds nothing to a step{alone}, and beyond that the merge waits "
            "for it"
        )
    if entry["state"] == "never":
        return f"at no context that was tried does the merge wait for the sweep{alone}"
    return f"the merge waits for the sweep from an empty cache on{alone}"


def place(result):
    waves = f" and {result['in_flight']} waves in flight" if result["in_flight"] > 1 else ""
    if result.get("requests"):
        return f"with {wording.counted(result['batch'], 'request')} of different contexts{waves}"
    return f"at {wording.context(result['context'])} cached positions, batch {result['batch']}{waves}"


def comparison(main, other):
    times = [f"{wording.microseconds(result['step_time_us'])} µs" for result in (main, other)]
    gain = other["step_time_us"] / main["step_time_us"]
    if abs(gain - 1) <= SAME:
        return f"{main['block']} takes the same time as {other['block']} {place(main)} ({times[0]} a step)"
    how = f"{wording.ratio(gain)} as fast as" if gain > 1 else f"{wording.ratio(1 / gain)} slower than"
    return f"{main['block']} is {how} {other['block']} {place(main)} ({times[0]} against {times[1]} a step)"


def hidden(result):
    ledger = result["ledger"]
    if not ledger["sweep_busy_us"]:
        return ""
    return (
        f" and hides {wording.share(ledger['hidden_share']) if ledger['hidden_us'] else 'none'} of its sweep"
    )


def sentence(run):
    main, other = run.main[0], baseline(run)
    said = f"{main['block']} takes {wording.microseconds(main['step_time_us'])} µs a step {place(main)}"
    if other:
        said = comparison(main, other)
    return f"{said}{hidden(main)}; {crossover_text(run, main['block'])}."
