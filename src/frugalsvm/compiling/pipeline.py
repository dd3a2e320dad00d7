"""How functions become machine code: once, in the function that Python calls.

Left alone, Numba optimizes every function on its own and turns it into machine code, and then does so again in each
function that it is copied into. Here a function that only compiled code calls is kept in LLVM's language until the code
of an *entry*, which Python calls, is complete. Then all of it is optimized and translated together, once. The passes
that Numba makes over a function before, for features that this library does not use (closures, generators, dynamic
exceptions, parallel loops), are left out as well.

``pipeline_class`` is an option of ``numba.njit``, and passes are documented; libraries of code are not, and were looked
at in Numba 0.61 to 0.69.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any, ClassVar

from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.typing import Context, signature

from frugalsvm.compiling.in_place import in_place

_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.InlineOverloads,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


# A loop over two arrays is compiled twice, and numbers one by one are for arrays that are near one another in memory.
# How near, the width of vectors tells: at 512 bits, small arrays that happen to be neighbors make a model differ in its
# last bits from one run to the next. At 256 bits, which is also what LLVM takes for most processors, they never are.
_VECTORS = '"prefer-vector-width"="256"'


class _Linked(JITCodeLibrary):
    """Code that knows all that it is linked with, also through others."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the functions of a module, all with vectors of one width."""
        for function in ir_module.functions:
            set.add(function.attributes, _VECTORS)  # llvmlite's own method takes attributes without a value only
        super().add_ir_module(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """Link with a library, and with what it is linked with.

        Callers come before what they call: LLVM leaves out functions that nothing has called so far.
        """
        library._ensure_finalized()
        beyond = library._linking_libraries if isinstance(library, InnerLibrary) else ()
        for each in (library, *beyond):
            if each not in self._linking_libraries:
                self._linking_libraries.append(each)


class InnerLibrary(_Linked):
    """The code of a function that is copied into its callers: never optimized as a whole, never machine code."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def finalize(self) -> None:
        for library in self._linking_libraries if hasattr(self, "_reload_init") else ():  # since Numba 0.62
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Ask for the address of machine code: there is none."""
        self._ensure_finalized()
        return 0


class _WithoutEnvironment:
    """The generator of code, for a library that has no machine code in which an environment could be set."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _Flags(Flags):
    """Numba's options of a compilation; it compares them a hundred times for each line of code."""

    __slots__ = ("_known",)

    def _with_defaults(self) -> tuple[Any, int]:
        """The values of all options, whether they were set or not, and their hash."""
        values = tuple(self._values.items())
        known, result = getattr(self, "_known", (None, None))
        if known != values:
            result = self.values(), super().__hash__()
            self._known = values, result
        return result

    def __hash__(self) -> int:
        return self._with_defaults()[1]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Flags):
            return self._values == other._values or self._with_defaults()[0] == other._with_defaults()[0]
        return super().__eq__(other)


class _Typing(Context):
    """What Numba knows of types, and of operators between them, for each of which it tries dozens of rules."""

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Context):
        self.__dict__ = context.__dict__  # the same knowledge

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Find the signature of a call, where it is an operator of numbers and arrays by looking it up."""
        if kws or type(func) is not BuiltinFunctionType or not all(isinstance(each, _PLAIN) for each in args):
            return super().resolve_function_type(func, args, kws)
        key = (func, tuple(args))
        if key not in self._known:
            self._known[key] = super().resolve_function_type(func, args, kws)
        return self._known[key]


_PLAIN = (types.Number, types.Boolean, types.Array, types.SliceType)


class InnerCompiler(CompilerBase):
    """For functions that only compiled code calls."""

    library_class: type[JITCodeLibrary] = InnerLibrary
    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(_Typing(typingctx), targetctx, library, args, return_type, _Flags(flags), locals)

    def compile_extra(self, func: Any) -> Any:
        """Compile, unless it was done: Numba asks again where a caller has other options."""
        key = (func, self.state.args, self.state.return_type, self.state.flags.copy())
        if key not in self._known:
            self._known[key] = super().compile_extra(func)
        return self._known[key]._replace(metadata={})  # in which each of them notes its time

    def define_pipelines(self) -> list[PassManager]:
        state = self.state
        if state.library is None:
            state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        passes = PassManager("frugalsvm")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


class EntryCompiler(InnerCompiler):
    """For functions that Python calls."""

    library_class = _Linked

    def compile_extra(self, func: Any) -> Any:
        """Compile for tuples that stay in place; Python still calls it with those that it has."""
        called_with = self.state.args
        self.state.args = tuple(map(in_place, called_with))
        with _without_garbage_collection():
            result = CompilerBase.compile_extra(self, func)
        return result._replace(signature=signature(result.signature.return_type, *called_with))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Do not look for cycles among the many objects of a compilation: a tenth of its time goes there."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
