"""Blocks of rows on their way to a GPU, through page-locked memory, while the block before is used; and home again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

_HOME_NUMBERS = 2**21  # on their way home at a time


class _Lane:
    """Page-locked memory for one block."""

    def __init__(self, torch):
        self._torch, self._memory, self._done = torch, None, None

    def load(self, part: np.ndarray) -> Any:
        """A tensor in page-locked memory with the numbers of a part."""
        if self._done is not None:
            self._done.synchronize()  # what was here before must have left
        source = self._torch.from_numpy(np.ascontiguousarray(part))
        if self._memory is None or self._memory.dtype != source.dtype or self._memory.numel() < source.numel():
            self._memory = self._torch.empty(source.numel(), dtype=source.dtype, pin_memory=True)
        target = self._memory[: source.numel()].view(source.shape)
        target.copy_(source)
        return target

    def sent(self, stream) -> None:
        self._done = self._torch.cuda.Event()
        self._done.record(stream)


def overlapped(parts, device: str):
    """Parts as tensors of the device; one is on its way while the one before is used."""
    import torch

    stream = torch.cuda.Stream(device)
    lanes, waiting = (_Lane(torch), _Lane(torch)), None
    for number, part in enumerate(parts):
        lane = lanes[number % 2]
        pinned = lane.load(part)
        with torch.cuda.stream(stream):
            moved = pinned.to(device, non_blocking=True)
            lane.sent(stream)
        if waiting is not None:
            yield _arrived(torch, *waiting)
        waiting = moved, lane._done
    if waiting is not None:
        yield _arrived(torch, *waiting)


def _arrived(torch, tensor, event):
    current = torch.cuda.current_stream(tensor.device)
    current.wait_event(event)
    # Its memory belongs to the other stream: it must not be used again there before this one is through with it.
    tensor.record_stream(current)
    return tensor


def sent_home(tensor: Any, out: np.ndarray | None = None) -> Callable[[], np.ndarray]:
    """A function that returns a copy of a GPU's tensor; it is on its way while the GPU computes other things.

    With ``out``, an array of the same shape and type, it is written there.
    """
    import torch

    tensor = tensor.contiguous()
    ready = torch.cuda.current_stream(tensor.device).record_event()
    pool = ThreadPoolExecutor(1)
    arrived = pool.submit(_copied, torch, tensor, ready, out)
    pool.shutdown(wait=False)
    return arrived.result


def _copied(torch, tensor, ready, out) -> np.ndarray:
    """A copy by page-locked memory, block by block: others are slow, and hold up what else is to be computed."""
    out = torch.empty(tensor.shape, dtype=tensor.dtype) if out is None else torch.from_numpy(out)
    source, target, waiting = tensor.view(-1), out.view(-1), None
    lanes = [torch.empty(min(_HOME_NUMBERS, source.numel()), dtype=tensor.dtype, pin_memory=True) for _ in range(2)]
    stream = torch.cuda.Stream(tensor.device)
    with torch.cuda.stream(stream):
        stream.wait_event(ready)
        for number, start in enumerate(range(0, source.numel(), _HOME_NUMBERS)):
            part = slice(start, start + _HOME_NUMBERS)
            lane = lanes[number % 2][: source[part].numel()]
            lane.copy_(source[part], non_blocking=True)
            sent = part, lane, stream.record_event()
            if waiting is not None:
                _unload(target, *waiting)  # while the next block is on its way
            waiting = sent
        if waiting is not None:
            _unload(target, *waiting)
    return out.numpy()


def _unload(target, part, lane, arrived) -> None:
    arrived.synchronize()
    target[part] = lane
