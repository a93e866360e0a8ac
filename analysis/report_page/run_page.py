"""The parts of the page of a run, in the order in which they are read."""

import math

from plots import context, ledger, results, roofline, style, timeline, utilisation

from . import commented, run_answer, sources, vector, wording
from .markup import Column, element, facts, folded, join, section, table

PLOTS = [
    (
        context,
        "Time per token and the exposed part of the sweep over the context. Hollow markers at 0: nothing is exposed.",
    ),
    (ledger, "What the first step's time went to, by context; each stack adds up to the step."),
    (utilisation, "How busy each device and port is in the first step at the main context."),
    (roofline, "Kinds of operations under the limits of their devices, at the main context."),
    (timeline, "Two layers of the first step as they ran, at the main context."),
]
STEPS = [
    Column("context", "Context", wording.context),
    Column("block", "Block order"),
    Column("step_time_us", "Step (µs)", wording.microseconds),
    Column("tpot_us", "TPOT (µs)", wording.microseconds),
    Column("tokens_per_s", "Tokens/s", wording.rate),
    Column("speedup", "Speed-up", wording.ratio),
    Column("ledger.sweep_busy_us", "Sweep (µs)", wording.microseconds),
    Column("ledger.hidden_share", "Hidden", wording.share),
    Column("ledger.sweep_exposed_us", "Exposed (µs)", wording.microseconds),
    Column("closed_form.relative_deviation", "Closed form", wording.deviation),
    Column("roofline.share", "Roofline", wording.share),
]
LEDGER = [
    Column("context", "Context", wording.context),
    Column("block", "Block order"),
    Column("ledger.merge_and_output_us", "Merge, output (µs)", wording.microseconds),
    Column("ledger.compute_us", "Compute (µs)", wording.microseconds),
    Column("ledger.sweep_exposed_us", "Sweep exposed (µs)", wording.microseconds),
    Column("ledger.link_exposed_us", "Link exposed (µs)", wording.microseconds),
    Column("ledger.waiting_us", "Waiting (µs)", wording.microseconds),
    Column("ledger.total_us", "Step (µs)", wording.microseconds),
    Column("ledger.hidden_us", "Hidden sweep (µs)", wording.microseconds),
]
LAYER = [
    Column("block", "Block order"),
    Column("tokens_per_s_per_user", "Tokens/s/user", wording.rate),
    Column("t_a_layer_us", "t_a, sweep (µs)", wording.microseconds),
    Column("t_f_layer_us", "t_f, ffn (µs)", wording.microseconds),
    Column("t_a2f_layer_us", "t_a2f (µs)", wording.microseconds),
    Column("t_f2a_layer_us", "t_f2a (µs)", wording.microseconds),
    Column("balance_ratio", "t_a / t_f", wording.ratio),
]
CROSSOVERS = [
    Column("name", "Crossover"),
    Column("block", "Block order"),
    Column("state", "State"),
    Column("simulated_positions", "Simulated", wording.positions),
    Column("closed_form_positions", "Closed form", wording.positions),
    Column("closed_form_at_achieved_positions", "At achieved bandwidth", wording.positions),
]
STATES = {"exposed_at_0": "from an empty cache on", "never": "at no context"}  # of a crossover
DRAM = [
    Column("block", "Block order"),
    Column("device", "Device"),
    Column("dram", "DRAM"),
    Column("moved_bytes", "Moved", wording.size),
    Column("row_hit_share", "Row hits", wording.share),
    Column("activates", "Activates", wording.count),
    Column("refreshes", "Refreshes", wording.count),
]
NUMERICS = [
    Column("block", "Block order"),
    Column("operation", "Operation"),
    Column("operations", "Checked", wording.count),
    Column("worst.relative_error", "Worst error", wording.error),
    Column("tolerance", "Tolerance", wording.error),
]
ENDS = [
    Column("block", "Block order"),
    Column("numerics.end_to_end_worst", "End to end", wording.error),
    Column("numerics.end_to_end_tolerance", "Tolerance", wording.error),
    Column("numerics.graph.worst", "Graph", wording.error),
    Column("numerics.graph.tolerance", "Tolerance", wording.error),
    Column("numerics.sensitivity.newest", "Without newest", wording.error),
    Column("numerics.sensitivity.oldest", "Without oldest", wording.error),
]


def flat(entry, columns):
    """Of nested maps what the columns' keys with dots name; None where a part of the way is not there."""

    def get(key):
        value = entry
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    return {column.key: entry[column.key] if column.key in entry else get(column.key) for column in columns}


def rows_of(entries, columns):
    return [flat(entry, columns) for entry in entries]


def with_speedup(result, other):
    """speedup: over the block order that the main one is held against; none of that itself."""
    against = (result.get("speedup_vs") or {}).get(other["block"]) if other else None
    return result | {"speedup": against}


def question(run):
    main = run.main[0]
    model = run.summary["config"]["model"]["name"]
    return (
        f"Of the attention's sweep over the KV cache, how much hides beside the other operations of {model} with block order "
        f"{main['block']} on these devices and this link, and at which context does that stop?"
    )


def failure(numbers):
    """What did not pass, of one block order."""
    first = numbers["first_failure"]
    if not first:
        return "the graph or the end of the run is not what the reference decoder gives"
    where = f"layer {first['layer']}, step {first['step']}, request {first['request']}"
    wrong = f"relative error {wording.error(first['relative_error'])}"
    return f"{wording.counted(numbers['failures'], 'operation')}, first the {first['operation']} of {where} ({wrong})"


def verdict(run):
    """(text, class) of the numeric check."""
    checked = [result["numerics"] for result in run.main if result.get("numerics")]
    if not checked:
        return "not computed: times only", None
    failed = [numbers for numbers in checked if not numbers["passed"]]
    if failed:
        return (
            f"FAILED: {failure(failed[0])}. These times come from a run that computed something else",
            "bad",
        )
    worst = max(row["worst"]["relative_error"] for numbers in checked for row in numbers["operations"])
    ends = [numbers.get("end_to_end_worst") for numbers in checked]
    end = f", end to end {wording.error(max(ends))}" if all(value is not None for value in ends) else ""
    return f"passed: worst operation {wording.error(worst)}{end}", "good"


def cards(run):
    main, other = run.main[0], run_answer.baseline(run)
    entry = run_answer.crossover(run, main["block"])
    found = entry is not None and entry["state"] == "found"
    gain = with_speedup(main, other)["speedup"]
    pairs = [
        ("step", f"{wording.microseconds(main['step_time_us'])} µs"),
        (f"speed-up over {other['block']}" if other else "", wording.ratio(gain) if gain else None),
        (
            "sweep hidden",
            wording.share(main["ledger"]["hidden_share"]) if main["ledger"]["sweep_busy_us"] else None,
        ),
        ("crossover, positions", wording.count(math.floor(entry["simulated_positions"])) if found else None),
        ("tokens/s", wording.rate(main["tokens_per_s"])),
    ]
    return element(
        "dl", *(element("div", element("dt", n), element("dd", v)) for n, v in pairs if v), class_="cards"
    )


def device_text(device):
    if not device:
        return None
    dram, kernels = device.get("dram"), device.get("kernels")
    bandwidth, rate, capacity = (
        device[key] for key in ("bandwidth_gb_per_s", "mac_rate_tmac_per_s", "capacity_bytes")
    )
    parts = [f"memory {wording.number(bandwidth * 1e9)}B/s" if bandwidth else "memory unlimited"]
    parts += [f"{dram['preset']}, tier {device['memory']}"] if dram else []
    parts += [f"capacity {wording.capacity(capacity)}" if capacity else "capacity unlimited"]
    parts += [f"{wording.number(rate * 1e12)}MAC/s" if rate else "arithmetic unlimited"]
    launch = f"launch {wording.plain(device['launch_overhead_us'])} µs"
    parts += [f"kernels of {kernels['device']}" if kernels else launch]
    return ", ".join(parts)


def link_text(link):
    if not link:
        return None
    bandwidth = link["bandwidth_gb_per_s"]
    speed = f"{wording.number(bandwidth * 1e9)}B/s each way" if bandwidth else "bandwidth unlimited"
    return f"{wording.plain(link['latency_us'])} µs one way, {speed}"


def configuration(run, text):
    config, main = run.summary["config"], run.main[0]
    model, load, numbers = config["model"], config["workload"], config["numerics"]
    cache = config.get("cache") or {}
    pairs = [
        ("Model", f"{model['name']}: {model['layers']} layers, hidden {model['hidden']}, {model['heads']} heads, "
         f"{model['kv_heads']} KV heads, head {model['head_dim']}, ffn {model['ffn']}"),
        ("Arrangement", f"{config['arrangement']}, current token: {config['current_token']}"),
        ("Workload", f"batch {load['batch']}, {wording.counted(load['in_flight'], 'wave')}, "
         f"{wording.counted(load['tokens'], 'token')} each, {'with' if load['lm_head'] else 'without'} LM head"),
        ("Resident", f"{wording.counted(main['resident_requests'], 'request')}, KV cache {wording.size(main['resident_kv_bytes'])} at the end"),
        ("Compute device", device_text(config.get("compute_device"))),
        ("Cache device", device_text(config.get("cache_device"))),
        ("Cache split", f"{cache['devices']} devices, by {cache['split']}" if cache.get("devices", 1) > 1 else None),
        ("Link", link_text(config.get("link"))),
        ("Formats", f"weights {numbers['weight_dtype']}, cache {numbers['kv_dtype']}, wire {numbers['wire_dtype']}, "
         f"residual {numbers['residual_wire_dtype']}"),
        ("Accounting", config["accounting"]),
    ]  # fmt: skip
    whole = folded("The whole resolved configuration (config.yaml)", element("pre", element("code", text)))
    return section("configuration", "Configuration", facts(pairs), whole)


def answers(run):
    main, other = run.main[0], run_answer.baseline(run)
    compared = f" Speed-up: over {other['block']} at the same context." if other else ""
    steps = rows_of((with_speedup(result, other) for result in run.summary["results"]), STEPS)
    parts = [
        table("steps", f"Every context and block order; the first step.{compared} Hidden: the share of the sweep beside static operations; exposed: the rest. "
        "Closed form: simulated against formula. Roofline: lower bound over the step.", STEPS, steps),
        table("layer", f"The two sides of a layer at the main context, {wording.context(main['context'])}.", LAYER, rows_of(run.main, LAYER)),
    ]  # fmt: skip
    entries = [
        entry | {"state": STATES.get(entry["state"], entry["state"])}
        for entry in run.summary.get("crossovers") or []
    ]
    if entries:
        parts.append(
            table(
                "crossovers",
                "Crossovers, in cached positions a request.",
                CROSSOVERS,
                rows_of(entries, CROSSOVERS),
            )
        )
    used = [{"block": result["block"]} | device for result in run.main for device in result.get("dram") or []]
    if used:
        parts.append(table("dram", "DRAM, over all steps at the main context.", DRAM, rows_of(used, DRAM)))
    return section("results", "Results", *parts)


def pictures(run):
    made, notes = [], []
    for picture, caption in PLOTS:
        try:
            svg = style.render(picture.draw_run(run), ("svg",))["svg"]
        except results.NotHere as reason:
            notes.append(element("p", f"No {picture.NAME}: {reason}.", class_="note"))
            continue
        drawing = vector.inline(svg, f"{picture.NAME}-", caption)
        made.append(element("figure", drawing, element("figcaption", caption), id=f"plot-{picture.NAME}"))
    return section("plots", "Plots", element("div", *made, class_="plots"), *notes)


def ledger_part(run):
    said = (
        "Each instant of a step counts once: merge or o is running, else another static operation, else only a sweep, else only "
        "a message is in flight, else waiting. The five add up to the step."
    )
    rows = rows_of(run.summary["results"], LEDGER)
    return section(
        "ledger", "Ledger", element("p", said), table("ledger-table", "The first step.", LEDGER, rows)
    )


def numeric_check(run):
    text, class_ = verdict(run)
    parts = [element("p", "Numbers: ", element("span", text, class_=f"verdict {class_ or ''}".strip()))]
    checked = [result for result in run.main if result.get("numerics")]
    if checked:
        rows = [
            {"block": result["block"]} | row for result in checked for row in result["numerics"]["operations"]
        ]
        said = (
            "Every operation was recomputed in fp64 from the values that its producers made; errors are relative (L2). End to "
            "end: the distance from an fp64 decoder with the same weights and initial cache. Without newest, oldest: what "
            "leaving that cached position out would have done, at least."
        )
        parts += [
            element("p", said),
            table("numerics-table", "Operations recomputed.", NUMERICS, rows_of(rows, NUMERICS)),
            table("ends-table", "The whole run.", ENDS, rows_of(checked, ENDS)),
        ]
    agree = [
        result["closed_form"].get("agrees") for result in run.summary["results"] if result.get("closed_form")
    ]
    judged = [value for value in agree if value is not None]
    if judged:
        parts.append(
            element("p", f"The closed form agrees at {sum(judged)} of {len(judged)} points where it should.")
        )
    return section("numerics", "Numeric check", *parts)


def body(folder, configs):
    """(title, parts of the page)"""
    run = results.read_run(folder)
    try:
        text = (folder / "config.yaml").read_text(encoding="utf-8")
    except OSError as error:
        raise results.BadInput(f"cannot read {folder / 'config.yaml'}: {error.strerror}")
    name, (said, class_) = run.summary["name"], verdict(run)
    rows, heads = sources.of_run(commented.parse(text), configs)
    head = join([
        element("h1", f"{name}: results of a run"),
        element("p", question(run), class_="question"),
        element("p", run_answer.sentence(run), class_="answer", id="answer"),
        element("p", "Numbers: ", element("span", said, class_=f"verdict {class_ or ''}".strip())),
        cards(run),
    ])  # fmt: skip
    parts = [configuration(run, text), answers(run), pictures(run), ledger_part(run), numeric_check(run)]
    return name, head, parts, (rows, heads, None)
