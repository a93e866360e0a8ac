"""analysis/report and qfsim report: what they refuse, with one line, and that nothing is left then."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from support import FOLDER, PROGRAM, page_of, report, report_here

PAGE = "report.html"


def qfsim_report(*arguments):
    words = [*PROGRAM, "report", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, cwd=FOLDER, check=False)


class Command(unittest.TestCase):
    def changed(self, folder, name, change):
        made = FOLDER / "changed" / f"{len(list((FOLDER / 'changed').glob('*')))}"
        shutil.copytree(FOLDER / folder, made)
        (made / PAGE).unlink(missing_ok=True)
        change(made / name)
        return made

    def refused(self, outcome, says, status=2):
        self.assertEqual(
            (outcome.returncode, outcome.stdout, outcome.stderr.count("\n")), (status, "", 1), outcome.stderr
        )
        self.assertRegex(outcome.stderr, says)

    def test_bad_results(self):
        def replace(old, new):
            return lambda file: file.write_text(file.read_text().replace(old, new, 1))

        def without(key):
            def change(file):
                summary = json.loads(file.read_text())
                del summary["results"][0][key]
                file.write_text(json.dumps(summary))

            return change

        for folder, name, change, says in (
            ("named", "summary.json", lambda file: file.write_text("{"), "summary.json is not JSON"),
            (
                "named",
                "summary.json",
                without("tokens_per_s"),
                "the page needs 'tokens_per_s', which is not there",
            ),
            ("named", "summary.json", without("ledger"), r"summary.json has no results\[0\].ledger"),
            ("named", "config.yaml", pathlib.Path.unlink, "cannot read .*config.yaml: No such file"),
            ("named", "operations.csv", pathlib.Path.unlink, "cannot read .*operations.csv: No such file"),
            (
                "named",
                "summary.json",
                pathlib.Path.unlink,
                "neither summary.json of qfsim run nor results.csv of qfsim sweep",
            ),
            ("pair", "results.csv", replace("tpot_us", "tpot"), "results.csv has no column tpot_us"),
            ("pair", "results.csv", replace("devices", "device"), "results.csv has no column devices"),
            ("pair", "results.csv", lambda file: file.write_text(""), "results.csv is empty"),
        ):
            with self.subTest(says=says):
                made = self.changed(folder, name, change)
                before = sorted(made.iterdir())
                self.refused(report_here(made), says)
                self.assertEqual(sorted(made.iterdir()), before)

    def test_usage(self):
        self.refused(report_here(), "the following arguments are required: FOLDER; see report --help")
        self.refused(report_here(FOLDER / "named", "--colour"), "unrecognized arguments")
        self.refused(report(FOLDER / "nowhere"), "neither summary.json")

    def test_cannot_write(self):
        """A page that is a folder cannot be replaced: what is there stays, and no scratch file beside it."""
        made = self.changed("named", PAGE, pathlib.Path.mkdir)
        (made / PAGE / "kept").write_text("")
        before = sorted(made.iterdir())
        self.refused(report_here(made), "cannot write .*report.html: ", status=1)
        self.assertEqual(sorted(made.iterdir()), before)
        self.assertEqual([file.name for file in (made / PAGE).iterdir()], ["kept"])

    def test_of_qfsim(self):
        for name in ("small", "pair"):
            first = page_of(name).read_bytes()
            page_of(name).unlink()
            outcome = qfsim_report(FOLDER / name)
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
            self.assertEqual(outcome.stdout, f"wrote {FOLDER / name / PAGE}\n")
            self.assertEqual(page_of(name).read_bytes(), first)
            self.assertEqual(os.stat(page_of(name)).st_mode & 0o777, 0o644)

    def test_qfsim_refuses(self):
        empty = FOLDER / "empty"
        empty.mkdir()
        self.refused(
            qfsim_report(empty),
            "report: '.*empty' holds no results; legal: a folder with summary.json of qfsim run or results.csv of qfsim sweep",
        )
        self.assertEqual(list(empty.iterdir()), [])
        self.refused(qfsim_report(FOLDER / "smal"), "'.*smal' is no folder; .* did you mean 'small'?")
        self.refused(qfsim_report(), "report")
        self.refused(qfsim_report("small", "pair"), "report")
        self.assertEqual(qfsim_report("--help").returncode, 0)
        made = self.changed("named", "summary.json", lambda file: file.write_text("{"))
        self.refused(qfsim_report(made), "report: .*summary.json is not JSON")
