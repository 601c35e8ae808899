"""`make lab`: no other step, whoever calls, and the project's kernel, whatever else is installed for the user."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENV = os.path.relpath(sys.prefix, ROOT)
MAKE = ["make", "-o", f"{VENV}/.ready", f"VENV={VENV}", "lab"]


@pytest.mark.parametrize(("uid", "display"), [(0, ""), (0, ":0"), (1000, ""), (1000, ":0")])
def test_it_asks_for_what_the_caller_needs(tmp_path, uid, display):
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {uid}\n")
    (tmp_path / "id").chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": display}
    text = subprocess.run([*MAKE, "-n"], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert ("--allow-root" in text) == (uid == 0)
    assert ("--no-browser" in text) == (not display)


def kernelspec(folder: Path, name: str) -> None:
    """A kernel that cannot start."""
    (folder / "kernels" / name).mkdir(parents=True)
    spec = {"argv": ["/bin/false", "{connection_file}"], "display_name": "not the project's", "language": "python"}
    (folder / "kernels" / name / "kernel.json").write_text(json.dumps(spec))


@pytest.mark.pipeline
@pytest.mark.slow
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="make lab runs what is in a virtual environment")
def test_it_says_the_address_and_runs_the_projects_kernel(tmp_path):
    import websocket

    home = tmp_path / "home"
    kernelspec(home / ".local/share/jupyter", "python3")
    kernelspec(home / ".local/share/jupyter", "other")
    kernelspec(tmp_path / "path", "python3")
    (home / ".jupyter").mkdir()
    (home / ".jupyter/jupyter_server_config.py").write_text('c.MultiKernelManager.default_kernel_name = "other"\n')
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")
    env = {k: v for k, v in os.environ.items() if k not in names}
    env |= {"HOME": str(home), "JUPYTER_PATH": str(tmp_path / "path"), "ARGS": "--ServerApp.port=0"}
    log = tmp_path / "log"
    with log.open("w") as file:
        server = subprocess.Popen(MAKE, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        address = None
        end = time.monotonic() + 120
        while address is None and time.monotonic() < end and server.poll() is None:
            time.sleep(0.2)
            address = re.search(r"(http://(?:localhost|127\.0\.0\.1):\d+)/lab/tree/notebooks/tour\.ipynb\?token=(\w+)", log.read_text())
        assert address, log.read_text()
        base, token = address.groups()

        def ask(path, data=None):
            request = urllib.request.Request(base + path, data=data, headers={"Authorization": f"token {token}"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode()

        assert "JupyterLab" in ask("/lab/tree/notebooks/tour.ipynb")
        specs = json.loads(ask("/api/kernelspecs"))
        assert (specs["default"], list(specs["kernelspecs"])) == ("python3", ["python3"])
        assert {"tour.ipynb", "explore.ipynb", "your_own_balancer.ipynb"} <= {
            entry["name"] for entry in json.loads(ask("/api/contents/notebooks"))["content"]
        }
        kernel = json.loads(ask("/api/kernels", b"{}"))
        channels = websocket.create_connection(
            f"{base.replace('http', 'ws')}/api/kernels/{kernel['id']}/channels", header=[f"Authorization: token {token}"], timeout=60
        )
        content = {"code": "import sys, ofancore; print(sys.prefix)", "silent": False}
        header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": "", "version": "5.3", "date": ""}
        channels.send(json.dumps({"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}))
        said, state = [], None
        while state != "idle":  # which comes behind all that was printed
            message = json.loads(channels.recv())
            if message["parent_header"].get("msg_id") == "1":
                said += [message["content"]["text"]] if message["header"]["msg_type"] == "stream" else []
                state = message["content"].get("execution_state", state)
        channels.close()
        assert "".join(said).strip() == sys.prefix
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
