"""Executes a figure's notebook with papermill: `python -m ofancore.notebook NOTEBOOK --parameters FILE.yaml --out EXECUTED.ipynb`.

papermill alone accepts misspelt parameters, lets kernels race for ports and keeps no notebook when asked to write through
a pipe. Here unknown parameters are refused, a kernel talks through sockets of its own folder and gets one more try if it
does not come up, and the executed notebook is kept also when a cell fails, with the traceback in it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import yaml

from ofancore.errors import OfanError

KERNEL_TRIES = 2


class NotebookError(OfanError):
    """A notebook that cannot be run as asked, or whose cell failed."""


def check_parameters(notebook: str | Path, parameters: dict) -> None:
    """Refuse a parameter that the notebook's parameters cell does not define."""
    from papermill import inspect_notebook

    try:
        known = inspect_notebook(str(notebook))
    except FileNotFoundError:
        raise NotebookError(f"{notebook}: no such notebook") from None
    except Exception as error:
        raise NotebookError(f"{notebook}: not a notebook that papermill can read ({' '.join(str(error).split())})") from None
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise NotebookError(f"{notebook}: unknown parameters {', '.join(unknown)}; its parameters cell defines {', '.join(known) or 'none'}")


def execute(notebook: str | Path, parameters: dict, out: str | Path) -> None:
    """Run the notebook in the current folder. NotebookError with the cell's error if one fails."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    check_parameters(notebook, parameters)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(KERNEL_TRIES):
        with tempfile.TemporaryDirectory(prefix="ofan-kernel-") as sockets:
            try:
                papermill.execute_notebook(
                    str(notebook), str(out), parameters, progress_bar=False, log_output=False,
                    kernel_manager_class="ofancore.notebook.PrivateKernelManager", connection_file=f"{sockets}/kernel.json",
                )  # fmt: skip
                return
            except PapermillExecutionError as error:
                raise NotebookError(f"{notebook}: {error.ename}: {error.evalue} (in full: {out})") from None
            except RuntimeError as error:
                # nbclient: "Kernel died before replying to kernel_info"
                if attempt + 1 == KERNEL_TRIES:
                    raise NotebookError(f"{notebook}: the kernel did not start ({error})") from None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ofancore.notebook", description=__doc__.split("\n")[0])
    parser.add_argument("notebook")
    parser.add_argument("--parameters", required=True, help="a YAML file")
    parser.add_argument("--out", required=True, help="the executed notebook")
    args = parser.parse_args(arguments)
    try:
        parameters = yaml.safe_load(Path(args.parameters).read_text()) or {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            execute(args.notebook, parameters, args.out)
    except OfanError as error:
        print(error, file=sys.stderr)
        return 1
    except (OSError, yaml.YAMLError) as error:
        print(f"{args.parameters}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
