"""Executes a notebook with papermill, strictly.

papermill alone accepts misspelt parameters, lets kernels race for ports and keeps no notebook when asked to write through
a pipe. Here unknown parameters are refused, a kernel talks through sockets of its own folder and gets one more try if it
does not come up, and the executed notebook is kept also when a cell fails, with the traceback in it. A kernel whose last cell is done is
killed: what it made is written by then.
"""

from __future__ import annotations

import ast
import functools
import json
import signal
import tempfile
from pathlib import Path

from ofancore.errors import OfanError

KERNEL_TRIES = 2


class NotebookError(OfanError):
    """A notebook that cannot be run as asked, or whose cell failed."""


def declared(notebook: str | Path) -> list[str]:
    """The names that the cell tagged `parameters` assigns; NotebookError if the file is no notebook."""
    try:
        cells = json.loads(Path(notebook).read_text())["cells"]
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        body = ast.parse("".join(tagged[0]["source"])).body if tagged else []
    except FileNotFoundError:
        raise NotebookError(f"{notebook}: no such notebook") from None
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, SyntaxError) as error:
        raise NotebookError(f"{notebook}: not a readable notebook ({type(error).__name__}: {' '.join(str(error).split())})") from None
    targets = [t for node in body for t in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def check_parameters(notebook: str | Path, parameters: dict) -> None:
    """Refuse a parameter that the notebook's parameters cell does not define."""
    known = declared(notebook)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise NotebookError(
            f"{notebook}: unknown parameters {', '.join(unknown)}; its parameters cell defines {', '.join(known) or 'none'}"
        )


@functools.cache
def _kernel_manager() -> type:
    from jupyter_client.manager import AsyncKernelManager

    class Killing(AsyncKernelManager):
        """Ends its kernel at once. Asked to end, one takes most of a second, and may report an interrupt, which comes with the request."""

        async def shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
            await self.signal_kernel(signal.SIGKILL)
            await super().shutdown_kernel(now=True, restart=restart)

    return Killing


def execute(notebook: str | Path, parameters: dict, out: str | Path) -> None:
    """Run the notebook in the current folder. NotebookError with the cell's error if one fails."""
    import papermill
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    check_parameters(notebook, parameters)
    options = {"progress_bar": False, "log_output": False, "kernel_manager_class": _kernel_manager()}
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(KERNEL_TRIES):
        with tempfile.TemporaryDirectory(prefix="ofan-kernel-") as sockets:
            try:
                # Sockets with a path of their own: kernels that start together race for TCP ports.
                own = Config({"ConnectionFileMixin": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
                papermill.execute_notebook(str(notebook), str(out), parameters, config=own, **options)
                return
            except PapermillExecutionError as error:
                raise NotebookError(f"{notebook}: {error.ename}: {error.evalue} (in full: {out})") from None
            except RuntimeError as error:
                # nbclient: "Kernel died before replying to kernel_info"
                if attempt + 1 == KERNEL_TRIES:
                    raise NotebookError(f"{notebook}: the kernel did not start ({error})") from None
