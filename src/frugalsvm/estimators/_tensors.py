"""Tensors of PyTorch as rows: checked where they are."""

__all__ = ["validated_tensor", "variance_of_tensor"]


def validated_tensor(estimator, X, *, reset: bool):
    """A tensor of finite rows, where it is."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D tensor instead.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"Found a tensor of shape {tuple(X.shape)} while at least one sample and feature is required.")
    if X.is_floating_point() and not bool(X.isfinite().all()):
        raise ValueError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features.")
    return X.detach()


def variance_of_tensor(X, block_rows: int) -> float:
    """Variance of all entries, by blocks of rows."""
    sums = [(block.double().sum(), block.double().square().sum()) for block in X.split(block_rows)]
    mean, square = (float(sum(each)) / X.numel() for each in zip(*sums, strict=True))
    return max(square - mean**2, 0.0)
