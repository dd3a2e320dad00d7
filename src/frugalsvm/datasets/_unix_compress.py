"""Decoder for files of the Unix program compress (.Z), which the standard library cannot read."""

_MAGIC = b"\x1f\x9d"
_CLEAR = 256
_FIRST_WIDTH = 9


def decompress(data: bytes, max_bytes: int | None = None) -> bytes:
    """Undo Lempel-Ziv-Welch compression as written by the Unix program compress; more than ``max_bytes`` is an error.

    >>> decompress(bytes([0x1F, 0x9D, 0x90, 0x61, 0x02, 0x02]))
    b'aaa'
    """
    if len(data) < 3 or data[:2] != _MAGIC:
        raise ValueError("not a file of the program compress")
    largest_width = data[2] & 0x1F
    has_clear_code = bool(data[2] & 0x80)
    if not _FIRST_WIDTH <= largest_width <= 16:
        raise ValueError(f"codes of {largest_width} bits are not supported")
    decoder = _Decoder(has_clear_code)
    reader = _CodeReader(data[3:])
    width = _FIRST_WIDTH
    while (code := reader.read(width)) is not None:
        if code == _CLEAR and has_clear_code:
            decoder.clear()
            reader.skip_padding(width)
            width = _FIRST_WIDTH
            continue
        decoder.decode(code, can_grow=len(decoder.table) < 1 << largest_width)
        if max_bytes is not None and decoder.n_bytes > max_bytes:
            raise ValueError(f"decompressed, the file has more than {max_bytes} bytes")
        if width < largest_width and len(decoder.table) == 1 << width:
            reader.skip_padding(width)
            width += 1
    return b"".join(decoder.output)


class _CodeReader:
    """Reads codes of varying width, lowest bit first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bit = 0
        self._first_bit_of_width = 0

    def read(self, width: int) -> int | None:
        end = self._bit + width
        if end > 8 * len(self._data):
            return None
        byte, shift = divmod(self._bit, 8)
        # A code of at most 16 bits touches at most three bytes.
        code = int.from_bytes(self._data[byte : byte + 3], "little") >> shift & ((1 << width) - 1)
        self._bit = end
        return code

    def skip_padding(self, width: int) -> None:
        # The program writes codes in groups of eight and fills up the last group when the width changes.
        group = 8 * width
        self._bit += -(self._bit - self._first_bit_of_width) % group
        self._first_bit_of_width = self._bit


class _Decoder:
    """The growing table of byte strings, and the output."""

    def __init__(self, has_clear_code: bool) -> None:
        self._initial_table = [bytes([value]) for value in range(256)]
        if has_clear_code:
            # A place holder: code 256 never stands for a string.
            self._initial_table.append(b"")
        self.output: list[bytes] = []
        self.n_bytes = 0
        self.clear()

    def clear(self) -> None:
        self.table = self._initial_table.copy()
        self._previous: bytes | None = None

    def decode(self, code: int, *, can_grow: bool) -> None:
        if self._previous is None:
            if code > 255:
                raise ValueError("damaged file: it starts with a code that is not in the table")
            entry = self.table[code]
        elif code < len(self.table):
            entry = self.table[code]
        elif code == len(self.table) and can_grow:
            # The encoder used this string in the step right after defining it.
            entry = self._previous + self._previous[:1]
        else:
            raise ValueError(f"damaged file: code {code} is not in the table")
        self.output.append(entry)
        self.n_bytes += len(entry)
        if self._previous is not None and can_grow:
            self.table.append(self._previous + entry[:1])
        self._previous = entry
