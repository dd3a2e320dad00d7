"""Whether a model still knows rows that it has forgotten: a membership test, and a comparison with training again.

A row that was learned is predicted better by its model than others are. If forgotten rows are not predicted better than
rows that the model has never seen, nobody can tell from predictions that they were there.
"""

from html import escape
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.explain.page import page

_Z = 1.959963984540054  # of 95 %
_MOST_LEARNED = 10_000  # rows that the model still has, which are scored for comparison


class AreaUnderCurve(NamedTuple):
    """How well losses tell two groups of rows apart: 0.5 is not at all."""

    value: float
    low: float  # ends of the interval of 95 %
    high: float

    @property
    def is_chance(self) -> bool:
        """Whether 0.5 is in the interval."""
        return self.low <= 0.5 <= self.high


class ForgetAudit(NamedTuple):
    """What an audit has found."""

    forgotten: AreaUnderCurve  # forgotten rows among those never seen
    learned: AreaUnderCurve | None  # rows that the model still has among those never seen: what it would look like
    n_forgotten: int
    n_never: int
    n_learned: int
    mean_losses: dict[str, float]
    difference: float | None  # to a training again, relative to the largest coefficient

    @property
    def has_passed(self) -> bool:
        """Whether forgotten rows look like rows that were never seen, or less familiar."""
        return self.forgotten.low <= 0.5

    def as_dict(self) -> dict[str, Any]:
        """What JSON can hold."""
        found = self._asdict()
        for name in ("forgotten", "learned"):
            found[name] = None if found[name] is None else found[name]._asdict()
        return {**found, "has passed": self.has_passed}

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, for people."""
        facts = [
            ("forgotten rows", f"{self.n_forgotten:,}"),
            ("rows never seen", f"{self.n_never:,}"),
            ("AUC, forgotten among never seen", _text(self.forgotten)),
        ]
        if self.learned is not None:
            facts.append(("AUC, learned among never seen", _text(self.learned)))
        facts += [(f"mean loss, {name}", f"{value:.4g}") for name, value in self.mean_losses.items()]
        if self.difference is not None:
            facts.append(("difference to training again", f"{self.difference:.1e}"))
        return facts

    def verdict(self) -> str:
        """One sentence."""
        if self.has_passed:
            return "Forgotten rows cannot be told from rows that the model has never seen."
        return "Forgotten rows are predicted better than rows never seen: the model may still know them."

    def to_html(self, title: str) -> str:
        """A page that loads nothing from elsewhere."""
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in self.facts())
        about = (
            "The membership test asks whether losses tell forgotten rows from rows that the model has never seen. An "
            "AUC of 0.5 is guessing; of learned rows it shows what a model that knows them looks like."
        )
        return page(title, [f"<p><b>{escape(self.verdict())}</b></p>", f"<dl>{facts}</dl>", f"<p>{about}</p>"])


def _text(area: AreaUnderCurve) -> str:
    return f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})"


def area_under_curve(members: np.ndarray, others: np.ndarray) -> AreaUnderCurve:
    """The share of pairs in which the member has the smaller loss, with its interval of 95 %.

    Equal losses count half. The standard error is that of DeLong, DeLong and Clarke-Pearson (1988).
    """
    if not len(members) or not len(others):
        raise ValueError("An audit needs rows of both kinds: forgotten ones, and ones that were never seen.")
    above = _shares_above(members, others)  # for each member
    below = 1.0 - _shares_above(others, members)  # for each other row: members with a smaller loss
    value = float(above.mean())
    variance = sum(float(each.var(ddof=1)) / len(each) for each in (above, below) if len(each) > 1)
    # Of few rows that are all on one side, the variance says nothing: one row would move the value by this.
    error = max(_Z * variance**0.5, 0.5 / min(len(members), len(others)))
    return AreaUnderCurve(value, max(0.0, value - error), min(1.0, value + error))


def _shares_above(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each value, the share of others that are larger, equal ones counted half."""
    ordered = np.sort(others)
    not_above = np.searchsorted(ordered, values, side="right") + np.searchsorted(ordered, values, side="left")
    return 1.0 - 0.5 * not_above / len(ordered)


def losses_of(model: Any, X: Any, y: Any) -> np.ndarray:
    """The squared error of a model for each row: of decision values, whose targets are -1 and 1, or of predictions."""
    if not hasattr(model, "classes_"):
        predicted = np.asarray(model.predict(X))
        return np.square(predicted.reshape(len(predicted), -1) - np.reshape(y, (len(predicted), -1))).mean(axis=1)
    scores = np.asarray(model.decision_function(X))
    scores = scores[:, None] if scores.ndim == 1 else scores
    is_class = np.asarray(y).astype(str)[:, None] == model.classes_.astype(str)
    targets = np.where(is_class, 1.0, -1.0)
    return np.square(scores - (targets[:, 1:] if scores.shape[1] == 1 else targets)).mean(axis=1)


def audit_forgetting(model: Any, forgotten: tuple[Any, Any], never: tuple[Any, Any]) -> ForgetAudit:
    """Test whether a model still knows rows that it has forgotten.

    Parameters
    ----------
    model : estimator or StreamPipeline
        A `LocalSVC`, `LocalSVR` or `IncrementalSVC`, or one in a pipeline; others are tested by their predictions only.
    forgotten : pair (X, y)
        Rows that it has forgotten.
    never : pair (X, y)
        Rows from the same source that it has never seen, a hundred at least for a narrow interval.

    Returns
    -------
    ForgetAudit
    """
    inner = getattr(model, "estimator_", model)
    losses = {"forgotten": losses_of(model, *forgotten), "never seen": losses_of(model, *never)}
    learned = None
    if hasattr(inner, "learned_examples"):
        losses["learned"] = losses_of(inner, *inner.learned_examples(_MOST_LEARNED))
        learned = area_under_curve(losses["learned"], losses["never seen"])
    return ForgetAudit(
        area_under_curve(losses["forgotten"], losses["never seen"]),
        learned,
        len(losses["forgotten"]),
        len(losses["never seen"]),
        len(losses.get("learned", ())),
        {name: float(each.mean()) for name, each in losses.items()},
        inner.difference_to_training() if hasattr(inner, "difference_to_training") else None,
    )
