"""Arrays of NumPy, always; of PyTorch on the CPU, where it is installed."""

import pytest

from frugalsvm.arrays.namespace import arrays_on


@pytest.fixture(params=["cpu", "torch"], ids=["numpy", "torch"])
def arrays(request):
    if request.param == "torch":
        pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")
    return arrays_on(request.param)
