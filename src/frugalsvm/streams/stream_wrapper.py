"""What a stream made from another stream answers for it."""

from __future__ import annotations

from typing import Any


class StreamWrapper:
    """Hands questions about the source on to the stream inside."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "stream":
            raise AttributeError(name)
        return getattr(self.stream, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.stream!r}>"
