"""Compiled reading of one number, and what the parsers of text share.

Numbers come out correctly rounded, as from ``float``: with at most 53 bits of digits and a power of ten up to 22, one
multiplication or division of exact values is right; all others are handed back as text ("hard" ones).
"""

import numpy as np

from frugalsvm.compiling.functions import generic, inlined

# Where a parser stands: byte, line, row and (LIBSVM) value to read next, and how many hard numbers there are.
AT, LINE, ROW, COUNT, HARD = range(5)
HARD_BYTES = 32

TAB, NEWLINE, SPACE, QUOTE, HASH, COLON = 9, 10, 32, 34, 35, 58
RETURN = 13
EASY, IS_HARD, BAD = 0, 1, 2
_POWERS = 10.0 ** np.arange(23)
_EXACT = 2**53


@generic
def scaled(mantissa, power):
    """``mantissa * 10**power`` for exact values of both, rounded once."""


# Ordered, because a multiplication with a reciprocal would round twice.
@scaled.implement(ordered=True)
def _scaled(mantissa, power):
    if power < 0:
        return mantissa / _POWERS[-power]
    return mantissa * _POWERS[power]


@inlined
def is_blank(byte):
    return byte == SPACE or (byte >= TAB and byte <= RETURN and byte != NEWLINE)


@inlined
def is_digit(byte):
    return byte >= 48 and byte <= 57


@inlined
def read_number(text, at, top):
    """Read a number; its end, its value, and whether it is easy, hard (text of it needed) or none.

    Values of 10**top and more are bad here, and so are spellings such as ``nan``: both are for Python to judge.
    """
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    mantissa = np.int64(0)
    significant, digits, power = 0, 0, np.int64(0)
    while is_digit(text[at]):
        if significant < 18:
            mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
        significant += 1 if mantissa > 0 else 0
        digits += 1
        at += 1
    if text[at] == 46:
        at += 1
        while is_digit(text[at]):
            if significant < 18:
                mantissa = mantissa * 10 + (np.int64(text[at]) - 48)
            significant += 1 if mantissa > 0 else 0
            digits += 1
            power -= 1
            at += 1
    if digits == 0:
        return at, 0.0, BAD
    if text[at] == 101 or text[at] == 69:
        at += 1
        below = text[at] == 45
        if below or text[at] == 43:
            at += 1
        exponent, digits = np.int64(0), 0
        while is_digit(text[at]) and digits < 6:
            exponent = exponent * 10 + (np.int64(text[at]) - 48)
            digits += 1
            at += 1
        if digits == 0 or digits == 6:
            return at, 0.0, BAD
        power += -exponent if below else exponent
    if significant + power > top:
        return at, 0.0, BAD
    if significant > 18 or mantissa > _EXACT or power < -22 or power > 22:
        return at, 0.0, IS_HARD
    value = scaled(np.float64(mantissa), power)
    return at, (-value if negative else value), EASY


@inlined
def note_hard(text, begin, end, index, state, hard_text, hard_at):
    """Keep the text of a hard number and its index; false if there is no room for it."""
    hard = state[HARD]
    if end - begin > HARD_BYTES or hard >= hard_at.size:
        return False
    for i in range(HARD_BYTES):
        hard_text[hard, i] = text[begin + i] if begin + i < end else 0
    hard_at[hard] = index
    state[HARD] = hard + 1
    return True


@inlined
def after_line(text, at):
    while text[at] != NEWLINE:
        at += 1
    return at + 1


@inlined
def after_blanks(text, at):
    while is_blank(text[at]):
        at += 1
    return at
