"""What numba has no word for: a named tuple that kernels hand on as one pointer, and hints to the cache."""

from __future__ import annotations

import hashlib

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, models, register_model
from numba.np import arrayobj


class Ref(types.Type):
    """A named tuple of arrays that lies in memory. By value, each call would copy all arrays of the state, some hundreds of words."""

    def __init__(self, of: types.NamedTuple):
        self.of = of
        super().__init__(f"{of.instance_class.__name__}.{hashlib.sha256(of.name.encode()).hexdigest()[:8]}")


@register_model(Ref)
class _RefModel(models.PrimitiveModel):
    def __init__(self, manager, ref):
        super().__init__(manager, ref, manager.lookup(ref.of).get_value_type().as_pointer())


@infer_getattr
class _RefFields(AttributeTemplate):
    key = Ref

    def generic_resolve(self, ref, name):
        if name not in ref.of.fields:
            return None
        field = ref.of.types[ref.of.fields.index(name)]
        return Ref(field) if isinstance(field, types.NamedTuple) else field


def _load_constant(builder, pointer):
    """Load a struct word by word, each marked as one that never changes: it need not be read again after a store to some array."""
    what = pointer.type.pointee
    if not isinstance(what, (ir.LiteralStructType, ir.ArrayType)):
        value = builder.load(pointer)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value
    value = ir.Constant(what, ir.Undefined)
    for i in range(what.count if isinstance(what, ir.ArrayType) else len(what.elements)):
        value = builder.insert_value(value, _load_constant(builder, cgutils.gep_inbounds(builder, pointer, 0, i)), i)
    return value


@lower_getattr_generic(Ref)
def _get_field(context, builder, ref, pointer, name):
    i = ref.of.fields.index(name)
    at = cgutils.gep_inbounds(builder, pointer, 0, i)
    return at if isinstance(ref.of.types[i], types.NamedTuple) else _load_constant(builder, at)


@intrinsic
def _in_memory(typing, value):
    def generate(context, builder, signature, arguments):
        return cgutils.alloca_once_value(builder, arguments[0])

    return Ref(value)(value), generate


@intrinsic
def _window(typing, array, at, n):
    part = array.copy(ndim=1, layout="C" if array.ndim == 1 else "A")

    def generate(context, builder, signature, arguments):
        whole = arrayobj.make_array(array)(context, builder, arguments[0])
        step = builder.extract_value(whole.strides, 0)
        data = cgutils.pointer_add(builder, whole.data, builder.mul(arguments[1], step))
        view = arrayobj.make_array(part)(context, builder)
        arrayobj.populate_array(view, data, [arguments[2]], [step], whole.itemsize, None)
        return view._getvalue()

    return part(array, types.int64, types.int64), generate


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

    return prefetch


if numba.config.DISABLE_JIT:

    def in_memory(value):
        return value

    def window(array, at, n):
        return array[at : at + n] if array.ndim == 1 else array[at : at + n, 0]

    def prefetch_read(array, i):
        pass

    prefetch_write = prefetch_read
else:
    window = _window  # n items from item `at` on, which must exist; of a table its first column. Slices look at both ends, in ten branches
    in_memory = _in_memory  # puts a named tuple on the calling kernel's stack; the result stands for it in the kernels called from there
    prefetch_read, prefetch_write = _prefetch(0), _prefetch(1)  # ask for the cache line of item i of an array: to read it, to write it
