"""Memory that one piece of work takes at its peak, of this process and of the GPU."""

import sys
from contextlib import suppress
from pathlib import Path

from frugalsvm.compiling.memory import peak_megabytes

__all__ = ["PeakMemory"]

_SELF = Path("/proc/self")


class PeakMemory:
    """Bytes beyond those that the process had when this was made; on Linux, what was before does not count."""

    def __init__(self):
        with suppress(OSError):
            (_SELF / "clear_refs").write_text("5")  # from here on, the peak is a new one
        self._before = peak_megabytes()
        if torch := _torch_on_gpu():
            torch.cuda.reset_peak_memory_stats()

    def bytes(self):
        return round((peak_megabytes() - self._before) * 2**20)

    def gpu_bytes(self):
        """None where no GPU was used."""
        torch = _torch_on_gpu()
        return torch.cuda.max_memory_allocated() if torch else None


def _torch_on_gpu():
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_initialized() else None
