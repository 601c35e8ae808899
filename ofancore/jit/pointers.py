"""Functions of a user's own, which the compiled loop calls by their address.

The address stands in an array, so the loop needs no recompiling for another function, and its machine code on disk holds none of them.
They have numba's own calling convention: what they raise comes back as a status, and the loop goes on. What they may only read is of a
type of its own (`ReadOnly`), laid out as numba's arrays are, for which a store does not compile.
"""

from __future__ import annotations

import ctypes
import pickle

import numba
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.imputils import lower_getattr
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, models, register_model

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


class ReadOnly(types.Array):
    """An array that is only to be read, called by the name under which a user's function knows it. All that is made of it is so, too."""

    readable = ("shape", "size", "ndim", "dtype", "argmin", "argmax", "sum")

    def __init__(self, dtype, ndim: int, layout: str, name: str):
        super().__init__(dtype, ndim, layout, readonly=True, name=f"{name}, {ndim}d {layout}, {dtype}")
        self.called = name

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        return ReadOnly(dtype or self.dtype, self.ndim if ndim is None else ndim, layout or self.layout, self.called)

    @property
    def key(self):
        return (*super().key, self.called)


register_model(ReadOnly)(models.ArrayModel)


@infer_getattr
class _ReadOnlyAttributes(AttributeTemplate):
    """Numba looks at stores to items; what else changes an array (`fill`, `sort`, `flat`) is not to be had here."""

    key = ReadOnly

    def generic_resolve(self, array, name):
        if name == "flat" and array.ndim == 1:  # what numba's own `argmin` goes over
            return array
        if name not in array.readable:
            raise TypingError(f"Unknown attribute {name!r} of {array.called}, which has {', '.join(array.readable)}")


@lower_getattr(ReadOnly, "flat")
def _as_it_is(context, builder, array, value):
    return value


def read_only(state, name: str, own: tuple[str, ...]):
    """The type of a named tuple, called `name`, in which all arrays but those in `own` are only to be read."""
    kinds = [
        ReadOnly(kind.dtype, kind.ndim, kind.layout, f"{name}.{field}") if isinstance(kind, types.Array) and field not in own else kind
        for field, kind in zip(state.fields, state.types, strict=True)
    ]
    return types.NamedTuple(kinds, state.instance_class)


def address_of(function, state, n: int, flags: dict) -> int:
    """The address of a function of a state (a type of named tuples) and n integers, compiled; it returns an integer."""
    if numba.config.DISABLE_JIT:
        _kept[id(function)] = function
        return id(function)
    dispatcher = numba.njit(function, **flags)
    dispatcher.compile = Compile(dispatcher.compile, None)
    dispatcher._insert = lambda *signature, **keys: None  # there is no code that Python could call
    signature = _signature(Ref(state), n)
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
