"""Functions of a user's own, which the compiled loop calls by their address.

The address stands in an array, so the loop needs no recompiling for another function, and its machine code on disk holds none of them.
They have numba's own calling convention: what they raise comes back as a status, and the loop goes on.
"""

from __future__ import annotations

import ctypes
import pickle

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ofancore.jit.linking import Compile
from ofancore.jit.memory import Ref


def _signature(state, n: int):
    """int64(state, int64, ...) with n numbers."""
    return types.int64(state, *[types.int64] * n)


@intrinsic
def _call_at(typing, address, state, numbers):
    signature = _signature(state, len(numbers))

    def generate(context, builder, outer, arguments):
        given = [context.cast(builder, builder.extract_value(arguments[2], i), numbers[i], types.int64) for i in range(len(numbers))]
        kind = context.call_conv.get_function_type(signature.return_type, signature.args)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        status, value = context.call_conv.call_function(builder, function, types.int64, signature.args, [arguments[1], *given])
        word = ir.IntType(64)
        raised = builder.select(status.is_ok, word(0), builder.ptrtoint(status.excinfoptr, word))
        return context.make_tuple(builder, outer.return_type, [value, raised])

    return types.UniTuple(types.int64, 2)(types.int64, state, numbers), generate


_kept: dict[int, object] = {}  # what is called, by address: code that nobody holds would be freed


def _called_from_python(address, state, numbers):
    return _kept[address](state, *numbers), 0


# call_at(address, state, numbers) -> (result, 0 or where the exception is described)
call_at = _called_from_python if numba.config.DISABLE_JIT else _call_at


def address_of(function, state: tuple, n: int, flags: dict) -> int:
    """The address of a function of a state (a named tuple of arrays, like this one) and n integers, compiled; it returns an integer."""
    if numba.config.DISABLE_JIT:
        _kept[id(function)] = function
        return id(function)
    dispatcher = numba.njit(function, **flags)
    dispatcher.compile = Compile(dispatcher.compile, None)
    dispatcher._insert = lambda *signature, **keys: None  # there is no code that Python could call
    signature = _signature(Ref(numba.typeof(state)), n)
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature.args]
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    _kept[address] = compiled
    return address


class _Exception(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_int32))


def exception_at(address: int) -> str:
    """What a function raised, in a line, from where `call_at` says that it is described."""
    try:
        about = _Exception.from_address(address)
        kind, arguments, *_ = pickle.loads(ctypes.string_at(about.data, about.size))
        return f"{kind.__name__}: {', '.join(map(str, arguments))}" if arguments else kind.__name__
    except Exception:  # an exception with values worked out at run time
        return "an exception"
