"""A Slurm of one node for one test: munged, slurmctld and slurmd in a private folder, on free ports.

It ends with the test. Needs root, and Debian's slurm-wlm and munge; touches neither /etc/slurm nor /etc/munge, and
no Slurm that runs already.
"""

import contextlib
import ctypes
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
CPUS = 4  # said to be there, whatever the machine has: that many tasks of an array run side by side
START_S = 30
END_S = 10
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)

CONFIG = """
ClusterName=qfsim
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=1
MinJobAge=600
KillWait=2
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=10 State=UP
"""


class CannotStart(Exception):
    """Why there is no Slurm here."""


class OneNodeSlurm:
    """with OneNodeSlurm() as slurm: slurm.environment makes sbatch and squeue talk to it."""

    def __enter__(self):
        self.folder = None
        self._daemons = []
        with contextlib.ExitStack() as undo:
            undo.callback(self._stop)
            self._start()
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self._stop()

    def command(self, *words, check=True, **options):
        """Runs one of Slurm's programs, or a script that uses them; gives the finished process."""
        return subprocess.run(
            [str(word) for word in words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=check,
            **options,
        )

    def wait_until(self, what, holds, limit_s=120):
        """Looks ten times a second; TimeoutError if it never comes to hold."""
        end = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {limit_s} s: {what}\n{self.command('squeue').stdout}")
            time.sleep(0.1)

    def wait_for_jobs(self, limit_s=120):
        self.wait_until("the queue is empty", lambda: not self.command("squeue", "--noheader").stdout, limit_s)

    def job_state(self, job):
        """As scontrol names it, of a job or of a task of an array: 12 or 12_3."""
        text = self.command("scontrol", "--oneliner", "show", "job", job).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)["JobState"]

    def _start(self):
        missing = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
        if missing:
            raise CannotStart(f"no {', '.join(missing)}: apt install slurm-wlm munge")
        if os.geteuid() != 0:
            raise CannotStart("slurmd must start as root")
        # Whatever a daemon leaves behind becomes a child of this process, and is found by _stop.
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="qfsim-slurm-"))
        self.folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        self.environment = {
            **{name: os.environ[name] for name in os.environ if not name.startswith(("SLURM_", "SBATCH_"))},
            "PATH": _PATH,
            "SLURM_CONF": str(self.folder / "slurm.conf"),
        }
        self._start_munged()
        self._configure()
        self._daemon("slurmctld", "-D", "-i")
        self._daemon("slurmd", "-D")
        self._until("the node is idle", lambda: self._node_state() == "idle")

    def _node_state(self):
        return self.command("sinfo", "--noheader", "--format=%t", check=False).stdout.strip()

    def _start_munged(self):
        munge = self.folder / "munge"
        munge.mkdir()
        key = munge / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        files = [f"--{name}={munge / value}" for name, value in _MUNGE_FILES.items()]
        self._daemon("munged", "--foreground", "--num-threads=1", *files)
        self._until("munged listens", (munge / "socket").exists)

    def _configure(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller_port, node_port = _free_ports(2)
        text = CONFIG.format(
            host=socket.gethostname().split(".")[0],
            folder=self.folder,
            controller_port=controller_port,
            node_port=node_port,
            cpus=CPUS,
        )
        (self.folder / "slurm.conf").write_text(text)
        if self._version() >= (23, 11):  # older ones do without cgroups by themselves
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    @staticmethod
    def _version():
        """As in `slurm-wlm 22.05.8`."""
        done = subprocess.run(["slurmd", "-V"], env={"PATH": _PATH}, capture_output=True, text=True, check=True)
        return tuple(int(number) for number in done.stdout.split()[1].split(".")[:2])

    def _daemon(self, *words):
        """In a process group of its own; killed by the kernel if this process dies first."""
        with open(self.folder / f"{words[0]}.out", "wb") as log:
            self._daemons.append(
                subprocess.Popen(
                    words,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
                )
            )

    def _until(self, what, holds):
        end = time.monotonic() + START_S
        while not holds():
            dead = [daemon.args[0] for daemon in self._daemons if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                why = f"{dead[0]} ended" if dead else f"not within {START_S} s"
                raise CannotStart(f"{why}: {what}\n{self._logs()}")
            time.sleep(0.1)

    def _logs(self):
        files = sorted(self.folder.glob("*.out")) + sorted(self.folder.glob("*.log"))
        tails = ((file.name, file.read_text(errors="replace").splitlines()[-4:]) for file in files)
        return "\n".join(f"{name}: {line}" for name, lines in tails for line in lines)

    def _stop(self):
        """Jobs first, then slurmd, slurmctld and munged, then whatever is left of them, then the folder; each
        whatever became of the ones before."""
        if self.folder is None:
            return
        with contextlib.ExitStack() as steps:
            steps.callback(shutil.rmtree, self.folder)
            steps.callback(_kill_children)
            for daemon in self._daemons:
                steps.callback(_end, daemon)
            steps.callback(self._cancel_jobs)
        self.folder = None

    def _cancel_jobs(self):
        """What does not go within END_S (a process that left its job's group) is killed with the rest."""
        if len(self._daemons) == 3 and all(daemon.poll() is None for daemon in self._daemons):
            with contextlib.suppress(subprocess.SubprocessError, TimeoutError):
                self.command("scancel", "--user=root", check=False)
                self.wait_for_jobs(END_S)


_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_MUNGE_FILES = {"socket": "socket", "key-file": "key", "log-file": "log", "pid-file": "pid", "seed-file": "seed"}


def _free_ports(count):
    """Of this moment: slurmctld and slurmd take them right away, and say so if another was quicker."""
    with contextlib.ExitStack() as sockets:
        listeners = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def _end(daemon):
    daemon.terminate()
    try:
        daemon.wait(END_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def children():
    """Ids of the processes whose parent this is."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parent = file.read_text().rpartition(")")[2].split()[1]
            found += [int(file.parent.name)] if int(parent) == os.getpid() else []
    return found


def _kill_children():
    while left := children():
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
