"""The one place that knows numba's flags.

`kernel` compiles a function of the engine or of a strategy. Machine code is cached on disk under a folder whose name
holds a digest of every kernel source, since numba does not notice an edit in a callee's file. Where no folder can be
written, kernels compile anew in each process.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import numba

PACKAGE = Path(__file__).parent
KERNEL_SOURCES = ("jit.py", "engine", "balancers", "congestion", "recovery")


def digest_of(names: tuple[str, ...]) -> str:
    """Hex digest (16 characters) of the named files and folders of the package, by path and content."""
    h = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            h.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return h.hexdigest()[:16]


def _cache_folder() -> Path | None:
    root = os.environ.get("OFAN_CACHE_DIR")
    candidates = [Path(root)] if root else [Path.home() / ".cache" / "ofancore", Path(tempfile.gettempdir()) / f"ofancore-{os.getuid()}"]
    for candidate in candidates:
        folder = candidate / f"{digest_of(KERNEL_SOURCES)}-numba{numba.__version__}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


CACHE = _cache_folder()
if CACHE is not None:
    numba.config.CACHE_DIR = str(CACHE)


def kernel(function=None, **flags):
    """Compile in nopython mode, releasing the GIL; integer division does not check for zero (the callers do).

    Kernels are inlined into their callers: a call would pass every array of the state by value, some hundreds of words. The few that
    are too large for that say `forceinline=False`. No kernel allocates, so none needs the runtime that counts references to arrays; without
    it the loop runs twenty times faster (`_nrt` is what numba's own parallel kernels use).
    """
    options = {"nogil": True, "cache": CACHE is not None, "error_model": "numpy", "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True, **flags}
    decorate = numba.njit(**options)
    return decorate if function is None else decorate(function)


def inner(function=None, **flags):
    """A kernel that only other kernels call: it saves the compilation of a wrapper for Python."""
    return kernel(function, no_cpython_wrapper=True, **flags)
