"""Replay of a trace on BMv2: compile with `p4c-bm2-ss`, run `simple_switch` on pcap files, read what came out and the registers.

All three programs are looked for on the PATH; nothing here is needed to use what `data/p4/replay` has recorded. BMv2's control server
listens on every interface, so it gets a network namespace of its own where the machine allows that (`unshare`).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ofancore.errors import OfanError
from ofancore.p4.entries import FORWARD, POINTERS
from ofancore.p4.packets import number_of, read_pcap, write_pcap
from ofancore.p4.sources import defines, digest, program_file
from ofancore.p4.trace import DROPPED, Stage, Trace

COMPILER, SWITCH, CONTROL = "p4c-bm2-ss", "simple_switch", "simple_switch_CLI"
DEAD_LINKS = f"{FORWARD}.links.dead_links"
QUEUE_PACKETS = 1 << 20  # no packet of a trace is lost in a queue
WAIT_S = 6  # BMv2 waits so long before the first packet, at least; entries are installed meanwhile
COMMANDS_A_SECOND = 250
ATTEMPTS = 4  # each with twice the wait, for slow machines
LATE = 75  # status of the script: the entries came too late
GAP_US = 1000
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/"  # ports 0 to 63
NO_LETTER = "-"  # dropped


class ReplayError(OfanError):
    """The replay did not run to its end; what the programs said is in the message."""


def missing() -> list[str]:
    """The programs that are not on the PATH."""
    return [name for name in (COMPILER, SWITCH, CONTROL) if not shutil.which(name)]


@dataclass(frozen=True)
class Replay:
    """What BMv2 did with a stage: the output port of each packet as a letter ('-': dropped), digest of the frames that left, pointers.

    `pointers` are digests of the positions after the last packet (`positions_digest`).
    """

    outputs: str
    frames: str
    pointers: str


def expected(stage: Stage) -> Replay:
    """The same of the simulator."""
    letters = "".join(NO_LETTER if out == DROPPED else LETTERS[out] for out in stage.outputs)
    return Replay(letters, stage.frames_digest, positions_digest(stage.positions))


def positions_digest(positions: list[list[int]]) -> str:
    return hashlib.sha256(json.dumps(sorted(positions)).encode()).hexdigest()[:16]


def compile_program(program: str, radix: int, folder: Path) -> Path:
    """BMv2's JSON of a program; ReplayError with the compiler's words if it refuses."""
    out = folder / f"{program}.json"
    done = subprocess.run(
        [COMPILER, "--std", "p4-16", *defines("v1model", radix), "-o", str(out), str(program_file(program))], capture_output=True, text=True
    )
    if done.returncode or not out.exists():
        raise ReplayError(f"{COMPILER}: {done.stderr.strip() or done.stdout.strip()}")
    return out


def versions() -> dict[str, str]:
    """What the compiler and the switch say of themselves."""
    said = {}
    for name in (COMPILER, SWITCH):
        done = subprocess.run([name, "--version"], capture_output=True, text=True)
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if re.search(r"\d+\.\d+", line)]
        said[name] = lines[0] if lines else "unknown"
    return said


def commands(stage: Stage) -> list[str]:
    """The entries, registers and queue depth of a stage as lines of `simple_switch_CLI`."""
    lines = [f"set_queue_depth {QUEUE_PACKETS}"]
    for table, rows in stage.entries["tables"].items():
        control = table.rpartition(".")[0]
        for row in rows:
            match = " ".join("/".join(map(str, v)) if isinstance(v, list) else str(v) for v in row["match"].values())
            lines.append(f"table_add {table} {control}.{row['action']} {match} => {' '.join(map(str, row['params'].values()))}")
    for register in stage.entries["registers"]:
        lines += [f"register_write {register['name']} {index} {value}" for index, value in register["values"] if value]
    below = min(row["match"]["port"] for row in stage.entries["tables"][f"{FORWARD}.ports.ports"] if row["action"] == "above")
    return lines + [f"register_write {DEAD_LINKS} {below + uplink} 1" for uplink in stage.dead]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def isolated() -> list[str]:
    """A prefix that gives a command a network namespace of its own, if the machine lets this user have one."""
    prefix = ["unshare", "--net", "--map-root-user", "--user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else []
    except FileNotFoundError:
        return []


def write_inputs(folder: Path, stage: Stage, n_ports: int) -> None:
    """The packets of a stage as `p0_in.pcap` and so on, a file for each front port; the times give their order over all ports."""
    sent: list[list[tuple[int, bytes]]] = [[] for _ in range(n_ports)]
    for i, packet in enumerate(stage.packets):
        sent[packet.port].append((1_000_000 + GAP_US * i, packet.frame()))
    for port, frames in enumerate(sent):
        write_pcap(folder / f"p{port}_in.pcap", frames)


def replay_stage(program: Path, stage: Stage, n_ports: int) -> Replay:
    """Run one stage on a fresh switch."""
    wait = WAIT_S + len(commands(stage)) // COMMANDS_A_SECOND
    for attempt in range(ATTEMPTS):
        done = _attempt(program, stage, n_ports, wait << attempt)
        if done is not None:
            return done
    raise ReplayError(f"{SWITCH}: the entries were not installed within {wait << ATTEMPTS - 1} s")


def _attempt(program: Path, stage: Stage, n_ports: int, wait: int) -> Replay | None:
    """The replay of a stage; None if the first packet came before the last entry."""
    lines = commands(stage)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, stage, n_ports)
        port = free_port()
        interfaces = [word for i in range(n_ports) for word in ("-i", f"{i}@p{i}")]
        run = [SWITCH, *interfaces, "--use-files", str(wait), "--thrift-port", str(port), str(program)]
        (folder / "commands").write_text("\n".join(lines) + "\n")
        registers = f"register_read {POINTERS}\n" if stage.positions else ""
        (folder / "after").write_text(registers)
        script = folder / "script.py"
        script.write_text(_SCRIPT)
        work = [json.dumps(run), CONTROL, str(port), str(wait)]
        done = subprocess.run([*isolated(), "python3", str(script), *work], cwd=folder, capture_output=True, text=True)
        if done.returncode == LATE:
            return None
        if done.returncode:
            raise ReplayError(f"{SWITCH}: {(done.stdout + done.stderr).strip()[-2000:]}")
        first = stage.packets[0].number
        outputs, frames = [DROPPED] * len(stage.packets), {}
        for i in range(n_ports):
            for frame in read_pcap(folder / f"p{i}_out.pcap"):
                at = number_of(frame) - first
                if not 0 <= at < len(outputs) or outputs[at] != DROPPED:
                    raise ReplayError(f"{SWITCH}: port {i} sent a packet that was not sent to it, or twice ({number_of(frame)})")
                outputs[at], frames[at] = i, frame
        letters = "".join(NO_LETTER if out == DROPPED else LETTERS[out] for out in outputs)
        positions = []
        if stage.positions:
            values = _register(folder / "registers")
            positions = [[index, values[index]] for index, _ in stage.positions]
        digest_of_frames = hashlib.sha256(b"".join(frames[i] for i in sorted(frames))).hexdigest()[:16]
        return Replay(letters, digest_of_frames, positions_digest(positions))


def _register(path: Path) -> list[int]:
    found = re.search(r"\]?=\s*([\d, ]+)", path.read_text().split("RuntimeCmd:", 1)[-1])
    if not found:
        raise ReplayError(f"{CONTROL}: no register values in {path.read_text()[:200]!r}")
    return [int(v) for v in found[1].split(",")]


# Runs where the switch runs (its own network namespace): start it, install, wait until nothing more comes out, read registers, end it.
_SCRIPT = """
import json, os, subprocess, sys, time
run, control, port, wait = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
begin = time.monotonic()
switch = subprocess.Popen(run, stdout=open("switch.log", "w"), stderr=subprocess.STDOUT)
def ask(name, out):
    with open(name) as f, open(out, "w") as o:
        return subprocess.run([control, "--thrift-port", port], stdin=f, stdout=o, stderr=subprocess.STDOUT).returncode
try:
    while True:
        if switch.poll() is not None:
            sys.exit("ended: " + open("switch.log").read()[-1500:])
        if ask(os.devnull, "hello") == 0 and "Could not connect" not in open("hello").read():
            break
        if time.monotonic() - begin > 60:
            sys.exit("no answer from the control server: " + open("hello").read()[-500:])
        time.sleep(0.1)
    if ask("commands", "installed"):
        sys.exit("control: " + open("installed").read()[-1500:])
    said = open("installed").read()
    for word in ("Error", "Invalid", "Unknown", "not found"):
        if word in said:
            at = said.index(word)
            sys.exit("control: " + said[max(0, at - 300) : at + 300])
    if time.monotonic() - begin > wait:
        sys.exit(75)
    time.sleep(max(0, begin + wait + 1 - time.monotonic()))
    def size():
        return sum(os.path.getsize(n) for n in os.listdir(".") if n.endswith("_out.pcap"))
    before, still = -1, 0
    while still < 6:
        now = size()
        still = still + 1 if now == before else 0
        before = now
        time.sleep(0.5)
    ask("after", "registers")
finally:
    switch.kill()
    switch.wait()
"""


def replay(trace: Trace) -> dict:
    """The record of a trace: who asked what, with which compiler and switch, and what came out of each stage."""
    n_ports = len(trace.stages[0].entries["tables"][f"{FORWARD}.ports.ports"])
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        program = compile_program(trace.program, trace.radix, Path(name))
        stages = [asdict(replay_stage(program, stage, n_ports)) for stage in trace.stages]
    return {
        "program": trace.program,
        "radix": trace.radix,
        "switch": trace.switch,
        "seed": trace.seed,
        "pipes": trace.pipes,
        "failures": trace.failures,
        "dead": list(trace.stages[0].dead),
        "packets": len(trace.stages[0].packets),
        "source": digest(trace.program, "v1model", trace.radix),
        "versions": versions(),
        "seconds": round(time.monotonic() - begin, 1),
        "stages": stages,
    }
