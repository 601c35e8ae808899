"""How a command ends: refusals, faults and trouble with its output as one line and an exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable

from ofancore.errors import EngineError, OfanError
from ofancore.jit import CACHE, before_compiling

_told = contextlib.ExitStack()  # which is never closed


def compiling() -> str:
    """What is said before the simulator is compiled, which takes a minute."""
    kept = f"kept in {CACHE}" if CACHE else "and in every process: no folder for machine code can be written (set OFAN_CACHE_DIR)"
    return f"compiling the simulator: 40 seconds on an idle machine, once for each version of the sources, {kept}"


def say_compiling() -> None:
    print(f"ofancore: {compiling()}", file=sys.stderr, flush=True)


def tell_of_compiling() -> None:
    """From now on, say so on standard error if this process has to compile, and if somebody is watching: in a notebook or on a terminal."""

    def tell() -> None:
        shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
        if (shell and shell() is not None) or (sys.stderr is not None and sys.stderr.isatty()):
            say_compiling()

    _told.enter_context(before_compiling(tell))  # `with before_compiling(...)` takes its place


def exit_status(name: str, call: Callable[[], int | None]) -> int:
    """Call and give the exit status: 2 for what the user can mend, 3 for internal faults, a shell's own for Ctrl-C and broken pipes."""
    try:
        if sys.stdout is None:  # closed by whoever started this; what nobody can get need not be made
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            status = call() or 0
        except SystemExit as end:  # argparse, which may have printed its help
            status = end.code
        print(end="", flush=True)  # here, where a full disk is still told of
        return status
    except EngineError as e:
        return _say(name, e, 3)
    except OfanError as e:
        return _say(name, e, 2)
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop(sys.stdout)
        return 141
    except OSError as e:
        if e.filename is None:
            _drop(sys.stdout)
        return _say(name, f"{e.filename or 'output'}: {e.strerror or e}", 2)
    except MemoryError:
        return _say(name, "the scenario needs more memory than this machine gives", 2)
    except KeyboardInterrupt:
        return 130
    finally:
        if sys.stderr is not None:
            try:
                sys.stderr.flush()  # also of what argparse has said; a failure at exit would give another status
            except OSError:
                _drop(sys.stderr)


def _say(name: str, what: object, status: int) -> int:
    if sys.stderr is not None:  # print would take standard output in its place
        with contextlib.suppress(OSError):
            print(f"{name}: {what}", file=sys.stderr, flush=True)
    return status


def _drop(stream) -> None:
    """Let nobody be told again, at exit, that what a stream still holds cannot be written; the exit status would be another."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
