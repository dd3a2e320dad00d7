"""Where machine code comes from on this machine, and for which processor it is."""

import os
from typing import NamedTuple


class MachineCode(NamedTuple):
    """Where machine code is looked for: in the wheel, then on disk; the rest is compiled."""

    wheel: (
        str | None
    )  # the level of processors that the code in the wheel is for; None if there is none or it is not used
    why_not: str | None  # why the code in the wheel is not used
    folder: str | None  # where compiled code is kept; None if it is not
    processor: str  # that code is compiled for, by LLVM's name

    def __str__(self) -> str:
        kept = f"kept in {self.folder}" if self.folder else "not kept on disk"
        if self.wheel:
            return f"from the wheel, for {self.wheel}; what is not there is compiled for {self.processor}, and {kept}"
        why = f"; the code in the wheel is not used: {self.why_not}" if self.why_not else ""
        return f"compiled for {self.processor}, and {kept}{why}"


def machine_code() -> MachineCode | None:
    """Where machine code comes from; None if functions are interpreted (``NUMBA_DISABLE_JIT``)."""
    from frugalsvm.compiling.code_cache import code_in_wheel, processor_here
    from frugalsvm.core.dense_scores import score_some

    wheel = code_in_wheel(score_some)
    if wheel is None:
        return None
    return MachineCode(wheel.level, wheel.why_not, kept_in(), processor_here())


def kept_in() -> str | None:
    """The folder, or the one above the folders, with code that was compiled."""
    from frugalsvm.budgeted.sgd import run
    from frugalsvm.compiling.code_cache import code_folder
    from frugalsvm.core.dense_scores import score_some

    folders = [code_folder(function) for function in (run, score_some)]
    return os.path.commonpath([folder for folder in folders if folder]) if all(folders) else None
