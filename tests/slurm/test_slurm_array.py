#!/usr/bin/python3
"""sim/sweep/slurm-array.sh: its mistakes, and on a Slurm of one node that the test starts.

test_slurm_array.py QFSIM Mistakes|OnOneNode    QFSIM: the program to simulate with
Exit status 77: skipped, with the reason, where no Slurm can start.
"""

import collections
import contextlib
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import one_node

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "sim/sweep/slurm-array.sh"
QFSIM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "").resolve()
SKIPPED = 77
# Two axes and two variants; the longest caches do not fit, so that some points are refused. So many tokens that a task
# takes long enough to be killed in the midst of it.
SWEEP = f"""name: array
run: {ROOT / "configs/runs/two-h200.yaml"}
axes:
  workload.context: [1 Ki, 3 Ki, 64 Ki, 4 Mi]
  workload.batch: [1, 3, 8]
variants:
  standard: {{block: standard, model.layers: 4, workload.tokens: 1000}}
  early_q: {{block: early_q, model.layers: 4, workload.tokens: 1000}}
"""


class Scratch(unittest.TestCase):
    """A folder with a sweep's file, whose name and the results' have a space."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.sweep = self.folder / "a sweep.yaml"
        self.sweep.write_text(SWEEP)
        self.results = self.folder / "the results"


class Mistakes(Scratch):
    """Each is one line on stderr and status 2, and neither sbatch nor qfsim is called."""

    def setUp(self):
        super().setUp()
        programs = self.folder / "programs"
        programs.mkdir()
        self.called = self.folder / "called"
        for name in ("sbatch", "qfsim"):
            program = programs / name
            program.write_text(f'#!/bin/sh\necho "{name} $@" >>"{self.called}"\necho 7\n')
            program.chmod(0o755)
        self.path = f"{programs}:/usr/bin:/bin"
        self.program = programs / "qfsim"

    def script(self, *words, task=None, of=None, **variables):
        """task, of: as a task of an array with these ids."""
        if task is not None:
            variables |= {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": len(of)}
            variables |= {"SLURM_ARRAY_TASK_MIN": min(of), "SLURM_ARRAY_TASK_MAX": max(of)}
        return subprocess.run(
            [SCRIPT, *map(str, words)],
            env={"PATH": self.path, **{name: str(value) for name, value in variables.items()}},
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )

    def complaint(self, *words, qfsim=None, **options):
        done = self.script("--qfsim", qfsim or self.program, *words, **options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aslurm-array\.sh: [^\n]*; --help says more\n\Z")
        self.assertFalse(self.called.exists(), "something was started")
        self.assertFalse(self.results.exists())
        return done.stderr.removeprefix("slurm-array.sh: ").removesuffix("; --help says more\n")

    def test_arguments(self):
        sweep, results = self.sweep, self.results
        self.assertEqual(self.complaint("--shards", 3), "0 arguments; legal: SWEEP.yaml DIR")
        self.assertEqual(self.complaint(sweep), "1 arguments; legal: SWEEP.yaml DIR")
        self.assertEqual(self.complaint(sweep, results, results), "3 arguments; legal: SWEEP.yaml DIR")
        for text in ("0", "-1", "x", "1.5", "", "1e3"):
            self.assertEqual(
                self.complaint("--shards", text, sweep, results),
                f"--shards {text}: legal: a whole number from 1" if text else "not in an array job; legal: "
                "--shards N, --merge, or sbatch --array=1-N",
            )
        self.assertEqual(self.complaint(sweep, results, "--shards"), "--shards has no value")
        self.assertEqual(
            self.complaint("--shard", 3, sweep, results),
            "--shard: legal: --shards N, --merge, --qfsim PATH, -- SBATCH_OPTION...",
        )
        self.assertEqual(
            self.complaint("--merge", "--shards", 3, sweep, results), "--merge and --shards exclude each other"
        )

    def test_files(self):
        no_file, no_folder = self.folder / "none.yaml", self.sweep
        self.assertEqual(
            self.complaint("--shards", 3, no_file, self.results), f"{no_file} is no file that can be read"
        )
        self.assertEqual(self.complaint("--shards", 3, self.sweep, no_folder), f"{no_folder} is no folder")
        self.assertEqual(
            self.complaint("--shards", 3, self.sweep, self.results, qfsim=no_file),
            f"{no_file} is no program; legal: --qfsim PATH",
        )

    def test_arrays(self):
        words = (self.sweep, self.results)
        legal = "legal: --array=1-N, or --shards N"
        self.assertEqual(
            self.complaint(*words, task=0, of=[0, 1, 2]), f"the array has 3 tasks, from 0 to 2; {legal}"
        )
        self.assertEqual(
            self.complaint(*words, task=3, of=[1, 3, 5]), f"the array has 3 tasks, from 1 to 5; {legal}"
        )
        self.assertEqual(
            self.complaint("--shards", 4, *words, task=5, of=[3, 5]),
            "task 5 of the array is no shard of 4; legal: from 1 to 4",
        )
        self.assertEqual(
            self.complaint("--merge", *words, task=1, of=[1]),
            "--merge is for one job, not for each task of an array",
        )

    def test_no_slurm(self):
        bare = self.folder / "bare"  # a search path without sbatch, whatever is installed here
        bare.mkdir()
        for name in ("bash", "dirname", "realpath"):
            (bare / name).symlink_to(shutil.which(name))
        self.path = str(bare)
        self.assertEqual(
            self.complaint("--shards", 3, self.sweep, self.results),
            "there is no sbatch here; a shard by itself: qfsim sweep --shard i/n",
        )

    def test_what_it_calls(self):
        """Without a mistake: the program with the shard, or sbatch twice, the merge after the array."""
        words = ("--qfsim", self.program, self.sweep, self.results)
        done = self.script(*words, task=2, of=[1, 2, 3], SLURM_CPUS_ON_NODE=5)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"shard 2 of 3 of {self.sweep} into {self.results}", done.stdout)
        self.script("--shards", 9, *words, task=9, of=[4, 9])
        self.script("--merge", *words)
        done = self.script("--shards", 12, *words, "--", "--time=1:00:00", "--mem=2 G")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("job 7: 12 shards of", done.stdout)
        given = f"{self.sweep} --out {self.results}"
        options, tail = "--time=1:00:00 --mem=2 G", f"--qfsim {self.program} {self.sweep} {self.results}"
        self.assertEqual(
            self.called.read_text().splitlines(),
            [
                f"qfsim sweep {given} --shard 2/3 --jobs 5",
                f"qfsim sweep {given} --shard 9/9 --jobs 1",
                f"qfsim sweep {given} --merge",
                f"sbatch --parsable --array=1-12 {options} {SCRIPT} --shards 12 {tail}",
                f"sbatch --parsable {options} --dependency=afterany:7 --job-name=qfsim-merge {SCRIPT} --merge {tail}",
            ],
        )
        self.assertEqual(self.script("--help").returncode, 0)

    def test_the_program_is_found_in_the_search_path(self):
        if (ROOT / "build/qfsim").exists():
            self.skipTest("the one that was built comes first")
        self.script("--merge", self.sweep, self.results)
        self.assertIn("qfsim sweep", self.called.read_text())


class OnOneNode(Scratch):
    """On the Slurm that run_on_one_node has started."""

    def setUp(self):
        super().setUp()
        self.undisturbed = self.folder / "undisturbed"
        subprocess.run(
            [QFSIM, "sweep", self.sweep, "--out", self.undisturbed], check=True, capture_output=True
        )

    def submit(self, *words):
        """Through sbatch; gives the job's number."""
        done = self.slurm.command("sbatch", "--parsable", *words, cwd=self.folder)
        return int(done.stdout)

    def by_hand(self, *words):
        return ["--output=log-%A-%a", SCRIPT, "--qfsim", QFSIM, *words, self.sweep, self.results]

    def kill_shard(self, shard):
        """The program itself, as for lack of memory: what scancel kills this Slurm sometimes waits for without end."""
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                words = file.read_bytes().decode(errors="replace").split("\0")
                if shard in words and str(self.results) in words:
                    os.kill(int(file.parent.name), signal.SIGKILL)

    def logs(self):
        files = sorted(self.folder.glob("log-*")) + sorted(self.folder.glob("slurm-*.out"))
        return "\n".join(f"{file.name}:\n{file.read_text()}" for file in files)

    def check_results(self):
        merged, plain = self.results / "results.csv", self.undisturbed / "results.csv"
        self.assertTrue(merged.exists(), self.logs())
        self.assertEqual(merged.read_bytes(), plain.read_bytes())
        with open(plain, encoding="utf-8", newline="") as stream:
            statuses = collections.Counter(row["status"] for row in csv.DictReader(stream))
        self.assertEqual(statuses, {"ok": 20, "refused": 4})

    def test_submitted_by_the_script(self):
        for shards in (3, 7):
            with self.subTest(shards=shards):
                words = ["--shards", shards, "--qfsim", QFSIM, self.sweep, self.results, "--", "--time=5"]
                done = self.slurm.command(SCRIPT, *words, cwd=self.folder)
                array, merge = (int(line.split(":")[0].split()[1]) for line in done.stdout.splitlines())
                self.slurm.wait_for_jobs()
                self.assertEqual(self.slurm.job_state(merge), "COMPLETED", self.logs())
                for shard in range(1, shards + 1):
                    self.assertEqual(self.slurm.job_state(f"{array}_{shard}"), "COMPLETED", self.logs())
                self.check_results()
                shutil.rmtree(self.results)

    def test_by_hand_and_a_shard_once_more(self):
        """A merge without a shard fails and writes no results; with it, all is as if nothing had been missing."""
        two = self.submit("--array=1,3", *self.by_hand("--shards", 3))
        early = self.submit(f"--dependency=afterany:{two}", *self.by_hand("--merge"))
        self.slurm.wait_for_jobs()
        self.assertEqual(self.slurm.job_state(f"{two}_1"), "COMPLETED", self.logs())
        self.assertEqual(self.slurm.job_state(early), "FAILED", self.logs())
        self.assertFalse((self.results / "results.csv").exists())
        one = self.submit("--array=2", *self.by_hand("--shards", 3))
        late = self.submit(f"--dependency=afterok:{one}", *self.by_hand("--merge"))
        self.slurm.wait_for_jobs()
        self.assertEqual(self.slurm.job_state(late), "COMPLETED", self.logs())
        self.check_results()

    def test_an_array_as_wide_as_the_sweep_is_cut(self):
        array = self.submit("--array=1-4", *self.by_hand())
        merge = self.submit(f"--dependency=afterok:{array}", *self.by_hand("--merge"))
        self.slurm.wait_for_jobs()
        self.assertEqual(self.slurm.job_state(merge), "COMPLETED", self.logs())
        self.check_results()

    def test_a_task_that_was_killed_and_run_again(self):
        """Wherever it was killed."""
        both = self.submit("--array=1-2", *self.by_hand())
        self.slurm.wait_until("shard 1 is begun", (self.results / "shard-1-of-2.sqlite").exists)
        self.kill_shard("1/2")
        self.slurm.wait_for_jobs()
        self.assertIn(self.slurm.job_state(f"{both}_1"), ("FAILED", "COMPLETED"), self.logs())
        one = self.submit("--array=1", *self.by_hand("--shards", 2))
        merge = self.submit(f"--dependency=afterok:{one}", *self.by_hand("--merge"))
        self.slurm.wait_for_jobs()
        self.assertEqual(self.slurm.job_state(merge), "COMPLETED", self.logs())
        self.check_results()

    def test_a_wrong_array_fails_with_its_reason_in_the_log(self):
        array = self.submit("--array=0-1", *self.by_hand())
        self.slurm.wait_for_jobs()
        self.assertEqual(self.slurm.job_state(f"{array}_0"), "FAILED")
        self.assertIn("the array has 2 tasks, from 0 to 1; legal: --array=1-N", self.logs())
        self.assertFalse(self.results.exists())


def run(tests):
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    return unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()


def run_on_one_node():
    try:
        with one_node.OneNodeSlurm() as slurm:
            OnOneNode.slurm, folder = slurm, slurm.folder
            passed = run(OnOneNode)
    except one_node.CannotStart as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    if one_node.children() or folder.exists():
        sys.exit(f"left behind: processes {one_node.children()}, {folder}")
    return passed


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("Mistakes", "OnOneNode"):
        sys.exit(__doc__)
    sys.exit(not (run_on_one_node() if sys.argv[2] == "OnOneNode" else run(Mistakes)))


if __name__ == "__main__":
    main()
