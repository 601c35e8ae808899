"""A Slurm of one node on the loopback interface: its own munged, slurmctld and slurmd in a temporary folder, for a test.

Needs root (slurmd starts jobs as their users) and Debian's slurm-wlm and munge; nothing of the machine's own Slurm, if it has one, is
touched or asked. The daemons are stopped by their process ids.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")

CONF = """
ClusterName=ofan-test
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=86400
KillWait=2
SchedulerParameters=sched_interval=2,batch_sched_delay=1
NodeName={name} NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 State=UNKNOWN
PartitionName=all Nodes={name} Default=YES MaxTime=60 State=UP
"""


def what_is_missing() -> str | None:
    """Why there can be no such Slurm here, in a line."""
    missing = [name for name in (*DAEMONS, *COMMANDS) if not find(name)]
    if missing:
        return f"no {', '.join(missing)} here (Debian and Ubuntu: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "only root can start a Slurm"
    return None


def find(command: str) -> str | None:
    return shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """`with Slurm() as slurm:`; `slurm.environment` makes commands, and jobs, ask this one."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="ofan-slurm-", dir="/tmp"))  # a socket's path has to be short
        self.processes: list[subprocess.Popen] = []
        # Commands find it by a variable, but in jobs the plugin unsets all of Slurm's variables: so each command sets it.
        for name in COMMANDS:
            file = self.folder / "bin" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {find(name)} "$@"\n')
            file.chmod(0o755)
        self.environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def __enter__(self) -> Slurm:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(
            CONF.format(folder=self.folder, name=socket.gethostname().split(".")[0], ports=free_ports(2)).lstrip()
        )
        at = self.folder / "munge"
        self._daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={at}.socket", f"--pid-file={at}.pid",
                     f"--log-file={at}.log", f"--seed-file={at}.seed", "--num-threads=2")  # fmt: skip
        self._wait((self.folder / "munge.socket").exists, "munged made no socket")
        self._daemon("slurmctld", "-D", "-c", "-f", f"{self.folder}/slurm.conf")
        self._daemon("slurmd", "-D", "-c", "-f", f"{self.folder}/slurm.conf")
        self._wait(lambda: self("sinfo", "-h", "-o", "%T", fails=True) == "idle", "the node did not become idle")

    def _daemon(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.out").open("wb") as out:
            environment = {**os.environ, "SLURM_CONF": f"{self.folder}/slurm.conf"}
            self.processes.append(
                subprocess.Popen([find(name), *arguments], stdout=out, stderr=out, env=environment, start_new_session=True)
            )

    def _wait(self, done, otherwise: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            ended = [process.args[0] for process in self.processes if process.poll() is not None]
            assert not ended, f"{ended} ended: {self.logs()}"
            assert time.monotonic() < end, f"{otherwise}: {self.logs()}"
            time.sleep(0.2)

    def __call__(self, *command: str, fails: bool = False) -> str:
        done = subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60)
        assert fails or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def logs(self) -> str:
        files = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
        return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-1500:]}" for file in sorted(files))

    def __exit__(self, *exception) -> None:
        try:
            if len(self.processes) > 1:
                self._end_jobs()
        finally:
            for process in reversed(self.processes):
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end_jobs(self) -> None:
        """Before the daemons, since the processes of jobs are not among theirs."""
        for signal_of in (["--full", "--signal=KILL"], []):
            self("scancel", *signal_of, "--user=root", fails=True)
        end = time.monotonic() + 10
        while self("squeue", "-h", "-t", "running,completing", fails=True) and time.monotonic() < end:
            time.sleep(0.2)
