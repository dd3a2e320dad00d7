"""Which C files make a part of a learner, with what constants, tables and fields.

A part of ``core`` or ``budgeted`` is a NamedTuple; here is what becomes of its type. A part that is not here cannot
learn in C.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.budgeted.maintenance import Merge, Remove
from frugalsvm.budgeted.perceptrons import Forget, RemoveRandom, RemoveWeakest, Stop
from frugalsvm.budgeted.projection import Project
from frugalsvm.budgeted.projectron import Projectron
from frugalsvm.core.dense_sources import FEW_FEATURES
from frugalsvm.core.experts import Experts
from frugalsvm.core.fastmath import FARTHEST, LOG2E
from frugalsvm.core.kernels import RBF, Laplacian, Linear
from frugalsvm.core.losses import BinaryHinge, MulticlassHinge
from frugalsvm.core.matern import ROUNDING, Matern12, Matern32, Matern52
from frugalsvm.core.one_class import OneClass
from frugalsvm.core.residuals import Residual, Residuals
from frugalsvm.core.schedules import Forgetting, Implicit, Norma, Pegasos, Perceptron

_NONE: Mapping[str, Any] = MappingProxyType({})
_STEEPNESS = {Matern12: 1.0, Matern32: 3.0, Matern52: 5.0}
_BEFORE_EXP = {
    Matern12: "({one})",
    Matern32: "({one} + (s))",
    Matern52: "({one} + (s) + (s) * (s) / ({one} + {one} + {one}))",
}


class Piece(NamedTuple):
    """What a part adds to a learner."""

    files: tuple[str, ...]  # in their order
    constants: Mapping[str, Any] = _NONE  # numbers in double, or expressions as text
    reals: Mapping[str, float] = _NONE  # numbers in the type of the rows
    tables: Mapping[str, Any] = _NONE  # arrays of doubles
    fields: tuple[str, ...] = ()  # of the context
    state: tuple[str, str] | None = None  # a file and a function of it, for what it keeps in a state


def supported(table: str) -> tuple[type, ...]:
    """The types of parts that can learn in C."""
    tables: dict[str, dict[type, Any]] = {
        "kernel": _KERNELS, "loss": _LOSSES, "schedule": _SCHEDULES, "policy": _POLICIES,
    }  # fmt: skip
    return tuple(tables[table])


# --- numbers --------------------------------------------------------------------------------------------------


def number_piece(dtype: np.dtype, kernel: Any, policy: Any) -> Piece:
    """Exponentials, and coefficients as scores take them."""
    real, decays = "double" if dtype == np.float64 else "float", not isinstance(kernel, Linear)
    files = []
    if isinstance(policy, Merge) or (decays and real == "double"):
        files.append("numbers/exp2_of_double.c")
    if isinstance(policy, Merge):
        files.append("numbers/below_one.c")
    if decays:
        files.append(f"numbers/decay_of_{real}.c")
    files.append(f"numbers/weights_of_{real}.c")
    fields = ("float weights[NAME_N_OUTPUTS][NAME_SLOTS]; /* coef, rounded */",) if real == "float" else ()
    return Piece(tuple(files), {"REAL_MAX": "DBL_MAX" if real == "double" else "FLT_MAX"}, fields=fields)


# --- kernels --------------------------------------------------------------------------------------------------


class _Kernel(NamedTuple):
    """The C file of a kernel and its constants: numbers of the rows' type, and what the exact one takes in double."""

    name: str
    reals: Mapping[str, float] = _NONE
    exact: Mapping[str, Any] = _NONE
    words: Mapping[str, str] = _NONE


def kernel_piece(kernel: Any, n_features: int, dtype: np.dtype, *, exact: bool) -> Piece:
    """The kernel of rows, and, if policies solve for coefficients, the one with every sum in double."""
    own = _KERNELS[type(kernel)](kernel, dtype)
    pairs = "distances" if isinstance(kernel, Laplacian) else "products"
    example = f"of_few_{pairs}" if 1 < n_features <= FEW_FEATURES else "in_order"
    files = [f"pairs/{pairs}.c", f"pairs/example_{example}.c", f"kernels/{own.name}.c"]
    constants: dict[str, Any] = dict(own.words)
    if exact:
        files += ["pairs/exact_squared.c"] if own.name in ("rbf", "matern") else []
        files.append(f"kernels/{own.name}_exact.c")
        constants |= {"EXACT_LOWEST": -FARTHEST / LOG2E, **own.exact}
    return Piece(tuple(files), constants, own.reals)


def _rbf(kernel, dtype):
    reals = {"KERNEL_GAMMA": kernel.gamma * LOG2E, "KERNEL_TWICE_GAMMA": 2.0 * kernel.gamma * LOG2E}
    return _Kernel("rbf", reals, {"EXACT_GAMMA": kernel.gamma})


def _matern(kernel, dtype):
    square, before = _STEEPNESS[type(kernel)] * kernel.gamma, _BEFORE_EXP[type(kernel)]
    suffix = "" if dtype == np.float64 else "f"
    reals = {"KERNEL_SQUARE": square, "KERNEL_ROUNDING": ROUNDING[dtype.name], "KERNEL_MINUS_LOG2E": -LOG2E}
    exact = {"EXACT_SQUARE": square, "EXACT_BEFORE_EXP(s)": before.format(one="1.0")}
    words = {"KERNEL_SQRT": f"sqrt{suffix}", "KERNEL_BEFORE_EXP(s)": before.format(one=f"1.0{suffix}")}
    return _Kernel("matern", reals, exact, words)


_KERNELS: dict[type, Any] = {
    RBF: _rbf, Matern12: _matern, Matern32: _matern, Matern52: _matern, Linear: lambda k, dtype: _Kernel("linear"),
    Laplacian: lambda k, _: _Kernel("laplacian", {"KERNEL_MINUS_GAMMA": -k.gamma * LOG2E}, {"EXACT_GAMMA": k.gamma}),
}  # fmt: skip


# --- losses ---------------------------------------------------------------------------------------------------


def loss_piece(loss: Any) -> Piece:
    """What is learned of a row."""
    return _LOSSES[type(loss)](loss)


def _residuals(loss):
    limits = ("epsilon", "gain", "low", "high")
    return Piece(
        ("losses/residuals.c",),
        tables={f"loss_{name}": np.atleast_1d(getattr(loss, name)) for name in limits},
        fields=("double targets[NAME_N_OUTPUTS]; /* of the row at hand, in units of the model */",),
    )


_WINDOW_FIELDS = (
    "uint64_t n_scores, n_looks;",
    "double threshold, offset, due;",
    "double window[NAME_WINDOW]; /* the latest scores, in a ring */",
)
_LOSSES: dict[type, Any] = {
    BinaryHinge: lambda loss: Piece(("losses/binary_hinge.c",)),
    MulticlassHinge: lambda loss: Piece(("losses/multiclass_hinge.c",)),
    Residual: _residuals,
    Residuals: _residuals,
    Experts: lambda loss: Piece(
        ("losses/experts.c",),
        tables={"expert_strength": loss.strengths, "expert_clock": loss.clocks},
        fields=(
            "uint64_t n_votes, n_wrong; /* rows that the experts voted on; those that the vote was wrong about */",
            "double share[NAME_N_EXPERTS], usual[NAME_N_EXPERTS]; /* in the vote; usual size of a margin */",
            "double fade[NAME_N_EXPERTS]; /* what coefficients are still to be multiplied by */",
        ),
        state=("losses/experts_state.c", "pass_experts"),
    ),
    OneClass: lambda loss: Piece(
        ("losses/window.c", "losses/one_class.c"),
        fields=_WINDOW_FIELDS,
        state=("losses/window_state.c", "pass_window"),
    ),
}


# --- schedules ------------------------------------------------------------------------------------------------


def schedule_piece(schedule: Any, *, has_margins: bool) -> Piece:
    """How long steps are, and how the model shrinks; losses of margins also ask whether there is one."""
    name, size, values = _SCHEDULES[type(schedule)](schedule)
    folds = () if name == "pegasos" else ("fold.c", "schedules/keep_scale.c")
    sizes = (f"schedules/{size}_size.c",) if has_margins else ()
    return Piece((f"schedules/{name}.c", *folds, *sizes), {f"SCHEDULE_{key}": float(v) for key, v in values.items()})


_SCHEDULES: dict[type, Any] = {
    Pegasos: lambda s: ("pegasos", "subgradient", {"LAMBDA": s.lam}),
    Forgetting: lambda s: ("forgetting", "subgradient", {"LAMBDA": s.lam, "CLOCK": s.clock}),
    Norma: lambda s: ("norma", "subgradient", {"LAMBDA": s.lam, "ETA0": s.eta0}),
    Perceptron: lambda s: ("perceptron", "perceptron", {"ETA0": s.eta0, "MARGIN": s.margin}),
    Implicit: lambda s: ("implicit", "implicit", {"LAMBDA": s.lam, "ETA0": s.eta0}),
}


# --- around the learner -----------------------------------------------------------------------------------------


def conformal_piece(conformal: Any, kind: str) -> Piece:
    """The promise of a conformal estimator; it comes after the decision values."""
    rate, patience, extrapolates = conformal.promise
    names = ["reservoir", "extrapolate" if extrapolates else "no_end", "threshold"]
    names += [kind] if kind == "nothing" else ["open", kind]
    return Piece(
        tuple(f"conformal/{name}.c" for name in names),
        {"CONFORMAL_RATE": rate, "CONFORMAL_PATIENCE": patience},
        fields=(
            "uint64_t n_taken, n_judged, n_missed; /* scores, judged rows, and misses */",
            "double misses_due, threshold_of_scores;",
            "double ring[NAME_CONFORMAL_WINDOW], ranked[NAME_CONFORMAL_WINDOW]; /* the latest scores, and in order */",
        ),
        state=("conformal/state.c", "pass_conformal"),
    )


def following_piece(following: Any) -> Piece:
    """Statistics of features that follow the stream; they come before rows are scaled."""
    return Piece(
        ("rows/follow.c",),
        {"FOLLOW_CLIP": following.clip, "FOLLOW_CLOCK": following.clock, "FOLLOW_BLOCK": f"{following.block_rows}"},
        fields=(
            "uint64_t n_block_rows, row_blocks[NAME_N_FEATURES], row_constant[NAME_N_FEATURES];",
            "double row_center[NAME_N_FEATURES], row_scale[NAME_N_FEATURES], row_limit[NAME_N_FEATURES];",
            "double block_mean[NAME_N_FEATURES], block_squares[NAME_N_FEATURES]; /* of the rows of a block so far */",
        ),
        state=("rows/follow_state.c", "pass_following"),
    )


# --- policies -------------------------------------------------------------------------------------------------


def policy_piece(policy: Any, n_outputs: int) -> Piece:
    """What is done with one support vector too many."""
    return _POLICIES[type(policy)](policy, n_outputs)


def _merge(policy, n_outputs):
    outputs = "one_output" if n_outputs == 1 else "several_outputs"
    names = ("merge_point", f"merge_{outputs}", "merge_search", f"merge_partner_{outputs}", "merge")
    return Piece(("slot_kernel_row.c", "smallest.c", *(f"policies/{name}.c" for name in names)))


_SPAN_FIELDS = (
    "uint64_t n_covered, n_changes; /* slots in inverse; changes since it was computed afresh */",
    "double inverse[NAME_SLOTS][NAME_SLOTS]; /* of the kernel matrix of the slots */",
    "double column[NAME_SLOTS], solved[NAME_SLOTS];",
)
_SPAN_STATE = ("policies/span_state.c", "pass_policy")


def _project(policy, n_outputs):
    files = ("smallest.c", "policies/span.c", "policies/project.c")
    return Piece(files, fields=_SPAN_FIELDS, state=_SPAN_STATE)


def _projectron(policy, n_outputs):
    constants = {
        "PROJECTRON_THRESHOLD": float(policy.threshold),
        "PROJECTRON_TOLERANCE": float(policy.tolerance),
        "PROJECTRON_ON_MARGIN_ERRORS": str(int(policy.on_margin_errors)),
    }
    files = ("policies/span.c", "policies/projectron.c")
    return Piece(files, constants, fields=_SPAN_FIELDS, state=_SPAN_STATE)


def _with_number(name: str, field: str) -> Any:
    """A policy with a number in the state."""
    state = (f"policies/{name}_state.c", "pass_policy")
    return lambda policy, n_outputs: Piece((f"policies/{name}.c",), fields=(field,), state=state)


_POLICIES: dict[type, Any] = {
    Merge: _merge,
    Remove: lambda policy, n_outputs: Piece(("policies/remove.c",)),
    Project: _project,
    Projectron: _projectron,
    Stop: lambda policy, n_outputs: Piece(("policies/stop.c",)),
    RemoveRandom: _with_number("random", "uint64_t random_state;"),
    RemoveWeakest: lambda policy, n_outputs: Piece(("policies/weakest.c",)),
    Forget: _with_number("forgetron", "double spoiled;"),
}
