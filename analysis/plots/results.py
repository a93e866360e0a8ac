"""Reading of a folder of results (sim/report/README.md, configs/README.md); one clear line where it cannot be read."""

import csv
import dataclasses
import json
import pathlib
import re

import pandas

SWEEP, SUMMARY, OPERATIONS = "results.csv", "summary.json", "operations.csv"
RAN = "ok"  # status of a point that has figures; others: skipped, refused, failed
FIGURES = ["resident_kv_bytes", "step_us", "tpot_us", "tokens_per_s", "exposed_sweep_us", "exposed_link_us"]
BYTES = ["weight_bytes", "kv_read_bytes", "kv_written_bytes", "activation_bytes"]
PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class BadInput(Exception):
    """Results that cannot be read, or an option that they have no answer to."""


class NotHere(Exception):
    """Sound results that lack what one picture shows."""


@dataclasses.dataclass
class Sweep:
    """points: a row a point; axes, variant, status and reason as written, FIGURES and devices as numbers, NaN where it did
    not run."""

    points: pandas.DataFrame
    axes: list
    varying: set  # axes of more than one value, before --where took some away: pictures say which value they show


@dataclasses.dataclass
class Slice:
    """The points of a sweep that go into one picture, and the values that they share."""

    points: pandas.DataFrame
    shared: dict

    @property
    def text(self):
        plain = {"wave": "equal wave", "resident": "equal requests", "memory": "largest batch"}
        return ", ".join(
            plain.get(value, value)
            if key == "equal"
            else value
            if key == "model"
            else f"{key.split('.', 1)[-1]} {value}"
            for key, value in self.shared.items()
            if value
        )

    @property
    def gaps(self):
        """Of how many points there are no figures: '3 refused of 24 points'; empty if there are of all."""
        counts = self.points["status"][self.points["status"] != RAN].value_counts().sort_index()
        said = " and ".join(f"{count} {status}" for status, count in counts.items())
        return f"{said} of {len(self.points)} points" if said else ""

    @property
    def title(self):
        return "; ".join(text for text in (self.text, self.gaps) if text)

    @property
    def suffix(self):
        return "".join("_" + re.sub(r"[^A-Za-z0-9.-]", "", value) for value in self.shared.values())


@dataclasses.dataclass
class Run:
    """summary: the JSON; operations: of operations.csv, the rows of the main context."""

    summary: dict
    operations: pandas.DataFrame

    @property
    def main(self):
        """Its results at the main context: the first, and those of other block orders beside it."""
        first = self.summary["results"][0]
        return [result for result in self.summary["results"] if result["context"] == first["context"]]


def quantity(text):
    """16384 of '16 Ki'; None of what is no count."""
    match = re.fullmatch(r"([0-9.]+) ?(\w*)", text.strip())
    if not match or match[2] not in PREFIXES:
        return None
    try:
        return float(match[1]) * PREFIXES[match[2]]
    except ValueError:
        return None


def read_csv(file, columns):
    """All cells as text; each of columns is there, and at least one row."""
    try:
        with open(file, encoding="utf-8", newline="") as stream:
            names, *rows = csv.reader(stream, strict=True)
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}")
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{file} is not a table: {error}")
    except ValueError:  # not even a line of names
        raise BadInput(f"{file} is empty")
    missing = [name for name in columns if name not in names]
    if missing:
        raise BadInput(f"{file} has no column {', '.join(missing)}")
    if not rows:
        raise BadInput(f"{file} has no rows")
    for index, row in enumerate(rows):  # pandas would shift or cut such a row in silence
        if len(row) != len(names):
            raise BadInput(f"{file}: row {index + 1} has {len(row)} cells, not {len(names)}")
    return pandas.DataFrame(rows, columns=names)


def to_numbers(table, columns, file):
    """Replaces texts by numbers; an empty cell becomes NaN."""
    for name in columns:
        numbers = pandas.to_numeric(table[name], errors="coerce")
        wrong = table.index[numbers.isna() & (table[name] != "")]
        if len(wrong):
            raise BadInput(f"{file}: row {wrong[0] + 1}: {name}: '{table[name][wrong[0]]}' is not a number")
        table[name] = numbers


def read_sweep(folder, options):
    file = pathlib.Path(folder) / SWEEP
    table = read_csv(file, ["equal", "variant", "status", "reason", "devices"] + FIGURES)
    to_numbers(table, FIGURES + ["devices"], file)
    names = list(table.columns)
    axes = names[names.index("equal") : names.index("variant")]
    varying = {name for name in axes if table[name].nunique() > 1}
    for text in options.where:
        table = only(table, axes + ["variant"], text)
    check_points(table, axes, file)
    return Sweep(table.reset_index(drop=True), axes, varying)


def check_points(table, axes, file):
    """Counts are counts, and no point is there twice."""
    for name in {"workload.context", "workload.batch"}.intersection(axes):
        for value in table[name].unique():
            if value and quantity(value) is None:  # empty: the sweep chose the batch itself
                raise BadInput(f"{file}: {name}: '{value}' is not a count")
    again = table.duplicated(axes + ["variant"])
    if again.any():
        raise BadInput(f"{file}: row {table.index[again][0] + 1} is a point that stands above already")


def only(table, columns, text):
    column, _, value = text.partition("=")
    if column not in columns:
        raise BadInput(f"--where {text}: no axis '{column}'; there are {', '.join(columns)}")
    kept = table[table[column] == value]
    if kept.empty:
        raise BadInput(f"--where {text}: no such point; {column} is {', '.join(table[column].unique())}")
    return kept


def slices(sweep, free):
    """One Slice for each combination of values of the axes that free(name) does not let vary within a picture."""
    fixed = [name for name in sweep.axes if not free(name)]
    one = [name for name in sweep.axes if name in fixed or sweep.points[name].nunique() == 1]
    told = [name for name in one if name in sweep.varying]
    same = sweep.points[fixed].apply(tuple, axis=1)
    groups = [sweep.points[same == value] for value in same.unique()]
    return [Slice(points, {name: points[name].iloc[0] for name in told}) for points in groups]


def contexts(sweep):
    """Raises NotHere unless the sweep has contexts on an axis."""
    if "workload.context" not in sweep.axes or sweep.points["workload.context"].nunique() < 2:
        raise NotHere("the sweep has no two values of workload.context")


def time_per_token(points):
    """tpot_us, or where there is only one token its step."""
    return points["tpot_us"].fillna(points["step_us"])


def read_run(folder):
    file = pathlib.Path(folder) / SUMMARY
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}")
    except ValueError as error:
        raise BadInput(f"{file} is not JSON: {error}")
    for key in ("config", "results"):
        if not isinstance(summary, dict) or not summary.get(key):
            raise BadInput(f"{file} has no {key}")
    for index, result in enumerate(summary["results"]):
        for key in ("result", "context", "block", "step_time_us", "ledger", "resources_first_step"):
            if key not in result:
                raise BadInput(f"{file} has no results[{index}].{key}")
    return Run(summary, read_operations(pathlib.Path(folder) / OPERATIONS))


def read_operations(file):
    numbers = ["result", "layer", "step", "start_us", "end_us", "macs"] + BYTES
    table = read_csv(file, ["kind", "carries", "fate", "resource", "context"] + numbers)
    table = table[table["context"] == table["context"].iloc[0]].copy()
    to_numbers(table, numbers, file)
    return table
