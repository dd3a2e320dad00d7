"""What the algorithms took and reached: `python -m benchmarks.algorithms`; docs/choosing.rst says on which machine."""

from typing import NamedTuple

__all__ = ["CASES", "MEASURED", "Case", "Figures"]


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
# By algorithm and case; what was not measured is not there.
MEASURED: dict[str, dict[str, Figures]] = {
    "auto": {
        "small": Figures(88.97, 0.9844, 423_096, 21.7),
        "large": Figures(182.4, 0.9914, 417_120, 17.8),
        "wide": Figures(87.88, 0.9606, 6_696_828, 121.3),
    },
    "bsgd": {
        "small": Figures(0.25, 0.9642, 75_947, 2.2),
        "large": Figures(0.53, 0.9778, 75_947, 2.2),
        "wide": Figures(4.19, 0.9318, 1_755_073, 33.6),
    },
    "lasvm": {
        "small": Figures(3.46, 0.9802, 404_446, 3.8),
        "large": Figures(7.81, 0.9892, 912_174, 14.8),
        "wide": Figures(69.65, 0.9542, 27_403_533, 269.1),
    },
    "lasvm-nc": {
        "small": Figures(2.69, 0.9764, 376_214, 3.1),
        "large": Figures(5.88, 0.986, 741_997, 11.0),
        "wide": Figures(62.97, 0.954, 27_063_455, 257.9),
    },
    "lasvm-i": {
        "small": Figures(1.17, 0.9788, 505_054, 6.9),
        "large": Figures(8.06, 0.9906, 1_169_854, 21.1),
        "wide": Figures(37.45, 0.9542, 22_982_749, 248.9),
    },
    "asset": {
        "small": Figures(2.27, 0.9602, 2_084_925, 2.4),
        "large": Figures(3.88, 0.9748, 2_084_925, 2.4),
        "wide": Figures(6.2, 0.8884, 3_816_582, 33.5),
    },
    "asset --device cpu": {
        "small": Figures(7.08, 0.9742, 2_069_239, 2.5),
        "large": Figures(8.23, 0.9836, 2_069_238, 2.4),
        "wide": Figures(34.63, 0.9346, 3_684_431, 33.9),
    },
    "tvm": {
        "small": Figures(10.39, 0.9708, 4_342_174, 4.7),
        "large": Figures(15.18, 0.9764, 4_342_174, 4.8),
    },
    "tracking": {
        "small": Figures(6.39, 0.9742, 1_632_410, 6.0),
    },
    "perceptron": {
        "small": Figures(1.09, 0.9596, 2_183_555, 2.1),
        "large": Figures(2.58, 0.9792, 2_183_555, 2.2),
        "wide": Figures(8.61, 0.9126, 3_862_852, 31.8),
    },
    "bpa": {
        "small": Figures(0.42, 0.9514, 94_934, 2.2),
        "large": Figures(0.81, 0.9738, 94_934, 2.2),
        "wide": Figures(47.27, 0.9246, 16_520_155, 260.0),
    },
}
