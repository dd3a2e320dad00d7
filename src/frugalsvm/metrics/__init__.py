"""Scores for classes of very different sizes, which accuracy hides: break-even point and geometric mean."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import column_or_1d

__all__ = ["geometric_mean_score", "precision_recall_breakeven"]


def precision_recall_breakeven(y_true: ArrayLike, scores: ArrayLike, *, pos_label: object = None) -> float:
    """Precision at the threshold where it equals recall (PRBEP).

    Both have the number of positives found above them; precision has the number of rows above the threshold below it,
    recall the number of positives P. So they are equal where P rows are above the threshold: it is the precision among
    the P rows with the highest scores.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    scores : array-like of shape (n_samples,)
        Finite numbers, larger for rows that are more likely positive: those of `decision_function`, for example.
    pos_label : label, default=None
        The positive class; None is the larger label, ``classes_[1]`` of a classifier.

    Returns
    -------
    float
        Between 0 and 1; 1 if all positives come before all others. Scores that know nothing have the share of the
        positives, on average.

    See Also
    --------
    geometric_mean_score : For predicted classes, without scores.
    sklearn.metrics.average_precision_score : All thresholds instead of one.

    Notes
    -----
    **Ties.** Rows with equal scores have no order, and no threshold may part them. If the P-th rank falls among m such
    rows, k of which belong to the P highest, the result is the mean over all orders: these k ranks hold k/m of the
    positives among the m rows. That is where precision and recall meet on the straight line of counts between the
    thresholds before and after the tie, and it does not depend on the order of the rows. If all scores are equal, it is
    the share of the positives.

    References
    ----------
    T. Joachims (1998). Text categorization with support vector machines: learning with many relevant features. ECML.

    S. Ertekin, L. Bottou, C. L. Giles (2011). Nonconvex online support vector machines. IEEE TPAMI 33.

    Examples
    --------
    >>> from frugalsvm.metrics import precision_recall_breakeven
    >>> y_true = [1, 0, 1, 0, 0]
    >>> precision_recall_breakeven(y_true, [0.9, 0.8, 0.3, 0.2, 0.1])
    0.5
    >>> precision_recall_breakeven(y_true, [0.9, 0.3, 0.3, 0.2, 0.1])
    0.75
    """
    labels = _labels("y_true", y_true)
    values = column_or_1d(check_array(scores, ensure_2d=False, dtype="numeric", input_name="scores"))
    check_consistent_length(labels, values)
    is_positive = labels == _positive_class(labels, pos_label)
    n_positive = int(is_positive.sum())
    threshold = np.partition(values, -n_positive)[-n_positive]  # the score at the P-th rank
    above, tied = values > threshold, values == threshold
    share = (n_positive - int(above.sum())) / int(tied.sum())
    found = int(is_positive[above].sum()) + share * int(is_positive[tied].sum())
    return float(found / n_positive)


def _labels(name: str, values: ArrayLike) -> np.ndarray:
    """Labels as a vector; refuses numbers that are missing."""
    labels = column_or_1d(values)
    if labels.dtype.kind in "fO":
        assert_all_finite(labels, input_name=name)
    return labels


def _positive_class(labels: np.ndarray, pos_label: object):
    """The positive one of two classes."""
    classes = np.unique(labels)
    if len(classes) != 2:
        few = f"one class only, {classes.tolist()[0]!r}" if len(classes) == 1 else f"{len(classes)} classes"
        raise ValueError(f"y_true must have two classes, but it has {few}.")
    if pos_label is None:
        return classes[1]
    if pos_label not in classes.tolist():
        raise ValueError(f"pos_label={pos_label!r} is not one of the labels in y_true, {classes.tolist()}.")
    return pos_label


def geometric_mean_score(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Geometric mean of the recalls of all classes (g-means).

    With two classes, the root of sensitivity times specificity. A class of which nothing is found makes it zero,
    however rare: unlike accuracy, it cannot be raised by predicting the majority.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels, of at least two classes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels. Those that do not occur in ``y_true`` are errors, not further classes.

    Returns
    -------
    float
        Between 0 and 1; 1 if all predictions are right.

    See Also
    --------
    precision_recall_breakeven : For scores instead of predicted classes.
    sklearn.metrics.balanced_accuracy_score : The arithmetic mean of the recalls.

    References
    ----------
    M. Kubat, S. Matwin (1997). Addressing the curse of imbalanced training sets: one-sided selection. ICML.

    Examples
    --------
    Three quarters of the first class and all of the second:

    >>> from frugalsvm.metrics import geometric_mean_score
    >>> round(geometric_mean_score([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]), 4)
    0.866
    >>> geometric_mean_score([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0])
    0.0
    """
    from sklearn.metrics import recall_score  # takes a while, and this folder is imported for less

    truth, predicted = _labels("y_true", y_true), _labels("y_pred", y_pred)
    check_consistent_length(truth, predicted)
    for name, labels in (("y_true", truth), ("y_pred", predicted)):
        if type_of_target(labels) not in ("binary", "multiclass"):
            raise ValueError(f"{name} must be labels of classes, not {type_of_target(labels)} values.")
    unique_labels(truth, predicted)  # refuses strings together with numbers
    classes = np.unique(truth)
    if len(classes) < 2:
        raise ValueError(f"y_true must have at least two classes, but all labels are {classes.tolist()[0]!r}.")
    recalls = recall_score(truth, predicted, labels=classes, average=None)
    # By logarithms the product of many small recalls stays above zero.
    return float(np.exp(np.log(recalls).mean())) if recalls.all() else 0.0
