"""What is said of rows that were forgotten: certificates, digests of models, and reports with a signature."""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np

from frugalsvm._locks import shared
from frugalsvm._version import __version__


def utc_now() -> str:
    """The time, as certificates have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def certificate(ids: np.ndarray, **facts: Any) -> dict[str, Any]:
    """What is said of rows that a model has just forgotten."""
    return {"ids": np.sort(ids).tolist(), "time": utc_now(), **facts}


def digest_of_examples(model: Any) -> str:
    """SHA-256 of the examples of an `IncrementalSVC`, their coefficients and the bias."""
    examples = model._examples
    digest = hashlib.sha256(repr((model._kernel, float(model.C_))).encode())
    rows = model.support_rows()
    for array in (examples.ids, examples.labels, model.support_, rows, model.dual_coef_, model.intercept_):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def digest_of_cells(model: Any) -> str:
    """SHA-256 of cells, and of leave-one-out scores; where the model stores rows does not matter."""
    digest = hashlib.sha256(repr((model._kernel, float(model.C_), model.cell_size_)).encode())
    for cells in model._cells:
        tree = cells.tree
        for array in (tree.directions, tree.cuts, tree.children, tree.starts, cells.intercepts, cells.centers):
            digest.update(np.ascontiguousarray(array).data)
        for cell in range(tree.n_cells):
            members = tree.members_of(cell)
            digest.update(model._row_ids[members].data)
            digest.update(model._rows[members].data)
            digest.update(np.ascontiguousarray(cells.coef[:, slice(*tree.starts[cell : cell + 2])]).data)
    digest.update(np.ascontiguousarray(model.loo_scores_).data)
    return digest.hexdigest()


def kept_aggregates(model: Any) -> list[str]:
    """What was computed from all rows, or from a sample of them, at the first fit, and stays as it is."""
    named = {
        "gamma": isinstance(getattr(model, "gamma", None), str) and model.gamma_ is not None,
        "C": isinstance(getattr(model, "C", None), str),
        "metric": model.metric_ is not None,  # the scale of one that was given as well
        "origin": getattr(model, "tree", "rows") == "rows" and model.origin_ is not None and not model.origin_.is_zero,
        "class_weight": isinstance(getattr(model, "class_weight", None), str),
        "scale of the targets": hasattr(model, "_target_scale"),
        "classes": hasattr(model, "classes_"),
    }
    return [name for name, is_kept in named.items() if is_kept]


class ReportsForgetting:
    """Estimators that forget rows; they define ``_facts()``, what a report has besides: rows, and a digest.

    Attributes
    ----------
    forgotten_ : list of dict
        A certificate for each call of `unlearn`: see :ref:`forgetting`.
    """

    forgotten_: Any

    @shared
    def forget_report(self: Any, key=None):
        """A report on all that was forgotten since `fit`, for those who have asked for it.

        Parameters
        ----------
        key : bytes or str, default=None
            With a key, the report has a signature: the HMAC-SHA-256 of its content, which
            `frugalsvm.estimators.forget_reports.is_signed_by` checks.

        Returns
        -------
        dict
            What JSON can hold: ``forgotten`` has the certificates, whose residual is ``kkt_violation_`` afterwards for
            an `IncrementalSVC`. ``digest`` is that of the model as it is, and "aggregates that stay" are what was
            computed from all rows at the first fit. See :ref:`forgetting`.
        """
        report = {
            "model": type(self).__name__,
            "frugalsvm": __version__,
            "time": utc_now(),
            **self._facts(),
            "forgotten": list(self.forgotten_),
            "aggregates that stay": kept_aggregates(self),
        }
        return signed(report, key)


def signed(report: dict[str, Any], key: bytes | str | None) -> dict[str, Any]:
    """A report with the HMAC-SHA-256 of its content, for a key; as it is without one."""
    if key is None:
        return report
    return {**report, "signature": _mac(report, key)}


def is_signed_by(report: dict[str, Any], key: bytes | str) -> bool:
    """Whether a report is what was signed with a key.

    Parameters
    ----------
    report : dict
        From ``forget_report(key=...)``; it may have been written as JSON and read again.
    key : bytes or str

    Returns
    -------
    bool
    """
    content = {name: value for name, value in report.items() if name != "signature"}
    return hmac.compare_digest(str(report.get("signature", "")), _mac(content, key))


def _mac(content: dict[str, Any], key: bytes | str) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    secret = key.encode() if isinstance(key, str) else key
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
