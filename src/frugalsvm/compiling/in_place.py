"""Parts and states as compiled code sees them: one pointer each, however many arrays they are made of.

Numba copies a NamedTuple wherever it goes: a call with a state of forty arrays has three hundred arguments, each is
taken out of the tuple before the call and put into another one after it, and most of the time of a compilation went
there. Here an `entry` puts the tuples that it gets from Python into its caller's memory, once, and all that it calls
gets their addresses. A tuple within a tuple lies inside of it: its address is a sum.

Tuples cannot change, and the optimizer is told so (TBAA metadata, as "constant"): what was read once is not read again
after something else was written, so that loops are as fast as if the arrays were arguments.
"""

import hashlib
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, unbox

_WORD = 8  # bytes; each field begins at a multiple of it
_BYTE = ir.IntType(8)


class InPlace(types.Type):
    """A NamedTuple that stays where it is, as the address of its fields."""

    def __init__(self, tuple_type: Any):
        self.tuple_type = tuple_type
        digest = hashlib.blake2b(str(tuple_type).encode(), digest_size=7)
        self._hash = int.from_bytes(digest.digest(), "little")  # of forty arrays, which takes a while
        super().__init__(name=f"{tuple_type.instance_class.__name__}.{digest.hexdigest()}")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    @property
    def key(self) -> Any:
        return self.tuple_type

    @property
    def instance_class(self) -> type:
        return self.tuple_type.instance_class


def in_place(numba_type: Any) -> Any:
    """The type that compiled code uses for a type that Python calls it with."""
    return InPlace(numba_type) if isinstance(numba_type, types.BaseNamedTuple) else numba_type


@cache
def _layout(of: InPlace) -> tuple[dict[str, tuple[int, Any]], int]:
    """The offset and type of each field, and the size of all, in bytes."""
    fields, size = {}, 0
    for name, field_type in zip(of.tuple_type.fields, map(in_place, of.tuple_type), strict=True):
        fields[name] = size, field_type
        if isinstance(field_type, InPlace):
            size += _layout(field_type)[1]
        else:
            context = cpu_target.target_context
            n_bytes = context.get_abi_sizeof(context.get_data_type(field_type))
            size += -(-n_bytes // _WORD) * _WORD
    return fields, size


@register_model(InPlace)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any):
        super().__init__(manager, numba_type, _BYTE.as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Say that fields may be read before it is known whether they are needed, as in front of a loop."""
        size = _layout(self._fe_type)[1]
        if size > 0:
            value.attributes.dereferenceable = size
        return value


@infer_getattr
class _Fields(AttributeTemplate):
    key = InPlace

    def generic_resolve(self, tuple_type: Any, name: str) -> Any:
        field = _layout(tuple_type)[0].get(name)
        return None if field is None else field[1]


@lower_getattr_generic(InPlace)
def _read_field(context: Any, builder: Any, tuple_type: Any, address: Any, name: str) -> Any:
    offset, field_type = _layout(tuple_type)[0][name]
    place = _at(builder, address, offset)
    if isinstance(field_type, InPlace):
        return place
    model = context.data_model_manager[field_type]
    stored = model.get_data_type()
    value = builder.load(builder.bitcast(place, stored.as_pointer()))
    value.set_metadata("tbaa", _constant(builder.module))
    return value if stored == model.get_value_type() else model.from_data(builder, value)


def _at(builder: Any, address: Any, offset: int) -> Any:
    return builder.gep(address, [ir.Constant(ir.IntType(32), offset)], inbounds=True) if offset > 0 else address


def _constant(module: Any) -> Any:
    """The metadata of a read from memory that does not change."""
    zero, one = (ir.Constant(ir.IntType(64), each) for each in (0, 1))
    root = module.add_metadata([ir.MetaDataString(module, "frugalsvm")])
    kind = module.add_metadata([ir.MetaDataString(module, "field of a tuple"), root, zero])
    return module.add_metadata([kind, kind, zero, one])


@unbox(InPlace)
def _from_python(tuple_type: Any, python_tuple: Any, c: Any) -> NativeValue:
    """Put the fields of a tuple, and of those in it, into memory of the caller."""
    size = _layout(tuple_type)[1]
    address = cgutils.alloca_once(c.builder, ir.IntType(64), size=max(size // _WORD, 1))
    address = c.builder.bitcast(address, _BYTE.as_pointer())
    failed, cleanups = _fill(tuple_type, python_tuple, c, address)
    address = _unknown(c.builder, address)

    def cleanup() -> None:
        for each in reversed(cleanups):
            each()

    return NativeValue(address, is_error=failed, cleanup=cleanup if cleanups else None)


def _unknown(builder: Any, address: Any) -> Any:
    """The same address, of which the optimizer does not know what was written there, nor that this is not needed.

    Reading what is constant does not count as reading: without it, the writing of the fields would be left out.
    """
    same = ir.FunctionType(address.type, [address.type])
    return builder.asm(same, "", "=r,0,~{memory}", [address], side_effect=True)


def _fill(tuple_type: Any, python_tuple: Any, c: Any, address: Any) -> tuple[Any, list]:
    """Write all fields; returns whether one could not be read, and what is to be done in the end."""
    failed, cleanups = cgutils.false_bit, []
    for i, (offset, field_type) in enumerate(_layout(tuple_type)[0].values()):
        python_value, place = c.pyapi.tuple_getitem(python_tuple, i), _at(c.builder, address, offset)
        if isinstance(field_type, InPlace):
            is_error, within = _fill(field_type, python_value, c, place)
            cleanups += within
        else:
            native = c.unbox(field_type, python_value)
            model = c.context.data_model_manager[field_type]
            stored = model.get_data_type()
            value = native.value if stored == model.get_value_type() else model.as_data(c.builder, native.value)
            c.builder.store(value, c.builder.bitcast(place, stored.as_pointer()))
            is_error = native.is_error
            cleanups += [native.cleanup] if native.cleanup else []
        failed = c.builder.or_(failed, is_error)
    return failed, cleanups
