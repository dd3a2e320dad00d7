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

from frugalsvm._stored import stored_as
from frugalsvm.core.cache import KernelRows
from frugalsvm.persist.arrays import checked_dtype, stored_form
from frugalsvm.persist.caches import cache_from, state_of_cache
from frugalsvm.persist.errors import ModelFileError, file_errors
from frugalsvm.persist.random import generator_from, state_of_generator
from frugalsvm.persist.records import plain_fields, todays_fields
from frugalsvm.persist.registry import adapter_of, class_named, name_of_part, part_named
from frugalsvm.persist.savable import without_undeclared
from frugalsvm.persist.state import parameter_names, restored, saved_of, state_of

__all__ = ["MAX_DEPTH", "Decoder", "Encoder"]

MAX_DEPTH = 64
_PLAIN = (type(None), bool, int, str)
_CSR = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}


def _is_code(kernel: Any) -> bool:
    """Whether a kernel is a function; a sum of kernels can be called, but is a part."""
    return callable(kernel) and stored_as(type(kernel)) is None


def _refuse_more(node: dict, known: set[str]) -> None:
    """Refuse what a reader would leave out without a word."""
    unknown = sorted(set(node) - known)
    if unknown:
        raise ModelFileError(f"The model file is malformed: a value has {unknown[0][:40]!r}, which is not known.")


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
        if type(value) in _PLAIN:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.encode(each, depth + 1) for each in value]
        return self._tagged(value, depth)

    def _tagged(self, value: Any, depth: int) -> dict[str, Any]:
        if type(value) is tuple:
            return {"tuple": [self.encode(each, depth + 1) for each in value]}
        if type(value) is dict:
            return self._dict(value, depth)
        if isinstance(value, np.generic):
            checked_dtype(value.dtype.str)
            little = np.asarray(value).astype(value.dtype.newbyteorder("<"))
            return {"scalar": little.dtype.str, "bytes": little.tobytes().hex()}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            checked_dtype(np.dtype(value).str)
            return {"dtype" if isinstance(value, np.dtype) else "type": np.dtype(value).str}
        if type(value) in (np.ndarray, np.memmap):
            return self._objects(value, depth) if value.dtype == object else {"array": self._place_of(value)}
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return {"random": self.encode(state_of_generator(value), depth + 1)}
        if type(value).__name__ in _CSR and type(value) is _CSR[type(value).__name__]:
            parts = {
                "shape": list(map(int, value.shape)),
                "data": value.data,
                "at": value.indices,
                "rows": value.indptr,
            }
            return {"csr": type(value).__name__, "parts": self.encode(parts, depth + 1)}
        if isinstance(value, KernelRows):
            return {"cache": self.encode(state_of_cache(value), depth + 1)}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = {name: self.encode(each, depth + 1) for name, each in plain_fields(value).items()}
            return {"part": name_of_part(type(value)), "fields": fields}
        return self._object(value, depth)

    def _dict(self, value: dict, depth: int) -> dict[str, Any]:
        if all(type(key) is str for key in value):
            return {"dict": {key: self.encode(each, depth + 1) for key, each in value.items()}}
        return {"pairs": [[self.encode(key, depth + 1), self.encode(each, depth + 1)] for key, each in value.items()]}

    def _object(self, value: Any, depth: int) -> dict[str, Any]:
        adapter = adapter_of(value)
        if adapter is None:
            raise ModelFileError(
                f"An object of type {type(value).__qualname__} cannot be saved: it is not registered. If it is made of "
                "numbers, strings and arrays, frugalsvm.persist.register lets model files hold objects of its class."
            )
        if _is_code(getattr(value, "kernel", None)):
            raise ModelFileError(
                f"This {adapter.name} cannot be saved: its kernel is a Python function, and model files hold no code. "
                "Take a kernel that has a name, or use joblib.dump, which needs the function in a module of yours."
            )
        state, complete = state_of(value, adapter, caches=self._caches, for_prediction=self._for_prediction)
        if saved_of(adapter) is not None:
            state = without_undeclared(adapter.name, value, state, parameter_names(adapter.cls))
        # In one order, whatever the order in which attributes were set: equal models give equal files.
        encoded = {name: self.encode(state[name], depth + 1) for name in sorted(state)}
        return {"object": adapter.name, "complete": complete, "state": encoded}

    def _objects(self, array: np.ndarray, depth: int) -> dict[str, Any]:
        """An array of Python values, such as labels of classes."""
        if not all(isinstance(each, str | int | float | np.generic | type(None)) for each in array.flat):
            raise ModelFileError("An array of objects can be saved only if they are strings and numbers.")
        return {"objects": [self.encode(each, depth + 1) for each in array.flat], "shape": list(array.shape)}

    def _place_of(self, array: np.ndarray) -> int:
        if not self._may_have_arrays:
            raise ModelFileError("Metadata must be made of numbers, strings, lists and dicts: arrays are for models.")
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self._kept.append(array)
            self.arrays.append(stored_form(array))
        return self._places[id(array)]


class Decoder:
    """Turns JSON into values; ``array`` gives the arrays by number."""

    def __init__(self, array: Callable[[Any], np.ndarray]):
        self._array = array

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value for JSON."""
        if depth > 2 * MAX_DEPTH:
            raise ModelFileError("The model file is malformed: it is nested too deeply.")
        if type(node) in _PLAIN or type(node) is float:
            return node
        if type(node) is list:
            return [self.decode(each, depth + 1) for each in node]
        tag = next(iter(node), None)
        reader = self._READERS.get(tag)
        if reader is None:
            raise ModelFileError(f"The model file is malformed: unknown kind of value {str(tag)[:40]!r}.")
        with file_errors(f"a value of kind {tag!r} is not as it should be"):
            return reader(self, node, depth + 1)

    def _dict_of(self, node: Any, depth: int) -> dict[str, Any]:
        if type(node) is not dict:
            raise ModelFileError("The model file is malformed: there is no dict where one should be.")
        return {key: self.decode(each, depth) for key, each in node.items()}

    def _scalar(self, node: dict, depth: int) -> Any:
        dtype = checked_dtype(node["scalar"])
        return np.frombuffer(bytes.fromhex(node["bytes"]), dtype, 1).astype(dtype.newbyteorder("="))[0]

    def _csr(self, node: dict, depth: int) -> Any:
        parts = self.decode(node["parts"], depth)
        rows, columns = parts["shape"]
        matrix = _CSR[node["csr"]]((parts["data"], parts["at"], parts["rows"]), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _part(self, node: dict, depth: int) -> Any:
        cls: Any = part_named(node["part"])
        _refuse_more(node, {"part", "fields"})
        fields = todays_fields(cls, self._dict_of(node["fields"], depth))
        if set(fields) != set(cls._fields):
            raise ModelFileError(
                f"The model file is malformed: the fields of {node['part']} are not the expected ones."
            )
        return cls(**fields)

    def _object(self, node: dict, depth: int) -> Any:
        adapter = class_named(node["object"])
        _refuse_more(node, {"object", "complete", "state"})
        if issubclass(adapter.cls, tuple):
            raise ModelFileError(f"The model file is malformed: {adapter.name} is not an object with attributes.")
        return restored(adapter, self._dict_of(node["state"], depth), node["complete"] is True)

    def _objects(self, node: dict, depth: int) -> np.ndarray:
        values, shape = self.decode(node["objects"], depth), node["shape"]
        flat = np.empty(len(values), object)
        flat[:] = values
        return flat.reshape([int(n) for n in shape])

    _READERS: dict[Any, Callable[["Decoder", dict, int], Any]] = {  # noqa: RUF012 - never changed
        "float": lambda self, node, depth: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["float"]],
        "tuple": lambda self, node, depth: tuple(self.decode(each, depth) for each in node["tuple"]),
        "dict": lambda self, node, depth: self._dict_of(node["dict"], depth),
        "pairs": lambda self, node, depth: {
            self.decode(key, depth): self.decode(each, depth) for key, each in node["pairs"]
        },
        "scalar": _scalar,
        "dtype": lambda self, node, depth: checked_dtype(node["dtype"]),
        "type": lambda self, node, depth: checked_dtype(node["type"]).type,
        "array": lambda self, node, depth: self._array(node["array"]),
        "objects": _objects,
        "random": lambda self, node, depth: generator_from(self.decode(node["random"], depth)),
        "csr": _csr,
        "cache": lambda self, node, depth: cache_from(self.decode(node["cache"], depth)),
        "part": _part,
        "object": _object,
    }
