"""Where arrays live: a namespace of the array API, a device, and the few operations that the standard lacks.

``arrays_on("cpu")`` is NumPy, ``arrays_on("cuda")`` is PyTorch on a GPU, ``arrays_on("torch")`` PyTorch on the CPU,
which serves to test one with the other.
"""

import re
from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.l1_on_gpu import l1_on_gpu
from frugalsvm.exceptions import Naming, ParameterError

_NUMPY_BYTES = 4 * 2**30  # what arrays may take on a CPU unless a limit is given
_FREE_SHARE = 0.85  # of the free memory of a GPU, likewise
_SPLIT_LEAST = 512  # rows and columns: products with fewer take no longer than launching them
_SPLIT_AT_ONCE = 8192  # columns, for lack of memory for more


class DeviceError(RuntimeError):
    """A device that was asked for is not there; ``remedy`` is how to get it, if that is known."""

    parameter = "device"

    def __init__(self, value: str, problem: str, remedy: str = ""):
        super().__init__(value, problem, remedy)
        self.value, self.problem, self.remedy = value, problem, remedy

    def __str__(self) -> str:
        return self._sentence(f"device={self.value!r}", "device='cpu' or 'auto'")

    def named(self, names: Naming) -> str:
        """The sentence with the name that the parameter has in another interface."""
        return self._sentence(names("device", self.value), f"{names('device', 'cpu')} or auto")

    def _sentence(self, given: str | None, others: str) -> str:
        return f"{given} {self.problem}{self.remedy}{f', or choose {others}' if self.remedy else ''}."


class Device(NamedTuple):
    """What is known of a device."""

    kind: str  # "cpu" or "cuda"
    name: str = ""
    memory_bytes: int | None = None
    software: str = ""  # what computes there, with its version
    problem: str = ""  # why it cannot be used

    @property
    def is_available(self) -> bool:
        return not self.problem

    def __str__(self) -> str:
        """A line for people."""
        if not self.is_available:
            return f"not available: {self.problem}"
        memory = None if self.memory_bytes is None else f"{self.memory_bytes / 2**30:.0f} GiB"
        return ", ".join(filter(None, (self.name, memory, self.software)))


def is_torch(array: Any) -> bool:
    """Whether an array is a tensor; does not import PyTorch to find out."""
    return type(array).__module__.partition(".")[0] == "torch"


def on_host(array: Any) -> Any:
    """A tensor as a NumPy array, wherever it is; anything else as it is."""
    if not is_torch(array):
        return array
    array = array.detach().cpu()
    # NumPy has no bfloat16.
    return (array.float() if array.is_floating_point() and array.element_size() < 4 else array).numpy()


def find_gpu() -> Device:
    """The first GPU, or why there is none to use."""
    if not (find_spec("torch") and find_spec("array_api_compat")):
        return Device("cuda", problem="PyTorch is not installed (pip install 'frugalsvm[torch]')")
    torch = import_module("torch")
    library = f"PyTorch {torch.__version__}"
    if not torch.cuda.is_available():
        return Device("cuda", software=library, problem=f"{library} sees no GPU")
    properties = torch.cuda.get_device_properties(0)
    return Device("cuda", properties.name, properties.total_memory, library)


def best_device() -> str:
    """What "auto" is: a GPU if there is one."""
    return "cuda" if find_gpu().is_available else "cpu"


def available_devices() -> dict[str, str]:
    """For people: names of devices, and what they are, or why they cannot be used."""
    return {device.kind: str(device) for device in (Device("cpu", software="NumPy and compiled code"), find_gpu())}


def is_device_name(device: Any) -> bool:
    """Whether a parameter names a device, which need not be at hand."""
    return isinstance(device, str) and re.fullmatch(r"auto|cpu|torch|cuda(:\d+)?", device) is not None


def arrays_on(device: str, *, tf32: bool = False) -> "Arrays":
    """The arrays of a device: ``cpu``, ``cuda``, ``cuda:1``, ``torch``, or ``auto`` for a GPU if there is one.

    ``tf32``: whether the products in kernel values may be rounded to 11 bits before they are summed on a GPU, which is
    several times faster for wide rows. All other products are in float32.
    """
    if device == "auto":
        device = best_device()
    if device == "cpu":
        return HOST
    if not is_device_name(device):
        raise ParameterError("device", device, "'cpu', 'cuda', 'cuda:1' (the second GPU) or 'auto'")
    missing = [name for name in ("torch", "array_api_compat") if find_spec(name) is None]
    if missing:
        raise DeviceError(device, "needs PyTorch", ": pip install 'frugalsvm[torch]'")
    if device == "torch":
        return Arrays(import_module("array_api_compat.torch"), "cpu", tf32)
    cuda = import_module("torch").cuda
    if not cuda.is_available():
        install = ". Install a build of PyTorch for your GPU and its driver"
        raise DeviceError(device, f"needs a GPU, but {find_gpu().problem}", install)
    number = int(device.partition(":")[2] or 0)
    if number >= cuda.device_count():
        raise DeviceError(device, f"does not exist: the number of GPUs is {cuda.device_count()}, from 0")
    return Arrays(import_module("array_api_compat.torch"), device, tf32)


def arrays_of(array: Any) -> "Arrays":
    """The arrays of the device that an array is on."""
    return Arrays(import_module("array_api_compat.torch"), str(array.device)) if is_torch(array) else HOST


class Arrays:
    """A namespace of the array API with a device; made by `arrays_on`."""

    def __init__(self, xp: Any, device: str, tf32: bool = False):
        self.xp, self.device, self.tf32 = xp, device, tf32
        self.is_torch = xp is not np
        self.is_gpu = device.startswith("cuda")
        self._torch: Any = import_module("torch") if self.is_torch else None

    # --- making and moving ----------------------------------------------------------------------------------

    def asarray(self, array: Any, dtype: str | None = None) -> Any:
        """An array of this device; a copy only where it must be."""
        if self.is_torch and not is_torch(array):
            array = self._torch.from_numpy(np.require(array, requirements=("C", "W")))  # it warns of others
        if self.is_torch:
            kind = array.dtype if dtype is None else getattr(self.xp, dtype)
            return array.to(device=self.device, dtype=kind)
        return np.asarray(on_host(array), dtype)

    def host(self, array: Any) -> np.ndarray:
        """A NumPy array with the same numbers."""
        return np.asarray(on_host(array))

    def holds(self, array: Any) -> bool:
        """Whether a tensor is on this device already."""
        if not (self.is_torch and is_torch(array)):
            return False
        return self.empty((0,)).device == array.device

    def empty(self, shape: tuple, dtype: str = "float32") -> Any:
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def zeros(self, shape: tuple, dtype: str = "float64") -> Any:
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def ones(self, shape: tuple, dtype: str = "float32") -> Any:
        return self.xp.ones(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def cast(self, array: Any, dtype: Any) -> Any:
        """In a type of the namespace; no copy of what is."""
        return array.to(dtype) if is_torch(array) else array.astype(dtype, copy=False)

    def single(self, array: Any) -> Any:
        """In float32; no copy of what is."""
        return self.cast(array, self.xp.float32)

    def double(self, array: Any) -> Any:
        """In float64; no copy of what is."""
        return self.cast(array, self.xp.float64)

    def contiguous(self, array: Any) -> Any:
        """Row after row in memory; no copy of what is."""
        return array.contiguous() if is_torch(array) else np.ascontiguousarray(array)

    # --- what the standard lacks ----------------------------------------------------------------------------

    def strided(self, n: int, count: int) -> Any:
        """Numbers below n, evenly spread."""
        index = self.xp.arange(count, dtype=self.xp.float64, device=self.device) * (n / count)
        return self.xp.astype(index, self.xp.int64)

    def add_to_diagonal(self, matrices: Any, value: float) -> None:
        """Add to the diagonals of square matrices, in place."""
        diagonal = self.xp.arange(matrices.shape[-1], device=self.device)
        matrices[..., diagonal, diagonal] += value

    def cholesky(self, matrices: Any) -> Any | None:
        """Lower factors; None if a matrix is not positive definite."""
        if self.is_torch:
            factors, info = self._torch.linalg.cholesky_ex(matrices)
            return None if bool(info.any()) else factors
        try:
            return np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            return None

    def factors_of_each(self, matrices: Any) -> Any:
        """Lower factors of a stack of matrices; NaN in those that are not positive definite."""
        if self.is_torch:
            factors, info = self._torch.linalg.cholesky_ex(matrices)
            return factors.masked_fill_((info != 0)[:, None, None], float("nan"))
        nothing = np.full(matrices.shape[1:], np.nan, matrices.dtype)
        return np.stack([nothing if (factor := self.cholesky(each)) is None else factor for each in matrices])

    def solve_factored(self, factor: Any, right: Any) -> Any:
        """``(L L')^-1 right`` for a lower factor L."""
        if self.is_torch:
            return self._torch.cholesky_solve(right, factor)
        from scipy.linalg import cho_solve

        return cho_solve((factor, True), right, check_finite=False)

    def inverse_of_lower(self, factors: Any) -> Any:
        """Inverses of lower factors."""
        n = factors.shape[-1]
        if self.is_torch:
            eye = self._torch.eye(n, dtype=factors.dtype, device=factors.device)
            if factors.ndim == 2 or factors.shape[0] == 1:  # in place: there may be no room for another one
                flat = factors.reshape(n, n)
                return self._torch.linalg.solve_triangular(flat, eye, upper=False, out=eye).reshape(factors.shape)
            return self._torch.linalg.solve_triangular(factors, eye.expand(factors.shape), upper=False)
        from scipy.linalg import solve_triangular

        eye = np.eye(n, dtype=factors.dtype)
        each = [solve_triangular(one, eye, lower=True, check_finite=False) for one in factors.reshape(-1, n, n)]
        return np.stack(each).reshape(factors.shape)

    def product(self, left: Any, right: Any) -> Any:
        """``left @ right`` in float32, for large matrices.

        On a GPU, numbers are split into parts of 11 and 13 bits, whose products are exact or nearly so in tf32: almost
        the same digits in a fraction of the time.
        """
        if not self._pays_to_split(left):
            return left @ right
        out = self.empty((left.shape[0], right.shape[1]))
        high, low = _split(self._torch, left)
        with _tf32(self._torch, True):
            for start in range(0, right.shape[1], _SPLIT_AT_ONCE):
                part = slice(start, start + _SPLIT_AT_ONCE)
                high_right, low_right = _split(self._torch, right[:, part])
                sums = high @ high_right
                sums.addmm_(low, high_right)
                out[:, part] = sums.addmm_(high, low_right)
        return out

    def add_products(self, totals: Any, left: Any, right: Any, factor: float) -> None:
        """``totals[k] += factor * left[k] @ right[k]``, without another array where that can be."""
        if self.is_torch:
            totals.baddbmm_(left, right, alpha=factor)
        else:
            totals += factor * (left @ right)

    def l1_distances(self, rows: Any, columns: Any) -> Any:
        """``out[i, j] = sum_f |rows[i, f] - columns[f, j]|`` in float32."""
        if self.is_gpu:
            return l1_on_gpu(self._torch, rows, columns)
        if self._torch is not None:
            return self._torch.cdist(rows, columns.T, p=1.0)
        from scipy.spatial.distance import cdist

        return cdist(rows, columns.T, "cityblock").astype(np.float32)

    def add_squares(self, totals: Any, rows: Any) -> None:
        """``totals[k] += rows[k].T @ rows[k]`` in float32, likewise."""
        if not self._pays_to_split(rows[0]):
            totals += rows.mT @ rows
            return
        high, low = _split(self._torch, rows)
        with _tf32(self._torch, True):
            cross = high.mT @ low
            totals.baddbmm_(high.mT, high)
        totals += cross
        totals += cross.mT

    def _pays_to_split(self, matrix: Any) -> bool:
        return self.is_gpu and min(matrix.shape) >= _SPLIT_LEAST

    @contextmanager
    def products(self, *, rounded: bool = False):
        """Products of float32 matrices as they should be; or rounded to tf32, where that was asked for."""
        if not self.is_gpu:
            yield
            return
        with _tf32(self._torch, rounded and self.tf32):
            yield

    def free_bytes(self) -> int:
        """Memory that may be used unless a limit is given."""
        if not self.is_gpu:
            return _NUMPY_BYTES
        free, _ = self._torch.cuda.mem_get_info(self.device)
        unused = self._torch.cuda.memory_reserved(self.device) - self._torch.cuda.memory_allocated(self.device)
        return int(_FREE_SHARE * (free + unused))

    def landing(self, size: int) -> np.ndarray:
        """A NumPy array of float32 that numbers of the device can be sent to at full speed."""
        if not self.is_gpu:
            return np.empty(size, np.float32)
        return self._torch.empty(size, pin_memory=True).numpy()

    def sent_home(self, array: Any, out: np.ndarray | None = None) -> Callable[[], np.ndarray]:
        """A function that returns an array of the host with the same numbers; from a GPU, they are on their way.

        They may be written to ``out`` then, which has the same shape and type.
        """
        if not self.is_gpu:
            return lambda: self.host(array)
        from frugalsvm.arrays.transfer import sent_home

        return sent_home(array, out)

    def land(self, array: Any, place: np.ndarray) -> None:
        """Send an array to a part of a `landing`; it is there after the next `host`."""
        if self.is_torch:
            self._torch.from_numpy(place).copy_(array, non_blocking=True)
        else:
            place[:] = array


HOST = Arrays(np, "cpu")


def _split(torch, matrix: Any) -> tuple[Any, Any]:
    """A float32 matrix as a sum of two, the first with no more bits than tf32 has."""
    bits = matrix.contiguous().view(torch.int32)
    high = ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
    return high, matrix - high


@contextmanager
def _tf32(torch, allowed: bool):
    """Whether products are rounded to tf32."""
    settings = torch.backends.cuda.matmul
    before, settings.allow_tf32 = settings.allow_tf32, allowed
    try:
        yield
    finally:
        settings.allow_tf32 = before
