"""From objects to JSON and arrays, and back.

What JSON has stands for itself: null, booleans, integers, finite floats, text and lists. All else is an object with one
tag: ``{"array": 3}`` is the fourth array of the file, ``{"part": "rbf", "fields": {...}}`` a NamedTuple,
``{"object": "BSGDClassifier", "state": {...}}`` an object of a registered class.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from frugalsvm._stored import Field, fields_of, stored_as
from frugalsvm.core.cache import KernelRows
from frugalsvm.core.records import as_numbers
from frugalsvm.persist.archive import ModelFileError, checked_dtype, file_errors, malformed, stored_form
from frugalsvm.persist.registry import adapter_of, class_named, name_of_part, part_named, restored, state_of

MAX_DEPTH = 64
_PLAIN = (type(None), bool, int, str)
_CSR = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
# NumPy does not check how far a generator has come in its buffer, and would read behind its end.
_LAST_PLACE = {"MT19937": 624, "Philox": 4}
_MAX_CACHE = 2**36  # bytes that a cache may reserve (not use: untouched zeros take no memory)
_BLOCK = 2**20

Decode = Callable[[Any], Any]


class Encoder:
    """Turns values into JSON; collects arrays, each once however often it occurs."""

    def __init__(self, *, caches: bool = True, for_prediction: bool = False, may_have_arrays: bool = True):
        self.arrays: list[np.ndarray] = []
        self._caches, self._for_prediction, self._may_have_arrays = caches, for_prediction, may_have_arrays
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the id of one that was seen

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The JSON for a value."""
        if depth > MAX_DEPTH:
            raise ModelFileError("This object cannot be saved: it is nested too deeply, or contains itself.")
        if type(value) in _PLAIN or (type(value) is float and math.isfinite(value)):
            return value
        within = lambda each: self.encode(each, depth + 1)  # noqa: E731
        return [*map(within, value)] if type(value) is list else self._tagged(value, within)

    def _tagged(self, value: Any, encode: Callable[[Any], Any]) -> dict[str, Any]:
        kind = type(value)
        if kind is float:
            return {"float": repr(value)}
        if kind is tuple:
            return {"tuple": [*map(encode, value)]}
        if kind is dict:
            if all(type(key) is str for key in value):
                return {"dict": {key: encode(each) for key, each in value.items()}}
            return {"pairs": [[encode(key), encode(each)] for key, each in value.items()]}
        if isinstance(value, np.generic):
            checked_dtype(value.dtype.str)
            little = np.asarray(value).astype(value.dtype.newbyteorder("<"))
            return {"scalar": little.dtype.str, "bytes": little.tobytes().hex()}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            checked_dtype(np.dtype(value).str)
            return {"dtype" if isinstance(value, np.dtype) else "type": np.dtype(value).str}
        if kind in (np.ndarray, np.memmap):
            return _objects(value, encode) if value.dtype == object else {"array": self._place_of(value)}
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return {"random": encode(_state_of_generator(value))}
        if kind in _CSR.values():
            parts = {"data": value.data, "at": value.indices, "rows": value.indptr}
            return {"csr": kind.__name__, "parts": encode({"shape": list(map(int, value.shape)), **parts})}
        if isinstance(value, KernelRows):
            return {"cache": encode(_state_of_cache(value))}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = {name: encode(each) for name, each in plain_fields(value).items()}
            return {"part": name_of_part(kind), "fields": fields}
        return self._object(value, encode)

    def _object(self, value: Any, encode: Callable[[Any], Any]) -> dict[str, Any]:
        adapter = adapter_of(value)
        if adapter is None:
            raise ModelFileError(
                f"An object of type {type(value).__qualname__} cannot be saved: it is not registered. If it is made of "
                "numbers, strings and arrays, frugalsvm.persist.register lets model files hold objects of its class."
            )
        kernel = getattr(value, "kernel", None)
        if callable(kernel) and stored_as(type(kernel)) is None:  # a sum of kernels can be called, but is a part
            raise ModelFileError(
                f"This {adapter.name} cannot be saved: its kernel is a Python function, and model files hold no code. "
                "Take a kernel that has a name, or use joblib.dump, which needs the function in a module of yours."
            )
        state, complete = state_of(value, adapter, caches=self._caches, for_prediction=self._for_prediction)
        # In one order, whatever the order in which attributes were set: equal models give equal files.
        encoded = {name: encode(state[name]) for name in sorted(state)}
        return {"object": adapter.name, "complete": complete, "state": encoded}

    def _place_of(self, array: np.ndarray) -> int:
        if not self._may_have_arrays:
            raise ModelFileError("Metadata must be made of numbers, strings, lists and dicts: arrays are for models.")
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self._kept.append(array)
            self.arrays.append(stored_form(array))
        return self._places[id(array)]


class Decoder:
    """Turns JSON into values; arrays are named by their number in a list."""

    def __init__(self, arrays: list):
        self._arrays = arrays

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value for JSON."""
        if depth > 2 * MAX_DEPTH:
            raise malformed("it is nested too deeply")
        if type(node) in _PLAIN or type(node) is float:
            return node
        within = lambda each: self.decode(each, depth + 1)  # noqa: E731
        if type(node) is list:
            return [*map(within, node)]
        tag = next(iter(node), None)
        with file_errors(f"a value of kind {tag!r} is not as it should be"):
            return self._READERS.get(tag, type(self)._unknown)(self, node, within)

    def _unknown(self, node: dict, decode: Decode) -> Any:
        raise malformed(f"unknown kind of value {str(next(iter(node), None))[:40]!r}")

    def _array(self, node: dict, decode: Decode) -> Any:
        number = node["array"]
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise malformed("it names an array that is not there")
        return self._arrays[number]

    def _csr(self, node: dict, decode: Decode) -> Any:
        parts = decode(node["parts"])
        rows, columns = parts["shape"]
        matrix = _CSR[node["csr"]]((parts["data"], parts["at"], parts["rows"]), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _part(self, node: dict, decode: Decode) -> Any:
        cls: Any = part_named(node["part"])
        _refuse_more(node, {"part", "fields"})
        fields = _todays_fields(cls, _dict_of(node["fields"], decode))
        if set(fields) != set(cls._fields):
            raise malformed(f"the fields of {node['part']} are not the expected ones")
        return cls(**fields)

    def _object(self, node: dict, decode: Decode) -> Any:
        adapter = class_named(node["object"])
        _refuse_more(node, {"object", "complete", "state"})
        if issubclass(adapter.cls, tuple):
            raise malformed(f"{adapter.name} is not an object with attributes")
        return restored(adapter, _dict_of(node["state"], decode), node["complete"] is True)

    def _objects(self, node: dict, decode: Decode) -> np.ndarray:
        values = decode(node["objects"])
        flat = np.empty(len(values), object)
        flat[:] = values
        return flat.reshape([int(n) for n in node["shape"]])

    _READERS: dict[Any, Callable[[Any, dict, Decode], Any]] = {  # noqa: RUF012 - never changed
        "float": lambda self, node, decode: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["float"]],
        "tuple": lambda self, node, decode: tuple(map(decode, node["tuple"])),
        "dict": lambda self, node, decode: _dict_of(node["dict"], decode),
        "pairs": lambda self, node, decode: {decode(key): decode(each) for key, each in node["pairs"]},
        "scalar": lambda self, node, decode: _scalar(node),
        "dtype": lambda self, node, decode: checked_dtype(node["dtype"]),
        "type": lambda self, node, decode: checked_dtype(node["type"]).type,
        "array": _array,
        "objects": _objects,
        "random": lambda self, node, decode: _generator_from(decode(node["random"])),
        "csr": _csr,
        "cache": lambda self, node, decode: _cache_from(decode(node["cache"])),
        "part": _part,
        "object": _object,
    }


class Describer(Decoder):
    """Turns JSON into plain values for people, without loading arrays: objects by name, what is not plain by kind."""

    def _unknown(self, node: dict, decode: Decode) -> Any:
        return f"<{next(iter(node), None)}>"

    _READERS = {  # noqa: RUF012 - never changed
        **{tag: Decoder._READERS[tag] for tag in ("float", "dict", "array")},
        "tuple": lambda self, node, decode: [*map(decode, node["tuple"])],
        "pairs": lambda self, node, decode: {str(decode(key)): decode(each) for key, each in node["pairs"]},
        "scalar": lambda self, node, decode: _scalar(node).item(),
        "part": lambda self, node, decode: {"part": node["part"], **_dict_of(node["fields"], decode)},
        "object": lambda self, node, decode: {
            "class": node["object"], **{k: decode(each) for k, each in node["state"].items() if k[:1] != "_"},
        },
    }  # fmt: skip


# --- single kinds of values ---------------------------------------------------------------------------------------


def _refuse_more(node: dict, known: set[str]) -> None:
    """Refuse what a reader would silently leave out."""
    unknown = sorted(set(node) - known)
    if unknown:
        raise malformed(f"a value has {unknown[0][:40]!r}, which is not known")


def _dict_of(node: Any, decode: Decode) -> dict[str, Any]:
    if type(node) is not dict:
        raise malformed("there is no dict where one should be")
    return {key: decode(each) for key, each in node.items()}


def _scalar(node: dict) -> Any:
    dtype = checked_dtype(node["scalar"])
    return np.frombuffer(bytes.fromhex(node["bytes"]), dtype, 1).astype(dtype.newbyteorder("="))[0]


def _objects(array: np.ndarray, encode: Callable[[Any], Any]) -> dict[str, Any]:
    """An array of Python values, such as labels of classes."""
    if not all(isinstance(each, str | int | float | np.generic | type(None)) for each in array.flat):
        raise ModelFileError("An array of objects can be saved only if they are strings and numbers.")
    return {"objects": [*map(encode, array.flat)], "shape": list(array.shape)}


def plain_fields(part: Any) -> dict[str, Any]:
    """The fields of a part, declared arrays of records as arrays of numbers."""
    records = _records_of(type(part))
    return {**part._asdict(), **{name: as_numbers(np.ascontiguousarray(getattr(part, name))) for name in records}}


def _records_of(cls: type) -> dict[str, Field]:
    """The fields of a part that are arrays of records."""
    if stored_as(cls) is None:
        return {}
    return {name: field for name, field in fields_of(cls).items() if isinstance(field.element, np.dtype)}


def _todays_fields(cls: type, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a part as its class has them now."""
    declared = stored_as(cls)
    if declared is not None and declared.earlier is not None:
        fields = declared.earlier(fields)
    records = {name: field for name, field in _records_of(cls).items() if name in fields}
    return {**fields, **{name: _as_records(fields[name], field) for name, field in records.items()}}


def _as_records(array: Any, field: Field) -> Any:
    """An array of numbers as one of records, if it can be; one record may lack its dimension, as in older files."""
    dtype: Any = field.element
    n_dimensions = len(field.shape)
    fits = type(array) is np.ndarray and array.flags.c_contiguous and array.ndim in (n_dimensions, n_dimensions + 1)
    if not fits or array.dtype != dtype[0] or array.shape[-1:] != (len(dtype.names or ()),):
        return array
    return array.reshape(-1).view(dtype).reshape(array.shape[:-1] or (1,))


def _state_of_generator(generator: Any) -> dict[str, Any]:
    """A ``Generator`` or ``RandomState``, to continue with the very next number; seeds to spawn others are left out."""
    legacy = isinstance(generator, np.random.RandomState)
    state = generator.get_state(legacy=False) if legacy else generator.bit_generator.state
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise ModelFileError(f"A random generator {state['bit_generator']!r} cannot be saved.")
    return {"legacy": legacy, "state": state}


def _generator_from(saved: Any) -> Any:
    with file_errors("the state of a random generator is wrong"):
        state = saved["state"]
        name = state["bit_generator"]
        if name not in _BIT_GENERATORS:
            raise malformed("it names an unknown random generator")
        place = state["state"].get("pos", 0) if name == "MT19937" else state.get("buffer_pos", 0)
        if not 0 <= place <= _LAST_PLACE.get(name, 0):
            raise malformed("a random generator is beyond its end")
        bits = getattr(np.random, name)(0)
        if saved["legacy"]:
            generator = np.random.RandomState(bits)
            generator.set_state(state)
            return generator
        bits.state = state
        return np.random.Generator(bits)


def _state_of_cache(rows: KernelRows) -> dict[str, Any]:
    """All fields of a cache, and how large its memory is.

    Learners that come back to their members sum kernel values in another order when they compute them again: to
    continue bit for bit, the cache must come back as it was. Its memory is as large as the user allowed and mostly
    untouched, so only the part up to the last byte that is not zero is stored.
    """
    fields = plain_fields(rows)
    del fields["values"]  # part of the buffer
    used = size = rows.buffer.size
    while used > 0 and not rows.buffer[max(0, used - _BLOCK) : used].view(np.uint8).any():
        used = max(0, used - _BLOCK)
    return {**fields, "buffer": rows.buffer[:used], "size": size}


def _cache_from(saved: Any) -> KernelRows:
    if not isinstance(saved, dict) or set(saved) != set(KernelRows._fields) - {"values"} | {"size"}:
        raise malformed("a cache does not have the expected fields")
    state = dict(saved)
    size, used = state.pop("size"), state["buffer"]
    if not all(isinstance(part, np.ndarray) for part in state.values()) or used.ndim != 1 or type(size) is not int:
        raise malformed("a cache is not made of arrays")
    n_rows, capacity = state["slot"].size, state["place"].size
    if size < max(n_rows * capacity, used.size) or size * used.itemsize > _MAX_CACHE:
        raise ModelFileError(f"The cache in the model file is impossible, or larger than {_MAX_CACHE} bytes.")
    buffer = np.zeros(size, used.dtype)
    buffer[: used.size] = used
    state["buffer"], state["values"] = buffer, buffer[: n_rows * capacity].reshape(n_rows, capacity)
    return KernelRows(**_todays_fields(KernelRows, state))
