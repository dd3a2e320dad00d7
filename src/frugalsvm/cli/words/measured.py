"""What the algorithms took and reached: `python -m benchmarks.algorithms`; docs/choosing.rst says on which machine."""

from typing import NamedTuple


class Case(NamedTuple):
    rows: int
    features: int
    classes: int

    @property
    def words(self) -> str:
        return f"{self.rows:,} rows, {self.features} features, {self.classes} classes"


class Figures(NamedTuple):
    seconds: float  # of training
    accuracy: float  # on other rows
    bytes: int  # of the model file
    microseconds: float  # of a prediction


CASES = {"small": Case(10_000, 22, 2), "large": Case(100_000, 22, 2), "wide": Case(10_000, 784, 10)}
# fmt: off
# By algorithm: of the cases in this order, as far as they were measured
_FIGURES = {
    "auto": [(88.97, 0.9844, 423_096, 21.7), (182.4, 0.9914, 417_120, 17.8), (87.88, 0.9606, 6_696_828, 121.3)],
    "bsgd": [(0.25, 0.9642, 75_947, 2.2), (0.53, 0.9778, 75_947, 2.2), (4.19, 0.9318, 1_755_073, 33.6)],
    "lasvm": [(3.46, 0.9802, 404_446, 3.8), (7.81, 0.9892, 912_174, 14.8), (69.65, 0.9542, 27_403_533, 269.1)],
    "lasvm-nc": [(2.69, 0.9764, 376_214, 3.1), (5.88, 0.986, 741_997, 11.0), (62.97, 0.954, 27_063_455, 257.9)],
    "lasvm-i": [(1.17, 0.9788, 505_054, 6.9), (8.06, 0.9906, 1_169_854, 21.1), (37.45, 0.9542, 22_982_749, 248.9)],
    "asset": [(2.27, 0.9602, 2_084_925, 2.4), (3.88, 0.9748, 2_084_925, 2.4), (6.2, 0.8884, 3_816_582, 33.5)],
    "asset --device cpu": [
        (7.08, 0.9742, 2_069_239, 2.5), (8.23, 0.9836, 2_069_238, 2.4), (34.63, 0.9346, 3_684_431, 33.9),
    ],
    "tvm": [(10.39, 0.9708, 4_342_174, 4.7), (15.18, 0.9764, 4_342_174, 4.8)],
    "tracking": [(6.39, 0.9742, 1_632_410, 6.0)],
    "perceptron": [(1.09, 0.9596, 2_183_555, 2.1), (2.58, 0.9792, 2_183_555, 2.2), (8.61, 0.9126, 3_862_852, 31.8)],
    "bpa": [(0.42, 0.9514, 94_934, 2.2), (0.81, 0.9738, 94_934, 2.2), (47.27, 0.9246, 16_520_155, 260.0)],
}
# fmt: on
MEASURED = {
    name: {case: Figures(*each) for case, each in zip(CASES, found, strict=False)} for name, found in _FIGURES.items()
}
