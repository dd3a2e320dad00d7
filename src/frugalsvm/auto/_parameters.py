"""The parameters of `AutoSVC` and `AutoSVR`."""

from collections.abc import Sequence
from typing import Any

from frugalsvm.estimators.constraints import AUTO, count, one_of, or_auto, parsed_seconds, size, threads
from frugalsvm.estimators.parameters import parameter, parameters


@parameters
class AutoParameters:
    """What both have parameters for.

    Parameters
    ----------
    time_budget : float or str
        Limit for `fit`, in seconds or as "90s", "5min" or "1h". A candidate that would not leave enough time for the
        fit on all rows is left out; `report` tells. None searches until nothing better is in sight; the fit on all rows
        takes a time that is proportional to their number.
    memory : str
        Limit for kernel values in training, such as "2GB", and with it for the size of cells. "auto" is 4 GB; on a GPU,
        most of what is free there.
    kernel : "auto", str or list of str
        Kernels to compare: functions of differences, see :ref:`kernels`. "auto" is rbf, laplacian, matern12 and
        matern32.
    metric : "auto" or None
        Whether to learn a metric as well: factors of the features, or directions across them. It is taken if it is
        better on rows that it was not learned from. See :ref:`metric`.
    n_components : "auto" or int
        A number asks for a low-rank machine with that many landmarks: a small model. "auto" takes machines in cells, or
        a low-rank machine where that has fewer errors on rows left out, and for sparse rows.
    missing : {"impute", "refuse"}
        What to do about missing numbers (NaN) of dense rows: fill them with the median, with a further column that
        tells where values were missing; or refuse them. Missing text is a category of its own kind: all zeros.
    device : {"cpu", "cuda", "auto"}
        Where it is computed, as in `ASSETClassifier` and `ASSETRegressor`.
    n_jobs : int
        Threads; None is all cores, 1 one thread.
    verbose : int
        Whether to print a line for each candidate.
    random_state : int, RandomState instance or None
        For samples, trees and landmarks. With a number, the same rows give the same model, unless a ``time_budget``
        cuts in.
    """

    time_budget: Any = parameter(default=None, check=parsed_seconds)
    memory: str = parameter(default="auto", check=or_auto(size))
    kernel: str | Sequence[str] = "auto"
    metric: str | None = parameter(default="auto", check=one_of((AUTO, None)))
    n_components: int | str = parameter(default="auto", check=or_auto(count()))
    missing: Any = parameter(default="impute", check=one_of(("impute", "refuse")))
    device: Any = "cpu"
    n_jobs: Any = parameter(default=None, check=threads)
    verbose: Any = 0
    random_state: Any = None
