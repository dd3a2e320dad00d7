"""The header and the source file of a learner, put together from the C files of its parts."""

import re
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.core.seen_rows import largest_size
from frugalsvm.export._c_files import LABELS, c_file, filled, label_table, named, table
from frugalsvm.export.learning_c.parts import (
    Piece,
    conformal_piece,
    following_piece,
    kernel_piece,
    loss_piece,
    number_piece,
    policy_piece,
    schedule_piece,
)
from frugalsvm.export.learning_c.plan import Plan
from frugalsvm.export.learning_c.state import bytes_of, digest_of, state_bytes
from frugalsvm.pipelines.statistics import KNEE

_WORDS = {"class": "classifier", "number": "regressor", "nothing": "one-class machine"}
_LARGEST_COEFFICIENT = {"float32": 1e30, "float64": 1e250}
_BYTES_IN_A_LINE = 20
_DOUBLE = np.dtype(np.float64)


def learner_texts(plan: Plan, initial: Plan, name: str, dtype: np.dtype) -> tuple[str, str]:
    """The text of the header and of the source; the learner begins as ``initial``."""
    pieces = _pieces(plan, dtype)
    header, source = _header(plan, pieces, dtype), _source(plan, initial, pieces, dtype)
    words = f"/* Made by frugalsvm {__version__}: {_WORDS[plan.kind]} that learns, {_parts_in_words(plan)}. */\n"
    header = filled(named(header, name), labels=label_table(plan, name, is_defined=False))
    source = filled(named(source, name), labels=label_table(plan, name, is_defined=True))
    return words + header, words + source


def _parts_in_words(plan):
    parts = plan.learner.parts
    names = ", ".join(type(part).__name__ for part in (parts.kernel, parts.loss, parts.schedule, parts.policy))
    return f"{plan.n_features} features, budget {plan.budget}: {names}"


def _file(path: str) -> str:
    return c_file("learning_c", path)


class _Pieces(NamedTuple):
    """All parts, in the order in which they come in the file."""

    learner: list[Piece]
    rows: list[Piece]  # of what becomes of a row before the kernel sees it
    promise: list[Piece]

    @property
    def all(self) -> list[Piece]:
        return [*self.learner, *self.rows, *self.promise]


def _pieces(plan: Plan, dtype: np.dtype) -> _Pieces:
    parts = plan.learner.parts
    learner = [
        number_piece(dtype, parts.kernel, parts.policy),
        kernel_piece(parts.kernel, plan.n_features, dtype, exact=hasattr(parts.policy, "span")),
        Piece(("store.c",)),
        policy_piece(parts.policy, plan.n_outputs),
        Piece(("step_sizes.c",)),
        schedule_piece(parts.schedule, has_margins=plan.kind == "class" and plan.experts is None),
        loss_piece(parts.loss),
    ]
    rows = [] if plan.following is None else [following_piece(plan.following)]
    return _Pieces(learner, rows, [] if plan.conformal is None else [conformal_piece(plan.conformal, plan.kind)])


# --- the header -------------------------------------------------------------------------------------------------


def _header(plan, pieces, dtype):
    sizes = {
        "N_FEATURES": plan.n_features,
        "N_OUTPUTS": plan.n_outputs,
        "BUDGET": plan.budget,
        "SLOTS": "(NAME_BUDGET + 1)",
        "STATE_BYTES": state_bytes(plan, dtype),
    }
    if plan.classes is not None:
        sizes |= {"N_CLASSES": len(plan.classes), "N_SCORES": plan.n_scores, "NO_CLASS": "(-1)"}
    if plan.experts is not None:
        sizes["N_EXPERTS"] = len(plan.experts.clocks)
    if plan.targets is not None:
        sizes["N_TARGETS"] = plan.n_targets
    if plan.window is not None:
        sizes |= {"WINDOW": len(plan.window.scores), "NO_CLASS": "0"}
    if plan.conformal is not None:
        sizes["CONFORMAL_WINDOW"] = plan.conformal.window
    interface = filled(_file(f"targets/{plan.kind}.h"), predicted_in_words=_predicted(plan)[1])
    if plan.conformal is not None and plan.kind != "nothing":
        interface = f"{interface}\n\n{_file(f'conformal/{plan.kind}.h')}"
    if plan.classes is not None:
        interface = f"{LABELS}\n\n{interface}"
    fields = [field for piece in pieces.all for field in piece.fields]
    fields.sort(key=lambda field: field.startswith("float"))  # behind those of 8 bytes, which need no padding then
    return filled(
        _file("header.h"),
        sizes="\n".join(f"#define NAME_{key} {value}" for key, value in sizes.items()),
        real=_real(dtype),
        fields="\n".join(f"    {field}" for field in fields),
        interface=interface,
    ) + "\n"  # fmt: skip


def _real(dtype):
    return "float" if dtype == np.float32 else "double"


# --- the source -------------------------------------------------------------------------------------------------


def _source(plan, initial, pieces, dtype):
    texts = [_file("begin.c"), _constants(plan, pieces, dtype), *_tables(plan, pieces, dtype)]
    for piece in pieces.learner:
        texts += map(_file, piece.files)
    target = "target" if plan.kind == "nothing" else "const target"
    settle = "" if plan.experts is None else "    settle(self);"
    texts += [filled(_file("step.c"), target=target, settle=settle), *_row_texts(plan, pieces.rows)]
    texts += _target_texts(plan, pieces.promise)
    texts += _state_texts(plan, initial, pieces, dtype)
    return "\n\n".join(text for text in texts if text) + "\n"


def _constants(plan, pieces, dtype):
    """The numbers of all parts."""
    lines = []
    for piece in pieces.all:
        lines += [f"#define {key} {_in_c(value)}" for key, value in piece.constants.items()]
        lines += [f"#define {key} {_in_c(value, dtype)}" for key, value in piece.reals.items()]
    if plan.scaling is not None and plan.scaling.limit is not None and plan.scaling.is_soft:
        lines.append(f"#define ROW_KNEE {_in_c(KNEE)}")
    if plan.window is not None:
        lines += [f"#define WINDOW_NU {_in_c(plan.nu)}", f"#define WINDOW_RATE {_in_c(plan.rate)}"]
    lines += [
        f"#define ROW_LARGEST {_in_c(largest_size(plan.n_features, dtype), dtype)}",
        f"#define COEFFICIENT_LARGEST {_in_c(_LARGEST_COEFFICIENT[dtype.name])}",
        f"#define STATE_DIGEST UINT64_C({digest_of(plan, dtype)})",
        "#define LARGEST_COUNT (UINT64_C(1) << 62)",
    ]
    return "\n".join(lines)


def _in_c(value: Any, dtype: np.dtype = _DOUBLE) -> str:
    """A number as the shortest decimals that give it back, in parentheses if it is negative; text as it is."""
    if isinstance(value, str):
        return value
    digits = f"{dtype.type(value)!s}{'f' if dtype == np.float32 else ''}"
    return f"({digits})" if digits.startswith("-") else digits


def _tables(plan, pieces, dtype):
    """Constant arrays."""
    if plan.classes is not None:
        yield LABELS
    doubles = {key: value for piece in pieces.all for key, value in piece.tables.items()}
    if plan.class_weights is not None:
        doubles["class_weight"] = plan.class_weights
    if plan.targets is not None:
        doubles |= {"target_center": plan.targets.center, "target_spread": plan.targets.spread}
    doubles |= {} if plan.scaling is None or plan.following is not None else plan.scaling.tables
    if plan.origin is not None:
        doubles["row_origin"] = plan.origin
    for key, values in doubles.items():
        yield table("double", key, map(_in_c, values))
    if plan.filling is not None:
        yield table("real", "row_filling", (_in_c(value, dtype) for value in plan.filling))
    if plan.quantile_order is not None:
        yield table("int", "quantile_place", map(str, plan.quantile_order.tolist()))


def _row_texts(plan, pieces):
    """What becomes of a row before the kernel sees it."""
    filling = "" if plan.filling is None else "        value = value != value ? row_filling[f] : value; /* NaN */"
    for piece in pieces:
        for path in piece.files:
            yield filled(_file(path), filling=filling)
    seen = []
    if plan.scaling is not None:
        how = "scale" if plan.scaling.limit is None else "soft_clip" if plan.scaling.is_soft else "clip"
        text = _file(f"rows/{how}.c")
        if plan.following is not None:  # statistics are in the context, not in tables
            text = re.sub(r"\b(?=row_(?:center|scale|limit)\b)", "self->", text).replace("    (void)self;\n", "")
        yield text
        seen.append("        value = scaled(self, value, f);")
    if plan.origin is not None:
        yield _file("rows/relative.c")
        seen.append("        value = relative(value, f);")
    yield filled(_file("rows/take_row.c"), filling=filling, seen="\n".join(seen))


def _target_texts(plan, pieces):
    """Decision values, what is promised of them, and the functions that users call with rows."""
    if plan.quantile_order is not None:
        yield _file("targets/sort.c")
    if plan.kind == "number":
        yield filled(
            _file("targets/predictions.c"), sort="" if plan.quantile_order is None else "    sort_quantiles(scores);"
        )
    elif plan.experts is None:
        yield _file("targets/values.c")
    for piece in pieces:
        yield from map(_file, piece.files)
    if plan.kind == "nothing" and plan.conformal is None:
        yield _file("targets/offset.c")
    learn = "    learn_row(self, norm, &label, 1.0);"
    if plan.class_weights is not None:
        learn = "    if (class_weight[label] > 0.0)\n        learn_row(self, norm, &label, class_weight[label]);"
    judged = {"class": "self, label", "number": "self, targets[0]", "nothing": "self"}[plan.kind]
    yield filled(
        _file(f"targets/{plan.kind}.c"),
        learn=learn,
        judge="" if plan.conformal is None else f"    judge_row({judged});",
        follow="" if plan.following is None else "    follow_row(self, x);",
        predicted=_predicted(plan)[0],
    )


def _predicted(plan):
    """What a regressor predicts, of its outputs: in C, and in words."""
    if plan.conformal is not None and plan.n_outputs > 1:
        return "0.5 * (scores[0] + scores[NAME_N_OUTPUTS - 1])", "The middle between them"
    return "scores[0]", "The first of them"


def _state_texts(plan, initial, pieces, dtype):
    """States as bytes, the first of which is in the source."""
    kept = [piece.state for piece in pieces.all if piece.state is not None]
    yield _file("channel.c")
    yield _file(f"pass_{_real(dtype)}_as_real.c")
    for path, _ in kept:
        yield _file(path)
    data = bytes_of(initial, dtype)
    yield table("unsigned char", "initial_state", map(str, data), _BYTES_IN_A_LINE)
    yield filled(_file("state.c"), visits="\n".join(f"    {visit}(self, state);" for _, visit in kept))
