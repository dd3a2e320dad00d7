"""Searches on streams in model files: the candidates that are left, and how they stand."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from frugalsvm.persist.savable import Saved, check_parameters
from frugalsvm.persist.values import NAMES_IN, dict_of, integer, is_estimator, list_of, part
from frugalsvm.stream_search.standing import leader, reduced


def _is_sound(tuner: Any) -> bool:
    standing, first = tuner._race, tuner._racers[0]
    if len(standing.racing) != len(tuner._racers) or len(standing.accuracy) != len(tuner._params):
        return False
    return all(
        is_classifier(each)
        and getattr(each, "n_features_in_", None) == tuner.n_features_in_
        and np.array_equal(getattr(each, "classes_", None), first.classes_)
        for each in tuner._racers
    )


def _check_parameters(tuner: Any) -> None:
    tuner._check_params()
    check_parameters(*(tuner.estimator if isinstance(tuner.estimator, list | tuple) else [tuner.estimator]))


def _prediction_state(tuner: Any) -> dict[str, Any]:
    """The best candidate alone."""
    best = leader(tuner._race)
    return {**vars(tuner), "_racers": [tuner._racers[best]], "_race": reduced(tuner._race, np.array([best]))}


TUNER = Saved(
    {"n_features_in_": integer(1), "_race": part("stream-race"), "_racers": list_of(is_estimator, 1),
     "_params": list_of(dict_of(lambda value: True))},
    NAMES_IN, _is_sound, _check_parameters, _prediction_state,
)  # fmt: skip
