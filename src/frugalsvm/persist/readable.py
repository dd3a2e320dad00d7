"""Values of a model file as plain ones, for people and for JSON, without loading arrays."""

import math
from typing import Any

from frugalsvm.persist.codec import Decoder
from frugalsvm.persist.errors import ModelFileError

__all__ = ["readable"]


def _no_array(number: Any) -> Any:
    raise ModelFileError("The model file is malformed: a number refers to an array.")


def readable(node: Any, arrays: list[dict[str, Any]]) -> Any:
    """A value in short: arrays are told by type and shape, objects by name."""
    if type(node) is list:
        return [readable(each, arrays) for each in node]
    if type(node) is not dict:
        return node
    tag = next(iter(node), None)
    if tag == "float":
        return float(node["float"]) if node["float"] in ("inf", "-inf", "nan") else math.nan
    if tag == "tuple":
        return [readable(each, arrays) for each in node["tuple"]]
    if tag == "dict":
        return {key: readable(each, arrays) for key, each in node["dict"].items()}
    if tag == "pairs":
        return {str(readable(key, arrays)): readable(each, arrays) for key, each in node["pairs"]}
    if tag == "scalar":
        return Decoder(_no_array).decode(node).item()
    if tag == "array":
        described = arrays[node["array"]]
        return f"<array of {described['dtype']}, shape {tuple(described['shape'])}>"
    if tag == "object":
        return {"class": node["object"], **{k: readable(v, arrays) for k, v in node["state"].items() if k[:1] != "_"}}
    if tag == "part":
        return {"part": node["part"], **{k: readable(v, arrays) for k, v in node["fields"].items()}}
    return f"<{tag}>"
