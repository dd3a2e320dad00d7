"""From fitted estimators to the numbers that the objective evaluates."""

import numpy as np

from frugalsvm.export import plain_model

__all__ = ["of_estimator", "of_landmarks", "of_svc", "of_waves"]


def of_estimator(model):
    """The numbers of an estimator of frugalsvm."""
    plain = plain_model(model)
    numbers = {"coefficients": plain.coefficients[0], "intercept": float(plain.intercepts[0])}
    if plain.kernel == "cosine":  # whose angles are in turns
        turn = 2 * np.pi
        return {"vectors": turn * plain.vectors, "offsets": turn * plain.offsets, **numbers}
    return {"vectors": plain.vectors, **numbers}


def of_svc(model):
    """The numbers of scikit-learn's SVC."""
    coefficients = model.dual_coef_
    coefficients = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return {
        "vectors": model.support_vectors_,
        "coefficients": np.ravel(coefficients),
        "intercept": float(model.intercept_[0]),
    }


def of_landmarks(feature_map, model):
    """A linear model on scikit-learn's Nystroem features is an expansion in their landmarks."""
    return {
        "vectors": feature_map.components_,
        "coefficients": feature_map.normalization_.T @ np.ravel(model.coef_).astype(np.float64),
        "intercept": float(model.intercept_[0]),
    }


def of_waves(feature_map, model):
    """A linear model on scikit-learn's RBFSampler is a sum of cosines."""
    amplitude = np.sqrt(2.0 / feature_map.n_components)
    return {
        "vectors": feature_map.random_weights_.T,
        "coefficients": amplitude * np.ravel(model.coef_),
        "intercept": float(model.intercept_[0]),
        "offsets": feature_map.random_offset_,
    }
