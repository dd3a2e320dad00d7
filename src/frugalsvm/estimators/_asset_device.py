"""Low-rank machines trained and used on a device: from parameters and rows to a model as on the CPU."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.fourier import new_fourier
from frugalsvm.asset.landmarks import place_landmarks
from frugalsvm.asset.nystroem import Nystroem, new_nystroem
from frugalsvm.asset.solve import Solution
from frugalsvm.device.arrays import is_torch
from frugalsvm.device.expansion import expansion_values
from frugalsvm.device.maps import fourier_map, kernel_map
from frugalsvm.device.newton import Options
from frugalsvm.device.solve import Settings, solve
from frugalsvm.device.training import Rows, coefficients, new_training

__all__ = ["DTYPES", "device_values", "host_rows", "new_device_map", "restored_whitening", "solve_on_device"]

# Not bfloat16: with 8 bits, kernel values are too rough (objectives were a sixth higher, errors a quarter).
DTYPES = ("float32", "tf32", "float16")


def host_rows(X: Any, index: np.ndarray) -> np.ndarray:
    """Some rows as a float32 array, whatever X is."""
    if is_torch(X):
        rows = X[index].float().cpu().numpy()
    else:
        rows = X[index] if isinstance(X, np.ndarray) else X[index].toarray()
    return np.ascontiguousarray(rows, np.float32)


class DeviceMap(NamedTuple):
    """A feature map as the model keeps it, and as the device uses it."""

    kept: Any
    used: Any
    landmarks: Any  # on the device; None for a map without


def new_device_map(machine, arrays, candidates, rng) -> DeviceMap:
    """The map of a machine; ``candidates`` are rows from which landmarks are made."""
    if machine.feature_map == "fourier":
        kept = new_fourier(machine.n_features_in_, machine.n_components, machine._kernel.gamma, rng, False)
        return DeviceMap(kept, fourier_map(arrays, kept.frequencies, kept.offsets), None)
    landmarks = place_landmarks(machine.landmarks, candidates, machine.n_components, rng)
    landmarks = np.ascontiguousarray(landmarks, np.float32)
    moved = arrays.asarray(landmarks)
    norms = arrays.host(arrays.xp.sum(arrays.double(moved) ** 2, axis=1)).astype(np.float32)
    # Coefficients are those of kernel values: what whitens them stays on the device.
    kept = Nystroem(machine._kernel, landmarks, norms, None, None)
    return DeviceMap(kept, kernel_map(arrays, machine._kernel, moved), moved)


def solve_on_device(machine, arrays, device_map, data, loss, unit, penalties, settings, memory, rng, start=None):
    """Solutions for decreasing penalties, each from the one before, in terms of kernel values.

    ``start`` are unknowns of a problem with the same map. Returns the solutions, and the unknowns of each.
    """
    rows = Rows(data.X, data.targets, data.weights, data.blocks if data.X is None else None)
    with arrays.products():
        training = new_training(
            arrays,
            device_map.used,
            device_map.landmarks,
            rows,
            threshold=machine.eigenvalue_threshold,
            rank=machine.rank,
            intercept=machine.fit_intercept,
            memory=memory,
            dtype=machine.dtype,
            rng=rng,
        )
        options = Options(most_sample_numbers=training.most_sample_numbers)
        if not training.stored:  # passes are dear: better directions make for fewer of them
            options = options._replace(sample=4 * options.sample, several=1)
        chosen = Settings(settings.tolerance, settings.max_iter, unit, options)
        found, unknowns = [], [start]
        for penalty in penalties:
            problem = training.problem._replace(loss=loss, penalty=penalty)
            solution = solve(problem, training.sample, chosen, unknowns[-1])
            unknowns.append(solution.unknowns)
            weights, intercepts = coefficients(training, solution.unknowns)
            whole = np.column_stack([weights, intercepts]).astype(np.float64)
            found.append(Solution(whole, solution.objectives, solution.bounds, solution.n_iter, solution.converged))
    return found, unknowns[1:]


def device_values(machine, arrays, X) -> np.ndarray:
    """Decision values of a fitted machine, one column per output."""
    kept = machine._map
    if isinstance(kept, Nystroem):
        used = kernel_map(arrays, kept.kernel, arrays.asarray(kept.landmarks))
    elif hasattr(kept, "frequencies"):
        used = fourier_map(arrays, kept.frequencies, kept.offsets)
    else:
        raise ValueError("Structured Fourier features are for the CPU: predict with device='cpu'.")
    return expansion_values(arrays, used, machine._raw_coefficients().T, X) + machine._unknowns[:, -1]


def restored_whitening(kept: Nystroem, unknowns: np.ndarray, threshold: float, rank: int | None):
    """The same model in terms of features, in which streams go on learning."""
    whole = new_nystroem(kept.kernel, kept.landmarks, threshold, rank)
    # With coefficients a of kernel values, weights are D^1/2 Q' a, and the whitening is Q D^-1/2.
    weights = unknowns[:, :-1] @ (whole.whitening * whole.eigenvalues)
    return whole, np.column_stack([weights, unknowns[:, -1]])
