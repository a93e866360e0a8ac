"""analysis/plot: what it makes, what it refuses, and that the same results give the same bytes."""

import json
import pathlib
import shutil
import unittest
import xml.etree.ElementTree


from support import FOLDER, plot, plot_here, rows_of_csv


class Command(unittest.TestCase):
    def test_makes_all_that_the_results_allow_and_the_same_again(self):
        for folder, names in (
            ("sweep", ["pareto", "speedup-heatmap", "tpot-over-context"]),
            ("run", ["ledger", "roofline", "timeline", "tpot-over-context", "utilisation"]),
        ):
            outcomes = [plot(FOLDER / folder, "--out", FOLDER / f"{folder}-{again}") for again in (0, 1)]
            self.assertEqual([(o.returncode, o.stderr) for o in outcomes], [(0, "")] * 2)
            files = sorted((FOLDER / f"{folder}-0").iterdir())
            self.assertEqual(
                [file.name for file in files],
                [f"{name}.{suffix}" for name in names for suffix in ("png", "svg")],
            )
            for file in files:
                self.assertEqual(file.read_bytes(), (FOLDER / f"{folder}-1" / file.name).read_bytes(), file)
                if file.suffix == ".svg":
                    self.assertEqual(xml.etree.ElementTree.parse(file).getroot().get("width"), "244.8pt")
                    self.assertNotIn(b"<dc:date>", file.read_bytes())
                else:
                    self.assertEqual(file.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_all_slices_and_where(self):
        outcome = plot_here(FOLDER / "sweep", "--all", "--out", FOLDER / "all")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertEqual(
            sorted(file.name for file in (FOLDER / "all").glob("tpot*.svg")),
            [f"tpot-over-context_{batch}.svg" for batch in ("1", "64", "8")],
        )
        outcome = plot_here(FOLDER / "sweep", "--where", "workload.batch=8", "--out", FOLDER / "where")
        self.assertIn("no speedup-heatmap: the sweep has no two values of workload.batch", outcome.stdout)
        self.assertEqual((FOLDER / "where/tpot-over-context.svg").exists(), True)

    def refused(self, says, folder, *arguments, program=plot_here):
        outcome = program(folder, *arguments)
        self.assertEqual(
            (outcome.returncode, outcome.stdout, outcome.stderr.count("\n")), (2, "", 1), outcome.stderr
        )
        self.assertRegex(outcome.stderr, says)
        self.assertFalse((pathlib.Path(folder) / "plots").exists())

    def changed(self, folder, name, change):
        made = FOLDER / "changed" / f"{len(list((FOLDER / 'changed').glob('*')))}"
        shutil.copytree(FOLDER / folder, made)
        change(made / name)
        return made

    def test_bad_results(self):
        def replace(old, new):
            return lambda file: file.write_text(file.read_text().replace(old, new, 1))

        def again(file):
            lines = file.read_text().splitlines()
            file.write_text("\n".join(lines + lines[-1:]) + "\n")

        def without_step_time(file):
            summary = json.loads(file.read_text())
            del summary["results"][1]["step_time_us"]
            file.write_text(json.dumps(summary))

        header = (FOLDER / "sweep/results.csv").read_text().splitlines()[0] + "\n"
        first = rows_of_csv()["1 Ki", "1", "standard"]
        for folder, name, change, says in (
            ("sweep", "results.csv", pathlib.Path.unlink, "neither results.csv nor summary.json"),
            ("sweep", "results.csv", replace("tpot_us", "tpot"), "results.csv has no column tpot_us"),
            ("sweep", "results.csv", lambda file: file.write_text(header), "results.csv has no rows"),
            ("sweep", "results.csv", lambda file: file.write_text(""), "results.csv is empty"),
            (
                "sweep",
                "results.csv",
                lambda file: file.write_text(header + "wave,1 Ki\n"),
                "results.csv: row 1 has 2 cells, not " + str(len(first)),
            ),
            (
                "sweep",
                "results.csv",
                lambda file: file.write_bytes(b"\xff\xfe\x00,"),
                "results.csv is not a table",
            ),
            (
                "sweep",
                "results.csv",
                replace(first["step_us"], "fast"),
                "results.csv: row 1: step_us: 'fast' is not a number",
            ),
            (
                "sweep",
                "results.csv",
                replace("64 Ki", "many"),
                "results.csv: workload.context: 'many' is not a count",
            ),
            ("sweep", "results.csv", again, "results.csv: row 25 is a point that stands above already"),
            (
                "run",
                "summary.json",
                replace("waiting_us", "idle_us"),
                "summary.json: the ledger needs 'waiting_us'",
            ),
            ("run", "summary.json", lambda file: file.write_text("{"), "summary.json is not JSON"),
            ("run", "summary.json", lambda file: file.write_text("{}"), "summary.json has no config"),
            ("run", "summary.json", without_step_time, r"summary.json has no results\[1\].step_time_us"),
            ("run", "operations.csv", pathlib.Path.unlink, "cannot read .*operations.csv: No such file"),
            ("run", "operations.csv", replace("macs", "mac"), "operations.csv has no column macs"),
            (
                "run",
                "operations.csv",
                lambda file: file.write_text(file.read_text().splitlines()[0] + "\n"),
                "has no rows",
            ),
        ):
            with self.subTest(says=says):
                self.refused(says, self.changed(folder, name, change))

    def test_bad_usage(self):
        self.refused(
            "there are equal, workload.context, workload.batch, variant",
            FOLDER / "sweep",
            "--where",
            "batch=1",
        )
        self.refused("workload.batch is 1, 8, 64", FOLDER / "sweep", "--where", "workload.batch=2")
        self.refused("no variant 'x'; there are standard, early_q", FOLDER / "sweep", "--variant", "x")
        self.refused("unrecognized arguments", FOLDER / "sweep", "--colour")
        self.refused("neither", FOLDER / "nowhere", program=plot)

    def test_cannot_write(self):
        (FOLDER / "taken").write_text("")
        outcome = plot_here(FOLDER / "run", "--out", FOLDER / "taken")
        self.assertEqual(
            (outcome.returncode, outcome.stdout, outcome.stderr.count("\n")), (1, "", 1), outcome.stderr
        )
        self.assertRegex(outcome.stderr, "cannot write .*taken: File exists")
