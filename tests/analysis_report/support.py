"""What the tests of analysis/report share: results of runs and of a sweep, made once, and pages read as XML."""

import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))

TEMPORARY = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(TEMPORARY.name)  # removed when the process ends
PROGRAM = []  # the path of qfsim

NAME = "<b>\"small\" & 'odd'</b>"  # a model's name may be any line of text
SMALL = f"""name: small
model: {{name: {json.dumps(NAME)}, hidden: 32, layers: 3, heads: 4, kv_heads: 2, head_dim: 8, ffn: 48, vocab: 64}}
block: early_q
compare: [standard, early_qk]
arrangement: two_device
workload: {{batch: 2, context: 40, tokens: 3, contexts: [8, 1 Ki, 16 Ki]}}
compute_device: {{preset: ideal, bandwidth: 1 GB/s, launch_overhead: 1 us}}
cache_device: {{preset: ideal, bandwidth: 2 GB/s}}
link: {{preset: rdma-400g-nccl, latency: 2 us}}
"""
SWEEP = f"""name: pair
run: {ROOT}/configs/runs/two-h200.yaml
axes:
  workload.context: [256, 1 Ki, 4 Ki, 8 Ki, 16 Ki, 64 Ki, 900 Ki]
  workload.batch: [1, 8, 64]
variants:
  standard: {{block: standard, model: qwen3-4b}}
  early_q: {{block: early_q, model: qwen3-4b}}
"""
MANY = f"""name: many
run: {ROOT}/configs/runs/two-h200.yaml
equal: [wave, memory]
most_requests: 16
axes:
  workload.batch: [1, 8]
  workload.context: [1 Ki, 1 Mi]
  link.latency: [0.4 us, 33 us]
variants:
  standard: {{block: standard}}
  pooled: {{block: early_q, arrangement: pooled}}
  tensor_parallel 2: {{block: standard, arrangement: tensor_parallel, tensor_parallel: {{devices: 2}}, cache_device: null}}
"""


def qfsim(*arguments, status=0):
    made = subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=FOLDER, check=False
    )
    assert made.returncode == status, made.stderr
    return made


def make_results(program):
    """FOLDER/small, /failed, /named, /dram, /alone of runs; /pair and /many of sweeps."""
    PROGRAM.append(program)
    files = {name: FOLDER / f"{name}.yaml" for name in ("small", "pair", "many")}
    for (_, file), text in zip(files.items(), (SMALL, SWEEP, MANY)):
        file.write_text(text)
    runs = ROOT / "configs/runs"
    qfsim("run", files["small"], "--out", FOLDER / "small")
    fault = ["--set", "numerics.inject.fault=skip_position", "--set", "numerics.inject.layer=1"]
    qfsim("run", files["small"], *fault, "--out", FOLDER / "failed", status=3)
    qfsim("run", runs / "two-h200.yaml", "--out", FOLDER / "named")
    short = ["--set", "workload.contexts=[64]", "--set", "crossovers=off", "--set", "workload.context=1 Ki"]
    qfsim("run", runs / "dram.yaml", *short, "--out", FOLDER / "dram")
    off = ["--set", "numerics.mode=off", "--set", "compare=[]", "--set", "workload.contexts=[]"]
    qfsim("run", runs / "colocated.yaml", *off, "--out", FOLDER / "alone")
    for name in ("pair", "many"):
        qfsim("sweep", files[name], "--out", FOLDER / name)


def report(*arguments):
    """The program as a process of its own."""
    return subprocess.run(
        [ROOT / "analysis/report", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def report_here(*arguments):
    """The same without the second that Python takes to load its libraries."""
    loader = importlib.machinery.SourceFileLoader("report", str(ROOT / "analysis/report"))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
    loader.exec_module(program)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            program.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    return types.SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())


PAGES = {}


def page_of(name):
    """The file of a folder's page, made once."""
    if name not in PAGES:
        outcome = report_here(FOLDER / name)
        assert outcome.returncode == 0, outcome.stderr
        PAGES[name] = FOLDER / name / "report.html"
    return PAGES[name]


def text_of(element):
    return "".join(element.itertext())


class Page:
    """A page as XML."""

    def __init__(self, name):
        self.root = xml.parse(page_of(name)).getroot()
        self.by_id = {element.get("id"): element for element in self.root.iter() if element.get("id")}

    def text(self, identifier):
        return text_of(self.by_id[identifier])

    def rows(self, identifier):
        """[{key: (text, number as sorted by, or None)}] of a table."""
        table = self.by_id[identifier]
        keys = [head.get("data-key") for head in table.iter("th")]
        return [
            {
                key: (text_of(cell), float(cell.get("data-value")) if cell.get("data-value") else None)
                for key, cell in zip(keys, row.iter("td"), strict=True)
            }
            for row in table.find("tbody").iter("tr")
        ]


def summary(name):
    return json.loads((FOLDER / name / "summary.json").read_text())


def points(name):
    with open(FOLDER / name / "results.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


PREFIXES = {
    "Ki": 2**10,
    "Mi": 2**20,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "%": 0.01,
    "×": 1,
    "B": 1,
    "": 1,
}


def shown(text):
    """(number, half of what its last printed digit is worth) of '1,355.851', '95.7 %', '1.390×', '16 Ki' or '1.1e-06'."""
    match = re.fullmatch(r"([-+]?)([0-9,]+)(\.[0-9]+)?(e[-+][0-9]+)? ?(\w*|%|×)", text)
    assert match, text
    scale = PREFIXES[match[5]] * float("1" + (match[4] or ""))
    decimals = len(match[3] or ".") - 1
    value = float(match[1] + match[2].replace(",", "") + (match[3] or "")) * scale
    return value, 0.5 * 10**-decimals * scale
