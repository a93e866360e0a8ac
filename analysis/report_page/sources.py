"""Where the numbers of a machine come from: each with the comment of the preset, or of the shipped run, that states it."""

import math
import pathlib
import re

from . import commented
from .commented import quantity, same

PARTS = {
    "compute_device": "hardware",
    "cache_device": "hardware",
    "link": "links",
}  # and the folders of their presets
WITHIN = {"dram": "memory", "kernels": "fitted"}  # sections of a device with presets of their own
NO_NUMBERS = {
    "preset",
    "memory",
    "dram",
    "kernels",
    "kv_banks",
    "kv_chunk",
    "jitter_seed",
    "last_level_cache",
}
KINDS = ("measured", "vendor", "derived", "assumed", "fitted")
STATED = "stated"  # in other words than these
OWN = "user's own"


def preset(configs, folder, name):
    """(its name within the project, File), of the first folder of presets that has it; (None, None)."""
    for root in configs:
        file = pathlib.Path(root) / folder / f"{name}.yaml"
        if file.is_file():
            return f"configs/{folder}/{name}.yaml", commented.read(file)
    return None, None


def of_comment(comment, file):
    """Columns of a number that stands in a preset with this comment."""
    match = re.match(r"(\w+)[,:]? ?", comment)
    if match and match[1] in KINDS:
        return {"kind": match[1], "source": comment[match.end() :], "file": file}
    return {"kind": STATED, "source": comment or "without a comment; see the head of the file", "file": file}


def own(note=""):
    return {"kind": OWN, "source": note or "given without a source", "file": ""}


def from_dram(part, key, value):
    """Columns of a bandwidth or capacity that follows from the DRAM's own numbers; None if it does not."""
    if "dram.preset" not in part or key not in ("bandwidth", "capacity"):
        return None
    number = {
        name.rpartition(".")[2]: quantity(text)[0]
        for name, (text, _) in part.items()
        if name.startswith(("dram.organisation.", "dram.timing.")) and quantity(text)
    }
    parts = quantity(part.get("dram_parts", ("1", ""))[0])[0]
    buses = number["channels"] * number.get("pseudochannels", 1) * parts
    if key == "bandwidth":
        made = buses * number["burst_length"] * number["bus_bits"] / 8 / (number["burst"] * number["clock"])
    else:
        shape = ("ranks", "stacks", "bankgroups", "banks", "rows", "columns", "bus_bits")
        made = buses * math.prod(number.get(name, 1) for name in shape) / 8
    given = quantity(value)
    if not given or abs(made - given[0]) > 1e-6 * made:
        return None
    return {"kind": "derived", "source": "from the numbers of its DRAM below", "file": ""}


class Presets:
    """What is known of one part: the presets that it names, and the shipped run file of the same name."""

    def __init__(self, configs, part, folder, run, run_file):
        self.part = part
        self.files = {"": preset(configs, folder, part.get("preset", ("", ""))[0])}
        for section, of_section in WITHIN.items():
            name = part.get(f"{section}.preset", part.get(f"{section}.device", ("", "")))[0]
            self.files[section] = preset(configs, of_section, name)
        self.run, self.run_file = run, run_file

    def trace(self, key, value):
        """Columns kind, source and file of one number."""
        section, _, inner = key.partition(".")
        section, inner = (section, inner) if section in WITHIN else ("", key)
        name, file = self.files[section]
        stated = file.values.get(inner) if file else None
        if stated and same(stated[0], value):
            return of_comment(stated[1], name)
        derived = from_dram(self.part, key, value)
        if derived:
            return derived
        if key in self.run and same(self.run[key][0], value):
            found = of_comment(self.run[key][1], self.run_file)  # of whose comments only some are sources
            return found if found["kind"] != STATED else own(f"given in {self.run_file} without a source")
        if stated:
            return own(f"given instead of {stated[0]} of {name}")
        if (file and section) or key == "dram_parts":
            return {"kind": "default", "source": "the program's own", "file": ""}
        return own()

    @property
    def heads(self):
        return {name: file.head for name, file in self.files.values() if file and file.head}


def shipped_run(configs, name):
    """The run file of that name among those that are shipped, with its place; else one without keys."""
    place, file = preset(configs, "runs", name)
    if file and file.values.get("name", ("",))[0] == name:
        return place, file
    return "", commented.File("", {})


def model_row(config, configs):
    shape = {key: text for key, (text, _) in config.within("model").items() if key}
    name = shape.get("name", "")
    place, file = preset(configs, "models", name)
    row = {
        "part": "model",
        "key": name,
        "value": f"{shape['layers']} layers, hidden {shape['hidden']}, head {shape['head_dim']}",
    }
    keys = [key for key in shape if key != "name"]
    if file and all(
        key in file.values and same(file.values[key][0], shape[key]) for key in keys if key in file.values
    ):
        return row | {"kind": STATED, "source": "named at the head of the file", "file": place}, {
            place: file.head
        }
    return row | own("a shape given by the run, or of a config.json of Hugging Face"), {}


def is_number(key, part):
    has_dram = any(name.startswith("dram.") for name in part)
    return key.rpartition(".")[2] not in NO_NUMBERS and (key != "dram_parts" or has_dram)


def row(part, key, value, traced):
    return {"part": part.replace("_", " "), "key": key, "value": value} | traced


def of_run(config, configs):
    """(rows part, key, value, kind, source, file of every number, {file: its head}), of a resolved config.yaml."""
    first, heads = model_row(config, configs)
    rows = [first]
    run_file, run = shipped_run(configs, config.values["name"][0])
    for name, folder in PARTS.items():
        part = config.within(name)
        if set(part) <= {""}:  # not of this arrangement
            continue
        known = Presets(configs, part, folder, run.within(name), run_file)
        heads |= known.heads
        for key, (value, _) in part.items():
            if is_number(key, part):
                rows.append(row(name, key, value, known.trace(key, value)))
    return rows, heads


def base_of(sweep, folder, configs):
    """The run file that a sweep's file names, relative to where that was, or by its name among the shipped; else None."""
    named = pathlib.PurePath(sweep.values.get("run", ("",))[0])
    places = [pathlib.Path(folder)] + [pathlib.Path(root) / "sweeps" for root in configs]
    for place in places + [pathlib.Path(root) / "runs" for root in configs]:
        for file in (place / named, place / named.name):
            if named.name and file.is_file():
                return named.name, commented.read(file)
    return named.name, None


def full_part(part, configs, folder):
    """Of a section of a run file the numbers that it gives, and those of its presets that it does not give."""
    part = {("preset" if key == "" else key): value for key, value in part.items()}
    for section, of_section in WITHIN.items():
        if section in part:
            part[f"{section}.preset"] = part.pop(section)
        _, file = preset(configs, of_section, part.get(f"{section}.preset", ("",))[0])
        stated = {f"{section}.{key}": value for key, value in file.values.items()} if file else {}
        part = stated | part
    _, file = preset(configs, folder, part.get("preset", ("",))[0])
    return (file.values if file else {}) | part


def varied(sweep):
    """Rows of what a sweep's axes and variants make of the machine."""
    changed = {}
    for key, (value, _) in sweep.values.items():
        kind, _, rest = key.partition(".")
        variant, _, inner = ("", "", rest) if kind == "axes" else rest.partition(".")
        of_machine = inner.split(".")[0] in (*PARTS, "model") and value != "null"  # null takes a part away
        if kind in ("axes", "variants") and of_machine:
            who = "varied by the sweep" if kind == "axes" else "set by variants of the sweep"
            changed.setdefault((inner, value, who), []).append(variant)
    for (key, value, who), variants in changed.items():
        named = f"{who}: {', '.join(variants)}" if variants != [""] else who
        part, _, inner = key.partition(".")
        yield row(part, inner or "preset", value, own(named))


def of_sweep(sweep, folder, configs):
    """The same of a sweep's file: (rows, heads, name of the base run, whether it was found)."""
    name, base = base_of(sweep, folder, configs)
    rows, heads = [], {}
    for part_name, of_part in PARTS.items() if base else ():
        part = base.within(part_name)
        if part:
            part = full_part(part, configs, of_part)
            known = Presets(configs, part, of_part, base.within(part_name), f"the run {name}")
            heads |= known.heads
            numbers = ((key, value) for key, (value, _) in part.items() if is_number(key, part))
            rows += [row(part_name, key, value, known.trace(key, value)) for key, value in numbers]
    return rows + list(varied(sweep)), heads, name, base is not None
