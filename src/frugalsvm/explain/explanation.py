"""What an explanation holds, and the forms that it takes: tables, text, HTML, shap's."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.explain.page import explanation_page
from frugalsvm.explain.text import bars_text, number_text, origin_text, row_title, waterfall_text
from frugalsvm.streams.dates import part_text


class Explanation:
    """Shares of columns in the values of a model, for some rows.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        The shares.
    base_values : float or array-like of shape (n_outputs,)
        Values when no column is there.
    data : array-like of shape (n_rows, n_columns)
        What the columns hold.
    feature_names : sequence of str
        Names of the columns.
    output_names : sequence of str, default=("value",)
        What large values speak for.
    standard_errors : array-like of the shape of values, default=None
        Of shares that were sampled; None for exact ones.
    background : str, default=None
        What the background rows are, that columns take their values from when they are not there; None without.
    dates : mapping of str to str, default=None
        Names of columns that were made of dates, and what they hold: "day" (since 1970), "month", "weekday" or "hour".
        They are shown as dates.

    Attributes
    ----------
    values, data : ndarray
    standard_errors : ndarray or None
    background : str or None
    dates : dict of str to str
    base_values : ndarray of shape (n_outputs,)
    feature_names, output_names : list of str

    Examples
    --------
    >>> from frugalsvm.explain import Explanation
    >>> found = Explanation([[0.5, -0.2]], 0.1, [[3.0, 7.0]], ["age", "income"], ["yes"])
    >>> float(found.predictions[0])
    0.4
    >>> print(found.text())
    Row 1: score 0.4 for yes
      base value     0.1
      age = 3       +0.5  ++++++++++++++++++++
      income = 7    -0.2  --------
    """

    def __init__(
        self,
        values: ArrayLike,
        base_values: ArrayLike,
        data: ArrayLike,
        feature_names: Sequence[str],
        output_names: Sequence[str] = ("value",),
        *,
        standard_errors: ArrayLike | None = None,
        background: str | None = None,
        dates: Mapping[str, str] | None = None,
    ):
        self.values = np.asarray(values, np.float64)
        self.base_values = np.atleast_1d(np.asarray(base_values, np.float64))
        self.data = np.asarray(data)
        self.feature_names, self.output_names = list(map(str, feature_names)), list(map(str, output_names))
        self.standard_errors = None if standard_errors is None else np.asarray(standard_errors, np.float64)
        self.background, self.dates = background, dict(dates or {})
        n_outputs = self.values.shape[2] if self.values.ndim == 3 else 1
        if self.values.ndim not in (2, 3) or self.values.shape[:2] != self.data.shape[:2]:
            raise ValueError(f"values has the shape {self.values.shape}, but data {self.data.shape}.")
        if self.values.shape[1] != len(self.feature_names):
            raise ValueError(
                f"values has {self.values.shape[1]} columns, but there are {len(self.feature_names)} names."
            )
        if not len(self.base_values) == len(self.output_names) == n_outputs:
            raise ValueError(
                f"values are for {n_outputs} outputs, base_values for {len(self.base_values)} and output_names for "
                f"{len(self.output_names)}."
            )
        if self.standard_errors is not None and self.standard_errors.shape != self.values.shape:
            raise ValueError(
                f"values has the shape {self.values.shape}, but standard_errors {self.standard_errors.shape}."
            )

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """The shares, for ``np.asarray``."""
        found = self.values if dtype is None else self.values.astype(dtype, copy=False)
        if copy is False and found is not self.values:
            raise ValueError(f"The shares are float64: as {np.dtype(dtype)} they have to be copied.")
        return found.copy() if copy else found

    def __repr__(self) -> str:
        n_rows, n_columns = self.values.shape[:2]
        return f"Explanation({n_rows} rows, {n_columns} columns, outputs {', '.join(self.output_names)})"

    def __getitem__(self, rows: Any) -> "Explanation":
        """Some of the rows: by a slice, a mask or a list of numbers, or one by its number."""
        rows = [rows] if isinstance(rows, int | np.integer) else rows
        return self._part(rows, self.base_values, self.data[rows], self.output_names)

    def _part(self, index: Any, base_values: ArrayLike, data: NDArray, output_names: list[str]) -> "Explanation":
        """The same for some of the rows, or one of the outputs."""
        errors = None if self.standard_errors is None else self.standard_errors[index]
        known: dict[str, Any] = {"standard_errors": errors, "background": self.background, "dates": self.dates}
        return Explanation(self.values[index], base_values, data, self.feature_names, output_names, **known)

    @property
    def predictions(self) -> NDArray:
        """Values of the model: ``base_values`` and all shares of a row, shape (n_rows,) or (n_rows, n_outputs)."""
        base = self.base_values if self.values.ndim == 3 else self.base_values[0]
        return base + self.values.sum(axis=1)

    @property
    def importances(self) -> NDArray:
        """Mean absolute shares over the rows, shape (n_columns,) or (n_columns, n_outputs)."""
        return np.abs(self.values).mean(axis=0)

    @property
    def total_importances(self) -> NDArray:
        """The same, shape (n_columns,): with several outputs, their sums."""
        return self.importances if self.values.ndim == 2 else self.importances.sum(axis=1)

    def of_output(self, output: str | int | None = None) -> "Explanation":
        """The explanation of one of several outputs, by its name or index; None where there is only one."""
        if self.values.ndim == 2:
            if output in (None, 0, self.output_names[0]):
                return self
        elif output is None:
            raise ValueError(f"There are several outputs: choose one of {', '.join(map(repr, self.output_names))}.")
        place = self._place_of(output)
        return self._part(np.s_[:, :, place], self.base_values[place], self.data, [self.output_names[place]])

    def _place_of(self, output: Any) -> int:
        if str(output) in self.output_names:
            return self.output_names.index(str(output))
        if isinstance(output, int | np.integer) and 0 <= output < len(self.output_names):
            return int(output)
        raise ValueError(f"There is no output {output!r}: the outputs are {', '.join(map(repr, self.output_names))}.")

    def leading_output(self, row: int) -> int:
        """The output with the largest value for a row: the predicted class, where values are those of classes."""
        return 0 if self.values.ndim == 2 else int(self.predictions[row].argmax())

    @property
    def origin(self) -> str:
        """Where the numbers come from, in one or two sentences: background rows, and standard errors of shares."""
        if self.standard_errors is None:
            return origin_text(self.background)
        # The largest standard error of a row, relative to its largest share: that of a typical row
        errors, sizes = (
            np.abs(each).reshape(len(self), -1).max(axis=1) for each in (self.standard_errors, self.values)
        )
        is_moved = sizes > 0
        return origin_text(
            self.background, float(np.median(errors[is_moved] / sizes[is_moved])) if is_moved.any() else 0.0
        )

    # --- forms ---------------------------------------------------------------------------------------------------

    def labels(self, row: int) -> list[str]:
        """Names of the columns with what a row has in them."""
        return [f"{name} = {self._shown(name, x)}" for name, x in zip(self.feature_names, self.data[row], strict=True)]

    def _shown(self, name: str, value: Any) -> str:
        if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
            return "missing"
        return part_text(self.dates[name], float(value)) if name in self.dates else number_text(value)

    def text(self, row: int = 0, *, output: str | int | None = None, n_features: int = 10) -> str:
        """The shares of one row for terminals, the largest first.

        Parameters
        ----------
        row : int, default=0
        output : str or int, default=None
            None is the output with the largest value.
        n_features : int, default=10
            How many columns are shown at most; the last line is for all others.

        Returns
        -------
        str
        """
        chosen = self.of_output(self.leading_output(row) if output is None else output)
        title = row_title(row, chosen.output_names[0], chosen.predictions[row])
        errors = None if chosen.standard_errors is None else chosen.standard_errors[row]
        base = float(chosen.base_values[0])
        return waterfall_text(title, base, chosen.values[row], self.labels(row), n_features, errors)

    def importances_text(self, *, n_features: int = 20) -> str:
        """Mean absolute shares for terminals, the largest first; with several outputs, their sums."""
        rows = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return bars_text(f"Mean absolute shares of {rows}", self.total_importances, self.feature_names, n_features)

    def to_html(self, *, title: str = "Explanation", n_rows: int = 20, n_features: int = 12) -> str:
        """A page with the importances and the shares of the first rows, which needs nothing else to be shown.

        Parameters
        ----------
        title : str, default="Explanation"
        n_rows : int, default=20
            Maximum number of rows to show one by one.
        n_features : int, default=12
            Maximum number of columns to show.

        Returns
        -------
        str
        """
        return explanation_page(self, title, n_rows, n_features)

    def as_dict(self) -> dict[str, Any]:
        """Lists and numbers, for JSON."""
        return {
            "columns": self.feature_names,
            "outputs": self.output_names,
            "base values": self.base_values.tolist(),
            "predictions": self.predictions.tolist(),
            "values": self.values.tolist(),
            "standard errors": None if self.standard_errors is None else self.standard_errors.tolist(),
            "background": self.background,
            "data": self.data.tolist(),
        }

    def as_shap(self) -> Any:
        """The same as an ``Explanation`` of the library shap, for its plots; shap must be installed."""
        try:
            import shap
        except ImportError as error:
            raise ImportError("as_shap needs the library shap: pip install shap.") from error
        base = np.tile(self.base_values, (len(self), 1))
        return shap.Explanation(
            values=self.values,
            base_values=base if self.values.ndim == 3 else base[:, 0],
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names if self.values.ndim == 3 else None,
        )
