"""The one place that knows numba's flags.

`kernel` compiles a function of the engine or of a strategy. Machine code is cached on disk under a folder whose name
holds a digest of every kernel source, since numba does not notice an edit in a callee's file. Where no folder can be
written, kernels compile anew in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import numba
from llvmlite import ir
from numba.core import caching, cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic
from numba.np import arrayobj

PACKAGE = Path(__file__).parent
KERNEL_SOURCES = ("jit.py", "bits.py", "engine", "balancers", "congestion", "recovery")


def digest_of(names: tuple[str, ...]) -> str:
    """Hex digest (16 characters) of the named files and folders (seen from the package), by path and content; a missing folder is empty."""
    h = hashlib.sha256()
    for name in names:
        path = PACKAGE / name
        files = [path] if path.suffix else sorted(file for file in path.rglob("*") if file.suffix in (".py", ".yaml"))
        for file in files:
            h.update(Path(name, file.relative_to(path)).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return h.hexdigest()[:16]


def _cache_folder() -> Path | None:
    root = os.environ.get("OFAN_CACHE_DIR")
    home, temporary = os.path.expanduser("~"), tempfile.gettempdir()
    candidates = [os.path.abspath(root)] if root else [f"{home}/.cache/ofancore", f"{temporary}/ofancore-{os.getuid()}"]
    for candidate in map(Path, candidates):
        if not candidate.is_absolute():  # no home is known
            continue
        folder = candidate / f"{digest_of(KERNEL_SOURCES)}-numba{numba.__version__}"
        try:
            candidate.mkdir(mode=0o700, parents=True, exist_ok=True)
            mine = root or candidate.stat().st_uid == os.getuid()  # code of a stranger's making is not run
            folder.mkdir(exist_ok=True)
            if mine and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


class _Forgiving(caching.IndexDataCacheFile):
    """Machine code on disk saves time and nothing else: what cannot be read is compiled anew, what cannot be written is not kept."""

    def load(self, key):
        try:
            return super().load(key)
        except Exception:  # a file cut short fails in as many ways as unpickling can
            with contextlib.suppress(OSError):
                Path(self._index_path).unlink(missing_ok=True)
            return None

    def save(self, key, data):
        with contextlib.suppress(OSError):
            super().save(key, data)


CACHE = _cache_folder()
if CACHE is not None:
    numba.config.CACHE_DIR = str(CACHE)
    caching.IndexDataCacheFile = _Forgiving


def _index_as_is(context, builder, index_type, index, size):
    """Stands in for numba's `fix_integer_index`, which lets a negative index count from the end."""
    return context.cast(builder, index, index_type, types.intp)


class _Kernel:
    """Compiles a dispatcher's function with indices taken as they are: no kernel counts from an array's end, and asking at every
    access whether it does costs a sixth of the loop's time."""

    def __init__(self, compile):
        self.compile = compile

    def __call__(self, signature):
        with global_compiler_lock:
            kept = arrayobj.fix_integer_index
            arrayobj.fix_integer_index = _index_as_is
            try:
                return self.compile(signature)
            finally:
                arrayobj.fix_integer_index = kept


def _prefetch(write: int):
    @intrinsic
    def prefetch(typing, array, i):
        def generate(context, builder, signature, arguments):
            view = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
            byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
            hint = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
            ask = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0i8")
            at = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
            builder.call(ask, [at, i32(write), i32(3), i32(1)])
            return context.get_dummy_value()

        return types.void(array, types.int64), generate

    return prefetch if not numba.config.DISABLE_JIT else lambda array, i: None


# ask for the cache line of item i of a one-dimensional array: to read it, or to write it
prefetch_read, prefetch_write = _prefetch(0), _prefetch(1)


def kernel(function=None, **flags):
    """Compile in nopython mode, releasing the GIL; integer division does not check for zero (the callers do).

    Kernels are inlined into their callers: a call would pass every array of the state by value, some hundreds of words. The few that
    are too large for that say `forceinline=False`. No kernel allocates, so none needs the runtime that counts references to arrays; without
    it the loop runs twenty times faster (`_nrt` is what numba's own parallel kernels use).
    """
    fixed = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}

    def decorate(function):
        dispatcher = numba.njit(function, **{**fixed, "cache": CACHE is not None, **flags})
        if not numba.config.DISABLE_JIT:
            dispatcher.compile = _Kernel(dispatcher.compile)
        return dispatcher

    return decorate if function is None else decorate(function)


def inner(function=None, **flags):
    """A kernel that only other kernels call: it saves the compilation of a wrapper for Python."""
    return kernel(function, no_cpython_wrapper=True, **flags)
