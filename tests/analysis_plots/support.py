"""What the tests of analysis/plot share: results of a small sweep and of four runs, made once."""

import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))

from plots import results  # noqa: E402

SWEEP = """name: small
run: {run}
axes:
  workload.context: [1 Ki, 8 Ki, 64 Ki, 1 Mi]
  workload.batch: [1, 8, 64]
variants:
  standard: {{block: standard}}
  early_q: {{block: early_q}}
"""
OPTIONS = types.SimpleNamespace(where=[], variant=None, baseline=None, all=False)
REL = 1e-9  # between the same figure read twice; CSV has six digits after the point, all of which are read

TEMPORARY = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(TEMPORARY.name)  # removed when the process ends


def make_results(program):
    """FOLDER/sweep, /run, /parallel, /pooled and /wide, by the qfsim whose path is given."""

    def qfsim(*arguments):
        subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, cwd=FOLDER)

    sweep = FOLDER / "small.yaml"
    sweep.write_text(SWEEP.format(run=ROOT / "configs/runs/two-h200.yaml"))
    qfsim("sweep", sweep, "--out", FOLDER / "sweep")
    runs = ROOT / "configs/runs"
    qfsim("run", runs / "two-h200.yaml", "--set", "workload.contexts=[1 Ki, 64 Ki]", "--out", FOLDER / "run")
    qfsim("run", runs / "tensor-parallel.yaml", "--set", "numerics.mode=off", "--out", FOLDER / "parallel")
    qfsim("run", runs / "pooled.yaml", "--set", "numerics.mode=off", "--out", FOLDER / "pooled")
    wide = [
        "cache.devices=16",
        "compute_device.bandwidth=2 TB/s",
        "cache_device.mac_rate=20 TMAC/s",
        "workload.batch=64",
    ]
    compare = "compare=[standard, early_qk, parallel]"
    sets = [word for key in wide + [compare] for word in ("--set", key)]
    qfsim("run", runs / "two-h200.yaml", *sets, "--out", FOLDER / "wide")


def plot(*arguments):
    """The program as a process of its own."""
    return subprocess.run(
        [ROOT / "analysis/plot", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def plot_here(*arguments):
    """The same without the second that Python takes to load its libraries."""
    loader = importlib.machinery.SourceFileLoader("plot", str(ROOT / "analysis/plot"))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot", loader))
    loader.exec_module(program)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            program.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    return types.SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())


def options(**given):
    return types.SimpleNamespace(**{**vars(OPTIONS), **given})


def the_sweep(**given):
    return results.read_sweep(FOLDER / "sweep", options(**given))


def rows_of_csv():
    """{(context, batch, variant): row}, read by other means than the pictures."""
    with open(FOLDER / "sweep/results.csv", encoding="utf-8", newline="") as stream:
        return {
            (row["workload.context"], row["workload.batch"], row["variant"]): row
            for row in csv.DictReader(stream)
        }
