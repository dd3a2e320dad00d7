"""Hinge losses, binary and multiclass, and the conventions on ties and kinks, written down once.

* An example is learned when its margin is **below** 1; at exactly 1 the subgradient 0 is taken.
* ``sign(0) = +1``: a decision value of zero predicts the second class.
* The first index wins an argmax or argmin (exceptions say so where they are made).

``BinaryHinge``: one output, labels 0 and 1 stand for -1 and +1, ``margin = y f(x)``.
``MulticlassHinge`` (Crammer & Singer 2001): an output per class, ``margin = f_y(x) - max_{i != y} f_i(x)``.
"""

from typing import Annotated, NamedTuple

from frugalsvm._stored import stored
from frugalsvm.compiling.functions import generic

MARGIN = 1.0


@stored("binary-hinge", kind="loss")
class BinaryHinge(NamedTuple):
    """``max(0, 1 - y f(x))``"""


@stored("multiclass-hinge", kind="loss")
class MulticlassHinge(NamedTuple):
    """``max(0, 1 + max_{i != y} f_i(x) - f_y(x))``"""

    n_outputs: Annotated[int, (2, 2**31)]


def hinge_for(n_outputs):
    """The loss of a model with one output, or with one for each class."""
    return BinaryHinge() if n_outputs == 1 else MulticlassHinge(n_outputs)


@generic
def margin_of(loss, scores, label):
    """The margin of an example and its best rival, the wrong class with the largest score."""


@generic
def update_direction(loss, label, rival, direction):
    """Minus the subgradient with respect to the scores: where an example that is learned pushes them."""


@margin_of.implement(BinaryHinge)
def _binary_margin(loss, scores, label):
    margin = scores[0] if label == 1 else -scores[0]
    return margin, 1 - label


@update_direction.implement(BinaryHinge)
def _binary_direction(loss, label, rival, direction):
    direction[0] = 1.0 if label == 1 else -1.0


@margin_of.implement(MulticlassHinge)
def _multi_class_margin(loss, scores, label):
    rival = 1 if label == 0 else 0
    for i in range(rival, loss.n_outputs):
        if i != label and scores[i] > scores[rival]:
            rival = i
    return scores[label] - scores[rival], rival


@update_direction.implement(MulticlassHinge)
def _multi_class_direction(loss, label, rival, direction):
    for i in range(loss.n_outputs):
        direction[i] = 0.0
    direction[label] = 1.0
    direction[rival] = -1.0
