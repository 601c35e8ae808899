"""The one place that knows numba's flags and insides.

`kernel` compiles a function that Python calls, `inner` one that only other kernels call. `cache` keeps machine code on disk, `linking`
brings kernels together, `memory` passes the state on by reference, `pointers` calls functions that a user wrote.
"""

from __future__ import annotations

import contextlib
import functools

import numba

from ofancore.jit.cache import CACHE, PACKAGE, digest_of, load_at_once
from ofancore.jit.linking import Compile
from ofancore.jit.memory import in_memory, prefetch_read, prefetch_write, window
from ofancore.jit.pointers import address_of, call_at, exception_at, read_only

__all__ = [
    "CACHE",
    "PACKAGE",
    "before_compiling",
    "call_at",
    "compile_own",
    "digest_of",
    "exception_at",
    "in_memory",
    "inner",
    "kernel",
    "own_function",
    "prefetch_read",
    "prefetch_write",
    "window",
]

# No kernel allocates, so none needs the runtime that counts references to arrays; without it the loop runs twenty times faster (`_nrt` is
# what numba's own parallel kernels use). Integer division does not check for zero: the callers do.
FLAGS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
# What a user writes must not bring the process down: indices and divisors are looked at, and raise.
OWN_FLAGS = FLAGS | {"error_model": "python", "boundscheck": True}


_before: list = []  # what is called before the first compilation


@contextlib.contextmanager
def before_compiling(call):
    """`call()` once if this process is about to compile a kernel; never where all machine code is found on disk."""
    _before[:] = [call]
    try:
        yield
    finally:
        _before.clear()


def _told(compile):
    def tell_and_compile(*signature):
        while _before:
            _before.pop()()
        return compile(*signature)

    return tell_and_compile


def kernel(function=None, cache: bool = True, **flags):
    """Compile a function that Python calls, in nopython mode and releasing the GIL; its machine code is kept on disk."""

    def decorate(function):
        keep = CACHE is not None and cache
        dispatcher = numba.njit(function, **FLAGS, **flags, cache=keep)
        if not numba.config.DISABLE_JIT:
            dispatcher.compile = Compile(dispatcher.compile, None)
            dispatcher._compiler.compile = _told(dispatcher._compiler.compile)
            if keep:
                load_at_once(dispatcher._cache)
        return dispatcher

    return decorate if function is None else decorate(function)


def inner(function=None, forceinline: bool = True, apart: bool = False, **flags):
    """Compile a function that other kernels call. It is inlined into them unless it is large or seldom called (`forceinline=False`).

    `apart`: never, and where it is called counts as unlikely, so that it costs those nothing who do not come there.

    A call from Python works too: the function is then compiled once more, as a kernel (tests do that).
    """

    def decorate(function):
        dispatcher = numba.njit(function, **(FLAGS | flags), forceinline=forceinline and not apart, no_cpython_wrapper=True)
        if not numba.config.DISABLE_JIT:
            dispatcher.compile = Compile(dispatcher.compile, function.__qualname__, apart)
            dispatcher._insert = lambda *signature, **keys: None  # there is no code that Python could call
            as_kernel = functools.cache(lambda: kernel(function, cache=False))
            dispatcher._compile_for_args = lambda *arguments, **keys: as_kernel()._compile_for_args(*arguments, **keys)
        return dispatcher

    return decorate if function is None else decorate(function)


def own_function(function):
    """Compile a function that a user wrote, or that such a one calls: where it goes wrong it raises."""
    return inner(function, **OWN_FLAGS)


def compile_own(function, make, called: str, state: tuple, writable: tuple[str, ...], n: int) -> tuple[int, str]:
    """(address for `call_at`, type returned) of an `own_function`; no address goes with a type but "integer" and "none".

    `make(function)` makes of it one that takes a state, like this named tuple, and n integers, and returns what it returned, or 0. Arrays
    of the state that are not `writable` by name can only be read; errors call the state as it is `called`. Numba's errors pass through.
    """
    if numba.config.DISABLE_JIT:
        return address_of(make(function), None, n, {}), "integer"
    from numba.core import errors, types

    address, trouble, used = 0, None, function
    try:
        state = read_only(numba.typeof(state), called, writable)
        address = address_of(make(used), state, n, {**OWN_FLAGS, "no_cpython_wrapper": True})
    except errors.NumbaError as error:
        trouble = error
    result = next((compiled.signature.return_type for compiled in used.overloads.values()), None)
    if isinstance(result, types.NoneType) or (result is not None and not isinstance(result, (types.Integer, types.Boolean))):
        return address, str(result)
    if trouble:
        raise trouble
    return address, "integer"
