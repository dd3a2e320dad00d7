"""Compiled parsers of well-formed text: LIBSVM rows and delimited tables.

scikit-learn's loader reads 100 thousand rows of a9a a second, pyarrow's CSV reader 140 thousand, both less than
`BSGDClassifier` learns; these read several times as many. They take the plain forms only and stop at every other
line, so that Python code, which may be slow, decides what it is and can say what is wrong with it.

The text must end with a line end, so that no loop has to look for the end of the text as well.
"""

import numpy as np

from frugalsvm.compiling.functions import entry, inlined
from frugalsvm.streams.number_parsing import (
    AT,
    BAD,
    COLON,
    COUNT,
    EASY,
    HARD,
    HASH,
    IS_HARD,
    LINE,
    NEWLINE,
    QUOTE,
    RETURN,
    ROW,
    SPACE,
    after_blanks,
    after_line,
    is_blank,
    is_digit,
    note_hard,
    read_number,
)


@inlined
def _begins_with_feature(text, at):
    while is_digit(text[at]):
        at += 1
    return text[at] == COLON


@entry
def parse_rows(text, state, base, width, labeled, top, labels, ends, indices, values, lines, hard_text, hard_at):
    """Parse LIBSVM rows from where ``state`` stands; false if a line is not plain, with ``state`` before that line.

    Places of hard numbers: that of the value, or -1 - row for a label.
    """
    while state[AT] < text.size:
        at = after_blanks(text, state[AT])
        if text[at] == NEWLINE or text[at] == HASH:
            state[AT] = after_line(text, at)
            state[LINE] += 1
            continue
        row, count, hard = state[ROW], state[COUNT], state[HARD]
        good = True
        if labeled or not _begins_with_feature(text, at):
            begin = at
            at, value, kind = read_number(text, at, 308)
            good = kind != BAD and (is_blank(text[at]) or text[at] == NEWLINE)
            if good and kind == IS_HARD:
                good = note_hard(text, begin, at, -1 - row, state, hard_text, hard_at)
            labels[row] = value
        last = np.int64(-1)
        while good:
            at = after_blanks(text, at)
            if text[at] == NEWLINE or text[at] == HASH:
                break
            index, digits = np.int64(0), 0
            while is_digit(text[at]) and digits < 10:
                index = index * 10 + (np.int64(text[at]) - 48)
                digits += 1
                at += 1
            index -= base
            good = digits > 0 and text[at] == COLON and index > last and index < width
            if good:
                last = index
                begin = at + 1
                at, value, kind = read_number(text, begin, top)
                good = kind != BAD and (is_blank(text[at]) or text[at] == NEWLINE or text[at] == HASH)
                if good and kind == IS_HARD:
                    good = note_hard(text, begin, at, count, state, hard_text, hard_at)
                indices[count] = index
                values[count] = value
                count += 1
        if not good:
            state[HARD] = hard
            return False
        lines[row] = state[LINE]
        ends[row + 1] = count
        state[ROW] = row + 1
        state[COUNT] = count
        state[AT] = after_line(text, at)
        state[LINE] += 1
    return True


@entry
def parse_table(text, state, delimiter, plain, kinds, targets, top, numbers, extras, spans, lines, hard_text, hard_at):
    """Parse delimited rows from where ``state`` stands; false if a line is not plain, with ``state`` before it.

    Column j is a feature (kind 0, to column ``targets[j]`` of ``numbers``), a label or weight (kind 1, to ``extras``)
    or text (kind 2: begin and end to ``spans``). With ``plain``, only ASCII is. Places of hard numbers: that in the
    flat ``numbers``, or -1 - that in the flat ``extras``.
    """
    n_columns = kinds.size
    while state[AT] < text.size:
        at = after_blanks(text, state[AT])
        if text[at] == NEWLINE:
            state[AT] = at + 1
            state[LINE] += 1
            continue
        row, hard = state[ROW], state[HARD]
        at = state[AT]
        good = True
        for column in range(n_columns):
            while text[at] == SPACE:
                at += 1
            quoted = text[at] == QUOTE
            if quoted:
                at += 1
            begin = at
            target = targets[column]
            if kinds[column] == 2:
                if quoted:
                    while text[at] != QUOTE and text[at] != NEWLINE and not (plain and text[at] > 127):
                        at += 1
                else:
                    while (
                        text[at] != delimiter
                        and text[at] != NEWLINE
                        and text[at] != QUOTE
                        and not (plain and text[at] > 127)
                    ):
                        at += 1
                end = at
                if not quoted:
                    while end > begin and is_blank(text[end - 1]):
                        end -= 1
                spans[row, target, 0] = begin
                spans[row, target, 1] = end
            elif kinds[column] == 1:
                at, value, kind = read_number(text, at, 308)
                extras[row, target] = value
                index = -1 - (row * extras.shape[1] + target)
                good = kind == EASY or (
                    kind == IS_HARD and note_hard(text, begin, at, index, state, hard_text, hard_at)
                )
            else:
                at, value, kind = read_number(text, at, top)
                numbers[row, target] = value
                index = row * numbers.shape[1] + target
                good = kind == EASY or (
                    kind == IS_HARD and note_hard(text, begin, at, index, state, hard_text, hard_at)
                )
            if good and quoted:
                good = text[at] == QUOTE
                at += 1 if good else 0
            if good:
                while text[at] == SPACE or text[at] == RETURN:
                    at += 1
                good = text[at] == (delimiter if column < n_columns - 1 else NEWLINE)
                at += 1
            if not good:
                break
        if not good:
            state[HARD] = hard
            return False
        lines[row] = state[LINE]
        state[ROW] = row + 1
        state[AT] = at
        state[LINE] += 1
    return True


@entry
def pass_rows(text, state, comment, n_rows):
    """Step over at most ``n_rows`` lines with data, without a look at what is in them; how many there were."""
    passed = 0
    while passed < n_rows and state[AT] < text.size:
        at = after_blanks(text, state[AT])
        if text[at] != NEWLINE and text[at] != comment:
            passed += 1
        state[AT] = after_line(text, at)
        state[LINE] += 1
    return passed


@entry
def scan_indices(text, bounds):
    """Widen ``bounds`` (smallest, largest) by the feature numbers in LIBSVM text."""
    at = 0
    while at < text.size:
        if text[at] == HASH:
            at = after_line(text, at)
        elif is_digit(text[at]) and (at == 0 or text[at - 1] <= SPACE):
            index, digits = np.int64(0), 0
            while is_digit(text[at]) and digits < 10:
                index = index * 10 + (np.int64(text[at]) - 48)
                digits += 1
                at += 1
            if text[at] == COLON:
                bounds[0] = min(bounds[0], index)
                bounds[1] = max(bounds[1], index)
        else:
            at += 1
