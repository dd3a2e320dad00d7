"""The twelve problems of section 5.1 and the parameters of section 5.2, read from the protocol."""

from functools import cache
from typing import Any, NamedTuple

from experiments.protocol import profile_of, protocol_of

__all__ = ["Problem", "limits", "problems", "tuning"]


class Problem(NamedTuple):
    name: str  # in the tables of the paper
    data: str  # see `experiments.data.split`
    features: int
    rows: int | None = None  # training rows of the paper, where ours are more
    tuning_rows: int | None = None  # for the TVM, where 20,000 are too few to choose by
    C: float = 100.0
    gamma: float | None = None  # 1 / features, unless it is given: the paper's 1 / (2 delta) with delta = features / 2
    degree: int = 3
    learned: dict[str, int] = {}  # noqa: RUF012 - examples by kernel after which the paper stopped IDSVM

    def kernel_parameters(self, kernel: str) -> dict[str, Any]:
        """Those of the paper: width K / 2, or ``(x y + 1) ** degree``."""
        if kernel == "rbf":
            return {"kernel": kernel, "gamma": self.gamma or 1 / self.features}
        if kernel == "poly":
            return {"kernel": kernel, "gamma": 1.0, "coef0": 1.0, "degree": self.degree}
        return {"kernel": kernel}


@cache
def problems() -> dict[str, Problem]:
    """By name, in the order of the paper."""
    return {name: Problem(name, **values) for name, values in protocol_of("tvm")["problems"].items()}


@cache
def tuning() -> dict[str, Any]:
    """What cross-validation tries: grids, rows and rounds (see `experiments.tuning.choose`)."""
    return protocol_of("tvm")["tuning"]


def limits(profile: str, problem: str, kernel: str) -> dict[str, int]:
    """At most how many examples LIBSVM and IDSVM learn, which take hours for all of them."""
    all_limits = profile_of("tvm", "limits", profile)
    return all_limits[kernel] | all_limits.get(f"{problem} {kernel}", {})
